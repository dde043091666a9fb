// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { ConflictError, ExecutionError, GloveboxError, NotFoundError } from "glovebox";
import { type Row, collect, eventually, failure } from "../table.js";

export const commands: readonly Row[] = [
  ["a line of shell has its output and its status", async ({ sandbox }) => {
    const result = await sandbox.commands.run("echo out; echo err >&2; exit 3");
    assert.deepEqual([result.stdout, result.stderr, result.exit_code, result.reason], ["out\n", "err\n", 3, "error"]);
    assert.equal(result.ok, false);
  }],
  ["a list is a program with its arguments, without a shell", async ({ sandbox }) => {
    assert.equal((await sandbox.commands.run(["echo", "$HOME; ls"])).stdout, "$HOME; ls\n");
  }],
  ["a command reads what it is given", async ({ sandbox }) => {
    assert.equal((await sandbox.commands.run("tr a-z A-Z", { stdin: "hello" })).stdout, "HELLO");
  }],
  ["a command has its directory and variables of the environment", async ({ sandbox }) => {
    const result = await sandbox.commands.run("pwd; echo $STAGE", { cwd: "/tmp", env: { STAGE: "test" } });
    assert.equal(result.stdout, "/tmp\ntest\n");
  }],
  ["a time-out ends a command, and the result says so", async ({ sandbox }) => {
    const result = await sandbox.commands.run("sleep 100", { timeout: 0.3 });
    assert.equal(result.reason, "timeout");
    assert.equal(result.ok, false);
  }],
  ["orThrow of a command that failed has its result", async ({ sandbox }) => {
    const result = await sandbox.commands.run("echo why >&2; exit 7");
    const error = await failure((async () => result.orThrow())(), ExecutionError);
    assert.match(error.message, /exit status 7: why/);
  }],
  ["a command that ended well is ok", async ({ sandbox }) => {
    assert.ok((await sandbox.commands.run("true")).orThrow().ok);
  }],
  ["output that is cut says so", async ({ sandbox }) => {
    const result = await sandbox.commands.run("head -c 100000 /dev/zero | tr '\\0' x", { output: 1000 });
    assert.equal(result.truncated.stdout, true);
    assert.equal(result.bytes.stdout, 100_000);
  }],
  ["bytes of a command that are not text come whole", async ({ sandbox }) => {
    assert.deepEqual([...(await sandbox.commands.run("printf '\\377\\000A'")).stdoutBytes], [255, 0, 65]);
  }],
  ["onStdout and onStderr hear a command while it runs", async ({ sandbox }) => {
    const heard: string[] = [];
    // It ends only after it has been heard.
    const result = await sandbox.commands.run("echo one; while ! test -e heard.txt; do sleep 0.02; done; echo two >&2; rm heard.txt", {
      onStdout: (text) => { heard.push(text); void sandbox.files.write("heard.txt", ""); },
      onStderr: (text) => heard.push(text),
    });
    assert.deepEqual(heard, ["one\n", "two\n"]);
    assert.deepEqual([result.stdout, result.stderr, result.exit_code], ["one\n", "two\n", 0]);
  }],
  ["a command with callbacks reads what it is given", async ({ sandbox }) => {
    let heard = "";
    const result = await sandbox.commands.run("cat; exit 4", { stdin: "abc", onStdout: (text) => { heard += text; } });
    assert.deepEqual([heard, result.exit_code], ["abc", 4]);
  }],
  ["a command with callbacks ends at its time-out, too", async ({ sandbox }) => {
    const result = await sandbox.commands.run("sleep 100", { timeout: 0.3, onStdout: () => {} });
    assert.equal(result.reason, "timeout");
  }],
  ["a command with callbacks keeps the end of long output", async ({ sandbox }) => {
    let heard = 0;
    const result = await sandbox.commands.run("head -c 5000000 /dev/zero | tr '\\0' x; echo end",
      { onStdout: (text) => { heard += text.length; } });
    assert.equal(heard, 5_000_004);
    assert.equal(result.bytes.stdout, 5_000_004);
    assert.equal(result.truncated.stdout, true);
    assert.ok(result.stdout.endsWith("xend\n") && result.stdout.length <= 1024 * 1024);
  }],
  ["an aborted signal kills the command", async ({ fresh }) => {
    const sandbox = await fresh();
    const stop = new AbortController();
    const error = await failure(sandbox.commands.run("echo $$; exec sleep 1000",
      { signal: stop.signal, onStdout: () => stop.abort(new EvalError("mine")) }), EvalError);
    assert.equal(error.message, "mine");
    await eventually(async () => (await sandbox.commands.run("pgrep -x sleep")).exit_code !== 0);
  }],
  ["what a callback of a command throws kills it and is thrown", async ({ fresh }) => {
    const sandbox = await fresh();
    await failure(sandbox.commands.run("echo x; exec sleep 1000", { onStdout: () => { throw new RangeError("no"); } }), RangeError);
    await eventually(async () => (await sandbox.commands.run("pgrep -x sleep")).exit_code !== 0);
  }],
  ["a process in the background has its output when one listens", async ({ sandbox }) => {
    const process = await sandbox.commands.start("echo so far; exit 5");
    let heard = "";
    const end = await process.wait({ onStdout: (text) => { heard += text; } });
    assert.deepEqual([heard, end.exit_code, end.reason], ["so far\n", 5, "error"]);
  }],
  ["a process with stdin reads until it is closed", async ({ sandbox }) => {
    const process = await sandbox.commands.start("wc -c", { stdin: true });
    await process.write("hello");
    await process.write(new Uint8Array([0, 255]));
    await process.closeStdin();
    let heard = "";
    await process.wait({ onStdout: (text) => { heard += text; } });
    assert.equal(heard.trim(), "7");
  }],
  ["a signal ends a process", async ({ sandbox }) => {
    const process = await sandbox.commands.start(["sleep", "1000"]);
    await process.signal("SIGTERM");
    const end = await process.wait();
    assert.deepEqual([end.signal, end.exit_code, end.reason], [15, 143, "signaled"]);
  }],
  ["a kill ends a process", async ({ sandbox }) => {
    const process = await sandbox.commands.start(["sleep", "1000"]);
    await process.kill();
    assert.equal((await process.wait()).reason, "canceled");
  }],
  ["list has processes with their tags", async ({ fresh }) => {
    const sandbox = await fresh();
    const process = await sandbox.commands.start(["sleep", "1000"], { tag: "waits" });
    const found = (await sandbox.commands.list()).find((each) => each.tag === "waits");
    assert.equal(found?.pid, process.pid);
    assert.equal((await process.info()).alive, true);
  }],
  ["a process is found again by its id", async ({ sandbox }) => {
    const { pid } = await sandbox.commands.start("echo x; exit 6");
    assert.equal((await sandbox.commands.get(pid).wait()).exit_code, 6);
  }],
  ["the events of a process are from started to ended", async ({ sandbox }) => {
    const events = await collect((await sandbox.commands.start("echo x")).events());
    assert.equal(events.at(-1)?.type, "ended");
    assert.ok(events.some((each) => each.type === "stdout" && each.text === "x\n"));
  }],
  ["a process has its time-out", async ({ sandbox }) => {
    assert.equal((await (await sandbox.commands.start(["sleep", "1000"], { timeout: 0.3 })).wait()).reason, "timeout");
  }],
  ["a dry run of a command shows what it changes, and waits", async ({ fresh }) => {
    const sandbox = await fresh({ tier: "native" });
    const said: string[] = [];
    const tried = await sandbox.commands.run("echo said; echo new > f",
      { dry_run: true, onStdout: (text) => said.push(text) });
    assert.deepEqual([tried.stdout, said], ["said\n", ["said\n"]]);
    assert.deepEqual(tried.dry_run!.files.added.map((each) => each.path), ["f"]);
    await failure(sandbox.commands.run("true"), ConflictError);
    assert.deepEqual((await sandbox.dryRuns()).map((each) => each.id), [tried.dry_run!.id]);
    await sandbox.discard(tried.dry_run!);
    assert.equal((await sandbox.commands.run("cat f")).exit_code, 1);
    const kept = await sandbox.commands.run("echo new > f", { dry_run: true, dry_run_timeout: "1m" });
    await sandbox.commit(kept.dry_run!.id);
    assert.equal((await sandbox.commands.run("cat f")).stdout, "new\n");
  }],
  ["an unknown process is not found", async ({ sandbox }) => {
    await failure(sandbox.commands.get(999_999).info(), NotFoundError);
  }],
  ["a program that does not exist is an error or status 127", async ({ sandbox }) => {
    const end = await sandbox.commands.run(["/no/such/program"]).catch((error: unknown) => {
      assert.ok(error instanceof GloveboxError);
      return { exit_code: 127 };
    });
    assert.equal(end.exit_code, 127);
  }],
];
