// SPDX-License-Identifier: Apache-2.0
// The parts of the library that differ from runtime to runtime: HTTP over TCP and over a Unix socket, streams both
// ways, WebSockets, programs. Run by Deno and by Bun, which have no node --test worth the name.
import assert from "node:assert/strict";
import { Client, ConnectionError, Sandbox, run } from "glovebox";

const { TEST_URL: url, TEST_KEY: apiKey, TEST_SOCKET: socket, GLOVEBOX: program } = process.env;

for (const client of [new Client({ url, apiKey }), new Client({ url: `unix:${socket}` })]) {
  await using sandbox = await Sandbox.create({ client, timeout: "5m" });
  await sandbox.run("x = 41");
  assert.equal((await sandbox.run("x + 1")).text, "42");

  const types: string[] = [];
  for await (const event of sandbox.run("print(1)")) types.push(event.type);
  assert.deepEqual(types, ["started", "stdout", "verdict"]);

  const stop = new AbortController();
  await assert.rejects(async () => await sandbox.run("print('x', flush=True)\nwhile True: pass",
    { signal: stop.signal, onStdout: () => stop.abort(new EvalError("mine")) }), EvalError);
  assert.equal((await sandbox.run("x")).text, "41");

  await sandbox.files.write("stream", new ReadableStream({ start(controller) {
    controller.enqueue(new Uint8Array(100_000).fill(7));
    controller.close();
  } }));
  await sandbox.files.write("blob", new Blob(["hällo"]));
  assert.equal(await sandbox.files.read("blob"), "hällo");
  let size = 0;
  for await (const piece of await sandbox.files.readStream("stream")) size += piece.length;
  assert.equal(size, 100_000);

  const heard: string[] = [];
  await sandbox.commands.run("cat; echo err >&2", { stdin: "in", onStdout: (text) => heard.push(text), onStderr: (text) => heard.push(text) });
  assert.deepEqual(heard.sort(), ["err\n", "in"]);

  const terminal = await sandbox.terminals.create({ argv: ["sh"], columns: 99, rows: 33 });
  await terminal.write("stty size; exit 5\n");
  let shown = "";
  for await (const bytes of terminal) shown += new TextDecoder().decode(bytes);
  assert.match(shown, /33 99/);
  assert.equal((await terminal.wait()).exit_code, 5);
}
assert.equal((await run("print(6*7)", { by: "program", program, language: "python" })).stdout, "42\n");
await assert.rejects(async () => await new Client({ url: "unix:/nonexistent/socket", retries: 0 }).call("health"),
  (error) => error instanceof ConnectionError && error.code === "unreachable");
console.log("all as in Node");
process.exit(0);
