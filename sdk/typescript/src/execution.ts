// SPDX-License-Identifier: Apache-2.0
import { Backlog } from "./backlog.js";
import type { Client } from "./client.js";
import { ConnectionError } from "./errors.js";
import type { ExecutionEvent } from "./events.js";
import type { Duration, Environment, Limits, Result, Verdict as VerdictDocument } from "./generated/models.js";
import { type Complete, type McpServers, toolsOf } from "./mcp.js";
import { type Tools, ToolCalls, toolSchemas } from "./tools.js";
import { Verdict } from "./verdict.js";

type EventOf<Type> = Extract<ExecutionEvent, { type: Type }>;

/** Called as code runs. What a callback throws ends the execution. */
export interface Callbacks {
  onStdout?: ((text: string) => void) | undefined;
  onStderr?: ((text: string) => void) | undefined;
  onResult?: ((result: Result) => void) | undefined;
  /** Every event, these three included. */
  onEvent?: ((event: ExecutionEvent) => void) | undefined;
}

export interface ExecuteOptions extends Callbacks {
  /** Variables of the environment, for this code alone. */
  env?: Environment | undefined;
  limits?: Limits | undefined;
  /** Restores the state before, if the code ends the interpreter. */
  recover?: boolean | undefined;
  store_history?: boolean | undefined;
  /** The verdict says what the code has changed, and `Context.commit` or `discard` decides. Tools are not called. */
  dry_run?: boolean | undefined;
  /** `open` lets a dry run reach what the network rules allow, although nobody can take that back. */
  dry_run_network?: "closed" | "open" | undefined;
  /** How long a dry run waits for a decision before it is discarded. Default: 5 minutes. */
  dry_run_timeout?: Duration | undefined;
  /** Replies to what the code asks for with `input()`. `null` is the end of input. */
  onInput?: ((request: EventOf<"input_request">) => string | null | Promise<string | null>) | undefined;
  /** Lets the code ask for input; a call of `Context.reply` gives it. `onInput` implies it. */
  allow_input?: boolean | undefined;
  /** Functions of this program that the code may call. */
  tools?: Tools | undefined;
  /** Servers whose tools the code finds in modules: `mcp.github.create_issue` of `{ github: server }`. */
  mcp?: McpServers | undefined;
  /** Called as `llm.complete(prompt, …)` in Python, and as `llm.complete({prompt, …})` in JavaScript. */
  llm?: Complete | undefined;
  /** How many calls of tools there may be, and how long they may wait before that counts as time of the code. */
  tool_limits?: { calls?: number | undefined; wait?: Duration | undefined } | undefined;
  /** Ends the code. */
  signal?: AbortSignal | undefined;
  /** Names the execution: where the context has seen the key, its code does not run again. Default: a new one. */
  idempotencyKey?: string | undefined;
}

/** Passes an event on to the callbacks for it. */
export function tell(callbacks: Callbacks, event: ExecutionEvent): void {
  callbacks.onEvent?.(event);
  if (event.type === "stdout") callbacks.onStdout?.(event.text);
  if (event.type === "stderr") callbacks.onStderr?.(event.text);
  if (event.type === "result") {
    const { type: _, ...result } = event;
    callbacks.onResult?.(result);
  }
}

/** The verdict in the last event of a stream. */
export function verdictOf(event: EventOf<"verdict">): Verdict {
  const { type: _, ...fields } = event;
  return new Verdict(fields as VerdictDocument);
}

/** About how many bytes an event takes. */
function sizeOf(event: ExecutionEvent): number {
  if (event.type === "stdout" || event.type === "stderr") return event.text.length + (event.base64?.length ?? 0);
  return event.type === "result" ? JSON.stringify(event.data).length : 100;
}

/** Takes an event; resolves once it may have the next. */
export type EventSink = (event: ExecutionEvent) => Promise<void>;

/** Code that runs. Await it for its verdict, or iterate over it for its events; or both. */
export class Execution implements PromiseLike<Verdict>, AsyncIterable<ExecutionEvent> {
  readonly #events = new Backlog<ExecutionEvent>(sizeOf);
  readonly #verdict: Promise<Verdict>;

  /** @internal */
  constructor(source: (sink: EventSink) => Promise<Verdict>) {
    this.#verdict = source((event) => this.#events.add(event)).finally(() => this.#events.end());
    // Who only iterates finds the error there.
    this.#verdict.catch(() => {});
  }

  then<A = Verdict, B = never>(onVerdict?: ((verdict: Verdict) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<A | B> {
    return this.#verdict.then(onVerdict, onError);
  }

  catch<B>(onError: (error: unknown) => B | PromiseLike<B>): Promise<Verdict | B> {
    return this.#verdict.catch(onError);
  }

  finally(onEnd: () => void): Promise<Verdict> {
    return this.#verdict.finally(onEnd);
  }

  /** All events from the first on, and finally `verdict`. If the iteration begins late, the first may be missing of
   *  more than 4 MiB. A loop that is further behind holds up the code. */
  async* [Symbol.asyncIterator](): AsyncGenerator<ExecutionEvent, void> {
    yield* this.#events.read("start");
    await this.#verdict;
  }
}

/** How often an execution is looked for again after its stream of events broke. */
const ATTEMPTS = 4;

/** Executes code in a context and returns its verdict. A stream that breaks is asked for again by its key: the
 *  code runs once, and each event comes once. */
export async function execute(client: Client, path: { id: string; cid: string }, code: string,
  options: ExecuteOptions, sink: EventSink): Promise<Verdict> {
  const { env, limits, recover, store_history, dry_run, dry_run_network, dry_run_timeout, tool_limits } = options;
  const { mcp, llm } = options;
  const tools = mcp || llm ? await toolsOf(options.tools, mcp, llm) : options.tools;
  const body = { code, env, limits, recover, store_history, dry_run, dry_run_network, dry_run_timeout,
    allow_input: options.allow_input ?? (options.onInput ? true : undefined),
    ...(tools ? { tools: toolSchemas(tools), tool_limits } : {}) };
  const stop = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
  const calls = tools && new ToolCalls(client, path, tools, (error) => stop.abort(error));
  const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();

  const reply = async (request: EventOf<"input_request">): Promise<void> => {
    const value = await options.onInput?.(request) ?? null;
    await client.call("replyInput", { path, body: { value, request: request.request } });
  };
  let seen = 0;
  try {
    for (let attempt = 0; ; attempt++) {
      let at = 0;
      try {
        for await (const raw of client.events("execute", ["verdict"], { path, body, idempotencyKey, signal })) {
          const event = raw as ExecutionEvent;
          if (event.type === "keepalive") continue;
          // Of a stream that begins again, what has been here is known. A question to a person is asked anew, or not.
          if (event.type !== "approval_needed") {
            if (at++ < seen) continue;
            seen = at;
          }
          tell(options, event);
          if (event.type === "tool_call") calls?.start(event);
          if (event.type === "input_request" && options.onInput) {
            reply(event).catch((error) => stop.abort(error));
          }
          await sink(event);
          if (event.type === "verdict") return verdictOf(event);
        }
      } catch (error) {
        const broken = error instanceof ConnectionError && error.code === "connection_lost";
        if (!broken || attempt + 1 >= ATTEMPTS || signal.aborted) throw error;
      }
    }
  } finally {
    calls?.end();
    // A callback that threw has left the stream open.
    stop.abort();
  }
}
