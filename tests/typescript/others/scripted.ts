// SPDX-License-Identifier: Apache-2.0
// A model that says what a script has, for the frameworks that take a model of the AI SDK.
import { MockLanguageModelV4 } from "ai/test";

export interface ScriptedCall {
  toolName: string;
  input: Record<string, unknown>;
}

/** Calls one tool after the other, then says "done". `prompts` are what it was asked, each time. */
export function scriptedModel(calls: readonly ScriptedCall[]) {
  const left = [...calls];
  const prompts: unknown[] = [];
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      prompts.push(prompt);
      const call = left.shift();
      return call
        ? { content: [{ type: "tool-call", toolCallId: `c${left.length}`, toolName: call.toolName, input: JSON.stringify(call.input) }],
          finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [] }
        : { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] };
    },
  });
  return { model, prompts, usage };
}
