// SPDX-License-Identifier: Apache-2.0
// What a value looks like: a bundle of MIME types, as in Jupyter's messages.

import util from 'node:util';
import {Buffer, JSON, Map, Number, Object, Promise, Reflect, String, Symbol, TypeError} from './primordials.mjs';

const {parse, stringify} = JSON;
const {from: bufferFrom, byteLength} = Buffer;
const {entries} = Object;
const {inspect} = util;
const {isPromise, isProxy, isUint8Array, isAnyArrayBuffer} = util.types;

const MAX_KEPT = 64 << 20;
const DISPLAY = Symbol.for('Jupyter.display');
const MIME_TYPE = /^(text|image|application|audio|video|model|font|multipart|message)\/[\w.+-]+$/;
const JSON_TYPE = /^application\/(json|.*\+json)$/;

/** The text that Node's REPL prints for a value; strings whole. */
export function plain(value) {
  try {
    return inspect(value, {colors: false, showProxy: true, maxStringLength: typeof value === 'string' ? null : 10000});
  } catch (error) {
    return `[${typeof value} that cannot be shown: ${describe(error)}]`;
  }
}

/** A thrown value in a few words; never throws itself. */
export function describe(error) {
  try {
    return String(error?.message ?? error);
  } catch {
    return 'unknown';
  }
}

export function isBundle(value) {
  if (typeof value !== 'object' || value === null || isProxy(value)) return false;
  const keys = Object.keys(value);
  return keys.length > 0 && keys.every((key) => MIME_TYPE.test(key));
}

/**
 * The bundle of any value, or a promise of it. An object may bring its own: by a method named Symbol.for('Jupyter.display') (as in
 * Deno), or `$$mimeBundle`, that gives one or a promise of one.
 */
export function bundleOf(value) {
  const hook = displayHook(value);
  if (hook === null) return {'text/plain': plain(value)};
  const made = Reflect.apply(hook, value, []);
  return isPromise(made) ? Promise.resolve(made).then((bundle) => completed(value, bundle)) : completed(value, made);
}

function completed(value, bundle) {
  if (!isBundle(bundle)) throw new TypeError('the object\'s display method returned no MIME bundle');
  return 'text/plain' in bundle ? bundle : {'text/plain': plain(value), ...bundle};
}

function displayHook(value) {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || isProxy(value)) return null;
  const hook = value[DISPLAY] ?? value.$$mimeBundle;
  return typeof hook === 'function' ? hook : null;
}

/** Values too large to be sent inline: the newest of them, until they are fetched. */
export class Bundles {
  #inline;
  #kept = new Map();
  #size = 0;
  #last = 0;

  constructor(inline) {
    this.#inline = inline;
  }

  /** The bundle as it is sent. Throws where a value cannot be. */
  encode(bundle) {
    const data = {};
    for (const [type, value] of entries(bundle)) {
      const encoded = encodeValue(type, value);
      if (encoded === undefined) continue;
      const text = typeof encoded === 'string' ? encoded : stringify(encoded);
      const size = byteLength(text, 'utf8');
      data[type] = size > this.#inline ? this.#keep(text, size) : encoded;
    }
    return data;
  }

  /** Answers a fetch. */
  fetch({ref, offset = 0, size = 1 << 20}) {
    const bytes = this.#kept.get(ref);
    if (bytes === undefined) return {error: 'no such value, or it is no longer kept'};
    const isCount = (number) => Number.isSafeInteger(number) && number >= 0;
    if (!isCount(offset) || !isCount(size)) return {error: 'offset and size must be non-negative integers'};
    const end = offset + Math.min(size, 16 << 20);
    return {base64: bytes.toString('base64', offset, Math.min(end, bytes.length)), size: bytes.length};
  }

  #keep(text, size) {
    if (size > MAX_KEPT) return {ref: '', size};
    for (const [ref, bytes] of this.#kept) {
      if (this.#size + size <= MAX_KEPT) break;
      this.#kept.delete(ref);
      this.#size -= bytes.length;
    }
    const ref = `r${++this.#last}`;
    this.#kept.set(ref, bufferFrom(text, 'utf8'));
    this.#size += size;
    return {ref, size};
  }
}

function encodeValue(type, value) {
  if (isUint8Array(value)) return bufferFrom(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  if (isAnyArrayBuffer(value)) return bufferFrom(value).toString('base64');
  if (JSON_TYPE.test(type)) {
    // Through text, so that what is sent is what was measured, whatever toJSON does.
    const text = stringify(value);
    return text === undefined ? undefined : parse(text);
  }
  return typeof value === 'string' ? value : String(value);
}
