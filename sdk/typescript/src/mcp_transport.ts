// SPDX-License-Identifier: Apache-2.0
// How messages get to an MCP server and back: over the standard input and output of a program, or by streamable HTTP.
// What a server sends is bounded, and whoever waits for it does so for a time.
import type { ChildProcess } from "node:child_process";
import { ConnectionError, InvalidError, McpError, TimeoutError } from "./errors.js";
import { LineSplitter } from "./events.js";
import type { HeaderMap, HeaderSource, McpHttpOptions, McpProgramOptions } from "./mcp.js";
import { headerValue } from "./mcp_headers.js";

export type Message = Record<string, unknown>;

/** The revision without sessions: each request says in `_meta` what others say once, in the beginning. */
export const STATELESS = "2026-07-28";
const LONGEST_MESSAGE = 16 * 1024 * 1024;
const MS_TO_END = 2000;
const METHOD_NOT_FOUND = -32601;

export abstract class Transport {
  abstract readonly hasHeaders: boolean;
  revision = "";
  /** Goes with every request. */
  meta: Message | undefined;
  /** What of a request stands in headers, too. */
  mirrored: (request: Message) => Readonly<Record<string, string>> = () => ({});
  onNotification: (method: string) => void = () => {};
  /** Begins a session anew. */
  greet: () => Promise<void> = async () => {};
  #last = 0;

  constructor(readonly ms: number) {}

  get stateless(): boolean {
    return this.revision === STATELESS;
  }

  /** The result of a request. Throws McpError for an error that the server returns, and TimeoutError where there is no
   *  answer in time. */
  async ask(method: string, params: Message, { signal, ms = this.ms }: { signal?: AbortSignal | undefined; ms?: number } = {}): Promise<Message> {
    const id = ++this.#last;
    const late = AbortSignal.timeout(ms);
    const asked = this.meta ? { ...params, _meta: this.meta } : params;
    const { error, result } = await this.exchange({ jsonrpc: "2.0", id, method, params: asked },
      signal ? AbortSignal.any([late, signal]) : late).catch((failure: unknown) => {
      if (!late.aborted) throw failure;
      throw new TimeoutError(`the MCP server did not answer '${method}' within ${ms / 1000} s`,
        { code: "timeout", hint: "raise its timeout" });
    });
    if (typeof error === "object" && error !== null) {
      const { code, message, data } = error as Message;
      throw new McpError(`the MCP server refuses '${method}': ${String(message ?? "")}`,
        { status: typeof code === "number" ? code : undefined }, data);
    }
    if (typeof result !== "object" || result === null) {
      throw new McpError(`the MCP server's answer to '${method}' has no result`, { code: "protocol" });
    }
    return result as Message;
  }

  /** Sends a notification. */
  async tell(method: string, params?: Message): Promise<void> {
    await this.send({ jsonrpc: "2.0", method, ...(params ? { params } : {}) });
  }

  /** Takes what the server says of its own accord. It gets an answer, so that it waits for nothing that this client does
   *  not do. */
  protected take(message: Message): void {
    const { id, method } = message;
    if (typeof method !== "string") return;
    if (id === undefined) {
      this.onNotification(method);
      return;
    }
    // In this revision, servers ask nothing and clients answer nothing.
    if (this.stateless) return;
    const answer = method === "ping" ? { result: {} }
      : { error: { code: METHOD_NOT_FOUND, message: `no method '${method.slice(0, 100)}'` } };
    this.send({ jsonrpc: "2.0", id, ...answer }).catch(() => {});
  }

  abstract close(): Promise<void>;
  protected abstract exchange(request: Message, signal: AbortSignal): Promise<Message>;
  protected abstract send(message: Message): Promise<void>;
}

function parsed(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === "object" && message !== null && !Array.isArray(message) ? message as Message : undefined;
  } catch {
    return undefined;
  }
}

/** A server that this program has started: one message a line. */
export class ProgramTransport extends Transport {
  readonly hasHeaders = false;
  readonly #waiting = new Map<unknown, { resolve: (message: Message) => void; reject: (error: unknown) => void }>();
  readonly #ended: Promise<void>;
  #failure: ConnectionError | undefined;

  private constructor(private readonly child: ChildProcess, ms: number) {
    super(ms);
    this.#ended = new Promise((resolve) => child.once("close", () => resolve()));
    child.stdin?.on("error", () => {});
    void this.#read();
  }

  static async start(command: readonly string[], { env, cwd, timeout = 60 }: McpProgramOptions): Promise<ProgramTransport> {
    const { spawn } = await import("node:child_process");
    const child = spawn(command[0] ?? "", command.slice(1),
      { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env }, cwd });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => reject(
        new ConnectionError(`cannot start the MCP server '${command[0]}'`, { code: "unreachable", cause: error })));
    });
    return new ProgramTransport(child, timeout * 1000);
  }

  /** The server's input ends; a server that stays all the same is killed. */
  async close(): Promise<void> {
    this.child.stdin?.end();
    const insist = (["SIGTERM", "SIGKILL"] as const).map((signal, at) =>
      setTimeout(() => this.child.kill(signal), (at + 1) * MS_TO_END));
    await this.#ended;
    insist.forEach(clearTimeout);
  }

  protected async exchange(request: Message, signal: AbortSignal): Promise<Message> {
    if (this.#failure) throw this.#failure;
    const answer = new Promise<Message>((resolve, reject) => {
      this.#waiting.set(request["id"], { resolve, reject });
      signal.addEventListener("abort", () => {
        reject(signal.reason);
        this.tell("notifications/cancelled", { requestId: request["id"] }).catch(() => {});
      }, { once: true });
    });
    // Of a request that could not even be sent.
    answer.catch(() => {});
    try {
      await this.send(request);
      return await answer;
    } finally {
      this.#waiting.delete(request["id"]);
    }
  }

  protected async send(message: Message): Promise<void> {
    this.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  async #read(): Promise<void> {
    const lines = new LineSplitter();
    let size = 0;
    try {
      for await (const bytes of this.child.stdout ?? []) {
        size += (bytes as Uint8Array).length;
        for (const line of lines.push(bytes as Uint8Array)) {
          size = 0;
          this.#dispatch(parsed(line));
        }
        if (size > LONGEST_MESSAGE) break;
      }
    } catch {
      // It is over either way.
    }
    this.#failure = new ConnectionError("the MCP server has ended", { code: "connection_lost" });
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
  }

  #dispatch(message: Message | undefined): void {
    // Some servers print on standard output what is meant for a person.
    if (!message) return;
    if ("method" in message) this.take(message);
    else this.#waiting.get(message["id"])?.resolve(message);
  }
}

/** A server that is reached by streamable HTTP: the answer is JSON, or a stream of events with the answer among them. */
export class HttpTransport extends Transport {
  readonly hasHeaders = true;
  readonly #url: URL;
  readonly #headers: NonNullable<McpHttpOptions["headers"]>;
  #session: string | null = null;

  constructor(url: string, { headers = {}, timeout = 60 }: McpHttpOptions) {
    super(timeout * 1000);
    this.#url = new URL(url);
    if (!/^https?:$/.test(this.#url.protocol)) {
      throw new InvalidError(`invalid address of an MCP server: '${url}'`, { code: "invalid", hint: "use http:// or https://" });
    }
    this.#headers = headers;
  }

  async close(): Promise<void> {
    if (this.#session === null) return;
    // A server may keep its sessions for itself.
    await this.#fetch("DELETE", undefined, AbortSignal.timeout(MS_TO_END)).then((response) => response.body?.cancel(), () => {});
  }

  protected async exchange(request: Message, signal: AbortSignal): Promise<Message> {
    const session = this.#session;
    let response = await this.#fetch("POST", request, signal);
    if (response.status === 404 && session !== null) {
      await response.body?.cancel();
      // The server does not know the session any more. One of those who notice begins another one.
      if (this.#session === session) {
        this.#session = null;
        await this.greet();
      }
      response = await this.#fetch("POST", request, signal);
    }
    if (!response.ok) return await this.#refusal(response);
    if (request["method"] === "initialize") this.#session = response.headers.get("mcp-session-id");
    try {
      for await (const message of messages(response)) {
        if ("method" in message) this.take(message);
        else if (message["id"] === request["id"]) return message;
      }
    } finally {
      await response.body?.cancel().catch(() => {});
    }
    throw new McpError(`the MCP server did not answer '${String(request["method"])}'`, { code: "protocol" });
  }

  protected async send(message: Message): Promise<void> {
    const response = await this.#fetch("POST", message, AbortSignal.timeout(this.ms));
    await response.body?.cancel();
    if (!response.ok) throw this.#failure(response);
  }

  /** The error that a response has; throws where that is only a status. */
  async #refusal(response: Response): Promise<Message> {
    if (![401, 403].includes(response.status)) {
      for await (const message of messages(response)) if (message["error"]) return message;
    }
    await response.body?.cancel().catch(() => {});
    throw this.#failure(response);
  }

  #failure({ status }: Response): ConnectionError {
    const hint = status === 401 ? "give its token: headers: { authorization: 'Bearer …' }" : undefined;
    return new ConnectionError(`the MCP server at ${this.#url.href} returns status ${status}`, { code: "unreachable", status, hint });
  }

  async #fetch(method: string, message: Message | undefined, signal: AbortSignal): Promise<Response> {
    const source = this.#headers;
    if (typeof source === "function") return await this.#fetchWith(await source(), method, message, signal);
    if (!isSource(source)) return await this.#fetchWith(source, method, message, signal);
    const given = await source.headers();
    const response = await this.#fetchWith(given, method, message, signal);
    if (response.status !== 401 || !await source.refused(given)) return response;
    await response.body?.cancel();
    return await this.#fetchWith(await source.headers(), method, message, signal);
  }

  async #fetchWith(given: HeaderMap, method: string, message: Message | undefined, signal: AbortSignal): Promise<Response> {
    const headers = new Headers({ ...given, accept: "application/json, text/event-stream" });
    if (message) headers.set("content-type", "application/json");
    if (this.#session !== null) headers.set("mcp-session-id", this.#session);
    if (this.revision) headers.set("mcp-protocol-version", this.revision);
    if (this.stateless && message) {
      headers.set("mcp-method", String(message["method"]));
      const name = (message["params"] as Message | undefined)?.["name"];
      if (name !== undefined) headers.set("mcp-name", headerValue(String(name)));
      for (const [key, value] of Object.entries(this.mirrored(message))) headers.set(key, value);
    }
    try {
      // The headers have a token, which must not follow to another address.
      return await fetch(this.#url, { method, headers, signal, redirect: "manual", ...(message ? { body: JSON.stringify(message) } : {}) });
    } catch (error) {
      signal.throwIfAborted();
      throw new ConnectionError(`cannot reach the MCP server at ${this.#url.href}`, { code: "unreachable", cause: error });
    }
  }
}

function isSource(headers: NonNullable<McpHttpOptions["headers"]>): headers is HeaderSource {
  return typeof headers["headers" as keyof typeof headers] === "function";
}

/** What a response consists of. */
async function* messages(response: Response): AsyncGenerator<Message> {
  const events = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const lines = new LineSplitter();
  let data: string[] = [];
  let size = 0;
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    size += (bytes as Uint8Array).length;
    if (size > LONGEST_MESSAGE) throw new McpError("a message of the MCP server is larger than 16 MiB", { code: "protocol" });
    if (!events) {
      text += decoder.decode(bytes as Uint8Array, { stream: true });
      continue;
    }
    for (const raw of lines.push(bytes as Uint8Array)) {
      const line = raw.replace(/\r$/, "");
      if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      if (line !== "") continue;
      const message = parsed(data.join("\n"));
      data = [];
      size = 0;
      if (message) yield message;
    }
  }
  const last = parsed(events ? data.join("\n") : text);
  if (last) yield last;
  else if (!events && response.ok) throw new McpError("the MCP server's answer is not a message of JSON-RPC", { code: "protocol" });
}
