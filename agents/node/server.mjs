// SPDX-License-Identifier: Apache-2.0
// Answers the frames of agents/README.md.

import {Executor} from './executor.mjs';
import {defineGlobals, redirectOutput} from './guest.mjs';
import {Input} from './input.mjs';
import {Interrupts} from './interrupt.mjs';
import * as introspect from './introspect.mjs';
import {Number, process, setImmediate} from './primordials.mjs';
import {Tools} from './tools.mjs';
import {Bundles, describe} from './values.mjs';
import * as wire from './wire.mjs';

const FEATURES = ['complete', 'inspect', 'is_complete', 'input', 'fetch', 'variables', 'tools'];
const DEFAULT_INLINE = 8 << 20;
const {min} = Math;
const exit = process.exit.bind(process);
const emit = process.emit.bind(process);

class Server {
  #wire = new wire.Wire(3);
  #executor;
  #bundles;
  #input;
  #tools = new Tools(this.#wire, (text) => this.#note(text));
  #introspection;
  #exit = process.reallyExit.bind(process);
  #leaving = false;

  constructor(language, stripTypes) {
    const inline = Number(process.env.GLOVEBOX_INLINE);
    // A value has to fit into one message together with what surrounds it.
    this.#bundles = new Bundles(inline > 0 ? min(inline, 16 << 20) : DEFAULT_INLINE);
    this.#executor = new Executor(this.#wire, this.#bundles, this.#tools, stripTypes);
    this.#input = new Input(this.#wire, () => this.#executor.channel, (message) => this.#defer(message));
    this.#hookProcess();
    const interrupts = new Interrupts(() => {
      this.#input.interrupt();
      this.#executor.interrupt();
    });
    const output = (type) => (bytes) => this.#wire.sendBytes(type, this.#executor.channel, bytes);
    redirectOutput(output(wire.STDOUT), output(wire.STDERR));
    defineGlobals({
      sendDisplay: (display) => this.#executor.display(display),
      clear: (wait) => this.#wire.sendJson(wire.CLEAR, this.#executor.channel, {wait}),
      prompt: (text = '') => this.#input.prompt(text),
      input: (text = '', options = {}) => this.#input.input(text, options),
      onlyTypesMayMiss: stripTypes !== null,
    });
    this.#introspection = new introspect.Introspection(this.#executor.declared, stripTypes);
    this.#wire.sendJson(wire.READY, 0, {language, version: process.versions.node, features: FEATURES});
    this.#wire.onMessage = (type, channel, payload) => this.#handle(type, channel, payload);
    this.#wire.start();
    interrupts.watch();
    // The first cell need not wait for the parser and other things to be loaded.
    setImmediate(() => this.#executor.warm());
  }

  #hookProcess() {
    // The guest, and what it forks, should not take up the agent's arguments.
    delete process.env.GLOVEBOX_INLINE;
    process.argv.length = 1;
    process.execArgv.length = 0;
    // process.exit() comes here after the guest's own listeners.
    process.reallyExit = (code) => {
      if (!this.#leaving) {
        this.#leaving = true;
        this.#note(`the code ended the context with process.exit(${code})`);
        this.#executor.abort();
      }
      this.#exit(code);
    };
    process.setUncaughtExceptionCaptureCallback((error) => {
      try {
        if (emit('uncaughtException', error, 'uncaughtException')) return;
      } catch (another) {
        this.#executor.reportUncaught(another);
      }
      this.#executor.reportUncaught(error);
    });
  }

  #note(text) {
    this.#wire.sendJson(wire.NOTE, this.#executor.channel, {text});
  }

  /** A message that came while the guest waited for input. */
  #defer({type, channel, payload}) {
    if (type === wire.END) this.#leave();
    setImmediate(() => this.#handle(type, channel, payload));
  }

  #leave() {
    this.#leaving = true;
    this.#executor.abort();
    try {
      exit(0);  // with the guest's own listeners
    } finally {
      this.#exit(0);
    }
  }

  #handle(type, channel, payload) {
    switch (type) {
      case undefined:
      case wire.END: this.#leave(); break;
      case wire.EXECUTE: this.#executor.submit(channel, wire.decode(payload)); break;
      case wire.INPUT: this.#input.answer(wire.decode(payload)); break;
      case wire.TOOL_RESULT: this.#tools.answer(wire.decode(payload)); break;
      default: this.#reply(type, channel, wire.decode(payload)); break;
    }
  }

  #reply(type, channel, request) {
    let answer;
    try {
      answer = this.#answer(type, request);
    } catch (error) {
      answer = {error: describe(error)};
    }
    this.#wire.sendJson(wire.REPLY, channel, answer);
  }

  #answer(type, request) {
    switch (type) {
      case wire.COMPLETE: return this.#introspection.complete(request);
      case wire.INSPECT: return this.#introspection.inspect(request);
      case wire.IS_COMPLETE: return this.#introspection.isComplete(request);
      case wire.VARIABLES: return this.#introspection.variables();
      case wire.FETCH: return this.#bundles.fetch(request);
      case wire.CHECKPOINT: return {error: 'a Node process cannot be forked'};
      default: return {error: `no such request: ${type}`};
    }
  }
}

export async function serve(language) {
  const stripTypes = language === 'typescript' ? (await import('./typescript.mjs')).stripTypes : null;
  return new Server(language, stripTypes);
}
