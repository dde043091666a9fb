// SPDX-License-Identifier: Apache-2.0
// Tools for OpenAI's models: `tools` of a request, and what a call of them returns.
import type { Sandbox } from "../sandbox.js";
import { type ToolDefinition, type ToolOptions, parseArguments, runCodeTool, runCommandTool, runTool } from "./code_runner.js";

const definitions: readonly ToolDefinition[] = [runCodeTool, runCommandTool];

/** For `tools` of the Responses API. */
export const responsesTools = definitions.map((each) => ({ type: "function" as const, strict: true, ...each }));

/** For `tools` of Chat Completions. */
export const chatTools = definitions.map((each) => ({ type: "function" as const, function: { strict: true, ...each } }));

export interface FunctionCall {
  type: "function_call";
  call_id: string;
  name: string;
  arguments: string;
}

/** Runs a `function_call` item of the Responses API and returns the item that answers it. */
export async function runFunctionCall(sandbox: Sandbox, call: FunctionCall, options: ToolOptions = {}) {
  const output = await runTool(sandbox, call.name, parseArguments(call.arguments), options);
  return { type: "function_call_output" as const, call_id: call.call_id,
    output: output.images.length === 0 ? output.text : [{ type: "input_text" as const, text: output.text },
      ...output.images.map((each) => ({ type: "input_image" as const, detail: "auto" as const,
        image_url: `data:${each.mediaType};base64,${each.base64}` }))] };
}

export interface ChatToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** Runs a tool call of Chat Completions and returns the message that answers it. */
export async function runToolCall(sandbox: Sandbox, call: ChatToolCall, options: ToolOptions = {}) {
  const output = await runTool(sandbox, call.function.name, parseArguments(call.function.arguments), options);
  return { role: "tool" as const, tool_call_id: call.id, content: output.text };
}
