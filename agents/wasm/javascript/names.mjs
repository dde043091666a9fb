// SPDX-License-Identifier: Apache-2.0
// Completion, inspection and the list of variables. Nothing here follows accessors: they are code of the guest's.

import {endsTooEarly, toScript} from './cells.mjs';
import {classOf, inspect} from './inspect.mjs';
import * as std from 'qjs:std';

const PATH = /(?:^|[^\w$.])((?:[\p{ID_Start}$_][\p{ID_Continue}$]*\s*\??\.\s*)*)([\p{ID_Start}$_][\p{ID_Continue}$]*)?$/u;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const MAX_MATCHES = 1000;
const MAX_VARIABLES = 1000;
const MAX_VALUE = 200;
const MAX_TEXT = 4000;
const KEYWORDS = ('async await break case catch class const continue default delete do else export extends false finally for '
  + 'function if import in instanceof let new null of return static super switch this throw true try typeof var void while with '
  + 'yield').split(' ');

let initial = new Set();

/** What is there now is none of the guest's variables. */
export function hideWhatIsThere() {
  initial = new Set(Object.getOwnPropertyNames(globalThis));
}

function peek(object, name) {
  for (let holder = object; holder !== null && holder !== undefined; holder = Object.getPrototypeOf(Object(holder))) {
    const found = Object.getOwnPropertyDescriptor(Object(holder), name);
    if (found) return found.value;
  }
  return undefined;
}

const parts = (path) => path.split('.').map((name) => name.replace(/[\s?]/g, '')).filter((name) => name !== '');
const follow = (path) => parts(path).reduce((value, name) => (value === undefined || value === null ? undefined : peek(value, name)), globalThis);

function namesOf(value) {
  const names = new Set();
  for (let holder = value ?? null; holder !== null; holder = Object.getPrototypeOf(Object(holder))) {
    for (const name of Object.getOwnPropertyNames(Object(holder))) if (IDENTIFIER.test(name)) names.add(name);
  }
  return [...names];
}

/** The cursor counts code points. */
const before = (code, cursor) => [...code].slice(0, cursor).join('');
const pointsIn = (text) => [...text].length;

export function complete({code = '', cursor = code.length}) {
  const text = before(code, cursor);
  const end = pointsIn(text);
  const [, path = '', prefix = ''] = PATH.exec(text.slice(-MAX_TEXT)) ?? [];
  if (path === '' && (prefix === '' || /\.\s*\w*$/.test(text))) return {matches: [], start: end, end};
  const candidates = path === '' ? [...KEYWORDS, ...namesOf(globalThis)] : namesOf(follow(path));
  const matches = [...new Set(candidates)].filter((name) => name.startsWith(prefix));
  matches.sort((a, b) => a.startsWith('_') - b.startsWith('_') || (a < b ? -1 : 1));
  return {matches: matches.slice(0, MAX_MATCHES), start: end - pointsIn(prefix), end};
}

export function look({code = '', cursor = code.length}) {
  const head = before(code, cursor);
  const rest = /^[\p{ID_Continue}$]*/u.exec(code.slice(head.length))[0];
  const [, path = '', name = ''] = PATH.exec((head + rest).slice(-MAX_TEXT)) ?? [];
  const names = parts(path + name);
  const value = names.length > 0 ? follow(path + name) : undefined;
  if (value === undefined) return {found: false, data: {}};
  const text = typeof value === 'function' ? Function.prototype.toString.call(value) : inspect(value, 1);
  return {found: true, data: {'text/plain': `${names.join('.')}: ${typeOf(value)}\n${text.slice(0, MAX_TEXT)}`}};
}

export function completeness({code = ''}) {
  try {
    std.evalScript(toScript(code), {compile_only: true, async: true});
    return {status: 'complete', indent: ''};
  } catch {
    if (!endsTooEarly(code)) return {status: 'invalid', indent: ''};
    const last = code.trimEnd().split('\n').at(-1);
    return {status: 'incomplete', indent: /^[ \t]*/.exec(last)[0] + (/[{([]$/.test(last) ? '  ' : '')};
  }
}

export function variables() {
  const found = [];
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const property = Object.getOwnPropertyDescriptor(globalThis, name);
    if (initial.has(name) || !property.enumerable || !('value' in property)) continue;
    if (found.push({name, type: typeOf(property.value), value: inspect(property.value, 1).slice(0, MAX_VALUE)}) >= MAX_VARIABLES) break;
  }
  return {variables: found};
}

const typeOf = (value) => (typeof value === 'object' && value !== null ? classOf(value) || 'Object' : value === null ? 'null' : typeof value);
