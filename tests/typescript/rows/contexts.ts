// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { ConflictError, ExecutionError, NotFoundError, UnsupportedError, type ExecutionEvent } from "glovebox";
import { type Row, collect, eventually, failure } from "../table.js";

export const contexts: readonly Row[] = [
  ["the value of an expression is the verdict's text", async ({ context }) => {
    const verdict = await (await context()).execute("1 + 1");
    assert.equal(verdict.text, "2");
    assert.equal(verdict.status, "ok");
    assert.ok(verdict.ok);
  }],
  ["variables stay from one execution to the next", async ({ context }) => {
    const it = await context();
    await it.execute("x = 41");
    assert.equal((await it.execute("x + 1")).text, "42");
  }],
  ["two contexts have their own variables", async ({ context }) => {
    const [one, other] = [await context(), await context()];
    await one.execute("mine = 1");
    assert.equal((await other.execute("mine")).error?.name, "NameError");
  }],
  ["an exception is in the verdict, and nothing is thrown", async ({ context }) => {
    const verdict = await (await context()).execute("1 / 0");
    assert.equal(verdict.ok, false);
    assert.equal(verdict.status, "error");
    assert.equal(verdict.error?.name, "ZeroDivisionError");
    assert.match(verdict.error.traceback, /Traceback[\s\S]*division by zero/);
  }],
  ["orThrow throws what the code raised, with the verdict", async ({ context }) => {
    const verdict = await (await context()).execute("raise ValueError('so')");
    const error = await failure((async () => verdict.orThrow())(), ExecutionError);
    assert.match(error.message, /ValueError: so/);
    assert.equal(error.result, verdict);
  }],
  ["orThrow returns a verdict that is well", async ({ context }) => {
    assert.equal((await (await context()).execute("7")).orThrow().text, "7");
  }],
  ["output reaches the callbacks while the code runs", async ({ context }) => {
    const it = await context();
    const heard: string[] = [];
    // The code waits for a reply, which only what it has printed brings about.
    const verdict = await it.execute("print('one', flush=True)\ninput()\nimport sys\nprint('two', file=sys.stderr)", {
      allow_input: true,
      onStdout: (text) => {
        heard.push(text);
        if (text.includes("one")) void eventually(async () => await it.reply("").then(() => true, () => false));
      },
      onStderr: (text) => heard.push(text),
    });
    assert.equal(verdict.status, "ok");
    assert.deepEqual(heard.map((each) => each.trim()).filter(Boolean), ["one", "two"]);
  }],
  ["results reach onResult with their types", async ({ context }) => {
    const seen: unknown[] = [];
    await (await context()).execute("from IPython.display import HTML\ndisplay(HTML('<b>x</b>'))\n5",
      { onResult: (result) => seen.push([result.main, result.data["text/html"] ?? result.data["text/plain"]]) });
    assert.deepEqual(seen, [[false, "<b>x</b>"], [true, "5"]]);
  }],
  ["onEvent gets every event, from started to verdict", async ({ context }) => {
    const types: string[] = [];
    await (await context()).execute("print('x'); 1", { onEvent: (event) => types.push(event.type) });
    assert.equal(types[0], "started");
    assert.ok(types.includes("stdout") && types.includes("result"));
    assert.equal(types.at(-1), "verdict");
  }],
  ["an execution can be iterated over for its events", async ({ context }) => {
    const events = await collect((await context()).execute("print('x')"));
    assert.deepEqual(events.map((each) => each.type), ["started", "stdout", "verdict"]);
  }],
  ["an execution can be iterated over and awaited, in any order and more than once", async ({ context }) => {
    const execution = (await context()).execute("print('x')\n3");
    assert.equal((await execution).text, "3");
    const first = await collect(execution);
    assert.deepEqual(await collect(execution), first);
    assert.equal((await execution).stdout, "x\n");
  }],
  ["events come while the code runs, not at its end", async ({ context }) => {
    const it = await context();
    const seen: ExecutionEvent["type"][] = [];
    for await (const event of it.execute("print(input('? '))", { allow_input: true })) {
      seen.push(event.type);
      if (event.type === "input_request") await it.reply("here", { request: event.request });
    }
    assert.equal(seen.at(-1), "verdict");
  }],
  ["output that nobody reads is not kept: only its end, and all of the verdict", async ({ context }) => {
    const execution = (await context()).execute("for i in range(200): print('x' * 100000)\nprint('end')");
    assert.equal((await execution).bytes.stdout, 20_000_204);
    let size = 0;
    let last = "";
    for await (const event of execution) {
      if (event.type === "stdout") size += (last = event.text).length;
    }
    assert.ok(size < 5_000_000, String(size));
    assert.ok(last.endsWith("end\n"));
  }],
  // In a sandbox of its own: what a daemon remembers for one sandbox is bounded.
  ["a loop that is slow gets everything: it holds up the code", async ({ fresh }) => {
    let size = 0;
    for await (const event of (await fresh()).run("for i in range(200): print('x' * 100000)")) {
      await new Promise((resolve) => setImmediate(resolve));
      if (event.type === "stdout") size += event.text.length;
    }
    assert.equal(size, 20_000_200);
  }],
  ["a loop that is left does not hold up the code", async ({ context }) => {
    const execution = (await context()).execute("for i in range(200): print('x' * 100000)");
    for await (const event of execution) if (event.type === "stdout") break;
    assert.equal((await execution).status, "ok");
  }],
  ["what a callback throws ends the execution and is thrown", async ({ context }) => {
    const it = await context();
    const error = await failure(it.execute("print('x', flush=True)\nimport time\nwhile True: time.sleep(0.01)",
      { onStdout: () => { throw new RangeError("enough"); } }), RangeError);
    assert.equal(error.message, "enough");
    assert.equal((await it.execute("'free'")).text, "'free'");
  }],
  ["env holds for one execution", async ({ context }) => {
    const it = await context();
    const code = "import os; os.environ.get('ONLY_NOW', 'absent')";
    assert.equal((await it.execute(code, { env: { ONLY_NOW: "yes" } })).text, "'yes'");
    assert.equal((await it.execute(code)).text, "'absent'");
  }],
  ["a limit on time ends the code, and the verdict says so", async ({ context }) => {
    const it = await context();
    const verdict = await it.execute("while True: pass", { limits: { time: 0.5 } });
    assert.equal(verdict.status, "timeout");
    assert.equal(verdict.limits["time"]?.hit, true);
    assert.equal((await it.execute("1")).text, "1");
  }],
  ["an aborted signal ends the code and throws its reason", async ({ context }) => {
    const it = await context();
    const stop = new AbortController();
    const error = await failure(it.execute("print('x', flush=True)\nwhile True: pass",
      { signal: stop.signal, onStdout: () => stop.abort(new EvalError("mine")) }), EvalError);
    assert.equal(error.message, "mine");
    assert.equal((await it.execute("'free'")).text, "'free'");
  }],
  ["a signal that is aborted already runs nothing", async ({ context }) => {
    const it = await context();
    await failure(it.execute("ran = True", { signal: AbortSignal.abort(new EvalError("no")) }), EvalError);
    assert.equal((await it.execute("'ran' in globals()")).text, "False");
  }],
  ["interrupt raises KeyboardInterrupt, and the variables stay", async ({ context }) => {
    const it = await context();
    await it.execute("kept = 5");
    const verdict = await it.execute("print('x', flush=True)\nwhile True: pass",
      { onStdout: () => void it.interrupt() });
    assert.equal(verdict.error?.name, "KeyboardInterrupt");
    assert.equal((await it.execute("kept")).text, "5");
  }],
  ["restart forgets the variables", async ({ context }) => {
    const it = await context();
    await it.execute("x = 1");
    await it.restart();
    assert.equal((await it.execute("x")).error?.name, "NameError");
  }],
  ["recover brings the state back after the code ended the interpreter", async ({ context }) => {
    const it = await context();
    await it.execute("x = 1");
    await it.execute("import os; os._exit(3)", { recover: true });
    assert.equal((await it.execute("x")).text, "1");
  }],
  ["a rollback goes back to a checkpoint", async ({ context }) => {
    const it = await context();
    await it.execute("x = 41");
    const number = await it.checkpoint();
    await it.execute("x = 0");
    assert.equal(await it.rollback(number), number);
    assert.equal((await it.execute("x")).text, "41");
  }],
  ["a rollback without a number goes to the newest checkpoint", async ({ context }) => {
    const it = await context();
    await it.execute("x = 1");
    await it.checkpoint();
    await it.execute("x = 2");
    const second = await it.checkpoint();
    await it.execute("x = 3");
    assert.equal(await it.rollback(), second);
    assert.equal((await it.execute("x")).text, "2");
  }],
  ["a fork has the state of the checkpoint and its own future", async ({ context }) => {
    const it = await context();
    await it.execute("x = 1");
    await using fork = await it.fork(await it.checkpoint());
    await fork.execute("x += 10");
    assert.equal((await fork.execute("x")).text, "11");
    assert.equal((await it.execute("x")).text, "1");
    assert.equal(fork.language, "python");
  }],
  ["a dry run shows what it changes, and waits", async ({ fresh }) => {
    const it = await (await fresh({ tier: "native" })).contexts.create();
    await it.execute("x = 1");
    const verdict = await it.execute("x = 2; open('f', 'w').write('f')", { dry_run: true });
    const run = verdict.dry_run!;
    assert.deepEqual(run.files.added.map((each) => each.path), ["f"]);
    assert.equal(run.variables?.changed[0]?.value_before, "1");
    await failure(it.execute("x"), ConflictError);
    await it.discard(run);
    assert.equal((await it.execute("x")).text, "1");
    const kept = await it.execute("x = 3", { dry_run: true, dry_run_network: "open", dry_run_timeout: "1m" });
    await it.commit(kept.dry_run!.id);
    assert.equal((await it.execute("x")).text, "3");
  }],
  ["onInput replies to what code asks for", async ({ context }) => {
    const asked: string[] = [];
    const verdict = await (await context()).execute("a = input('first? ')\nb = input('second? ')\nprint(a + b)",
      { onInput: async (request) => { asked.push(request.prompt); return String(asked.length); } });
    assert.equal(verdict.stdout.trim().split("\n").at(-1), "12");
    assert.deepEqual(asked, ["first? ", "second? "]);
  }],
  ["null is the end of input", async ({ context }) => {
    const verdict = await (await context()).execute("input()", { onInput: () => null });
    assert.equal(verdict.error?.name, "EOFError");
  }],
  ["what onInput throws ends the execution and is thrown", async ({ context }) => {
    await failure((await context()).execute("input()", { onInput: () => { throw new RangeError("no"); } }), RangeError);
  }],
  ["without allow_input, code finds the end of input", async ({ context }) => {
    assert.equal((await (await context()).execute("input()")).error?.name, "EOFError");
  }],
  ["a reply that nobody waits for is a conflict", async ({ context }) => {
    await failure((await context()).reply("x"), ConflictError);
  }],
  ["complete finds what may follow", async ({ context }) => {
    const it = await context();
    await it.execute("import os");
    const found = await it.complete("os.getc");
    assert.ok(found.matches.some((each) => each.includes("getcwd")), String(found.matches));
    assert.equal(found.end, 7);
  }],
  ["inspect describes a name", async ({ context }) => {
    const it = await context();
    await it.execute("def f():\n    'Says so.'");
    const found = await it.inspect("f", 1);
    assert.ok(found.found);
    assert.match(found.data["text/plain"] ?? "", /Says so\./);
  }],
  ["notebook has the finished cells", async ({ context }) => {
    const it = await context();
    await it.execute("1 + 1");
    const notebook = await it.notebook() as { nbformat: number; cells: { source: string | string[] }[] };
    assert.equal(notebook.nbformat, 4);
    assert.equal([notebook.cells[0]?.source].flat().join(""), "1 + 1");
  }],
  ["notebookPage is a page", async ({ context }) => {
    const it = await context();
    await it.execute("'shown'");
    assert.match(await it.notebookPage(), /<html[\s\S]*shown/);
  }],
  ["store_history: false leaves no cell", async ({ context }) => {
    const it = await context();
    await it.execute("1", { store_history: false });
    const notebook = await it.notebook() as { cells: unknown[] };
    assert.equal(notebook.cells.length, 0);
  }],
  ["executions are counted", async ({ context }) => {
    const it = await context();
    const first = await it.execute("1");
    assert.equal((await it.execute("1")).execution_count, (first.execution_count ?? 0) + 1);
  }],
  ["JavaScript has contexts, too", async ({ context }) => {
    const it = await context("javascript");
    await it.execute("const x = 20");
    assert.equal((await it.execute("x * 2 + 2")).text, "42");
  }],
  ["bash has contexts, too", async ({ context }) => {
    const it = await context("bash");
    await it.execute("x=5");
    assert.equal((await it.execute("echo $x")).stdout, "5\n");
  }],
  ["a language without an interpreter is unsupported, with a hint", async ({ sandbox }) => {
    const error = await failure(sandbox.contexts.create({ language: "nonsense" }), Error);
    assert.match(String(error), /nonsense/);
  }],
  ["what a language cannot do is an UnsupportedError", async ({ context }) => {
    const error = await failure((await context("bash")).checkpoint(), UnsupportedError);
    assert.equal(error.status, 501);
  }],
  ["a context has its own directory and variables of the environment", async ({ sandbox }) => {
    await using it = await sandbox.contexts.create({ cwd: "/tmp", env: { STAGE: "test" } });
    assert.equal((await it.execute("import os; (os.getcwd(), os.environ['STAGE'])")).text, "('/tmp', 'test')");
  }],
  ["list has the contexts with their languages", async ({ sandbox, context }) => {
    const it = await context("bash");
    const found = (await sandbox.contexts.list()).find((each) => each.id === it.id);
    assert.equal(found?.language, "bash");
    assert.equal(found.alive, true);
  }],
  ["a deleted context is not found", async ({ sandbox }) => {
    const it = await sandbox.contexts.create();
    await it.delete();
    await failure(it.execute("1"), Error);
    assert.ok(!(await sandbox.contexts.list()).some((each) => each.id === it.id));
  }],
  ["an unknown context is not found", async ({ sandbox }) => {
    const error = await failure(sandbox.contexts.get("nowhere").execute("1"), NotFoundError);
    assert.ok(error.hint);
  }],
  ["sandbox.run uses one context, which keeps its variables", async ({ fresh }) => {
    const sandbox = await fresh();
    await sandbox.run("x = 20");
    assert.equal((await sandbox.run("x + 22")).text, "42");
  }],
  ["show has values by MIME type", async ({ context }) => {
    const verdict = await (await context()).execute(
      "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()");
    const png = verdict.show("image/png");
    assert.ok(typeof png === "string" && png.startsWith("iVBOR"), verdict.stderr);
  }],
  ["bytes that are not text come whole", async ({ context }) => {
    const verdict = await (await context()).execute(
      "import sys; sys.stdout.flush(); sys.stdout.buffer.write(bytes([255, 0, 65])); sys.stdout.flush()");
    assert.deepEqual([...verdict.stdoutBytes], [255, 0, 65]);
  }],
  ["text of any script comes whole", async ({ context }) => {
    const verdict = await (await context()).execute("print('ü€漢字🎉' * 20000)");
    assert.equal(verdict.stdout, `${"ü€漢字🎉".repeat(20_000)}\n`);
  }],
  ["a verdict is plain data as JSON", async ({ context }) => {
    const verdict = await (await context()).execute("1");
    const copy = JSON.parse(JSON.stringify(verdict)) as Record<string, unknown>;
    assert.equal(copy["status"], "ok");
    assert.equal(copy["schema"], "glovebox.verdict/1");
  }],
  ["the same key executes code once, and both get its events", async ({ context }) => {
    const it = await context();
    await it.execute("n = 0");
    const first = await it.execute("n += 1\nprint(n)", { idempotencyKey: "once" });
    const second = await it.execute("n += 1\nprint(n)", { idempotencyKey: "once" });
    assert.equal(first.stdout, "1\n");
    assert.equal(second.stdout, "1\n");
    assert.equal((await it.execute("n")).text, "1");
  }],
  ["the same key with other code is a conflict", async ({ context }) => {
    const it = await context();
    await it.execute("1", { idempotencyKey: "k" });
    await failure(it.execute("2", { idempotencyKey: "k" }), ConflictError);
  }],
];
