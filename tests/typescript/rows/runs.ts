// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, ConnectionError, InvalidError, PermissionError, UnsupportedError, judge, run } from "glovebox";
import { nobodysUrl } from "../fake.js";
import { type Row, collect, failure } from "../table.js";

const SUM = "print(sum(map(int, input().split())))";

export const runs: readonly Row[] = [
  ["one run has its output and its walls", async ({ client }) => {
    const verdict = await run("print(6*7)", { client, language: "python" });
    assert.equal(verdict.stdout, "42\n");
    assert.equal(verdict.walls["seccomp"], "default");
  }],
  ["one run has its events", async ({ client }) => {
    const events = await collect(run("print(1)", { client, language: "python" }));
    assert.deepEqual([events[0]?.type, events.at(-1)?.type], ["started", "verdict"]);
  }],
  ["one run takes files, stdin, arguments and env", async ({ client }) => {
    const verdict = await run("import os, sys\nprint(open('a.txt').read(), input(), sys.argv[1], os.environ['E'])",
      { client, language: "python", files: { "a.txt": "file" }, stdin: "in\n", arguments: ["arg"], env: { E: "env" } });
    assert.equal(verdict.stdout, "file in arg env\n");
  }],
  ["one run is somebody's, and policies check it, with and without a daemon", async ({ client, program }) => {
    for (const how of [{ client }, { by: "program" as const, program }]) {
      const verdict = await run("import os; print(os.getuid())", { ...how, language: "python", user: "root" });
      assert.equal(verdict.stdout, "0\n");
      const refused = run("import socket", { ...how, language: "python", policy: ["grader"] });
      await failure(refused, PermissionError);
    }
  }],
  ["one run compiles", async ({ client }) => {
    const verdict = await run('#include <stdio.h>\nint main(void) { puts("compiled"); }', { client, language: "c" });
    assert.equal(verdict.stdout, "compiled\n");
  }],
  ["code that does not compile is a verdict", async ({ client }) => {
    const verdict = await run("int main(void) { return nothing; }", { client, language: "c" });
    assert.equal(verdict.status, "compile_error");
    assert.equal(verdict.ok, false);
  }],
  ["one run ends at its limits", async ({ client }) => {
    assert.equal((await run("while True: pass", { client, language: "python", limits: { time: "500ms" } })).status, "timeout");
    assert.equal((await run("x = 'x' * 2**30", { client, language: "python", limits: { memory: "100M" } })).ok, false);
  }],
  ["a check after the run counts", async ({ client }) => {
    const verdict = await run("open('a', 'w')", { client, language: "python", verify: "test -e b" });
    assert.equal(verdict.status, "ok");
    assert.equal(verdict.ok, false);
  }],
  ["changed files are in the verdict", async ({ client }) => {
    const verdict = await run("open('made.txt', 'w').write('abc')", { client, language: "python" });
    assert.deepEqual(verdict.files.map((each) => [each.path, each.size, each.change]), [["made.txt", 3, "created"]]);
  }],
  ["an unknown language is invalid, with a hint", async ({ client }) => {
    const error = await failure(run("x", { client, language: "klingon" }), Error);
    assert.match(error.message, /klingon/);
  }],
  ["the same key runs once", async ({ client }) => {
    const key = crypto.randomUUID();
    const code = "import uuid; print(uuid.uuid4())";
    const first = await run(code, { client, language: "python", idempotencyKey: key });
    assert.equal((await run(code, { client, language: "python", idempotencyKey: key })).stdout, first.stdout);
  }],
  ["an aborted run throws the reason", async ({ client }) => {
    const stop = new AbortController();
    await failure(run("print('x', flush=True)\nwhile True: pass", { client, language: "python", signal: stop.signal,
      onStdout: () => stop.abort(new EvalError("mine")) }), EvalError);
  }],
  ["the program runs without a daemon", async ({ program }) => {
    const heard: string[] = [];
    const verdict = await run("print(6*7)", { by: "program", program, language: "python", onStdout: (text) => heard.push(text) });
    assert.equal(verdict.stdout, "42\n");
    assert.equal(heard.join(""), "42\n");
  }],
  ["the program takes files, stdin, arguments and env, too", async ({ program }) => {
    const verdict = await run("import os, sys\nprint(open('d/a.txt').read(), input(), sys.argv[1], os.environ['E'])",
      { by: "program", program, language: "python", files: { "d/a.txt": "file" }, stdin: "in\n", arguments: ["--arg"], env: { E: "env" } });
    assert.equal(verdict.stdout, "file in --arg env\n", verdict.stderr);
  }],
  ["the program's options do not show variables of the guest to others on the machine", async ({ program }) => {
    const env = { TOKEN: "secret", HOME: "/tmp" };
    const verdict = await run("import os; print(os.environ['TOKEN'], os.environ['HOME'])", { by: "program", program, language: "python", env });
    assert.equal(verdict.stdout, "secret /tmp\n");
    // A program that only says how it was called.
    const directory = mkdtempSync(join(tmpdir(), "gb-options."));
    try {
      const listed = join(directory, "glovebox");
      writeFileSync(listed, `#!/bin/sh\nprintf '{"type":"note","text":"%s|%s"}\\n' "$*" "$TOKEN"\n`, { mode: 0o755 });
      const notes: string[] = [];
      await failure(run("1", { by: "program", program: listed, language: "python", env,
        onEvent: (event) => { if (event.type === "note") notes.push(event.text); } }), Error);
      const [options = "", token] = notes.join("").split("|");
      assert.equal(token, "secret");
      assert.ok(options.includes("--env=TOKEN --env=HOME=/tmp") && !options.includes("secret"), options);
    } finally {
      rmSync(directory, { recursive: true });
    }
  }],
  ["what only a daemon can do is refused, not left out", async ({ program }) => {
    await failure(run("1", { by: "program", program, language: "python", network: { default: "allow" } }), UnsupportedError);
    await failure(run("1", { by: "program", program, language: "python", files: { "a:b": "" } }), InvalidError);
  }],
  ["the program has the limits, too", async ({ program }) => {
    const verdict = await run("while True: pass", { by: "program", program, name: "x.py", limits: { time: "500ms" } });
    assert.equal(verdict.status, "timeout");
  }],
  ["what the program refuses is an error with its hint", async ({ program }) => {
    const error = await failure(run("x", { by: "program", program, language: "klingon" }), Error);
    assert.match(error.message, /klingon/);
  }],
  ["an aborted program ends and throws the reason", async ({ program }) => {
    const stop = new AbortController();
    await failure(run("print('x', flush=True)\nwhile True: pass", { by: "program", program, language: "python",
      signal: stop.signal, onStdout: () => stop.abort(new EvalError("mine")) }), EvalError);
  }],
  ["a program that is missing is an error that says what to do", async () => {
    const error = await failure(run("1", { by: "program", program: "/no/such/glovebox", language: "python" }), Error);
    assert.match(error.message, /hint: install/);
  }],
  ["a file name cannot lead out of the program's directory", async ({ program }) => {
    await failure(run("1", { by: "program", program, language: "python", files: { "../../x": "" } }), Error);
  }],
  ["a daemon that was named and is missing is an error, not a reason for the program", async ({ program }) => {
    const error = await failure(run("1", { client: new Client({ url: await nobodysUrl(), retries: 0 }), program, language: "python" }), ConnectionError);
    assert.equal(error.code, "unreachable");
  }],
  ["judge says AC, WA and points", async ({ client }) => {
    const report = await judge({ client, language: "python", code: SUM, cases: [
      { name: "a", input: "1 2", expected: "3", points: 2 }, { name: "b", input: "2 2", expected: "5" }] });
    assert.deepEqual(report.cases.map((each) => [each.name, each.verdict]), [["a", "AC"], ["b", "WA"]]);
    assert.deepEqual([report.verdict, report.points, report.points_of], ["WA", 2, 3]);
  }],
  ["judge tells of each case as it ends", async ({ client }) => {
    const heard: string[] = [];
    const report = await judge({ client, language: "python", code: SUM, onCase: (each) => heard.push(each.verdict),
      cases: [{ input: "1 2", expected: "3" }, { input: "x", expected: "" }] });
    assert.deepEqual(heard, ["AC", "RE"]);
    assert.equal(report.verdict, "RE");
  }],
  ["judge without cases is invalid", async ({ client }) => {
    await failure(judge({ client, language: "python", code: SUM, cases: [] }), InvalidError);
  }],
];
