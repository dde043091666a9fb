// SPDX-License-Identifier: Apache-2.0
// Functions of this program that code inside calls: against a server that says what a daemon says, and against the
// daemon itself where it has them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { ConnectionError, InvalidError, McpError, McpServer, Sandbox, TimeoutError, type Tools, type Verdict } from "glovebox";
import { type Row, collect, failure } from "../table.js";
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

/** The server that the tests of both SDKs connect to, in its two ways. */
const server = process.env["TEST_MCP_SERVER"] ?? "";
const token = { ISSUES_TOKEN: "the-token" };

async function overHttp(use: (url: string) => Promise<void>, ...options: string[]): Promise<void> {
  const child = spawn("python3", [server, "--http", ...options], { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...token } });
  try {
    const [line] = await once(child.stdout, "data") as [Buffer];
    await use(line.toString().trim());
  } finally {
    child.stdin.end();
    await once(child, "close");
  }
}

/** What holds of a server by either way. */
async function converse(issues: McpServer, revision: string, tools: number): Promise<void> {
  assert.equal(issues.revision, revision);
  assert.deepEqual([issues.name, issues.version, issues.instructions], ["issues", "1.2", "Be brief."]);
  const all = await issues.tools();
  assert.deepEqual(Object.keys(all).slice(0, 3), ["create_issue", "repo_read", "fail"]);
  assert.equal(Object.keys(all).length, tools);
  assert.deepEqual(await issues.call("create-issue", { title: "Ü" }), { title: "Ü", labels: null, authorized: true });
  assert.equal(await issues.call("repo/read", { a: 1 }), '{"a": 1}');
  assert.match(JSON.stringify(await issues.call("picture")), /image\/png/);
  await failure(issues.call("fail"), McpError);
  await failure(issues.call("nonesuch"), McpError);
  await failure(issues.tools("rm"), InvalidError);
}

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
  ["an MCP server that is a program says what it can do, and does it", async () => {
    await using issues = await McpServer.start(["python3", server], { env: token });
    await converse(issues, "2025-11-25", 8);
    assert.match(String(await issues.call("ask")), /told -32601/);
  }],
  ["an MCP server that is reached by HTTP says what it can do, and does it", () => overHttp(async (url) => {
    await using issues = await McpServer.connect(url, { headers: { authorization: "Bearer the-token" } });
    await converse(issues, "2025-11-25", 8);
    assert.equal(await issues.call("ask"), "done");
    // It forgets its sessions.
    await failure(issues.call("die"), ConnectionError);
    assert.equal(await issues.call("repo/read"), "{}");
  })],
  ["an MCP server without sessions is a program, too", async () => {
    await using issues = await McpServer.start(["python3", server, "--stateless"], { env: token });
    await converse(issues, "2026-07-28", 11);
    assert.equal(await issues.call("continue"), "done");
    assert.match((await failure(issues.call("ask"), McpError)).message, /asks for input/);
  }],
  ["an MCP server without sessions is reached by HTTP, and finds in headers what it wants there", () => overHttp(async (url) => {
    const given: string[] = [];
    await using issues = await McpServer.connect(url, { headers: async () => {
      given.push("Bearer the-token");
      return { authorization: "Bearer the-token" };
    } });
    // It asks for headers before anybody has asked for its tools.
    assert.equal(await issues.call("räumen", { where: { room: " Küche" }, times: 2, now: true }), "done");
    assert.equal(await issues.call("räumen", { times: null, where: { room: "x\ny" } }), "done");
    await converse(issues, "2026-07-28", 10);
    assert.ok(given.length > 8, `${given.length}`);
    await failure(issues.call("die"), ConnectionError);
    assert.equal(await issues.call("repo/read"), "{}");
  }, "--stateless")],
  ["an MCP server that ends at a revision that it does not know, or is late, is spoken to by its own", async () => {
    for (const [options, revision] of [[["--brittle"], "2025-11-25"], [["--silent"], "2025-11-25"],
      [["--stateless", "--slow"], "2026-07-28"]] as const) {
      await using issues = await McpServer.start(["python3", server, ...options], { env: token, probe: 0.1 });
      assert.deepEqual([issues.name, issues.revision], ["issues", revision]);
    }
  }],
  ["our own MCP servers are used by the newest revision", async ({ url, key, program }) => {
    for (const open of [() => McpServer.start([program, "mcp"]),
      () => McpServer.connect(`${url}/mcp`, { headers: { authorization: `Bearer ${key}` } })]) {
      await using own = await open();
      assert.deepEqual([own.name, own.revision], ["glovebox", "2026-07-28"]);
      assert.ok("run_code" in await own.tools());
      const made = await own.call("run_code", { code: "20 + 22" }) as { result: string; sandbox?: string };
      assert.equal(made.result, "42");
      if (made.sandbox) await own.call("delete_sandbox", { sandbox: made.sandbox });
    }
  }],
  ["a token for an MCP server follows no redirect, and its absence is told", () => overHttp(async (url) => {
    await failure(McpServer.connect(url), ConnectionError);
    const headers = { authorization: "Bearer the-token" };
    await failure(McpServer.connect(url.replace("/mcp", "/elsewhere"), { headers }), ConnectionError);
    await failure(McpServer.connect("file:///etc/passwd"), InvalidError);
  })],
  ["an MCP server that hangs, ends or is none is an error", async () => {
    await using slow = await McpServer.start(["python3", server], { timeout: 5 });
    await failure(slow.call("hang"), TimeoutError);
    assert.equal(await slow.call("repo/read"), "{}");
    await failure(slow.call("die"), ConnectionError);
    await failure(slow.call("repo/read"), ConnectionError);
    await failure(McpServer.start(["/nonexistent"]), ConnectionError);
    await failure(McpServer.start(["true"]), ConnectionError);
  }],
  ["code in a live daemon calls an MCP server and a model as modules, and has none of their keys", async ({ context }) => {
    await using issues = await McpServer.start(["python3", server], { env: token });
    const code = "from mcp.issues import create_issue\nimport os\nmade = create_issue('Broken')\n"
      + "print(made['title'], made['authorized'], 'the-token' in str(os.environ), llm.complete('hi', top=1))";
    const mcp = { issues: await issues.tools("create-issue") };
    const verdict = await (await context()).execute(code, { mcp, llm: (prompt, options) => `${prompt} ${JSON.stringify(options)}` });
    assert.equal(verdict.stdout, 'Broken True False hi {"top":1}\n', verdict.error?.traceback);
  }],
  ["the events of code that calls modules and tools are streamed, and its calls are answered", async ({ context }) => {
    await using issues = await McpServer.start(["python3", server], { env: token });
    const live = await context();
    for (let run = 0; run < 2; run++) {
      const execution = live.execute("print(mcp.issues.repo_read(), llm.complete('hi'), add(a=1, b=1)); 5",
        { tools: add, mcp: { issues }, llm: (prompt) => `${prompt}!` });
      const events = await collect(execution);
      assert.deepEqual(events.flatMap((each) => each.type === "tool_call" ? [each.name] : []),
        ["mcp.issues.repo_read", "llm.complete", "add"]);
      assert.equal((await execution).stdout, "{} hi! 2\n");
    }
  }],
  ["code in a live daemon calls a tool and gets its result", async ({ context }) => {
    const verdict = await (await context()).execute("print(add(a=40, b=2))", { tools: add });
    assert.equal(verdict.stdout, "42\n", verdict.error?.traceback);
  }],
];
