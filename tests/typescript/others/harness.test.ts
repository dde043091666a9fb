// SPDX-License-Identifier: Apache-2.0
// The provider of sandboxes in the hands of the AI SDK's HarnessAgent. The harness, which is the part
// that a vendor's coding agent has otherwise, is one of the test's, with a scripted model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HARNESS_V1_BUILTIN_TOOLS, type HarnessV1, HarnessCapabilityUnsupportedError, type HarnessV1PromptTurnOptions,
  type HarnessV1StartOptions } from "@ai-sdk/harness";
import { HarnessAgent } from "@ai-sdk/harness/agent";
import { generateText, stepCountIs, tool } from "ai";
import { Sandbox } from "glovebox";
import { sandboxProvider } from "glovebox/ai";
import { z } from "zod";
import { type ScriptedCall, scriptedModel } from "./scripted.js";

const DRAW = ["import matplotlib", "matplotlib.use('Agg')", "import pandas as pd", "sales = pd.read_csv('sales.csv')",
  "sales.plot(x='month', y='sold').figure.savefig('chart.png')", "print('sold', sales.sold.sum())"].join("\n");
const CALLS: ScriptedCall[] = ["python3 draw.py", "head -c 4 chart.png | tail -c 3; exit 3"]
  .map((command) => ({ toolName: "bash", input: { command } }));

function scriptedHarness(calls: ScriptedCall[]): HarnessV1 {
  const unsupported = (what: string) => async () => {
    throw new HarnessCapabilityUnsupportedError({ harnessId: "scripted", message: what });
  };
  async function turn({ sandboxSession, sessionWorkDir }: HarnessV1StartOptions, { prompt, emit, abortSignal }: HarnessV1PromptTurnOptions) {
    const { model, usage } = scriptedModel(calls);
    const bash = tool({ inputSchema: z.object({ command: z.string() }),
      execute: async ({ command }) => await sandboxSession.run({ command, workingDirectory: sessionWorkDir }) });
    emit({ type: "stream-start" });
    const result = await generateText({ model, tools: { bash }, prompt: String(prompt), stopWhen: stepCountIs(9),
      ...(abortSignal ? { abortSignal } : {}) });
    for (const step of result.steps) {
      for (const call of step.toolCalls) {
        emit({ type: "tool-call", toolCallId: call.toolCallId, toolName: call.toolName, input: JSON.stringify(call.input), providerExecuted: true });
      }
      for (const { toolCallId, toolName, output } of step.toolResults) {
        emit({ type: "tool-result", toolCallId, toolName, result: output as { stdout: string } });
      }
      if (step.text) {
        emit({ type: "text-start", id: "t" });
        emit({ type: "text-delta", id: "t", delta: step.text });
        emit({ type: "text-end", id: "t" });
      }
      emit({ type: "finish-step", finishReason: { unified: step.toolCalls.length ? "tool-calls" : "stop", raw: undefined }, usage });
    }
    emit({ type: "finish", finishReason: { unified: "stop", raw: undefined }, totalUsage: usage });
  }
  return {
    specificationVersion: "harness-v1",
    harnessId: "scripted",
    builtinTools: { bash: HARNESS_V1_BUILTIN_TOOLS.bash },
    getBootstrap: async () => ({ harnessId: "scripted", bootstrapDir: "/tmp/scripted",
      files: [{ path: "/tmp/scripted/draw.py", content: DRAW }], commands: [{ command: "test -s /tmp/scripted/draw.py" }] }),
    doStart: async (started) => {
      const state = { type: "resume-session" as const, harnessId: "scripted", specificationVersion: "harness-v1" as const, data: {} };
      return {
        sessionId: started.sessionId,
        isResume: started.resumeFrom !== undefined,
        doPromptTurn: async (asked) => ({ done: turn(started, asked), submitToolResult: unsupported("tools of the host") }),
        doCompact: unsupported("compaction"),
        doContinueTurn: unsupported("continuation"),
        doSuspendTurn: unsupported("suspension"),
        doDetach: async () => state,
        doStop: async () => state,
        doDestroy: async () => {},
      };
    },
  };
}

test("a whole run of a harness agent with a scripted model makes a chart from a file", async () => {
  const agent = new HarnessAgent({
    harness: scriptedHarness(CALLS),
    sandbox: sandboxProvider({ timeout: "10m" }),
    sandboxConfig: { onSession: async ({ session, sessionWorkDir }) => {
      await session.writeTextFile({ path: `${sessionWorkDir}/sales.csv`, content: "month,sold\nJan,3\nFeb,5\n" });
      await session.run({ command: "cp /tmp/scripted/draw.py .", workingDirectory: sessionWorkDir });
    } },
  });
  const session = await agent.createSession();
  const found = await sandboxProvider().resumeSession({ sessionId: session.sessionId });
  const sandbox = Sandbox.get(found.id);
  const result = await agent.generate({ session, prompt: "plot it" });
  assert.equal(result.text, "done");
  const outputs = result.steps.flatMap((step) => step.toolResults.map((each) => each.output as { stdout: string; exitCode: number }));
  assert.deepEqual(outputs.map((each) => [each.stdout, each.exitCode]), [["sold 8\n", 0], ["PNG", 3]]);
  const charts = await sandbox.commands.run("find . -name chart.png -size +1k");
  assert.match(charts.stdout, /chart\.png\n$/);
  await session.destroy();
  await assert.rejects(sandbox.info());
});
