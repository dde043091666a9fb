// SPDX-License-Identifier: Apache-2.0
// Functions of this program that code inside calls: against a server that says what a daemon says, and against the
// daemon itself where it has them.
import assert from "node:assert/strict";
import { InvalidError, Sandbox, type Tools, type Verdict } from "glovebox";
import { type Row, failure } from "../table.js";
import { type Asked, type Fake, type Reply, fake, json, lines, verdict } from "../fake.js";

interface Exchange {
  end: Verdict;
  /** What the tools' calls got, by id. */
  replies: Map<string, unknown>;
  execute: Asked;
}

/** An execution that calls tools, and ends once each call has its reply. */
async function exchange(calls: readonly { id: string; name: string; arguments: unknown }[], tools: Tools,
  refuse?: Reply): Promise<Exchange> {
  const replies = new Map<string, unknown>();
  let finish = () => {};
  const respond: Reply = async (response, asked) => {
    if (asked.path.endsWith("/execute")) {
      finish = () => {
        response.write(`${JSON.stringify(verdict)}\n`);
        response.end();
      };
      return await lines(calls.map((call) => ({ type: "tool_call", ...call })), () => {})(response, asked);
    }
    if (refuse && !asked.body.includes('"error"')) return await refuse(response, asked);
    replies.set(asked.path, JSON.parse(asked.body));
    await json(undefined, 204)(response, asked);
    if (replies.size === new Set(calls.map((each) => each.id)).size) finish();
  };
  await using server: Fake = await fake([respond]);
  const end = await Sandbox.get("s", { client: server.client }).contexts.get("c").execute("x", { tools });
  const execute = server.asked[0];
  assert.ok(execute);
  return { end, execute,
    replies: new Map([...replies].map(([path, body]) => [path.replace("/v1/sandboxes/s/contexts/c/tools/", ""), body])) };
}

const add: Tools = {
  add: {
    description: "Adds.",
    parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
    execute: ({ a, b }: { a: number; b: number }) => a + b,
  },
};

export const tools: readonly Row[] = [
  ["the daemon is given names, descriptions and schemas", async () => {
    const { execute } = await exchange([{ id: "1", name: "add", arguments: { a: 1, b: 2 } }], add);
    const { execute: _, ...schema } = add["add"] ?? { execute: () => {} };
    assert.deepEqual((JSON.parse(execute.body) as { tools: unknown }).tools, [{ name: "add", ...schema }]);
  }],
  ["a call gets the tool's result", async () => {
    const { replies, end } = await exchange([{ id: "1", name: "add", arguments: { a: 40, b: 2 } }], add);
    assert.deepEqual(replies.get("1"), { result: 42 });
    assert.equal(end.status, "ok");
  }],
  ["a tool may take its time, and calls run beside each other", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => { release = resolve; });
    const { replies } = await exchange(
      [{ id: "1", name: "wait", arguments: {} }, { id: "2", name: "free", arguments: {} }],
      { wait: { execute: async () => { await released; return "first"; } }, free: { execute: () => { release(); return "second"; } } });
    assert.deepEqual([...replies.values()].length, 2);
    assert.deepEqual(replies.get("1"), { result: "first" });
  }],
  ["what a tool throws is the code's error", async () => {
    const { replies } = await exchange([{ id: "1", name: "bad", arguments: {} }],
      { bad: { execute: () => { throw new RangeError("not that"); } } });
    assert.deepEqual(replies.get("1"), { error: { message: "not that" } });
  }],
  ["a tool that nobody has given is the code's error", async () => {
    const { replies } = await exchange([{ id: "1", name: "constructor", arguments: {} }], add);
    assert.deepEqual(replies.get("1"), { error: { message: "no tool 'constructor'" } });
  }],
  ["a tool without a result returns null", async () => {
    const { replies } = await exchange([{ id: "1", name: "nothing", arguments: {} }], { nothing: { execute: () => {} } });
    assert.deepEqual(replies.get("1"), { result: null });
  }],
  ["a result that is not JSON is the code's error", async () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const { replies } = await exchange(
      [{ id: "1", name: "loop", arguments: {} }, { id: "2", name: "big", arguments: {} }, { id: "3", name: "code", arguments: {} }],
      { loop: { execute: () => loop }, big: { execute: () => 1n }, code: { execute: () => () => {} } });
    for (const id of ["1", "2", "3"]) assert.match(JSON.stringify(replies.get(id)), /"error"/);
  }],
  ["a result that the daemon refuses is the code's error", async () => {
    const { replies } = await exchange([{ id: "1", name: "add", arguments: { a: 1, b: 1 } }], add,
      json({ code: 413, error: "too_large", message: "too large", hint: "" }, 413));
    assert.match(JSON.stringify(replies.get("1")), /was refused: too large/);
  }],
  ["a call that is told twice runs once", async () => {
    let ran = 0;
    await exchange([{ id: "1", name: "count", arguments: {} }, { id: "1", name: "count", arguments: {} }],
      { count: { execute: () => ++ran } });
    assert.equal(ran, 1);
  }],
  ["a tool's signal is aborted when the code has ended", async () => {
    let aborted = () => {};
    const ended = new Promise<void>((resolve) => { aborted = resolve; });
    await using server = await fake([lines([{ type: "tool_call", id: "1", name: "slow", arguments: {} }, verdict])]);
    await Sandbox.get("s", { client: server.client }).run("x", { tools: {
      slow: { execute: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => { aborted(); resolve(null); })) } } });
    await ended;
  }],
  ["a reply that comes too late is forgotten", async () => {
    await using server = await fake([
      (response, asked) => lines([{ type: "tool_call", id: "1", name: "add", arguments: {} }],
        () => setTimeout(() => response.end(`${JSON.stringify(verdict)}\n`), 100))(response, asked),
      json({ code: 409, error: "conflict", message: "answered already", hint: "" }, 409)]);
    assert.equal((await Sandbox.get("s", { client: server.client }).run("x", { tools: add })).status, "ok");
  }],
  ["a name that no function can have is refused", async ({ sandbox }) => {
    await failure(sandbox.run("1", { tools: { "a b": { execute: () => {} } } }), InvalidError);
  }],
  ["code in a live daemon calls a tool and gets its result", async ({ context }) => {
    const verdict = await (await context()).execute("print(add(a=40, b=2))", { tools: add });
    assert.equal(verdict.stdout, "42\n", verdict.error?.traceback);
  }],
];
