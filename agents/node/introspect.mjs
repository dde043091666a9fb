// SPDX-License-Identifier: Apache-2.0
// Completion, inspection and the list of variables. Nothing here runs code of the guest: accessors and proxies are not followed.

import util from 'node:util';
import {Array, Map, Number, Object, Reflect, Set, String, SyntaxError} from './primordials.mjs';
import {parse} from './transform.mjs';

const {getOwnPropertyDescriptor, getOwnPropertyDescriptors, getOwnPropertyNames, getPrototypeOf} = Object;
const {inspect} = util;
const types = {...util.types};
const {apply} = Reflect;
const {from: arrayFrom, isArray} = Array;
const functionSource = Function.prototype.toString;

const PATH = /(?:^|[^\w$.])((?:[\p{ID_Start}$_][\p{ID_Continue}$]*\s*\??\.\s*)*)([\p{ID_Start}$_][\p{ID_Continue}$]*)?$/u;
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;
const MAX_MATCHES = 1000;
const MAX_VARIABLES = 1000;
const MAX_VALUE = 200;
const MAX_PROTOTYPES = 50;
const MAX_TEXT = 4000;
const KEYWORDS = ('async await break case catch class const continue debugger default delete do else export extends false finally '
  + 'for function if import in instanceof let new null of return static super switch this throw true try typeof var void while '
  + 'with yield').split(' ');

const SHOWN = {colors: false, customInspect: false, getters: false, showProxy: true, breakLength: Infinity};

// Many globals are made when they are first used, by accessors of Node or of the agent that are known to do nothing else.
const lazyGlobals = new Map();

/** The value of a property without running anything; undefined where that cannot be had. */
function peek(object, name) {
  let holder = object;
  for (let depth = 0; holder !== null && holder !== undefined && depth < MAX_PROTOTYPES; depth++) {
    if (types.isProxy(holder)) return undefined;
    const found = getOwnPropertyDescriptor(holder, name);
    if (found) {
      if ('value' in found) return found.value;
      return holder === globalThis && lazyGlobals.get(name) === found.get ? apply(found.get, globalThis, []) : undefined;
    }
    holder = getPrototypeOf(Object(holder));
  }
  return undefined;
}

function follow(path) {
  return path.reduce((value, name) => {
    if (value === undefined || value === null) return undefined;
    return name === 'globalThis' && value === globalThis ? value : peek(value, name);
  }, globalThis);
}

function namesOf(value) {
  const names = new Set();
  let holder = value === undefined || value === null ? null : Object(value);
  for (let depth = 0; holder !== null && depth < MAX_PROTOTYPES && !types.isProxy(holder); depth++) {
    // The elements of an array, a buffer or a string are no names.
    const isList = depth === 0 && (isArray(holder) || types.isTypedArray(holder) || types.isStringObject(holder));
    for (const name of isList ? ['length'] : getOwnPropertyNames(holder)) if (IDENTIFIER.test(name)) names.add(name);
    holder = getPrototypeOf(holder);
  }
  return [...names];
}

function typeOf(value) {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  if (types.isProxy(value)) return 'Proxy';
  const constructor = peek(value, 'constructor');
  const name = typeof constructor === 'function' && !types.isProxy(constructor) ? peek(constructor, 'name') : undefined;
  return typeof name === 'string' && name !== '' ? name.slice(0, MAX_VALUE) : 'Object';
}

function shown(value, limits) {
  try {
    return inspect(value, {...SHOWN, ...limits});
  } catch {
    return `[${typeof value}]`;
  }
}

/** The part of the code before the cursor, which is counted in code points. */
function before(code, cursor) {
  const points = arrayFrom(String(code ?? ''));
  return points.slice(0, Number.isInteger(cursor) && cursor >= 0 ? cursor : points.length).join('');
}

const pointsIn = (text) => arrayFrom(text).length;
const parts = (path) => path.split('.').map((name) => name.replace(/[\s?]/g, '')).filter((name) => name !== '');

export class Introspection {
  #declared;
  #stripTypes;
  #initial = new Set(getOwnPropertyNames(globalThis));

  /** To be made before the guest runs. */
  constructor(declared, stripTypes) {
    for (const [name, {get}] of Object.entries(getOwnPropertyDescriptors(globalThis))) if (get) lazyGlobals.set(name, get);
    this.#declared = declared;
    this.#stripTypes = stripTypes;
  }

  complete({code, cursor}) {
    const text = before(code, cursor);
    const end = pointsIn(text);
    const found = PATH.exec(text.slice(-MAX_TEXT));
    const [, path = '', prefix = ''] = found ?? [];
    if (!found || (path === '' && /\.\s*\w*$/.test(text))) return {matches: [], start: end, end};
    const candidates = path === '' ? [...KEYWORDS, ...namesOf(globalThis)] : namesOf(follow(parts(path)));
    const matches = [...new Set(candidates)].filter((name) => name.startsWith(prefix) && !name.startsWith('__glovebox'));
    matches.sort((a, b) => a.startsWith('_') - b.startsWith('_') || (a < b ? -1 : 1));
    return {matches: matches.slice(0, MAX_MATCHES), start: end - pointsIn(prefix), end};
  }

  inspect({code, cursor}) {
    const text = String(code ?? '');
    const head = before(text, cursor);
    const rest = /^[\p{ID_Continue}$]*/u.exec(text.slice(head.length))[0];
    const [, path = '', name = ''] = PATH.exec((head + rest).slice(-MAX_TEXT)) ?? [];
    const names = [...parts(path), ...(name === '' ? [] : [name])];
    const value = names.length > 0 ? follow(names) : undefined;
    if (value === undefined) return {found: false, data: {}};
    const lines = [`${names.join('.')}: ${typeOf(value)}`];
    if (typeof value === 'function' && !types.isProxy(value)) lines.push(apply(functionSource, value, []).slice(0, MAX_TEXT));
    else lines.push(shown(value, {depth: 1, maxArrayLength: 20, maxStringLength: 1000, breakLength: 80}).slice(0, MAX_TEXT));
    return {found: true, data: {'text/plain': lines.join('\n')}};
  }

  isComplete({code}) {
    const text = String(code ?? '');
    try {
      parse(text);
      return {status: 'complete', indent: ''};
    } catch (error) {
      if (this.#stripTypes) return this.#isCompleteTyped(text);
      return error.pos === undefined ? {status: 'unknown', indent: ''} : verdict(text, endsTooEarly(text, error));
    }
  }

  #isCompleteTyped(text) {
    try {
      this.#stripTypes(text);
      return {status: 'complete', indent: ''};
    } catch (error) {
      if (!(error instanceof SyntaxError)) return {status: 'unknown', indent: ''};
      return verdict(text, /end of file|Unterminated (template|regular)|Expected "\*\/"/.test(error.message));
    }
  }

  variables() {
    const variables = [];
    const names = new Set([...getOwnPropertyNames(globalThis).filter((name) => !this.#initial.has(name)), ...this.#declared]);
    for (const name of names) {
      if (variables.length >= MAX_VARIABLES) break;
      const found = getOwnPropertyDescriptor(globalThis, name);
      if (!found?.enumerable || !('value' in found)) continue;
      const {value} = found;
      const text = shown(value, {depth: 1, maxArrayLength: 20, maxStringLength: MAX_VALUE});
      variables.push({name: name.slice(0, MAX_VALUE), type: typeOf(value), value: cut(text)});
    }
    return {variables};
  }
}

function cut(text) {
  const points = arrayFrom(text.slice(0, 2 * MAX_VALUE));
  return points.length > MAX_VALUE ? `${points.slice(0, MAX_VALUE - 1).join('')}…` : points.join('');
}

/** Whether more text could mend what the parser found. */
function endsTooEarly(text, error) {
  if (/^Unterminated (template|comment)/.test(error.message)) return true;
  return /^Unexpected token/.test(error.message) && error.pos >= text.trimEnd().length;
}

function verdict(text, isIncomplete) {
  if (!isIncomplete) return {status: 'invalid', indent: ''};
  const last = text.trimEnd().split('\n').at(-1);
  const indent = /^[ \t]*/.exec(last)[0] + (/[{([]$/.test(last) ? '  ' : '');
  return {status: 'incomplete', indent};
}
