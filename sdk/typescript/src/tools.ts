// SPDX-License-Identifier: Apache-2.0
import type { Client } from "./client.js";
import { ConflictError, GoneError, InvalidError, NotFoundError, TooLargeError } from "./errors.js";
import type * as models from "./generated/models.js";

/** What one call of a tool is about. */
export interface ToolCallContext {
  /** The call's id. */
  id: string;
  /** Aborted as soon as nobody waits for the result any more. */
  signal: AbortSignal;
}

/** A function of this program that code inside a sandbox may call. */
export interface Tool {
  description?: string | undefined;
  /** JSON Schema of an object: the arguments by name. */
  parameters?: Record<string, unknown> | undefined;
  /** The result must be JSON. What it throws, the code inside gets as an error. */
  execute(args: any, context: ToolCallContext): unknown;
}

/** Tools by name. The code can call these and no others. A name with dots, such as `mcp.github.create_issue`, puts the
 *  tool in a module. */
export type Tools = Readonly<Record<string, Tool>>;

/** What the daemon is told of the tools. */
export function toolSchemas(tools: Tools): { name: string; description?: string; parameters?: Record<string, unknown> }[] {
  return Object.entries(tools).map(([name, tool]) => {
    if (!/^[A-Za-z][\w-]{0,63}(\.[A-Za-z][\w-]{0,63}){0,3}$/.test(name)) {
      throw new InvalidError(`invalid tool name '${name}'`,
        { code: "invalid", hint: "begin with a letter; use letters, digits, '_' and '-', 64 at most; dots separate modules" });
    }
    return { name,
      ...(tool.description === undefined ? {} : { description: tool.description }),
      ...(tool.parameters === undefined ? {} : { parameters: tool.parameters }) };
  });
}

/** More of a message, the daemon refuses. */
const LONGEST_MESSAGE = 16_000;

function failure(message: string): models.ToolReply {
  return { error: { message: message.slice(0, LONGEST_MESSAGE) } };
}

/** Runs the tool that a call names. Never throws: a failure is an answer, too. */
async function answerOf(tools: Tools, name: string, args: unknown, context: ToolCallContext): Promise<models.ToolReply> {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (!tool) return failure(`no tool '${name}'`);
  try {
    const result = await tool.execute(args, context) ?? null;
    // Here, so that a result that is not JSON becomes the tool's error.
    if (JSON.stringify(result) === undefined) return failure(`the result of '${name}' is not JSON`);
    return { result };
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  }
}

/** Answers the tool calls of one execution. */
export class ToolCalls {
  readonly #ended = new AbortController();
  readonly #seen = new Set<string>();

  constructor(private readonly client: Client, private readonly path: { id: string; cid: string },
    private readonly tools: Tools, private readonly onFailure: (error: unknown) => void) {}

  /** Starts the tool of a `tool_call` event; the same call only once. */
  start(event: { id: string; name: string; arguments: unknown }): void {
    if (this.#seen.has(event.id)) return;
    this.#seen.add(event.id);
    this.#answer(event).catch((error) => {
      // The code has ended meanwhile, or another client has answered.
      const late = error instanceof ConflictError || error instanceof NotFoundError || error instanceof GoneError;
      if (!late && !this.#ended.signal.aborted) this.onFailure(error);
    });
  }

  /** Tells the tools that nobody waits for them any more. */
  end(): void {
    this.#ended.abort();
  }

  async #answer(event: { id: string; name: string; arguments: unknown }): Promise<void> {
    const context = { id: event.id, signal: this.#ended.signal };
    const body = await answerOf(this.tools, event.name, event.arguments, context);
    if (this.#ended.signal.aborted) return;
    try {
      await this.#send(event.id, body);
    } catch (error) {
      if (!(error instanceof TooLargeError || error instanceof InvalidError)) throw error;
      await this.#send(event.id, failure(`the result of '${event.name}' was refused: ${error.message}`));
    }
  }

  async #send(call: string, body: models.ToolReply): Promise<void> {
    // Sent twice, it is refused the second time: the code gets each result once.
    await this.client.call("replyTool", { path: { ...this.path, call }, body, repeatable: true });
  }
}
