// SPDX-License-Identifier: Apache-2.0
// Servers of the Model Context Protocol, whose tools code in a sandbox may call. They run or are reached outside: what
// they need, such as a token, never enters the sandbox.
import { InvalidError, McpError } from "./errors.js";
import { HttpTransport, ProgramTransport, type Transport } from "./mcp_transport.js";
import type { Tool, Tools } from "./tools.js";

/** The newest first: a server that does not know it answers with one that it knows. */
const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const MOST_TOOLS = 1000;
const MOST_PAGES = 100;

export interface McpOptions {
  /** Seconds for each answer. Default: 60. */
  timeout?: number | undefined;
}

export interface McpProgramOptions extends McpOptions {
  /** Variables besides those of this program. */
  env?: Readonly<Record<string, string>> | undefined;
  cwd?: string | undefined;
}

export interface McpHttpOptions extends McpOptions {
  /** Sent with every request, such as `authorization`; never to another address that the server names. */
  headers?: Readonly<Record<string, string>> | undefined;
}

interface ListedTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: Record<string, unknown>;
}

/** A server that is connected, by a revision from 2024-11-05 to 2025-11-25. It cannot ask this client for anything: for neither input, nor a model, nor files. */
export class McpServer {
  #tools: ReadonlyMap<string, Tool> | undefined;
  #changes = 0;
  name = "";
  version = "";
  /** What the server says about its use. */
  instructions = "";

  private constructor(private readonly transport: Transport) {
    transport.onNotification = (method) => {
      if (method !== "notifications/tools/list_changed") return;
      this.#changes++;
      this.#tools = undefined;
    };
    transport.greet = async () => await this.#greet();
  }

  /** Starts a server as a program that speaks over its standard input and output. */
  static async start(command: readonly string[], options: McpProgramOptions = {}): Promise<McpServer> {
    return await McpServer.#over(await ProgramTransport.start(command, options));
  }

  /** Connects to a server by streamable HTTP. */
  static async connect(url: string, options: McpHttpOptions = {}): Promise<McpServer> {
    return await McpServer.#over(new HttpTransport(url, options));
  }

  static async #over(transport: Transport): Promise<McpServer> {
    const server = new McpServer(transport);
    try {
      await server.#greet();
      return server;
    } catch (error) {
      await transport.close();
      throw error;
    }
  }

  /** All tools of the server, or those of these names, by the names that code calls them by: characters that no name of a
   *  function may have become `_`. */
  async tools(...names: string[]): Promise<Tools> {
    const changes = this.#changes;
    const found = this.#tools ?? await this.#list();
    if (changes === this.#changes) this.#tools = found;
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
    const result = await this.transport.ask("tools/call", { name, arguments: args }, signal);
    const content = (Array.isArray(result["content"]) ? result["content"] : []) as { type?: unknown; text?: unknown }[];
    const texts = content.filter((each) => each?.type === "text").map((each) => String(each.text ?? ""));
    const text = texts.join("\n");
    if (result["isError"] === true) throw new McpError(text || `the tool '${name}' failed`);
    return result["structuredContent"] ?? (texts.length === content.length ? text : content);
  }

  /** Ends the connection, and the program that `start` has started. */
  async close(): Promise<void> {
    await this.transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #greet(): Promise<void> {
    const told = await this.transport.ask("initialize", {
      protocolVersion: REVISIONS[0], capabilities: {}, clientInfo: { name: "glovebox", version: "1" },
    });
    const revision = String(told["protocolVersion"]).slice(0, 40);
    if (!REVISIONS.includes(revision)) {
      throw new McpError(`the MCP server speaks revision '${revision}'`,
        { code: "protocol", hint: `this client knows ${REVISIONS.join(", ")}` });
    }
    const about = (told["serverInfo"] ?? {}) as { name?: unknown; version?: unknown };
    this.name = String(about.name ?? "");
    this.version = String(about.version ?? "");
    this.instructions = String(told["instructions"] ?? "");
    this.transport.revision = revision;
    await this.transport.tell("notifications/initialized");
  }

  async #list(): Promise<ReadonlyMap<string, Tool>> {
    const found = new Map<string, Tool>();
    let asked: Record<string, unknown> = {};
    for (let page = 0; page < MOST_PAGES && found.size <= MOST_TOOLS; page++) {
      const { tools, nextCursor } = await this.transport.ask("tools/list", asked);
      for (const each of (Array.isArray(tools) ? tools : []) as ListedTool[]) {
        if (typeof each?.name === "string") found.set(each.name, this.#tool(each));
      }
      if (!nextCursor) return found;
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
