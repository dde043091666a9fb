// SPDX-License-Identifier: Apache-2.0
// Servers of the Model Context Protocol, whose tools code in a sandbox may call. They run or are reached outside: what
// they need, such as a token, never enters the sandbox.
import { ConnectionError, InvalidError, McpError, TimeoutError } from "./errors.js";
import { type HeaderPaths, headerPaths, mirrored } from "./mcp_headers.js";
import { HttpTransport, type Message, ProgramTransport, STATELESS, type Transport } from "./mcp_transport.js";
import type { Tool, Tools } from "./tools.js";

/** Those that begin with `initialize`, the newest first: a server that does not know it answers with one that it knows. */
const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const ABOUT = { name: "glovebox", version: "1" };
const META = {
  "io.modelcontextprotocol/protocolVersion": STATELESS,
  "io.modelcontextprotocol/clientInfo": ABOUT,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const PROBE_SECONDS = 10;
const HEADER_MISMATCH = -32020;
const MISSING_CAPABILITY = -32021;
const UNSUPPORTED_REVISION = -32022;
const LONGEST_FRESH_MS = 3_600_000;
/** Of one call, which a server has continued by asking for it again. */
const MOST_ROUNDS = 10;
const ROUND_MS = 100;
const MOST_TOOLS = 1000;
const MOST_PAGES = 100;

export interface McpOptions {
  /** Seconds for each answer. Default: 60. */
  timeout?: number | undefined;
  /** Seconds that the server may take to say whether it knows revision 2026-07-28, as some that do not stay silent; with
   *  0, it is not asked, and an older revision is spoken. Default: 10. */
  probe?: number | undefined;
}

export interface McpProgramOptions extends McpOptions {
  /** Variables besides those of this program. */
  env?: Readonly<Record<string, string>> | undefined;
  cwd?: string | undefined;
}

export interface McpHttpOptions extends McpOptions {
  /** Sent with every request, such as `authorization`; never to another address that the server names. A function is
   *  asked for them before each request, so that a token can be renewed; so is an `McpLogin`, which signs a person in. */
  headers?: HeaderMap | (() => HeaderMap | Promise<HeaderMap>) | HeaderSource | undefined;
}

/** What knows the headers of a request, and hears of those that the server does not take. */
export interface HeaderSource {
  headers(): Promise<HeaderMap>;
  /** The server has returned 401 to a request with these headers. Whether it is worth another try. */
  refused(headers: HeaderMap): Promise<boolean>;
}

export type HeaderMap = Readonly<Record<string, string>>;

interface ListedTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: Record<string, unknown>;
}

/** The tools by the server's own names, what of their arguments is in headers, and until when that may be believed. */
interface Listing {
  tools: ReadonlyMap<string, Tool>;
  headers: ReadonlyMap<string, HeaderPaths>;
  until: number;
}

/** A server that is connected. The revision is 2026-07-28, which has no sessions, or one from 2024-11-05 to 2025-11-25,
 *  which begin with `initialize`. It cannot ask this client for anything: for neither input, nor a model, nor files. */
export class McpServer {
  #listing: Listing | undefined;
  #changes = 0;
  #transport!: Transport;
  name = "";
  version = "";
  /** What the server says about its use. */
  instructions = "";

  private constructor(private readonly open: () => Promise<Transport>, private readonly probeMs: number) {}

  /** Starts a server as a program that speaks over its standard input and output; a second time, if it ends at the
   *  question whether it knows the newest revision. */
  static async start(command: readonly string[], options: McpProgramOptions = {}): Promise<McpServer> {
    return await McpServer.#over(() => ProgramTransport.start(command, options), options);
  }

  /** Connects to a server by streamable HTTP. */
  static async connect(url: string, options: McpHttpOptions = {}): Promise<McpServer> {
    return await McpServer.#over(async () => new HttpTransport(url, options), options);
  }

  static async #over(open: () => Promise<Transport>, { probe = PROBE_SECONDS }: McpOptions): Promise<McpServer> {
    const server = new McpServer(open, probe * 1000);
    await server.#attach();
    try {
      await server.#greet();
      return server;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  /** The revision of the protocol that is spoken. */
  get revision(): string {
    return this.#transport.revision;
  }

  /** All tools of the server, or those of these names, by the names that code calls them by: characters that no name of a
   *  function may have become `_`. */
  async tools(...names: string[]): Promise<Tools> {
    const { tools: found } = await this.#listed();
    const chosen: Record<string, Tool> = {};
    for (const name of names.length > 0 ? names : found.keys()) {
      const tool = found.get(name);
      if (!tool) throw new InvalidError(`the MCP server '${this.name}' has no tool '${name}'`, { code: "invalid" });
      const inCode = nameInCode(name);
      if (Object.hasOwn(chosen, inCode)) throw new InvalidError(`two tools are named '${inCode}' in code`, { code: "invalid" });
      chosen[inCode] = tool;
    }
    return chosen;
  }

  /** Calls a tool by the server's own name of it. Returns its structured result where it has one, its text where it has
   *  only text, and otherwise the list of its contents. Throws `McpError` for what the tool says is an error. */
  async call(name: string, args: Record<string, unknown> = {}, signal?: AbortSignal): Promise<unknown> {
    const result = await this.#called(name, args, signal).catch(async (error: unknown) => {
      if (!(error instanceof McpError) || error.status !== HEADER_MISMATCH) throw error;
      // The tool has changed, or has never been asked for.
      this.#listing = undefined;
      await this.#listed();
      return await this.#called(name, args, signal);
    });
    const content = (Array.isArray(result["content"]) ? result["content"] : []) as { type?: unknown; text?: unknown }[];
    const texts = content.filter((each) => each?.type === "text").map((each) => String(each.text ?? ""));
    const text = texts.join("\n");
    if (result["isError"] === true) throw new McpError(text || `the tool '${name}' failed`);
    return result["structuredContent"] ?? (texts.length === content.length ? text : content);
  }

  /** Ends the connection, and the program that `start` has started. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The result of a call, which is made again while the server has only a state to return. */
  async #called(name: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<Message> {
    const asked: Message = { name, arguments: args };
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const result = await this.#transport.ask("tools/call", asked, { signal });
      const { resultType = "complete", inputRequests, requestState } = result;
      if (resultType === "complete") return result;
      if (resultType !== "input_required") {
        throw new McpError(`the MCP server returns a '${String(resultType).slice(0, 40)}' for a result`, { code: "protocol" });
      }
      if (inputRequests && Object.keys(inputRequests).length > 0) {
        throw new McpError(`the tool '${name}' asks for input, which nobody gives here`);
      }
      asked["requestState"] = requestState;
      await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
      signal?.throwIfAborted();
    }
    throw new McpError(`the tool '${name}' has no result after ${MOST_ROUNDS} rounds`);
  }

  async #attach(): Promise<void> {
    const transport = await this.open();
    transport.onNotification = (method) => {
      if (method !== "notifications/tools/list_changed") return;
      this.#changes++;
      this.#listing = undefined;
    };
    transport.greet = async () => await this.#initialize();
    transport.mirrored = ({ method, params }) => {
      const { name, arguments: args } = params as Message;
      const paths = method === "tools/call" ? this.#listing?.headers.get(String(name)) : undefined;
      return paths ? mirrored(paths, args) : {};
    };
    this.#transport = transport;
  }

  /** Asks first by the newest revision, as every server of it answers that. */
  async #greet(): Promise<void> {
    let late = false;
    try {
      if (this.probeMs > 0 && await this.#discover(Math.min(this.#transport.ms, this.probeMs))) return;
    } catch (error) {
      late = error instanceof TimeoutError;
      if (hasEnded(error)) await this.#startAgain();
      else if (!late) throw error;
    }
    try {
      await this.#initialize();
    } catch (error) {
      // A server that takes long to start knows only now what it was asked first.
      if (late && hasEnded(error)) {
        await this.#startAgain();
        await this.#initialize();
      } else if (!late || !(error instanceof McpError) || !await this.#discover(this.#transport.ms)) {
        throw error;
      }
    }
  }

  async #startAgain(): Promise<void> {
    await this.#transport.close();
    await this.#attach();
  }

  /** Whether the server knows the revision without sessions, which is spoken from now on. */
  async #discover(ms: number): Promise<boolean> {
    this.#transport.revision = STATELESS;
    this.#transport.meta = META;
    try {
      const told = await this.#transport.ask("server/discover", {}, { ms });
      if (!isAny(told["supportedVersions"], [STATELESS])) return false;
      const { "io.modelcontextprotocol/serverInfo": about } = (told["_meta"] ?? {}) as Message;
      this.#introduce(about, told["instructions"]);
      return true;
    } catch (error) {
      const { status = 0 } = error as { status?: number };
      if (error instanceof ConnectionError && status >= 400 && status < 500) return false;
      if (!(error instanceof McpError) || status === HEADER_MISMATCH || status === MISSING_CAPABILITY) throw error;
      const { supported } = (error.data ?? {}) as Message;
      if (status !== UNSUPPORTED_REVISION || isAny(supported, REVISIONS)) return false;
      throw unknown(supported);
    }
  }

  async #initialize(): Promise<void> {
    this.#transport.revision = "";
    this.#transport.meta = undefined;
    const told = await this.#transport.ask("initialize", { protocolVersion: REVISIONS[0], capabilities: {}, clientInfo: ABOUT });
    const { protocolVersion } = told;
    if (!isAny([protocolVersion], REVISIONS)) throw unknown([protocolVersion]);
    this.#introduce(told["serverInfo"], told["instructions"]);
    this.#transport.revision = String(protocolVersion);
    await this.#transport.tell("notifications/initialized");
  }

  #introduce(about: unknown, instructions: unknown): void {
    const { name, version } = (about ?? {}) as Message;
    this.name = String(name ?? "");
    this.version = String(version ?? "");
    this.instructions = String(instructions ?? "");
  }

  async #listed(): Promise<Listing> {
    const changes = this.#changes;
    if (this.#listing && Date.now() < this.#listing.until) return this.#listing;
    const listing = await this.#list();
    if (changes === this.#changes) this.#listing = listing;
    return listing;
  }

  async #list(): Promise<Listing> {
    const tools = new Map<string, Tool>();
    const headers = new Map<string, HeaderPaths>();
    const { stateless, hasHeaders } = this.#transport;
    let until = Infinity;
    let asked: Record<string, unknown> = {};
    for (let page = 0; page < MOST_PAGES && tools.size <= MOST_TOOLS; page++) {
      const now = Date.now();
      const { tools: listed, nextCursor, ttlMs } = await this.#transport.ask("tools/list", asked);
      for (const each of (Array.isArray(listed) ? listed : []) as ListedTool[]) {
        if (typeof each?.name !== "string") continue;
        const paths = stateless && hasHeaders ? headerPaths(each.inputSchema) : new Map();
        if (typeof paths === "string") {
          console.warn(`glovebox: MCP server '${this.name}', tool '${each.name}': ${paths}`);
          continue;
        }
        tools.set(each.name, this.#tool(each));
        headers.set(each.name, paths);
      }
      // Servers of the other revisions say when it changes.
      if (stateless) until = Math.min(until, now + freshMs(ttlMs));
      if (!nextCursor) return { tools, headers, until };
      asked = { cursor: nextCursor };
    }
    throw new McpError(`the MCP server '${this.name}' has more than ${MOST_TOOLS} tools`, { code: "protocol" });
  }

  #tool({ name, title, description, inputSchema }: ListedTool): Tool {
    return {
      description: String(description ?? title ?? ""),
      parameters: inputSchema ?? {},
      execute: async (args: Record<string, unknown>, { signal }) => await this.call(name, args, signal),
    };
  }
}

function hasEnded(error: unknown): boolean {
  return error instanceof ConnectionError && error.code === "connection_lost";
}

function isAny(listed: unknown, known: readonly string[]): boolean {
  return Array.isArray(listed) && known.some((each) => listed.includes(each));
}

/** How long a list may be believed whose server says so. */
function freshMs(ms: unknown): number {
  return typeof ms === "number" && ms > 0 ? Math.min(ms, LONGEST_FRESH_MS) : 0;
}

function unknown(listed: unknown): McpError {
  const told = Array.isArray(listed) ? listed.slice(0, 10).map((each) => String(each).slice(0, 40)).join(", ") : "";
  return new McpError(`the MCP server speaks revision '${told}'`,
    { code: "protocol", hint: `this client knows ${[STATELESS, ...REVISIONS].join(", ")}` });
}

/** A name that code can call, of any name: `repo/search` is `repo_search`. */
function nameInCode(name: string): string {
  const made = name.replace(/[^A-Za-z0-9_]/g, "_");
  return (/^[A-Za-z]/.test(made) ? made : `t_${made}`).slice(0, 64);
}

/** Servers by the names of their modules; or of a server, the tools that `McpServer.tools` has returned. */
export type McpServers = Readonly<Record<string, McpServer | Tools>>;

/** Called with a prompt, and with the options that the code gives. */
export type Complete = (prompt: any, options: Record<string, unknown>) => unknown;

/** All that code may call: `tools`, those of servers in modules `mcp.NAME`, and `llm.complete`. */
export async function toolsOf(tools: Tools | undefined, servers: McpServers | undefined, llm: Complete | undefined): Promise<Tools> {
  const all: Record<string, Tool> = { ...tools };
  for (const [module, server] of Object.entries(servers ?? {})) {
    if (!/^[A-Za-z][\w-]{0,63}$/.test(module)) {
      throw new InvalidError(`invalid name of an MCP server: '${module}'`,
        { code: "invalid", hint: "begin with a letter; use letters, digits, '_' and '-', 64 at most" });
    }
    const found = server instanceof McpServer ? await server.tools() : server;
    for (const [name, tool] of Object.entries(found)) all[`mcp.${module}.${name}`] = tool;
  }
  if (llm) {
    all["llm.complete"] = {
      description: "Asks a language model.",
      parameters: { type: "object", required: ["prompt"], additionalProperties: true,
        properties: { prompt: { description: "What to ask: a text, or a list of messages." } } },
      execute: async ({ prompt, ...options }: Record<string, unknown>) => await llm(prompt, options),
    };
  }
  return all;
}
