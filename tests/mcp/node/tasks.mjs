// SPDX-License-Identifier: Apache-2.0
// Calls a tool of `glovebox mcp` as a task with the official SDK (1.x), which speaks revision 2025-11-25.
import assert from "node:assert/strict";
import {Client} from "@modelcontextprotocol/sdk/client/index.js";
import {StdioClientTransport} from "@modelcontextprotocol/sdk/client/stdio.js";
import {CallToolResultSchema, ElicitRequestSchema} from "@modelcontextprotocol/sdk/types.js";

const client = new Client({name: "test", version: "1"}, {capabilities: {elicitation: {form: {}}, tasks: {}}});
client.setRequestHandler(ElicitRequestSchema, async () => ({action: "accept", content: {input: "Ada"}}));
await client.connect(new StdioClientTransport({
  command: process.env.GLOVEBOX,
  args: ["mcp"],
  env: process.env,
}));
await client.listTools();

async function run(code) {
  const seen = [];
  const stream = client.experimental.tasks.callToolStream(
      {name: "run_code", arguments: {code}}, CallToolResultSchema, {task: {ttl: 60_000}});
  for await (const message of stream) {
    assert.notEqual(message.type, "error", message.error?.message);
    seen.push(message);
  }
  assert.equal(seen[0].type, "taskCreated");
  assert.equal(seen.at(-1).type, "result");
  return seen.at(-1).result.structuredContent.result;
}

assert.equal(await run("6 * 7"), "42");
console.log("ok: a call as a task");
assert.equal(await run("'hello ' + input()"), "'hello Ada'");
console.log("ok: a task that asks");
const {tasks} = await client.experimental.tasks.listTasks();
assert.equal(tasks.length, 2);
assert.equal((await client.experimental.tasks.getTask(tasks[0].taskId)).status, "completed");
await client.close();
