// SPDX-License-Identifier: Apache-2.0
// Runs one cell after the other, and says how each ended.

import vm from 'node:vm';
import util from 'node:util';
import {Cells, functionsOf} from './errors.mjs';
import {DisplayHandle, declare} from './guest.mjs';
import {Array, Buffer, Object, Promise, Reflect, Set, String, process, setImmediate} from './primordials.mjs';
import {transform} from './transform.mjs';
import {bundleOf, describe, plain} from './values.mjs';
import * as wire from './wire.mjs';

const {Script} = vm;
const {isPromise} = util.types;
const {apply} = Reflect;
const {runInThisContext} = Script.prototype;
const {then} = Promise.prototype;
const {isArray} = Array;
const {keys} = Object;
const {from: bufferFrom} = Buffer;
const cwd = process.cwd.bind(process);
const chdir = process.chdir.bind(process);
const {env: environment} = process;

// Node would put an excerpt of the code into the error's stack, before the places are mapped.
const RUN_OPTIONS = [{displayErrors: false}];

const INTERRUPTED = {
  name: 'KeyboardInterrupt',
  value: 'the execution was interrupted',
  traceback: ['KeyboardInterrupt: the execution was interrupted'],
};

export class Executor {
  #wire;
  #bundles;
  #tools;
  #stripTypes;
  #cells = new Cells();
  #queue = {first: null, last: null};
  #running = null;
  #count = 0;
  #hidden = 0;
  #lastChannel = 0;

  /** Names that the cells declared. */
  declared = new Set();

  /** @param stripTypes for a language with types; null otherwise. */
  constructor(connection, bundles, tools, stripTypes) {
    this.#wire = connection;
    this.#bundles = bundles;
    this.#tools = tools;
    this.#stripTypes = stripTypes;
  }

  /** The channel that output belongs to. */
  get channel() {
    return this.#lastChannel;
  }

  submit(channel, request) {
    const entry = {channel, request, next: null};
    if (this.#queue.first === null) this.#queue.first = entry;
    else this.#queue.last.next = entry;
    this.#queue.last = entry;
    this.#schedule();
  }

  /** Does once what each cell needs, so that the first is not the slow one. */
  warm() {
    const cell = transform('const warm = [1]; await warm; warm');
    plain(new Script(`${cell.script().length}`).runInThisContext(RUN_OPTIONS[0]));
  }

  /** Ends what runs as interrupted. A promise that it left may still go on, as nothing can stop it. */
  interrupt() {
    if (this.#running !== null) this.#fail(this.#running, INTERRUPTED);
  }

  /** Ends everything that was asked for, because the context ends. */
  abort() {
    if (this.#running !== null) this.#done(this.#running, 'aborted');
    for (let {first} = this.#queue; first !== null; first = first.next) {
      this.#wire.sendJson(wire.DONE, first.channel, {status: 'aborted', execution_count: this.#count});
    }
    this.#queue.first = null;
  }

  /** Says on standard error what nothing caught. */
  reportUncaught(error) {
    let text;
    try {
      text = `Uncaught ${this.#cells.lines(error).join('\n').trimStart()}\n`;
    } catch {
      text = `Uncaught ${describe(error)}\n`;
    }
    this.#wire.sendBytes(wire.STDERR, this.channel, bufferFrom(text));
  }

  display({data, display_id, update}) {
    const encoded = this.#bundles.encode(data);
    this.#wire.sendJson(wire.DISPLAY, this.channel, {data: encoded, metadata: {}, display_id, update});
  }

  #schedule() {
    setImmediate(() => {
      const {first} = this.#queue;
      if (this.#running !== null || first === null) return;
      this.#queue.first = first.next;
      this.#execute(first);
    });
  }

  #execute({channel, request}) {
    const {code, silent = false, store_history: stored = !silent} = request;
    if (stored) this.#count += 1;
    const name = stored ? `cell ${this.#count}` : `hidden cell ${++this.#hidden}`;
    const running = {channel, silent, name, count: this.#count, restore: null};
    this.#running = running;
    this.#lastChannel = channel;
    this.#wire.sendJson(wire.STARTED, channel, {execution_count: running.count});
    try {
      this.#enter(running, request);
      const cell = this.#compile(running, typeof code === 'string' ? code : '');
      if (cell === null) return;
      const value = this.#run(cell);
      if (isPromise(value) && (cell.isAsync || cell.hasResult)) {
        apply(then, value, [
          (settled) => this.#finish(running, cell, settled),
          (error) => this.#fail(running, error),
        ]);
      } else {
        this.#finish(running, cell, value);
      }
    } catch (error) {
      this.#fail(running, error);
    }
  }

  #compile(running, code) {
    let source = {code, original: (line, column) => ({line, column})};
    this.#cells.add(running.name, code, source.original, source.original);
    try {
      if (this.#stripTypes) source = this.#stripTypes(code);
      const cell = transform(source.code);
      const original = (line, column) => {
        const place = cell.original(line, column);
        return source.original(place.line, place.column);
      };
      this.#cells.add(running.name, code, original, source.original);
      const functions = cell.functionScript();
      return {
        names: cell.names,
        isAsync: cell.isAsync,
        hasResult: cell.hasResult,
        functions: functions === null ? null : new Script(functions, {filename: functionsOf(running.name)}),
        script: new Script(cell.script(), {filename: running.name}),
      };
    } catch (error) {
      if (error.loc === undefined) throw error;
      const script = this.#compileAsIs(running.name, source.code);
      if (script !== null) return {names: [], isAsync: false, hasResult: true, functions: null, script};
      const {line, column} = this.#stripTypes && error.raisedAt !== undefined
        ? source.original(error.loc.line, error.loc.column + 1)
        : {line: error.loc.line, column: error.loc.column + 1};
      const message = error.message.replace(/ \(\d+:\d+\)$/, '');
      this.#fail(running, null, this.#cells.reportSyntax(running.name, message, line, column));
      return null;
    }
  }

  /** V8 words errors better than the parser and may know newer syntax; but it knows neither `await` nor `import` here. */
  #compileAsIs(filename, code) {
    try {
      return new Script(code, {filename});
    } catch (error) {
      if (this.#stripTypes || /\b(await|import|export|module)\b/.test(error.message)) return null;
      throw error;
    }
  }

  #run({names, functions, script}) {
    for (const name of names) {
      declare(name);
      this.declared.add(name);
    }
    if (functions !== null) apply(runInThisContext, functions, RUN_OPTIONS);
    return apply(runInThisContext, script, RUN_OPTIONS);
  }

  /** Environment, working directory and tools of this execution alone. */
  #enter(running, {env, cwd: directory, tools}) {
    if (isArray(tools)) this.#tools.enter(running.channel, tools);
    const names = keys(env ?? {});
    const before = {__proto__: null};
    for (const name of names) before[name] = environment[name];
    const place = typeof directory === 'string' ? cwd() : null;
    running.restore = () => {
      for (const name of names) {
        if (before[name] === undefined) delete environment[name];
        else environment[name] = before[name];
      }
      if (place !== null) chdir(place);
    };
    for (const name of names) environment[name] = String(env[name]);
    if (place !== null) chdir(directory);
  }

  #finish(running, cell, value) {
    if (this.#running !== running) return;
    if (!cell.hasResult || value === undefined || running.silent || value instanceof DisplayHandle) {
      this.#done(running, 'ok');
      return;
    }
    try {
      const bundle = bundleOf(value);
      if (isPromise(bundle)) {
        apply(then, bundle, [(made) => this.#result(running, made), (error) => this.#fail(running, error)]);
      } else {
        this.#result(running, bundle);
      }
    } catch (error) {
      this.#fail(running, error);
    }
  }

  #result(running, bundle) {
    if (this.#running !== running) return;
    try {
      const data = this.#bundles.encode(bundle);
      this.#wire.sendJson(wire.RESULT, running.channel, {data, metadata: {}, execution_count: running.count});
    } catch (error) {
      this.#fail(running, error);
      return;
    }
    this.#done(running, 'ok');
  }

  #fail(running, error, report = error === INTERRUPTED ? INTERRUPTED : this.#report(error)) {
    if (this.#running !== running) return;
    this.#wire.sendJson(wire.ERROR, running.channel, report);
    this.#done(running, 'error');
  }

  #report(error) {
    try {
      return this.#cells.report(error);
    } catch {
      // The guest broke what the report is made with.
      return {name: 'Error', value: describe(error), traceback: []};
    }
  }

  #done(running, status) {
    try {
      running.restore?.();
    } catch {
      // The directory is gone; there is no way back.
    }
    this.#tools.leave();
    this.#running = null;
    this.#wire.sendJson(wire.DONE, running.channel, {status, execution_count: running.count});
    if (this.#queue.first !== null) this.#schedule();
  }
}
