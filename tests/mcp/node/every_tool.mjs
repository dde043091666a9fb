// SPDX-License-Identifier: Apache-2.0
// Lists and calls every tool of `glovebox mcp` with an official SDK: "sdk" (1.x) or "client" (2.x).
// The calls are those of a file such as ../calls.json.
import assert from "node:assert/strict";
import {readFile} from "node:fs/promises";

const [line, table] = process.argv.slice(2);
const {Client} = await import(
    line === "sdk" ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const {StdioClientTransport} = await import(
    line === "sdk" ? "@modelcontextprotocol/sdk/client/stdio.js"
                   : "@modelcontextprotocol/client/stdio");

// What each tool is called with, in this order; the SDK checks results against their schemas.
const calls = JSON.parse(await readFile(table, "utf8"));

const client = new Client({name: "test", version: "1"});
await client.connect(new StdioClientTransport({
  command: process.env.GLOVEBOX,
  args: ["mcp"],
  env: process.env,
}));
assert.equal(client.getServerVersion().name, "glovebox");
const {tools} = await client.listTools();
assert.deepEqual(new Set(tools.map(tool => tool.name)), new Set(calls.map(([name]) => name)));
for (const [name, args, expected] of calls) {
  const result = await client.callTool({name, arguments: args});
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result)}`);
  for (const [key, value] of Object.entries(expected)) {
    assert.deepEqual(result.structuredContent[key], value, name);
  }
  console.log(`ok: ${name}`);
}
const failed = await client.callTool({name: "run_code", arguments: {code: "1/0"}});
assert.ok(failed.isError && failed.content[0].text.includes("ZeroDivisionError"));
await client.close();
