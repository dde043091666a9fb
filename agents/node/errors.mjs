// SPDX-License-Identifier: Apache-2.0
// Errors as a traceback that speaks of cells: places mapped back to what the user wrote, frames of the agent left out.

import util from 'node:util';
import {fileURLToPath} from 'node:url';
import {Error, Map, Number, Reflect, String, URL} from './primordials.mjs';
import {describe} from './values.mjs';

const {inspect} = util;
const {isNativeError} = util.types;
const {apply} = Reflect;
const {toString: errorToString} = Error.prototype;

const OWN = [new URL('.', import.meta.url).href, fileURLToPath(new URL('.', import.meta.url))];
const PLACE = /((?:hidden )?cell \d+)( functions)?:(\d+):(\d+)/g;
const MAX_CELLS = 500;
const MAX_CODE = 16 << 20;
const MAX_LINES = 200;
const MAX_LINE = 2000;
const CONTEXT_LINES = 3;

/** The name of the script that declares a cell's functions. */
export const functionsOf = (cell) => `${cell} functions`;

/** The cells that a traceback may speak of: the newest ones. */
export class Cells {
  #cells = new Map();
  #size = 0;

  constructor() {
    // V8 asks this for the text of each stack, also of those that the guest prints itself.
    Error.prepareStackTrace = (error, sites) => this.#stack(error, sites);
  }

  /** @param original, functions the ways from a place in what runs to one in `code`: in the cell's script, and in that of its functions. */
  add(name, code, original, functions) {
    this.#forget(name);
    this.#cells.set(name, {code, original, functions});
    this.#size += code.length;
    for (const oldest of this.#cells.keys()) {
      if (oldest === name || (this.#cells.size <= MAX_CELLS && this.#size <= MAX_CODE)) break;
      this.#forget(oldest);
    }
  }

  #forget(name) {
    this.#size -= this.#cells.get(name)?.code.length ?? 0;
    this.#cells.delete(name);
  }

  /** {name, value, traceback} of anything that was thrown. */
  report(error) {
    const [name, value] = nameAndValue(error);
    const lines = this.lines(error);
    return {name, value, traceback: [...this.#excerpt(lines), ...lines].map((line) => line.slice(0, MAX_LINE))};
  }

  /** The error with its stack, as far as it is the guest's. */
  lines(error) {
    let text;
    try {
      text = inspect(error, {colors: false});
      // Node puts an error without frames in brackets.
      if (isNativeError(error) && text.startsWith('[') && text.endsWith(']')) text = text.slice(1, -1);
    } catch {
      text = nameAndValue(error).join(': ');
    }
    const lines = [];
    for (const line of text.split('\n')) {
      if (isOfGuest(line)) lines.push(line);
      else if (line.endsWith(' {') && lines.length > 0) lines.push(`${lines.pop()} {`);  // properties follow the stack
    }
    return lines.slice(0, MAX_LINES);
  }

  /** A report of a syntax error found before the cell ran. */
  reportSyntax(name, message, line, column) {
    const place = {cell: name, line, column};
    return {name: 'SyntaxError', value: message, traceback: [...this.#pointer(place, 1), `SyntaxError: ${message}`]};
  }

  #stack(error, sites) {
    const frames = sites.map((site) => `    at ${site}`).filter(isOfGuest).map((frame) => this.#mapped(frame));
    return [header(error), ...frames].join('\n');
  }

  #mapped(frame) {
    return frame.replace(PLACE, (match, name, inFunctions, line, column) => {
      const cell = this.#cells.get(name);
      if (cell === undefined) return match;
      const place = (inFunctions ? cell.functions : cell.original)(Number(line), Number(column));
      return `${name}:${place.line}:${place.column}`;
    });
  }

  #excerpt(lines) {
    const frame = lines.find((line) => /^\s+at /.test(line) && line.search(PLACE) >= 0);
    if (frame === undefined) return [];
    const [[, cell, , line, column]] = frame.matchAll(PLACE);
    return this.#pointer({cell, line: Number(line), column: Number(column)}, CONTEXT_LINES);
  }

  #pointer({cell, line, column}, count) {
    const source = this.#cells.get(cell)?.code.split('\n');
    if (source === undefined || line < 1 || line > source.length) return [];
    const first = Math.max(1, line - count + 1);
    const numbered = source.slice(first - 1, line).map((text, i) => `${String(first + i).padStart(5)} | ${text}`);
    return [`${cell}:${line}`, ...numbered, `${' '.repeat(7 + column)}^`, ''];
  }
}

/** The first line of a stack, as V8 writes it. */
function header(error) {
  try {
    return apply(errorToString, error, []);
  } catch {
    return 'Error';
  }
}

function nameAndValue(error) {
  try {
    if (isNativeError(error) || error instanceof Error) return [String(error.name), String(error.message)];
    return ['Uncaught', inspect(error, {colors: false, depth: 1})];
  } catch {
    return ['Error', describe(error)];
  }
}

function isOfGuest(line) {
  if (!/^\s+at /.test(line)) return true;
  return !line.includes('node:internal/') && !line.includes('(node:vm:') && !OWN.some((own) => line.includes(own));
}
