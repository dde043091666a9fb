// SPDX-License-Identifier: Apache-2.0
// The tools of an execution: `await tools.search({query: 'x'})`. Calls may be under way at once, and return in any order.
// One with dots in its name is in an object of that name: `tools.mcp.github.create_issue()` and `mcp.github.create_issue()`.

import {Buffer, Error, JSON, Object, Promise, Reflect, String, TypeError} from './primordials.mjs';
import {TOOL_CALL} from './wire.mjs';

const {stringify} = JSON;
const {defineProperty, freeze, getOwnPropertyDescriptor} = Object;
const {byteLength, from: bufferFrom} = Buffer;
const {replaceAll, split} = String.prototype;
const {apply} = Reflect;

// As RequestBox::kMaxOpenCalls and ToolCall::kMaxArguments outside; more calls wait here for their turn.
const MOST_OPEN = 64;
const MOST_ARGUMENTS = 256 << 10;
const NAME = 'tools';

class ToolError extends Error {
  constructor(message, tool) {
    super(message);
    this.tool = tool;
  }
}
defineProperty(ToolError.prototype, 'name', {value: 'ToolError'});

export class Tools {
  #wire;
  #note;
  #last = 0;
  #offer = null;
  #open = {__proto__: null};
  #openCount = 0;
  #queue = {first: null, last: null};

  /** @param note tells whoever executes something */
  constructor(connection, note) {
    this.#wire = connection;
    this.#note = note;
  }

  /** Offers tools to the execution that begins. */
  enter(channel, tools) {
    const functions = {__proto__: null, ToolError};
    const names = {__proto__: null};
    const globals = {__proto__: null, [NAME]: functions};
    const modules = [functions];
    for (const {name} of tools) {
      names[name] = true;
      const path = apply(split, name, ['.']);
      let place = functions;
      for (let depth = 0; depth < path.length - 1; ++depth) {
        const module = nameInCode(path[depth]);
        if (place[module] === undefined) modules[modules.length] = place[module] = {__proto__: null};
        place = place[module];
        if (depth === 0) globals[module] = place;
      }
      const own = path[path.length - 1];
      const call = (input = {}) => this.#call(name, input);
      defineProperty(call, 'name', {value: own});
      place[own] = call;
      place[nameInCode(own)] = call;
    }
    this.#offer = {channel, names, globals};
    for (let at = 0; at < modules.length; ++at) freeze(modules[at]);
    for (const name in globals) {
      if (getOwnPropertyDescriptor(globalThis, name) !== undefined) {
        this.#note(`a variable of the code hides '${name}'`);
      } else {
        defineProperty(globalThis, name, {value: globals[name], writable: true, enumerable: false, configurable: true});
      }
    }
  }

  /** Ends the offer; what is still under way fails. */
  leave() {
    if (this.#offer === null) return;
    const {globals} = this.#offer;
    this.#offer = null;
    for (const name in globals) {
      if (getOwnPropertyDescriptor(globalThis, name)?.value === globals[name]) delete globalThis[name];
    }
    const open = this.#open;
    const {first} = this.#queue;
    this.#open = {__proto__: null};
    this.#openCount = 0;
    this.#queue = {first: null, last: null};
    for (const number in open) fail(open[number], 'the execution has ended');
    for (let call = first; call !== null; call = call.next) fail(call, 'the execution has ended');
  }

  /** Takes a result. */
  answer({call: number, result = null, error}) {
    const call = this.#open[number];
    if (call === undefined) return;
    delete this.#open[number];
    this.#openCount -= 1;
    const following = this.#queue.first;
    if (following !== null) {
      this.#queue.first = following.next;
      this.#send(following);
    }
    if (error) fail(call, `${error.message ?? ''}`);
    else call.resolve(result);
  }

  #call(name, input) {
    return new Promise((resolve, reject) => {
      // A function that the guest has kept calls what the present execution offers.
      if (this.#offer?.names[name] !== true) throw new ToolError(`the execution to which '${name}' was offered has ended`, name);
      if (typeof input !== 'object' || input === null) throw new TypeError(`tools.${name} takes one object with its arguments`);
      const json = stringify(input);
      if (json === undefined || json[0] !== '{') throw new TypeError(`tools.${name} takes one object with its arguments`);
      if (byteLength(json) > MOST_ARGUMENTS) throw new ToolError('the arguments of a tool may have 256 KiB', name);
      const call = {name, json, resolve, reject, next: null};
      if (this.#openCount < MOST_OPEN) {
        this.#send(call);
      } else {
        if (this.#queue.first === null) this.#queue.first = call;
        else this.#queue.last.next = call;
        this.#queue.last = call;
      }
    });
  }

  #send(call) {
    const number = ++this.#last;
    this.#open[number] = call;
    this.#openCount += 1;
    const payload = `{"call":${number},"name":${stringify(call.name)},"arguments":${call.json}}`;
    this.#wire.send(TOOL_CALL, this.#offer.channel, bufferFrom(payload, 'utf8'));
  }
}

function nameInCode(name) {
  return apply(replaceAll, name, ['-', '_']);
}

function fail({name, reject}, message) {
  reject(new ToolError(message, name));
}
