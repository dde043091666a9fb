// SPDX-License-Identifier: Apache-2.0
// Frames (agents/README.md) over descriptor 0, which is both ways.

import * as os from 'qjs:os';
import * as std from 'qjs:std';

const CHANNEL = 0;
const HEADER = 9;
const PART = 127;
const MAX_PAYLOAD = 1 << 20;
const MAX_MESSAGE = 64 << 20;
const MAX_PIECE = 1 << 18;  // Code units of a text that are at most MAX_PAYLOAD bytes.

const out = std.fdopen(CHANNEL, 'w');
let arrived = new Uint8Array(1 << 16);
let filled = 0;
let parts = [];
let size = 0;

/** Reads what has come, or waits for something. False at the end of the channel. */
export function read() {
  if (filled === arrived.length) {
    const larger = new Uint8Array(2 * arrived.length);
    larger.set(arrived);
    arrived = larger;
  }
  const got = os.read(CHANNEL, arrived.buffer, filled, arrived.length - filled);
  filled += Math.max(got, 0);
  return got > 0;
}

/** That many bytes, as characters from 0 to 255. */
function take(count) {
  let text = '';
  for (let at = 0; at < count; at += 8192) {
    text += String.fromCharCode.apply(null, arrived.subarray(at, Math.min(count, at + 8192)));
  }
  arrived.copyWithin(0, count, filled);
  filled -= count;
  return text;
}

/** The text that these bytes are in UTF-8. */
const decoded = (bytes) => (/[\x80-\xff]/.test(bytes) ? decodeURIComponent(escape(bytes)) : bytes);

/** The first thing that a fork reads: it is not a frame, and waits for the fork. */
export function begin() {
  while (filled < 4 && read());
  const count = new DataView(arrived.buffer).getUint32(0, true);
  while (filled < 4 + count && read());
  return decoded(take(4 + count).slice(4)).split('\0');
}

/** The next message that is there whole, or null. */
export function next() {
  while (filled >= HEADER) {
    const head = new DataView(arrived.buffer);
    const [count, type, channel] = [head.getUint32(0, true), head.getUint8(4), head.getUint32(5, true)];
    if (count > MAX_PAYLOAD || size + count > MAX_MESSAGE) std.exit(1);
    if (filled < HEADER + count) return null;
    parts.push(take(HEADER + count).slice(HEADER));
    size += count;
    if (type === PART) continue;
    const payload = parts.join('');
    parts = [];
    size = 0;
    return {type, channel, request: parsed(payload)};
  }
  return null;
}

function parsed(payload) {
  try {
    const value = JSON.parse(decoded(payload));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** A message; text is sent as it is. It goes out with the next flush(), if not before. */
export function send(type, channel, message) {
  let text = typeof message === 'string' ? message.toWellFormed() : JSON.stringify(message);
  while (text.length > MAX_PIECE) {
    const end = MAX_PIECE - (/[\ud800-\udbff]/.test(text[MAX_PIECE - 1]) ? 1 : 0);
    frame(PART, channel, text.slice(0, end));
    text = text.slice(end);
  }
  frame(type, channel, text);
}

function frame(type, channel, text) {
  const count = /[^\0-\x7f]/.test(text) ? unescape(encodeURIComponent(text)).length : text.length;
  for (const byte of [count, count >> 8, count >> 16, 0, type, channel, channel >> 8, channel >> 16, channel >> 24]) {
    out.putByte(byte & 255);
  }
  out.puts(text);
}

export const flush = () => out.flush();
