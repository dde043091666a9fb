// SPDX-License-Identifier: Apache-2.0
// Frames on descriptor 3. Sending is synchronous, so that what a cell prints leaves at once, in order, and a slow
// reader slows the guest down instead of filling its memory.

import fs from 'node:fs';
import net from 'node:net';
import {Atomics, Buffer, Int32Array, JSON, RangeError, SharedArrayBuffer, process} from './primordials.mjs';

// The guest shares this process and may replace what globals and modules hold; what is used here is taken before it runs.
const {readSync, writeSync} = fs;
const {parse, stringify} = JSON;
const {allocUnsafe, concat, from: bufferFrom} = Buffer;
const {wait} = Atomics;
const {setPrototypeOf} = Object;
const exit = process.exit.bind(process);

const HEADER = 9;
const MAX_PAYLOAD = 1 << 20;
const MAX_MESSAGE = 64 << 20;
const EMPTY = allocUnsafe(0);
const NEVER = new Int32Array(new SharedArrayBuffer(4));

export const EXECUTE = 1, INPUT = 2, COMPLETE = 3, INSPECT = 4, IS_COMPLETE = 5, CHECKPOINT = 6, FETCH = 7,
  VARIABLES = 8, END = 9, TOOL_RESULT = 10;
export const READY = 64, STARTED = 65, STDOUT = 66, STDERR = 67, DISPLAY = 68, RESULT = 69, ERROR = 70,
  INPUT_REQUEST = 71, CLEAR = 72, DONE = 73, REPLY = 74, NOTE = 75, TOOL_CALL = 76, PART = 127;

export class Wire {
  #fd;
  #unread = EMPTY;
  #parts = [];
  #partsSize = 0;
  #unsent = EMPTY;
  #sent = 0;

  /** Called with (type, channel, payload) for every message, and without arguments when the other side is gone. */
  onMessage = () => {};

  constructor(fd) {
    this.#fd = fd;
  }

  start() {
    const socket = new net.Socket({fd: this.#fd, readable: true, writable: false});
    socket.on('data', (bytes) => {
      this.#take(bytes);
      let message;
      while ((message = this.#next()) !== null) this.onMessage(message.type, message.channel, message.payload);
    });
    socket.on('error', () => this.onMessage());
    socket.on('close', () => this.onMessage());
  }

  /** Waits for the next message without giving way to the event loop; null when the other side is gone. */
  receiveSync() {
    const bytes = allocUnsafe(65536);
    for (;;) {
      const message = this.#next();
      if (message !== null) return message;
      try {
        const size = readSync(this.#fd, bytes, 0, bytes.length, null);
        if (size === 0) return null;
        this.#take(bufferFrom(bytes.subarray(0, size)));
      } catch (error) {
        if (error.code !== 'EAGAIN') return null;
        wait(NEVER, 0, 0, 2);
      }
    }
  }

  sendJson(type, channel, value) {
    this.send(type, channel, bufferFrom(stringify(value), 'utf8'));
  }

  /** Sends one message, in parts where it is long. */
  send(type, channel, payload) {
    if (payload.length > MAX_MESSAGE) throw new RangeError('the message is too long');
    let offset = 0;
    for (; payload.length - offset > MAX_PAYLOAD; offset += MAX_PAYLOAD) {
      this.#write(PART, channel, payload.subarray(offset, offset + MAX_PAYLOAD));
    }
    this.#write(type, channel, offset === 0 ? payload : payload.subarray(offset));
  }

  /** Sends bytes of an output stream, which need no joining on the other side. */
  sendBytes(type, channel, bytes) {
    for (let offset = 0; offset < bytes.length; offset += MAX_PAYLOAD) {
      this.#write(type, channel, bytes.subarray(offset, offset + MAX_PAYLOAD));
    }
  }

  #write(type, channel, payload) {
    // An interrupt may have ended the last call half way; the rest of that frame has to go first.
    this.#flush();
    const frame = allocUnsafe(HEADER + payload.length);
    frame.writeUInt32LE(payload.length, 0);
    frame[4] = type;
    frame.writeUInt32LE(channel, 5);
    frame.set(payload, HEADER);
    this.#sent = 0;
    this.#unsent = frame;
    this.#flush();
  }

  #flush() {
    while (this.#sent < this.#unsent.length) {
      try {
        this.#sent += writeSync(this.#fd, this.#unsent, this.#sent, this.#unsent.length - this.#sent);
      } catch (error) {
        if (error.code !== 'EAGAIN') exit(0);
        wait(NEVER, 0, 0, 1);
      }
    }
    this.#unsent = EMPTY;
    this.#sent = 0;
  }

  #take(bytes) {
    this.#unread = this.#unread.length === 0 ? bytes : concat([this.#unread, bytes]);
  }

  #next() {
    for (;;) {
      if (this.#unread.length < HEADER) return null;
      const size = this.#unread.readUInt32LE(0);
      if (size > MAX_PAYLOAD) exit(1);
      if (this.#unread.length < HEADER + size) return null;
      const type = this.#unread[4];
      const channel = this.#unread.readUInt32LE(5);
      let payload = this.#unread.subarray(HEADER, HEADER + size);
      this.#unread = this.#unread.subarray(HEADER + size);
      if (type === PART) {
        this.#partsSize += size;
        if (this.#partsSize > MAX_MESSAGE) exit(1);
        this.#parts[this.#parts.length] = payload;
        continue;
      }
      if (this.#parts.length > 0) {
        this.#parts[this.#parts.length] = payload;
        payload = concat(this.#parts);
        this.#parts = [];
        this.#partsSize = 0;
      }
      return {type, channel, payload};
    }
  }
}

/** The object in a payload; an empty one where it is no JSON object. What the guest gives to all objects, it has not. */
export function decode(payload) {
  try {
    const value = parse(payload.toString('utf8'));
    if (typeof value === 'object' && value !== null) return setPrototypeOf(value, null);
  } catch {
    // It is none.
  }
  return {__proto__: null};
}
