// SPDX-License-Identifier: Apache-2.0
// Each adapter in the hands of the package that it is for; types of theirs check ours at compile time.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { HarnessV1SandboxProvider } from "@ai-sdk/harness";
import type Anthropic from "@anthropic-ai/sdk";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { Workspace } from "@mastra/core/workspace";
import { type Experimental_SandboxSession, generateText, stepCountIs, tool } from "ai";
import { compute } from "computesdk";
import { createDeepAgent, isSandboxBackend } from "deepagents";
import { Sandbox } from "glovebox";
import { codeTool, sandboxProvider, sandboxSession } from "glovebox/ai";
import { bashTool, runToolUse, tools } from "glovebox/anthropic";
import { glovebox } from "glovebox/computesdk";
import { GloveboxSandbox } from "glovebox/deepagents";
import { GloveboxSandbox as MastraGlovebox } from "glovebox/mastra";
import { chatTools, responsesTools, runFunctionCall, runToolCall } from "glovebox/openai";
import type OpenAI from "openai";
import { z } from "zod";
import { scriptedModel } from "./scripted.js";

let sandbox: Sandbox;
before(async () => {
  sandbox = await Sandbox.create({ timeout: "10m" });
  await sandbox.files.write("sales.csv", "month,sold\nJan,3\nFeb,5\n");
});
after(async () => await sandbox.kill());

const CHART = "import pandas as pd\nimport matplotlib.pyplot as plt\nsales = pd.read_csv('sales.csv')\n"
  + "sales.plot(x='month', y='sold')\nplt.show()\nprint('sold', sales.sold.sum())";

describe("Mastra", () => {
  let mastra: MastraGlovebox;
  before(() => { mastra = new MastraGlovebox({ timeout: "10m" }); });
  after(async () => await mastra._destroy());

  test("a whole run with a scripted model makes a chart from a file", async () => {
    await mastra.writeFiles([{ path: "sales.csv", content: "month,sold\nJan,3\nFeb,5\n" }, { path: "chart.py", content: CHART.replace("plt.show()", "plt.savefig('chart.png')") }]);
    const commands = ["MPLBACKEND=agg python3 chart.py", "head -c 4 chart.png | tail -c 3; exit 3"];
    const { model, prompts } = scriptedModel(commands.map((command) => ({ toolName: "mastra_workspace_execute_command", input: { command } })));
    const agent = new Agent({ id: "analyst", name: "analyst", instructions: "Draw.",
      // Its own types are for models that only stream.
      model: model as unknown as MastraModelConfig, workspace: new Workspace({ sandbox: mastra }) });
    assert.equal((await agent.generate("plot it", { maxSteps: 4 })).text, "done");
    assert.match(JSON.stringify(prompts[1]), /sold 8/);
    assert.match(JSON.stringify(prompts[2]), /PNG\\n\\nExit code: 3/);
    assert.equal((await mastra.sandbox.files.readBytes("chart.png"))[1], 0x50);
  });

  test("processes have input, output, ends and time-outs", async () => {
    const spawned = await mastra.processes?.spawn("cat; exit 2", { env: { A: "b" } });
    assert.ok(spawned);
    await spawned.sendStdin("typed");
    await spawned.closeStdin();
    const { stdout, exitCode } = await spawned.wait();
    assert.deepEqual([stdout, exitCode, await spawned.kill()], ["typed", 2, false]);
    const slow = await mastra.executeCommand?.("sleep 60", [], { timeout: 200 });
    assert.deepEqual([slow?.exitCode, slow?.timedOut], [124, true]);
    const endless = await mastra.processes?.spawn("sleep 60");
    assert.equal(await endless?.kill(), true);
    assert.equal((await endless?.wait())?.killed, true);
    assert.deepEqual((await mastra.processes?.list())?.map((each) => each.running), [false, false]);
  });

  test("a file has the mode that was asked for", async () => {
    await mastra.writeFiles([{ path: "tool.sh", content: "echo ran", mode: 0o700 }]);
    assert.equal((await mastra.executeCommand?.("./tool.sh && stat -c %a tool.sh"))?.stdout, "ran\n700\n");
  });

  test("one that was stopped is found again by its id, and goes on", async () => {
    await mastra.executeCommand?.("echo kept > kept.txt");
    await mastra._stop();
    const again = new MastraGlovebox({ id: mastra.id });
    assert.equal((await again.executeCommand?.("cat kept.txt"))?.stdout, "kept\n");
    assert.equal((await again.getInfo()).metadata?.["sandbox"], mastra.sandbox.id);
  });
});

describe("AI SDK", () => {
  test("a whole run with a scripted model makes a chart from a file", async () => {
    const { model, prompts } = scriptedModel([{ toolName: "run_code", input: { language: "python", code: CHART } }]);
    const result = await generateText({ model, tools: { run_code: codeTool(sandbox) }, prompt: "plot it", stopWhen: stepCountIs(3) });
    assert.equal(result.text, "done");
    const output = result.steps[0]?.toolResults[0]?.output as { text: string; images: { base64: string }[] };
    assert.match(output.text, /sold 8/);
    assert.ok(output.images[0]?.base64.startsWith("iVBOR"));
    // What the model was shown: the text, and the picture as a file.
    const shown = JSON.stringify(prompts[1]);
    assert.match(shown, /sold 8/);
    assert.match(shown, /image\/png/);
  });

  test("experimental_sandbox reaches tools, which read, write, run and spawn", async () => {
    const session: Experimental_SandboxSession = sandboxSession(sandbox);
    const { model } = scriptedModel([{ toolName: "shell", input: { command: "echo -n $A; exit 3" } }]);
    const result = await generateText({ model, experimental_sandbox: session, prompt: "go", stopWhen: stepCountIs(3), tools: {
      shell: tool({ inputSchema: z.object({ command: z.string() }),
        execute: async ({ command }, { experimental_sandbox }) => await experimental_sandbox?.run({ command, env: { A: "b" } }) }) } });
    assert.deepEqual(result.steps[0]?.toolResults[0]?.output, { exitCode: 3, stdout: "b", stderr: "" });
  });

  test("a session's files are bytes and lines, and null where there is none", async () => {
    const session = sandboxSession(sandbox);
    await session.writeTextFile({ path: "ai/lines.txt", content: "one\ntwo\nthree\n" });
    assert.equal(await session.readTextFile({ path: "ai/lines.txt", startLine: 2, endLine: 9 }), "two\nthree\n");
    await session.writeBinaryFile({ path: "ai/bytes", content: new Uint8Array([1, 255]) });
    assert.deepEqual(await session.readBinaryFile({ path: "ai/bytes" }), new Uint8Array([1, 255]));
    await session.writeFile({ path: "ai/stream", content: new Blob(["streamed"]).stream() });
    assert.equal(await new Response(await session.readFile({ path: "ai/stream" })).text(), "streamed");
    assert.deepEqual(await session.stat({ path: "ai/bytes" }), { type: "file", size: 2 });
    assert.equal((await session.stat({ path: "ai" }))?.type, "directory");
    await session.run({ command: "ln -s bytes ai/link" });
    assert.deepEqual(await session.stat({ path: "ai/link" }), { type: "file", size: 2 });
    assert.deepEqual((await session.listDirectory({ path: "ai" }))?.map((each) => `${each.name} ${each.type}`).sort(),
      ["bytes file", "lines.txt file", "link symlink", "stream file"]);
    assert.equal(await session.listDirectory({ path: "ai/nothing" }), null);
    assert.equal(await session.stat({ path: "ai/nothing" }), null);
    assert.deepEqual([await session.deleteFile({ path: "ai/link" }), await session.deleteFile({ path: "ai/link" })], [true, false]);
    assert.equal((await session.stat({ path: "ai/bytes" }))?.size, 2);
    await assert.rejects(async () => await session.deleteFile({ path: "ai" }));
    for (const read of [session.readFile, session.readBinaryFile, session.readTextFile]) {
      assert.equal(await read({ path: "ai/nothing" }), null);
    }
  });

  test("a spawned process streams, is waited for, and is killed by its signal", async () => {
    const session = sandboxSession(sandbox);
    const process = await session.spawn({ command: "echo out; echo err >&2; exit 4" });
    assert.equal(await new Response(process.stdout).text(), "out\n");
    assert.equal(await new Response(process.stderr).text(), "err\n");
    assert.deepEqual(await process.wait(), { exitCode: 4 });
    const reader = await session.spawn({ command: "wc -c", stdin: true });
    const writer = reader.stdin.getWriter();
    await writer.write(new TextEncoder().encode("12345"));
    await writer.close();
    assert.equal((await new Response(reader.stdout).text()).trim(), "5");
    const stop = new AbortController();
    const long = await session.spawn({ command: "sleep 1000", abortSignal: stop.signal });
    stop.abort(new EvalError("mine"));
    await assert.rejects(async () => await long.wait(), EvalError);
  });

  test("the provider makes a session for a harness, and finds it again by its id", async () => {
    const provider: HarnessV1SandboxProvider = sandboxProvider({ timeout: "5m", ports: [8000] });
    const sessionId = crypto.randomUUID();
    let prepared = false;
    const session = await provider.createSession({ sessionId, onFirstCreate: async (restricted) => {
      prepared = true;
      await restricted.writeTextFile({ path: "prepared.txt", content: "yes" });
    } });
    assert.ok(prepared && session.defaultWorkingDirectory.startsWith("/"));
    await session.stop();
    const again = await provider.resumeSession?.({ sessionId });
    assert.equal(again?.id, session.id);
    assert.equal(await again.readTextFile({ path: "prepared.txt" }), "yes");
    const endpoint = await again.getPortEndpoint({ port: 8000, protocol: "ws" });
    assert.match(endpoint.url, /^ws:\/\/8000-/);
    assert.ok(endpoint.headers?.["x-port-token"]);
    await again.destroy();
    await assert.rejects(async () => await provider.resumeSession?.({ sessionId }));
  });
});

describe("ComputeSDK", () => {
  test("compute creates, runs, reads, lists and destroys", async () => {
    compute.setConfig({ provider: glovebox({ timeout: "5m" }) });
    const box = await compute.sandbox.create({ timeout: 120_000, envs: { A: "b" }, metadata: { task: { of: 1 } } });
    const result = await box.runCommand("echo $A; pwd >&2; exit 2", { cwd: "/tmp" });
    assert.deepEqual([result.stdout, result.stderr, result.exitCode], ["b\n", "/tmp\n", 2]);
    let heard = "";
    await box.runCommand("echo live", { onStdout: (text) => { heard += text; } });
    assert.equal(heard, "live\n");
    await box.filesystem.mkdir("d");
    await box.filesystem.writeFile("d/a.txt", "hello");
    assert.equal(await box.filesystem.readFile("d/a.txt"), "hello");
    assert.deepEqual((await box.filesystem.readdir("d")).map((each) => [each.name, each.type]), [["a.txt", "file"]]);
    assert.equal(await box.filesystem.exists("d/b.txt"), false);
    await box.filesystem.remove("d");
    assert.equal(await box.filesystem.exists("d"), false);
    const info = await box.getInfo();
    assert.equal(info.status, "running");
    assert.ok(info.timeout > 100_000 && info.timeout < 140_000);
    assert.match(await box.getUrl({ port: 8000 }), /^http:\/\/8000-/);
    assert.equal((await compute.sandbox.getById(box.sandboxId))?.sandboxId, box.sandboxId);
    assert.ok((await compute.sandbox.list()).some((each) => each.sandboxId === box.sandboxId));
    await compute.sandbox.destroy(box.sandboxId);
    // ComputeSDK asks each provider in turn, and has its own error if none knows the sandbox.
    assert.equal(await compute.sandbox.getById(box.sandboxId).catch(() => null), null);
  });

  test("a whole run with a scripted model makes a chart from a file", async () => {
    compute.setConfig({ provider: glovebox({ timeout: "5m" }) });
    const box = await compute.sandbox.create();
    await box.filesystem.writeFile("sales.csv", "month,sold\nJan,3\nFeb,5\n");
    await box.filesystem.writeFile("chart.py", CHART.replace("plt.show()", "plt.savefig('chart.png')"));
    const commands = ["MPLBACKEND=agg python3 chart.py", "head -c 4 chart.png | tail -c 3"];
    const { model, prompts } = scriptedModel(commands.map((command) => ({ toolName: "shell", input: { command } })));
    const result = await generateText({ model, prompt: "plot it", stopWhen: stepCountIs(4), tools: {
      shell: tool({ inputSchema: z.object({ command: z.string() }), execute: async ({ command }) => (await box.runCommand(command)).stdout }) } });
    assert.equal(result.text, "done");
    assert.match(JSON.stringify(prompts[1]), /sold 8/);
    assert.deepEqual(result.steps[1]?.toolResults[0]?.output, "PNG");
    assert.ok((await box.filesystem.readdir(".")).some((each) => each.name === "chart.png" && (each.size ?? 0) > 1_000));
    await box.destroy();
  });

  test("a snapshot is one to create from", async () => {
    compute.setConfig({ provider: glovebox() });
    const box = await compute.sandbox.create();
    await box.filesystem.writeFile("kept.txt", "here");
    const snapshot = await compute.snapshot.create(box.sandboxId, { name: `compute-${box.sandboxId.slice(0, 6)}` });
    await box.destroy();
    const other = await compute.sandbox.create({ snapshotId: snapshot.id });
    assert.equal(await other.filesystem.readFile("kept.txt"), "here");
    assert.ok((await compute.snapshot.list()).some((each) => each.id === snapshot.id));
    await other.destroy();
    await compute.snapshot.delete(snapshot.id);
  });
});

describe("deepagents", () => {
  test("the backend has files and a shell, by its own methods and the base's", async () => {
    const backend = new GloveboxSandbox(sandbox);
    assert.ok(isSandboxBackend(backend));
    assert.deepEqual(await backend.execute("echo out; exit 5"), { output: "out\n", exitCode: 5, truncated: false });
    assert.deepEqual(await backend.uploadFiles([["/workspace/deep/a.txt", new TextEncoder().encode("one\ntwo\n")]]),
      [{ path: "/workspace/deep/a.txt", error: null }]);
    const [got, missing] = await backend.downloadFiles(["/workspace/deep/a.txt", "/workspace/deep/none"]);
    assert.equal(new TextDecoder().decode(got?.content ?? new Uint8Array()), "one\ntwo\n");
    assert.equal(missing?.error, "file_not_found");
    assert.equal((await backend.write("/workspace/deep/b.txt", "needle here\n")).error, undefined);
    assert.equal((await backend.edit("/workspace/deep/b.txt", "needle", "pin")).error, undefined);
    assert.match(JSON.stringify(await backend.read("/workspace/deep/b.txt")), /pin here/);
    assert.match(JSON.stringify(await backend.ls("/workspace/deep")), /\/workspace\/deep\/a\.txt/);
    assert.match(JSON.stringify(await backend.grep("pin", "/workspace/deep")), /b\.txt/);
    assert.match(JSON.stringify(await backend.glob("*.txt", "/workspace/deep")), /a\.txt/);
  });

  test("a whole agent with a scripted model makes a chart from a file", async () => {
    const code = "import matplotlib; matplotlib.use('Agg'); import pandas as pd; "
      + "pd.read_csv('sales.csv').plot(x='month', y='sold').figure.savefig('chart.png')";
    const script = [
      new AIMessage({ content: "", tool_calls: [{ id: "1", name: "execute", args: { command: `python3 -c "${code}" && echo drawn` } }] }),
      new AIMessage("done")];
    class Scripted extends FakeListChatModel {
      constructor() { super({ responses: ["unused"] }); }
      override async _generate(_messages: BaseMessage[]) {
        const message = script.shift() ?? new AIMessage("done");
        return { generations: [{ text: String(message.content), message }] };
      }
      override bindTools() { return this; }
    }
    const agent = createDeepAgent({ model: new Scripted(), backend: new GloveboxSandbox(sandbox) });
    const result = await agent.invoke({ messages: [{ role: "user", content: "plot it" }] });
    assert.match(JSON.stringify(result.messages.map((each) => each.content)), /drawn/);
    assert.deepEqual([...(await sandbox.files.readBytes("chart.png")).subarray(1, 4)], [80, 78, 71]);
  });
});

describe("OpenAI and Anthropic", () => {
  test("the tools have the types of OpenAI's and Anthropic's own packages", () => {
    const forResponses: OpenAI.Responses.Tool[] = responsesTools;
    const forChat: OpenAI.Chat.ChatCompletionTool[] = chatTools.map((each) => ({ ...each, function: { ...each.function, parameters: { ...each.function.parameters } } }));
    const forMessages: Anthropic.Messages.ToolUnion[] = [...tools, bashTool];
    assert.deepEqual([forResponses.length, forChat.length, forMessages.length], [2, 2, 3]);
    // What OpenAI's strict mode asks for.
    for (const { parameters } of responsesTools) {
      assert.deepEqual(Object.keys(parameters.properties), parameters.required);
      assert.equal(parameters.additionalProperties, false);
    }
  });

  test("a tool_use block gives a tool_result with text and picture", async () => {
    const block: Anthropic.Messages.ToolResultBlockParam = await runToolUse(sandbox,
      { type: "tool_use", id: "t1", name: "run_code", input: { language: "python", code: CHART } });
    assert.equal(block.tool_use_id, "t1");
    assert.equal(block.is_error, false);
    const content = block.content as { type: string; text?: string }[];
    assert.match(content[0]?.text ?? "", /sold 8/);
    assert.equal(content[1]?.type, "image");
  });

  test("variables stay from one block to the next, and errors are results", async () => {
    const use = (code: string) => runToolUse(sandbox, { type: "tool_use", id: "t", name: "run_code", input: { language: "python", code } });
    await use("kept = 41");
    assert.equal((await use("kept + 1")).content[0]?.type === "text" && JSON.stringify((await use("kept + 1")).content[0]), '{"type":"text","text":"42"}');
    const failed = await use("1 / 0");
    assert.equal(failed.is_error, true);
    assert.match(JSON.stringify(failed.content), /ZeroDivisionError/);
    assert.doesNotMatch(JSON.stringify(failed.content), /\\u001b/);
  });

  test("code that ends its interpreter is told, and the next call has a new one", async () => {
    const use = (code: string) => runToolUse(sandbox, { type: "tool_use", id: "t", name: "run_code", input: { language: "javascript", code } });
    assert.equal((await use("process.exit(3)")).is_error, true);
    assert.match(JSON.stringify((await use("40 + 2")).content), /42/);
  });

  test("Anthropic's own bash tool has one shell that stays, and restarts", async () => {
    const use = (input: unknown) => runToolUse(sandbox, { type: "tool_use", id: "t", name: "bash", input });
    await use({ command: "x=5; cd /tmp" });
    assert.match(JSON.stringify((await use({ command: "echo $x $PWD" })).content), /5 \/tmp/);
    await use({ restart: true });
    assert.doesNotMatch(JSON.stringify((await use({ command: "echo [$x]" })).content), /5/);
  });

  test("OpenAI's calls have their answers, in both of its interfaces", async () => {
    const args = JSON.stringify({ command: "echo hello; exit 3" });
    const item: OpenAI.Responses.ResponseInputItem.FunctionCallOutput =
      await runFunctionCall(sandbox, { type: "function_call", call_id: "c1", name: "run_command", arguments: args });
    assert.deepEqual([item.call_id, item.output], ["c1", "hello\n[exit status 3: error]"]);
    const message: OpenAI.Chat.ChatCompletionToolMessageParam =
      await runToolCall(sandbox, { id: "c2", type: "function", function: { name: "run_command", arguments: args } });
    assert.deepEqual([message.tool_call_id, message.content], ["c2", "hello\n[exit status 3: error]"]);
  });

  test("a call with wrong arguments, no JSON or an unknown name is told the model", async () => {
    const call = (name: string, args: string) => runFunctionCall(sandbox, { type: "function_call", call_id: "c", name, arguments: args });
    assert.match(String((await call("run_code", "{not json")).output), /'code' must be text/);
    assert.match(String((await call("run_code", '{"code": 5}')).output), /'code' must be text/);
    assert.match(String((await call("nothing", "{}")).output), /unknown tool 'nothing'/);
  });

  test("long output is cut in its middle", async () => {
    const { output } = await runFunctionCall(sandbox, { type: "function_call", call_id: "c", name: "run_command",
      arguments: JSON.stringify({ command: "seq 1 20000" }) }, { maxCharacters: 1000 });
    assert.match(String(output), /^1\n2\n[\s\S]*characters left out[\s\S]*19999\n20000$/);
    assert.ok(String(output).length < 1100);
  });
});
