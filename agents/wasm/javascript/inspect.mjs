// SPDX-License-Identifier: Apache-2.0
// What a value looks like, much as Node writes it. Accessors and proxies that a value has are code of the guest's, which may
// throw or answer anything.

const MAX_ITEMS = 100;
const MAX_WIDTH = 72;
const MAX_TEXT = 10000;
// Lines of a stack that are not the guest's.
const OWN = /\((?:native|(?:\.\/)?wasm\/javascript\/\S*)\)$/;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const TypedArray = Object.getPrototypeOf(Uint8Array);

export const quoted = (text) => {
  const quote = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('`') ? '`' : "'";
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
};

/** The text of any value; strings at the top are whole. Never throws. */
export function inspect(value, depth = 2) {
  try {
    return typeof value === 'string' ? quoted(value) : shown(value, depth, []);
  } catch (error) {
    return `[${typeof value} that cannot be shown]`;
  }
}

function shown(value, depth, above) {
  switch (typeof value) {
    case 'string': return quoted(value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value);
    case 'bigint': return `${value}n`;
    case 'symbol': return value.toString();
    case 'number': return Object.is(value, -0) ? '-0' : String(value);
    case 'function': return functionText(value);
    case 'object': return value === null ? 'null' : objectText(value, depth, above);
    default: return String(value);
  }
}

function functionText(value) {
  const isClass = /^class\b/.test(Function.prototype.toString.call(value));
  const name = Object.getOwnPropertyDescriptor(value, 'name')?.value;
  return `[${isClass ? 'class' : 'Function'}${name ? `${isClass ? ' ' : ': '}${name}` : ' (anonymous)'}]`;
}

/** The name of its class, as far as that can be had without running anything. */
export function classOf(value) {
  for (let holder = value; holder !== null; holder = Object.getPrototypeOf(holder)) {
    const made = Object.getOwnPropertyDescriptor(holder, 'constructor')?.value;
    const name = typeof made === 'function' ? Object.getOwnPropertyDescriptor(made, 'name')?.value : '';
    if (typeof name === 'string' && name !== '') return name;
  }
  return '';
}

/** An error with its stack, as far as that is the guest's. */
export function errorText(error) {
  const head = String(Error.prototype.toString.call(error));
  const stack = String(error.stack ?? '').split('\n').filter((line) => line.trim() !== '' && !OWN.test(line));
  return [head, ...stack.map((line) => line.replaceAll('<evalScript>', '<cell>'))].join('\n');
}

function objectText(value, depth, above) {
  if (above.includes(value)) return '[Circular]';
  const name = classOf(value);
  const list = Array.isArray(value) || value instanceof TypedArray;
  if (value instanceof Error) return above.length > 0 ? `[${Error.prototype.toString.call(value)}]` : errorText(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return RegExp.prototype.toString.call(value);
  if (above.length > depth) return `[${name || 'Object'}]`;
  const inner = (item) => shown(item, depth, [...above, value]);
  const isMap = value instanceof Map;
  const isSet = value instanceof Set;
  const items = [];
  if (list) {
    for (let i = 0; i < Math.min(value.length, MAX_ITEMS); i++) items.push(i in value ? inner(value[i]) : '<empty>');
  } else if (isMap) {
    for (const [key, item] of value) if (items.push(`${inner(key)} => ${inner(item)}`) >= MAX_ITEMS) break;
  } else if (isSet) {
    for (const item of value) if (items.push(inner(item)) >= MAX_ITEMS) break;
  }
  const count = list ? value.length : isMap || isSet ? value.size : 0;
  if (count > items.length) items.push(`... ${count - items.length} more`);
  const keys = Reflect.ownKeys(value).filter((key) => Object.getOwnPropertyDescriptor(value, key)?.enumerable && !(list && /^\d+$/.test(String(key))));
  for (const key of keys.slice(0, MAX_ITEMS)) {
    const found = Object.getOwnPropertyDescriptor(value, key);
    const label = typeof key === 'symbol' ? `[${key.toString()}]` : IDENTIFIER.test(key) ? key : quoted(key);
    items.push(`${label}: ${'value' in found ? inner(found.value) : found.get ? found.set ? '[Getter/Setter]' : '[Getter]' : '[Setter]'}`);
  }
  if (keys.length > MAX_ITEMS) items.push(`... ${keys.length - MAX_ITEMS} more`);
  const sized = list || isMap || isSet ? `${name}(${count}) ` : name ? `${name} ` : '[Object: null prototype] ';
  const head = name === 'Object' || name === 'Array' ? '' : sized;
  return head + (list ? joined('[', items, ']') : joined('{', items, '}'));
}

function joined(open, items, close) {
  if (items.length === 0) return open + close;
  const line = `${open} ${items.join(', ')} ${close}`;
  if (line.length <= MAX_WIDTH && !line.includes('\n')) return line;
  const width = Math.max(...items.map((item) => item.length)) + 2;
  if (open === '[' && items.length > 6 && width <= 18 && !line.includes('\n')) return columns(items, width);
  return `${open}\n${items.map((item) => `  ${item.replaceAll('\n', '\n  ')}`).join(',\n')}\n${close}`;
}

function columns(items, width) {
  const perLine = Math.max(1, Math.floor(MAX_WIDTH / width));
  const lines = [];
  for (let at = 0; at < items.length; at += perLine) {
    const row = items.slice(at, at + perLine);
    lines.push(`  ${row.map((item, i) => (at + i + 1 < items.length ? `${item},` : item).padEnd(width)).join('').trimEnd()}`);
  }
  return `[\n${lines.join('\n')}\n]`;
}
