// SPDX-License-Identifier: Apache-2.0
// What the adapters for models share: two tools, their schemas, and what a model is shown of a result.
import type { Context } from "../context.js";
import { ConflictError, GoneError, InvalidError } from "../errors.js";
import type { Sandbox } from "../sandbox.js";
import type { CommandResult, Verdict } from "../verdict.js";

/** A tool as models are told of it. */
export interface ToolDefinition {
  name: string;
  description: string;
  /** JSON Schema of its arguments. */
  parameters: { type: "object"; properties: Record<string, unknown>; required: string[]; additionalProperties: false };
}

export const runCodeTool: ToolDefinition = {
  name: "run_code",
  description: "Runs code in a live interpreter inside a sandbox. Variables, imports and files persist from call to call."
    + " The value of the last expression and displayed plots are returned with the output.",
  parameters: {
    type: "object",
    properties: {
      code: { type: "string", description: "The code." },
      language: { type: "string", enum: ["python", "javascript", "bash"], description: "The interpreter; python if in doubt." },
    },
    required: ["code", "language"],
    additionalProperties: false,
  },
};

export const runCommandTool: ToolDefinition = {
  name: "run_command",
  description: "Runs a shell command in the sandbox's workspace and returns its output and exit status.",
  parameters: {
    type: "object",
    properties: { command: { type: "string", description: "A line for /bin/sh." } },
    required: ["command"],
    additionalProperties: false,
  },
};

/** What a model is shown. */
export interface ToolOutput {
  text: string;
  images: { mediaType: "image/png" | "image/jpeg"; base64: string }[];
  ok: boolean;
}

export interface ToolOptions {
  /** Characters of text that a model is shown: half from its head, half from its tail. Default: 20,000. */
  maxCharacters?: number | undefined;
  signal?: AbortSignal | undefined;
}

const ESCAPES = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

function shortened(text: string, most: number): string {
  const plain = text.replace(ESCAPES, "").trimEnd();
  if (plain.length <= most) return plain;
  const half = Math.floor(most / 2);
  return `${plain.slice(0, half)}\n[… ${plain.length - 2 * half} characters left out …]\n${plain.slice(-half)}`;
}

/** A verdict as a model is shown it. */
export function outputOf(verdict: Verdict, maxCharacters = 20_000): ToolOutput {
  const parts = [verdict.stdout, ...verdict.results.map((each) => String(each.data["text/plain"] ?? "")),
    verdict.error ? verdict.error.traceback || `${verdict.error.name}: ${verdict.error.value}` : "", verdict.stderr];
  if (!verdict.ok && !verdict.error) parts.push(`[the code ended with ${verdict.status}, exit status ${verdict.exit_code}]`);
  const text = parts.map((each) => each.trimEnd()).filter(Boolean).join("\n");
  const images = verdict.results.flatMap(({ data }) => (["image/png", "image/jpeg"] as const).flatMap((mediaType) => {
    const base64 = data[mediaType];
    return typeof base64 === "string" ? [{ mediaType, base64 }] : [];
  }));
  return { text: shortened(text || "[no output]", maxCharacters), images, ok: verdict.ok };
}

function outputOfCommand(result: CommandResult, maxCharacters = 20_000): ToolOutput {
  const parts = [result.stdout, result.stderr, result.ok ? "" : `[exit status ${result.exit_code}: ${result.reason}]`];
  const text = parts.map((each) => each.trimEnd()).filter(Boolean).join("\n");
  return { text: shortened(text || "[no output]", maxCharacters), images: [], ok: result.ok };
}

const contexts = new WeakMap<Sandbox, Map<string, Promise<Context>>>();

/** The one context of a language that the tools of a sandbox use. */
function contextFor(sandbox: Sandbox, language: string): Promise<Context> {
  let known = contexts.get(sandbox);
  if (!known) contexts.set(sandbox, known = new Map());
  let context = known.get(language);
  if (!context) {
    context = sandbox.contexts.create({ language });
    const mine = known;
    context.catch(() => mine.delete(language));
    known.set(language, context);
  }
  return context;
}

async function isAlive(context: Context, sandbox: Sandbox): Promise<boolean> {
  return (await sandbox.contexts.list()).some((each) => each.id === context.id && each.alive);
}

/** Runs code for a model, in the context that the sandbox has for its language. */
export async function runCode(sandbox: Sandbox, code: string, language = "python", options: ToolOptions = {}):
  Promise<ToolOutput> {
  for (let attempt = 0; ; attempt++) {
    const context = await contextFor(sandbox, language);
    try {
      return outputOf(await context.execute(code, { signal: options.signal }), options.maxCharacters);
    } catch (error) {
      const refused = error instanceof ConflictError || error instanceof GoneError;
      if (!refused || attempt > 0 || await isAlive(context, sandbox)) throw error;
      // An earlier call has ended the interpreter, so this code has not run.
      contexts.get(sandbox)?.delete(language);
    }
  }
}

/** Runs the tool that a model has called. What is wrong with the call is told the model, not thrown. */
export async function runTool(sandbox: Sandbox, name: string, args: unknown, options: ToolOptions = {}):
  Promise<ToolOutput> {
  const given = (typeof args === "object" && args !== null ? args : {}) as Record<string, unknown>;
  const text = (field: string): string => {
    const value = given[field];
    if (typeof value !== "string") throw new InvalidError(`'${field}' must be text`, { code: "invalid" });
    return value;
  };
  try {
    if (name === runCodeTool.name) {
      return await runCode(sandbox, text("code"), given["language"] === undefined ? "python" : text("language"), options);
    }
    if (name === runCommandTool.name) {
      return outputOfCommand(await sandbox.commands.run(text("command"), { signal: options.signal }), options.maxCharacters);
    }
    // The tool that Anthropic's models know without a schema: one shell that stays.
    if (name === "bash") {
      if (given["restart"] === true) {
        await (await contextFor(sandbox, "bash")).restart();
        return { text: "[restarted]", images: [], ok: true };
      }
      return await runCode(sandbox, text("command"), "bash", options);
    }
    return { text: `unknown tool '${name}'`, images: [], ok: false };
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    return { text: error.message, images: [], ok: false };
  }
}

/** The arguments of a call that come as JSON text. Text that is not JSON is an empty object, which is refused later. */
export function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
