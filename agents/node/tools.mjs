// SPDX-License-Identifier: Apache-2.0
// The tools of an execution: `await tools.search({query: 'x'})`. Calls may be under way at once, and return in any order.

import {Buffer, Error, JSON, Object, Promise, Reflect, String, TypeError} from './primordials.mjs';
import {TOOL_CALL} from './wire.mjs';

const {stringify} = JSON;
const {defineProperty, freeze, getOwnPropertyDescriptor} = Object;
const {byteLength, from: bufferFrom} = Buffer;
const {replaceAll} = String.prototype;
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
    const offer = {channel, functions};
    for (const {name} of tools) {
      const call = (input = {}) => this.#call(offer, name, input);
      defineProperty(call, 'name', {value: name});
      functions[name] = call;
      functions[apply(replaceAll, name, ['-', '_'])] ??= call;
    }
    this.#offer = offer;
    freeze(functions);
    if (getOwnPropertyDescriptor(globalThis, NAME) !== undefined) {
      this.#note(`a variable of the code hides '${NAME}'`);
      return;
    }
    defineProperty(globalThis, NAME, {value: functions, writable: true, enumerable: false, configurable: true});
  }

  /** Ends the offer; what is still under way fails. */
  leave() {
    if (this.#offer === null) return;
    const {functions} = this.#offer;
    this.#offer = null;
    if (getOwnPropertyDescriptor(globalThis, NAME)?.value === functions) delete globalThis[NAME];
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

  #call(offer, name, input) {
    return new Promise((resolve, reject) => {
      if (this.#offer !== offer) throw new ToolError(`the execution to which '${name}' was offered has ended`, name);
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

function fail({name, reject}, message) {
  reject(new ToolError(message, name));
}
