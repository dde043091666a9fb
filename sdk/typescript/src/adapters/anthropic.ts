// SPDX-License-Identifier: Apache-2.0
// Tools for Anthropic's models: `tools` of a request, and the result of a `tool_use` block.
import type { Sandbox } from "../sandbox.js";
import { type ToolDefinition, type ToolOptions, runCodeTool, runCommandTool, runTool } from "./code_runner.js";

function toolOf({ name, description, parameters }: ToolDefinition) {
  return { name, description, input_schema: parameters };
}

/** For `tools` of the Messages API. */
export const tools = [toolOf(runCodeTool), toolOf(runCommandTool)];

/** Anthropic's own tool, whose blocks `runToolUse` runs in one shell that stays. */
export const bashTool = { type: "bash_20250124" as const, name: "bash" as const };

export interface ToolUseBlock {
  type: "tool_use";
  id: string;
  name: string;
  input: unknown;
}

/** Runs a `tool_use` block and returns the `tool_result` block for the next message. */
export async function runToolUse(sandbox: Sandbox, block: ToolUseBlock, options: ToolOptions = {}) {
  const output = await runTool(sandbox, block.name, block.input, options);
  return { type: "tool_result" as const, tool_use_id: block.id, is_error: !output.ok,
    content: [{ type: "text" as const, text: output.text },
      ...output.images.map((each) => ({ type: "image" as const,
        source: { type: "base64" as const, media_type: each.mediaType, data: each.base64 } }))] };
}
