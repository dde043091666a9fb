// SPDX-License-Identifier: Apache-2.0
import { milliseconds } from "./duration.js";
import { ConnectionError, type GloveboxError, InvalidError, TimeoutError, errorOf, errorOfResponse,
} from "./errors.js";
import { jsonLines } from "./events.js";
import type { Duration, Error as ErrorDocument } from "./generated/models.js";
import { type Body, type OperationId, type Operations, type Route, routes } from "./generated/operations.js";
import { defaultSocket, fetchOverSocket, variable } from "./platform.js";
import { Socket } from "./socket.js";

export interface ClientOptions {
  /** `http://HOST:PORT`, `https://HOST:PORT` or `unix:PATH`. Default: GLOVEBOX_URL, or else the socket of
   *  `glovebox serve` on this machine. */
  url?: string | undefined;
  /** Default: GLOVEBOX_API_KEY. A Unix socket needs none. */
  apiKey?: string | undefined;
  /** How long one request may take that is not a stream or an execution. Default: 1 minute. */
  timeout?: Duration | undefined;
  /** How often a request is repeated that can be. Default: 3. */
  retries?: number | undefined;
  /** Used instead of the runtime's own `fetch`. */
  fetch?: typeof fetch | undefined;
}

export interface RequestOptions {
  /** Ends the request; what it started inside the sandbox ends with it. */
  signal?: AbortSignal | undefined;
  /** How long the request may take, instead of the client's `timeout`. */
  timeout?: Duration | undefined;
}

/** Options of what is not reached through an object that has a client already. */
export interface WithClient extends RequestOptions {
  /** Default: one made from the environment. */
  client?: Client | undefined;
}

type Path<Id extends OperationId> = Operations[Id]["path"];
type Given<Id extends OperationId> =
  & (keyof Path<Id> extends never ? { path?: undefined } : { path: Path<Id> })
  & { query?: Operations[Id]["query"] | undefined }
  & (Operations[Id] extends { body: infer B } ? { body: B }
    : Operations[Id] extends { body?: infer B } ? { body?: B } : never);

/** What an operation takes, and how it is sent. */
export type Call<Id extends OperationId> = Given<Id> & RequestOptions & {
  headers?: Record<string, string> | undefined;
  /** With the same key, the daemon does the same thing only once. */
  idempotencyKey?: string | undefined;
  /** Whether a request whose response was lost may be sent again. Default: whether its method allows that. */
  repeatable?: boolean | undefined;
};

/** A call whose operation is not known by name. */
export interface AnyCall extends RequestOptions {
  path?: Record<string, string | number> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  headers?: Record<string, string> | undefined;
  idempotencyKey?: string | undefined;
  repeatable?: boolean | undefined;
}

const LINES = "application/x-ndjson";
const REPEATABLE = new Set(["GET", "HEAD", "PUT", "PATCH", "DELETE"]);
/** Beyond this many seconds, waiting for another attempt is the caller's to decide. */
const LONGEST_WAIT_S = 30;
/** The daemon sends a keepalive every 5 seconds. */
const SILENCE_MS = 60_000;

function isRaw(body: unknown): body is Body {
  return typeof body === "string" || body instanceof Uint8Array || body instanceof Blob
    || body instanceof ReadableStream;
}

/** A parameter as one segment of a path: never one that a URL would resolve away. */
function segment(name: string, value: string | number | undefined): string {
  const text = String(value ?? "");
  if (text === "" || text === "." || text === "..") {
    throw new InvalidError(`invalid ${name} '${text}'`, { code: "invalid" });
  }
  return encodeURIComponent(text);
}

/** A path of files as the API has it. `.` and `..` are resolved here, as a URL would otherwise do so
 *  beyond the files. */
export function filePath(path: string): string {
  const segments: string[] = [];
  for (const each of path.split("/")) {
    if (each === "..") {
      if (segments.pop() === undefined && !path.startsWith("/")) {
        throw new InvalidError(`invalid path '${path}': it leads out of the workspace`,
          { code: "invalid", hint: "use an absolute path for files elsewhere" });
      }
    } else if (each !== "" && each !== ".") {
      segments.push(encodeURIComponent(each));
    }
  }
  return (path.startsWith("/") ? "/" : "") + segments.join("/");
}

function parseUrl(text: string): string {
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (path) return `unix:${path}`;
  } else if (/^https?:\/\/[^/?#@\s]+\/?$/.test(text) && URL.canParse(text)) {
    return new URL(text).origin;
  }
  throw new InvalidError(`invalid address '${text}'`,
    { code: "invalid", hint: "use http://HOST:PORT, https://HOST:PORT or unix:PATH" });
}

function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function wasRefused(error: unknown): boolean {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if ("code" in each && (each.code === "ECONNREFUSED" || each.code === "ENOENT")) return true;
  }
  return false;
}

/** One daemon, and how to reach it. Safe to share; holds no connection of its own. */
export class Client {
  readonly url: string;
  readonly timeout: Duration;
  readonly retries: number;
  readonly #apiKey: string | undefined;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions = {}) {
    this.url = parseUrl(options.url ?? variable("GLOVEBOX_URL") ?? `unix:${defaultSocket()}`);
    this.timeout = options.timeout ?? 60;
    milliseconds(this.timeout);
    this.retries = options.retries ?? 3;
    this.#apiKey = options.apiKey ?? variable("GLOVEBOX_API_KEY");
    if (this.#apiKey !== undefined && !/^[\x21-\x7e]+$/.test(this.#apiKey)) {
      throw new InvalidError("invalid API key",
        { code: "invalid", hint: "remove spaces and line breaks from the key" });
    }
    this.#fetch = options.fetch ?? (this.url.startsWith("unix:")
      ? fetchOverSocket(this.url.slice("unix:".length)) : (input, init) => fetch(input, init));
  }

  /** The client that the environment describes, where the caller has given none. */
  static of(client?: Client): Client {
    return client ?? new Client();
  }

  /** Where HTTP requests go; over a Unix socket, the host is only a name. */
  get origin(): string {
    return this.url.startsWith("unix:") ? "http://localhost" : this.url;
  }

  /** Calls an operation of the API and returns what its response holds. */
  async call<Id extends OperationId>(id: Id, ...[given]: Args<Id>): Promise<Operations[Id]["response"]> {
    return await this.callRoute(routes[id], (given ?? {}) as AnyCall) as Operations[Id]["response"];
  }

  /** As `call`, for a route that this version does not know. */
  async callRoute(route: Route, call: AnyCall = {}): Promise<unknown> {
    return await this.#exchange(route, call, call.timeout ?? this.timeout, async (response) => {
      if (response.status === 204) return undefined;
      const isJson = (response.headers.get("content-type") ?? "").includes("json");
      return await (isJson ? response.json() : response.text());
    });
  }

  /** Calls an operation and returns the response itself, as soon as its head is there. */
  async send<Id extends OperationId>(id: Id, ...[given]: Args<Id>): Promise<Response> {
    const call = (given ?? {}) as AnyCall;
    return await this.#exchange(routes[id], call, call.timeout, async (response) => response);
  }

  /** Calls an operation and yields the events of its response. Throws what a `failed` event says, and a
   *  `ConnectionError` if there is no event of the types in `last`. */
  async* events<Id extends OperationId>(id: Id, last: readonly string[], ...[given]: Args<Id>):
    AsyncGenerator<{ type: string } & Record<string, unknown>, void> {
    const call = (given ?? {}) as AnyCall;
    const headers = { ...call.headers, accept: LINES };
    const response = await this.#exchange(routes[id], { ...call, headers }, undefined, async (each) => each);
    try {
      for await (const event of jsonLines(response.body, SILENCE_MS)) {
        if (event.type === "failed") throw errorOf(event as Partial<ErrorDocument>);
        yield event;
        if (last.includes(event.type)) return;
      }
    } catch (error) {
      throw this.#explained(error, call.signal);
    }
    if (last.length > 0) {
      throw new ConnectionError("the stream of events ended early", { code: "connection_lost" });
    }
  }

  /** Opens the WebSocket at a path of the daemon. */
  async socket(path: string, signal?: AbortSignal): Promise<Socket> {
    try {
      return await Socket.open(this.url, path, this.#credentials(), signal);
    } catch (error) {
      throw this.#explained(error, signal);
    }
  }

  /** Sends a request to a path of the daemon, once and as it is; no status is an error. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#apiKey !== undefined) headers.set("x-api-key", this.#apiKey);
    try {
      // A server inside the sandbox must not send us, and our key, to other routes of the daemon.
      return await this.#fetch(this.origin + path, { ...init, headers, redirect: "manual",
        ...(init.body instanceof ReadableStream ? { duplex: "half" } : {}) } as RequestInit);
    } catch (error) {
      throw this.#explained(error, init.signal ?? undefined);
    }
  }

  #credentials(): Record<string, string> {
    return this.#apiKey === undefined ? {} : { authorization: `Bearer ${this.#apiKey}` };
  }

  #address(path: string, call: AnyCall): string {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => name === "path"
      ? filePath(String(call.path?.["path"] ?? "")) : segment(name, call.path?.[name]));
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== false) query.set(name, value === true ? "1" : String(value));
    }
    return this.origin + filled + (query.size > 0 ? `?${query}` : "");
  }

  /** What a failure of `fetch` means. The caller's own reason to abort is passed on as it is. */
  #explained(error: unknown, signal?: AbortSignal): unknown {
    if (signal?.aborted) return signal.reason;
    if (error instanceof Error && "hint" in error) return error;
    if (!(error instanceof Error)) return error;
    const refused = wasRefused(error);
    return new ConnectionError(refused ? `cannot reach the daemon at ${this.url}`
      : `the connection to the daemon at ${this.url} broke`, {
      code: refused ? "unreachable" : "connection_lost", cause: error,
      hint: refused ? "start it with 'glovebox serve', or set GLOVEBOX_URL" : undefined,
    });
  }

  async #exchange<T>(route: Route, call: AnyCall, timeout: Duration | undefined,
    read: (response: Response) => Promise<T>): Promise<T> {
    const url = this.#address(route.path, call);
    const raw = isRaw(call.body);
    const key = call.idempotencyKey ?? (route.keyed ? crypto.randomUUID() : undefined);
    const headers: Record<string, string> = { ...this.#credentials(), ...call.headers };
    if (key !== undefined) headers["idempotency-key"] = key;
    if (call.body !== undefined) headers["content-type"] ??= raw ? "application/octet-stream" : "application/json";
    const streamed = call.body instanceof ReadableStream;
    const repeatable = !streamed
      && (call.repeatable ?? (route.keyed === true || REPEATABLE.has(route.method)));
    const init: RequestInit & { duplex?: "half" } = {
      method: route.method, headers, redirect: "error",
      ...(call.body === undefined ? {} : { body: (raw ? call.body : JSON.stringify(call.body)) as BodyInit }),
      ...(streamed ? { duplex: "half" } : {}),
    };

    let lost = false;
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(url, init, call.signal, timeout, read);
      if (outcome.value) return outcome.value.is;
      const error = outcome.error;
      // The first attempt has removed it, and its response was lost.
      if (lost && route.method === "DELETE" && (error.status === 404 || error.status === 410)) {
        return await read(new Response(null, { status: 204 }));
      }
      const again = error.status === 429 || error.status === 503 || error.code === "unreachable"
        ? !streamed : repeatable && (error instanceof ConnectionError || error.status === 502 || error.status === 504);
      const wait = error.retryAfter ?? Math.min(8, 0.2 * 2 ** attempt) * (0.5 + Math.random() / 2);
      if (!again || attempt >= this.retries || wait > LONGEST_WAIT_S) throw error;
      lost ||= error instanceof ConnectionError && error.code !== "unreachable";
      await pause(wait, call.signal);
    }
  }

  async #attempt<T>(url: string, init: RequestInit, signal: AbortSignal | undefined,
    timeout: Duration | undefined, read: (response: Response) => Promise<T>):
    Promise<{ value: { is: T }; error?: never } | { value?: never; error: GloveboxError }> {
    signal?.throwIfAborted();
    const exchange = async (stop: AbortSignal | undefined) => {
      const response = await this.#fetch(url, stop ? { ...init, signal: stop } : init);
      return response.ok ? { value: { is: await read(response) } } : { error: await errorOfResponse(response) };
    };
    if (timeout === undefined) {
      try {
        return await exchange(signal);
      } catch (error) {
        return { error: this.#lost(error, signal) };
      }
    }
    // Not AbortSignal.any, and not by the signal alone: Node 20 may collect a signal that follows another
    // one while a body is read, and then nothing ends the reading.
    const limit = new AbortController();
    const passOn = () => limit.abort();
    signal?.addEventListener("abort", passOn, { once: true });
    const timer = setTimeout(passOn, milliseconds(timeout));
    const ended = new Promise<never>((_, reject) =>
      limit.signal.addEventListener("abort", () => reject(limit.signal.reason), { once: true }));
    const done = exchange(limit.signal);
    done.catch(() => {});  // It fails as well, after `ended`.
    let goesOn = false;
    try {
      const outcome = await Promise.race([done, ended]);
      goesOn = outcome.value?.is instanceof Response;  // Whose body is still to be read.
      return outcome;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (limit.signal.aborted) {
        throw new TimeoutError(`no response within ${timeout} s`.replace(/([a-z]) s$/, "$1"),
          { code: "client_timeout", hint: "pass a longer 'timeout'" });
      }
      return { error: this.#lost(error) };
    } finally {
      clearTimeout(timer);
      if (!goesOn) signal?.removeEventListener("abort", passOn);
    }
  }

  /** The error of a connection that broke; any other one is thrown. */
  #lost(error: unknown, signal?: AbortSignal): ConnectionError {
    const explained = this.#explained(error, signal);
    if (explained instanceof ConnectionError) return explained;
    throw explained;
  }
}

/** The arguments after an operation's name; none are needed where it has no parameters. */
export type Args<Id extends OperationId> = {} extends Call<Id> ? [call?: Call<Id>] : [call: Call<Id>];
