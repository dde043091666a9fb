// SPDX-License-Identifier: Apache-2.0
// What a cell finds in the global scope beyond Node's own: require, module, display, prompt, input; and where its output goes.

import module from 'node:module';
import path from 'node:path';
import {Writable} from 'node:stream';
import url from 'node:url';
import util from 'node:util';
import {importFrom} from './internals.mjs';
import {Boolean, Buffer, Object, String, SyntaxError, TypeError, process} from './primordials.mjs';
import {HELPER} from './transform.mjs';
import {bundleOf, isBundle} from './values.mjs';

const {createRequire, builtinModules} = module;
const {isAbsolute, join} = path;
const {pathToFileURL} = url;
const {isPromise, isUint8Array} = util.types;
const {defineProperty, getOwnPropertyDescriptor} = Object;
const {from: bufferFrom} = Buffer;
const cwd = process.cwd.bind(process);
const nextTick = process.nextTick.bind(process);

/** A cell imports and requires as a file in the working directory would. */
const cellPath = () => join(cwd(), 'cell.js');

export function define(name, value) {
  defineProperty(globalThis, name, {__proto__: null, value, writable: true, enumerable: false, configurable: true});
}

/** Makes a name of the global scope ready to be assigned to, also where Node has an accessor or a constant of that name. */
export function declare(name) {
  const there = getOwnPropertyDescriptor(globalThis, name);
  if (there?.writable && there.enumerable) return;
  if (there && !there.configurable) return;
  const value = there?.value;
  defineProperty(globalThis, name, {__proto__: null, value, writable: true, enumerable: true, configurable: true});
}

// A stream of Node keeps state that an interrupt in the middle of a write would leave broken; this one writes at once.
class OutputStream extends Writable {
  #send;
  #fd;

  constructor(fd, send) {
    super({decodeStrings: true});
    this.#fd = fd;
    this.#send = send;
  }

  get fd() {
    return this.#fd;
  }

  get isTTY() {
    return false;
  }

  write(chunk, encoding, callback) {
    if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding];
    if (typeof chunk !== 'string' && !isUint8Array(chunk)) {
      throw new TypeError(`only strings and bytes can be written, not ${typeof chunk}`);
    }
    this.#send(typeof chunk === 'string' ? bufferFrom(chunk, encoding ?? 'utf8') : chunk);
    if (typeof callback === 'function') nextTick(callback, null);
    return true;
  }

  end(chunk, encoding, callback) {
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') this.write(chunk, encoding);
    const last = [chunk, encoding, callback].find((argument) => typeof argument === 'function');
    if (last) nextTick(last);
    return this;
  }
}

export function redirectOutput(sendStdout, sendStderr) {
  for (const [name, fd, send] of [['stdout', 1, sendStdout], ['stderr', 2, sendStderr]]) {
    const value = new OutputStream(fd, send);
    defineProperty(process, name, {value, writable: true, enumerable: true, configurable: true});
  }
}

/** `require` of the working directory as it is at each call. */
function makeRequire(main) {
  const current = () => createRequire(cellPath());
  const require = (id) => current()(id);
  require.resolve = Object.assign((id, options) => current().resolve(id, options), {
    paths: (request) => current().resolve.paths(request),
  });
  return Object.assign(require, {cache: current().cache, extensions: module._extensions, main});
}

/** Node's REPL offers its modules without `require`, and much code in the wild counts on it. */
function defineBuiltinModules(require) {
  for (const name of builtinModules) {
    if (/^_|\//.test(name) || name in globalThis) continue;
    defineProperty(globalThis, name, {
      get() {
        const value = require(name);
        define(name, value);
        return value;
      },
      set(value) {
        define(name, value);
      },
      enumerable: false,
      configurable: true,
    });
  }
}

const importHere = (specifier, attributes) => importFrom(specifier, pathToFileURL(cellPath()).href, attributes);

function makeHelper(onlyTypesMayMiss) {
  return {
    /** A static import: the module, checked to have the names that are wanted. */
    async load(specifier, wanted, attributes) {
      const namespace = await importHere(specifier, attributes);
      for (const name of wanted) {
        if (name in namespace || onlyTypesMayMiss) continue;
        throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`);
      }
      return namespace;
    },
    async import(specifier, options) {
      return importHere(`${specifier}`, {...options?.assert, ...options?.with});
    },
    get meta() {
      const filename = cellPath();
      const resolve = (specifier) => {
        const found = createRequire(filename).resolve(specifier);
        return isAbsolute(found) ? pathToFileURL(found).href : found;
      };
      return {url: pathToFileURL(filename).href, filename, dirname: cwd(), resolve};
    },
    exported: undefined,
  };
}

function emit(send, made, id, update) {
  const sent = (data) => send({data, display_id: id, update});
  return isPromise(made) ? made.then(sent) : sent(made);
}

/** What display() gives: what was shown can be shown anew. As the value of a cell it is no result. */
export class DisplayHandle {
  #send;

  constructor(send, id) {
    this.#send = send;
    this.id = id;
  }

  update(value) {
    return emit(this.#send, isBundle(value) ? value : bundleOf(value), this.id, true);
  }
}

/** @param send called with ({data, display_id, update}); data is a bundle. */
function makeDisplay(send, clear) {
  let last = 0;
  const display = (value, {id = `d${++last}`, update = false, raw = isBundle(value)} = {}) => {
    const handle = new DisplayHandle(send, String(id));
    const shown = emit(send, raw ? value : bundleOf(value), handle.id, Boolean(update));
    return shown === undefined ? handle : shown.then(() => handle);
  };
  const typed = (type) => (value, options = {}) => display({[type]: value}, {...options, raw: true});
  return Object.assign(display, {
    html: typed('text/html'),
    markdown: typed('text/markdown'),
    latex: typed('text/latex'),
    svg: typed('image/svg+xml'),
    png: typed('image/png'),
    jpeg: typed('image/jpeg'),
    json: typed('application/json'),
    text: typed('text/plain'),
    clear: ({wait = false} = {}) => clear(Boolean(wait)),
  });
}

/**
 * @param sendDisplay, clear, prompt, input what the globals of these names do
 * @param onlyTypesMayMiss whether an import may name what a module has not, as types are
 */
export function defineGlobals({sendDisplay, clear, prompt, input, onlyTypesMayMiss}) {
  // Code that runs `main()` only where it is the main program is meant to run here.
  const main = {id: '.', exports: {}, filename: cellPath(), loaded: false, children: [], paths: []};
  const require = makeRequire(main);
  define('require', require);
  define('module', main);
  define('exports', main.exports);
  define('__filename', cellPath());
  define('__dirname', cwd());
  define('display', makeDisplay(sendDisplay, clear));
  define('prompt', prompt);
  define('input', input);
  defineProperty(globalThis, HELPER, {value: makeHelper(onlyTypesMayMiss)});
  defineBuiltinModules(require);
}
