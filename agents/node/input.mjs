// SPDX-License-Identifier: Apache-2.0
// Questions of the guest to its user: one that waits (`prompt`), and one that gives a promise (`input`).

import {Boolean, Error, Promise, String} from './primordials.mjs';
import {END, INPUT, INPUT_REQUEST, decode} from './wire.mjs';

const MAX_PROMPT = 65536;

export class Input {
  #wire;
  #channel;
  #defer;
  #waiting = [];

  /** @param defer takes a message that is no answer and came while the guest waited; END does not come back from it. */
  constructor(connection, channel, defer) {
    this.#wire = connection;
    this.#channel = channel;
    this.#defer = defer;
  }

  /** A line of text; null at the end of the input. */
  prompt(text) {
    this.#ask(text, false);
    for (;;) {
      const message = this.#wire.receiveSync();
      if (message === null) this.#defer({type: END});
      else if (message.type !== INPUT) {
        this.#defer(message);
      } else if (this.#waiting.length > 0) {
        this.answer(decode(message.payload));  // asked earlier, so answered earlier
      } else {
        return lineOf(decode(message.payload));
      }
    }
  }

  input(text, {password = false}) {
    this.#ask(text, Boolean(password));
    return new Promise((resolve, reject) => {
      this.#waiting.push({resolve, reject});
    });
  }

  answer(message) {
    this.#waiting.shift()?.resolve(lineOf(message));
  }

  interrupt() {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const {reject} of waiting) reject(new Error('the input was interrupted'));
  }

  #ask(text, password) {
    this.#wire.sendJson(INPUT_REQUEST, this.#channel(), {prompt: String(text).slice(0, MAX_PROMPT), password});
  }
}

function lineOf({text, eof}) {
  return eof ? null : String(text ?? '');
}
