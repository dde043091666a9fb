// SPDX-License-Identifier: Apache-2.0
// Serves JavaScript executions in QuickJS for WASI.
//
// QuickJS ends where a promise is rejected that nobody handles, unless it is interactive: so that is how it is started
// (languages/javascript.toml), and the handler of descriptor 0 here takes the place of its own. What the zygote (zygote.cc) waits
// for is the first read, in begin(): all before it is done once, for every fork.

import * as os from 'qjs:os';
import * as std from 'qjs:std';
import {toScript} from './cells.mjs';
import {seedRandom} from './chance.mjs';
import * as channel from './channel.mjs';
import {errorText, inspect} from './inspect.mjs';
import {complete, completeness, hideWhatIsThere, look, variables} from './names.mjs';

const [EXECUTE, INPUT, COMPLETE, INSPECT, IS_COMPLETE, VARIABLES, END] = [1, 2, 3, 4, 5, 8, 9];
const [READY, STARTED, STDOUT, STDERR, DISPLAY, RESULT, ERROR, INPUT_REQUEST, DONE, REPLY] = [64, 65, 66, 67, 68, 69, 70, 71, 73, 74];
const FEATURES = ['complete', 'inspect', 'is_complete', 'input', 'variables'];
const ANSWERS = {[COMPLETE]: complete, [INSPECT]: look, [IS_COMPLETE]: completeness, [VARIABLES]: variables};
const MIME_TYPE = /^(text|image|application|audio|video|model|font|multipart|message)\/[\w.+-]+$/;
const DISPLAY_METHOD = Symbol.for('Jupyter.display');

const waiting = [];  // Messages that have not had their turn.
let current = 0;     // The channel that output belongs to.
let count = 0;
let busy = false;

function output(type, text) {
  if (text !== '') channel.send(type, current, text);
  channel.flush();
}

function flushStreams() {
  std.out.flush();
  std.err.flush();
}

/** The bundle of a value. An object may bring its own, by a method named Symbol.for('Jupyter.display') or `$$mimeBundle`. */
function bundle(value) {
  const method = typeof value === 'object' && value !== null ? value[DISPLAY_METHOD] ?? value.$$mimeBundle : undefined;
  const data = {'text/plain': inspect(value)};
  if (typeof method !== 'function') return data;
  for (const [type, item] of Object.entries(method.call(value) ?? {})) {
    if (MIME_TYPE.test(type)) data[type] = /json$/.test(type) ? item : String(item);
  }
  return data;
}

function display(value) {
  flushStreams();
  channel.send(DISPLAY, current, {data: bundle(value), metadata: {}});
  channel.flush();
}

function formatted(values) {
  const [first, ...rest] = values;
  if (typeof first !== 'string') return values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' ');
  const text = rest.length === 0 ? first : first.replace(/%([sdifjoOc%])/g, (sign, kind) => {
    if (kind === '%') return '%';
    if (rest.length === 0) return sign;
    const value = rest.shift();
    switch (kind) {
      case 's': return typeof value === 'string' ? value : inspect(value, 0);
      case 'd': return typeof value === 'bigint' ? `${value}n` : String(Number(value));
      case 'i': return String(Number.parseInt(value, 10));
      case 'f': return String(Number.parseFloat(value));
      case 'j': return JSON.stringify(value) ?? 'undefined';
      case 'c': return '';
      default: return inspect(value, 4);
    }
  });
  return [text, ...rest.map((value) => (typeof value === 'string' ? value : inspect(value)))].join(' ');
}

const printing = (type) => (...values) => output(type, `${formatted(values)}\n`);

/** What ends a timer's function must not end the interpreter. */
const guarded = (call, ...values) => () => {
  try {
    call(...values);
  } catch (error) {
    output(STDERR, `Uncaught ${error instanceof Error ? errorText(error) : inspect(error)}\n`);
  }
};

/** A line from the client, or null where there is none. */
function ask(text = '') {
  flushStreams();
  channel.send(INPUT_REQUEST, current, {prompt: String(text), password: false});
  channel.flush();
  for (;;) {
    for (let message; (message = channel.next()) !== null;) {
      if (message.type === INPUT) return typeof message.request.text === 'string' ? message.request.text : null;
      waiting.push(message);
    }
    if (!channel.read()) std.exit(0);
  }
}

function takeOver() {
  const timers = {
    setTimeout: (call, time = 0, ...values) => os.setTimeout(guarded(call, ...values), time),
    setInterval: (call, time = 0, ...values) => os.setInterval(guarded(call, ...values), time),
    clearTimeout: os.clearTimeout,
    clearInterval: os.clearInterval,
  };
  const [log, warn] = [printing(STDOUT), printing(STDERR)];
  Object.assign(globalThis, timers, {
    os: Object.freeze({...os, ...timers}),
    console: {
      log, info: log, debug: log, dir: log, table: log, warn, error: warn,
      trace: (...values) => warn(errorText(new Error(formatted(values))).replace(/^Error/, 'Trace')),
      assert: (holds, ...values) => void (holds || warn('Assertion failed:', ...values)),
    },
    print: (...values) => output(STDOUT, `${values.map(String).join(' ')}\n`),
    prompt: ask,
    display,
  });
  for (const name of Object.getOwnPropertyNames(globalThis)) Object.defineProperty(globalThis, name, {enumerable: false});
}

/** The value of what the cell ends with. As in Node's REPL, a cell such as `{a: 1}` is meant as an object. */
async function run(code) {
  const options = {async: true, backtrace_barrier: true};
  if (/^\s*\{/.test(code) && !/;\s*$/.test(code)) {
    const script = `(${code}\n)`;
    let isObject = true;
    try {
      std.evalScript(script, {compile_only: true, async: true});
    } catch {
      isObject = false;
    }
    if (isObject) return (await std.evalScript(script, options)).value;
  }
  return (await std.evalScript(toScript(code), options)).value;
}

function report(error) {
  const isError = error instanceof Error;
  const lines = (isError ? errorText(error) : `Uncaught ${inspect(error)}`).split('\n').slice(0, 200);
  channel.send(ERROR, current, {
    name: isError ? String(error.name) : 'Uncaught',
    value: isError ? String(error.message) : inspect(error, 1),
    traceback: lines,
  });
}

async function execute({code = '', silent = false, env = {}, cwd}) {
  if (!silent) count++;
  channel.send(STARTED, current, {execution_count: count});
  channel.flush();
  const before = Object.keys(env).map((name) => [name, std.getenv(name)]);
  let status = 'ok';
  try {
    for (const [name, value] of Object.entries(env)) std.setenv(name, String(value));
    if (cwd && os.chdir(cwd) !== 0) throw new Error(`cannot change to the directory '${cwd}'`);
    const value = await run(String(code));
    flushStreams();
    if (value !== undefined && !silent) {
      channel.send(RESULT, current, {data: bundle(value), metadata: {}, execution_count: count});
    }
  } catch (error) {  // Whatever the guest throws ends its execution alone.
    status = 'error';
    flushStreams();
    try {
      report(error);
    } catch {
      channel.send(ERROR, current, {name: 'Error', value: '(an error that cannot be shown)', traceback: []});
    }
  }
  for (const [name, value] of before) value === undefined ? std.unsetenv(name) : std.setenv(name, value);
  channel.send(DONE, current, {status, execution_count: count});
  channel.flush();
}

function answer({type, request}) {
  try {
    return ANSWERS[type]?.(request) ?? {error: 'this agent does not support this request'};
  } catch (error) {  // Code of the guest's may run for it.
    return {error: inspect(error, 0)};
  }
}

async function handle(message) {
  if (message.type === END) std.exit(0);
  if (message.type === EXECUTE) {
    current = message.channel;
    await execute(message.request);
  } else if (message.type !== INPUT) {
    channel.send(REPLY, message.channel, answer(message));
    channel.flush();
  }
}

async function handleAll() {
  if (busy) return;
  busy = true;
  for (let message; (message = waiting.shift() ?? channel.next()) !== undefined && message !== null;) await handle(message);
  busy = false;
}

function onReadable() {
  if (!channel.read()) std.exit(0);
  void handleAll();
}

const version = globalThis.navigator?.userAgent?.split('/')[1] ?? '';
takeOver();
// What each fork would otherwise be the first to do.
inspect(await run('[1, {a: `${2}`}, new Map([[1, 2]])].map((x) => x)'));
toScript('let warm = [1]; class Warm {}');
hideWhatIsThere();
flushStreams();
std.gc();
// Here the forks begin: how they are to start comes first.
const [seed, directory, ...environment] = channel.begin();
seedRandom(seed.match(/.{8}/g).map((digits) => Number.parseInt(digits, 16)));
for (const variable of environment) {
  const at = variable.indexOf('=');
  if (at > 0) std.setenv(variable.slice(0, at), variable.slice(at + 1));
}
os.chdir(directory);
channel.send(READY, 0, {language: 'javascript', version, features: FEATURES});
channel.flush();
os.setReadHandler(0, onReadable);
