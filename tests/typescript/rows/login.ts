// SPDX-License-Identifier: Apache-2.0
// Signing in to an MCP server that wants tokens of an authorization server: the one that the tests of both SDKs use.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { LoginError, McpLogin, type McpLoginOptions, McpServer, TimeoutError } from "glovebox";
import { type Row, type World as Daemon, failure } from "../table.js";

const server = join(dirname(process.env["TEST_MCP_SERVER"] ?? ""), "authorization.py");
const GUARDED = "/.well-known/oauth-protected-resource/mcp";
const ISSUER = "/.well-known/oauth-authorization-server/login";

interface Known {
  asked: Record<string, string>[];
  registered: { redirect_uris: string[] }[];
  tokens: string[];
  issuer: string;
}

/** Both servers, and what a test changes of them. */
interface World {
  url: string;
  /** Tells the servers what is to change; what they know. */
  tell(change?: { set?: Record<string, unknown>; clear?: string[] }): Promise<Known>;
  login(how?: McpLoginOptions): McpLogin;
  connect(login: McpLogin): Promise<McpServer>;
  /** The error of a sign-in; after it, there is no token. */
  refusal(how?: McpLoginOptions): Promise<LoginError>;
}

/** What a person does who opens the page. */
function visit(address: string): void {
  void fetch(address).then((response) => response.body?.cancel());
}

function inWorld(use: (world: World, daemon: Daemon) => Promise<void>): Row[1] {
  return async (daemon) => {
    const child = spawn("python3", [server], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const line = async () => String((await lines.next()).value);
      const url = await line();
      const login = (how: McpLoginOptions = {}) => new McpLogin(url, { openPage: visit, ...how });
      const tell: World["tell"] = async (change = {}) => {
        child.stdin.write(`${JSON.stringify(change)}\n`);
        return JSON.parse(await line()) as Known;
      };
      await use({ url, tell, login,
        connect: (headers) => McpServer.connect(url, { headers, timeout: 30, probe: 0 }),
        refusal: async (how) => {
          const error = await failure(login(how).headers(), LoginError);
          assert.deepEqual((await tell()).tokens, []);
          return error;
        } }, daemon);
    } finally {
      child.stdin.end();
      await once(child, "close");
    }
  };
}

export const login: readonly Row[] = [
  ["a person signs in to an MCP server once, and the token goes with every request", inWorld(async ({ url, tell, login, connect }) => {
    const visited: string[] = [];
    await using guarded = await connect(login({ openPage: (page) => { visited.push(page); visit(page); } }));
    assert.deepEqual([await guarded.call("read"), await guarded.call("read")], ["read", "read"]);
    assert.equal(visited.length, 1);
    const asked = new URL(visited[0] ?? "").searchParams;
    assert.deepEqual(["theme", "scope", "resource"].map((name) => asked.get(name)), ["dark", "issues", url]);
    const { registered, asked: forms } = await tell();
    assert.deepEqual(registered.map((each) => each.redirect_uris), [[asked.get("redirect_uri")]]);
    assert.match(asked.get("redirect_uri") ?? "", /^http:\/\/127\.0\.0\.1:/);
    assert.deepEqual(forms.map((form) => form["grant_type"]), ["authorization_code"]);
  })],
  ["code in a live daemon calls the tools of a server that a person has signed in to", inWorld(async ({ login, connect }, { context }) => {
    await using guarded = await connect(login());
    const verdict = await (await context()).execute("from mcp.guarded import read\nprint(read())", { mcp: { guarded } });
    assert.equal(verdict.stdout, "read\n", verdict.error?.traceback);
  })],
  ["requests at once wait for one sign-in", inWorld(async ({ tell, login }) => {
    const one = login();
    const all = await Promise.all([one.headers(), one.headers(), one.headers()]);
    assert.equal(new Set(all.map((each) => each["authorization"])).size, 1);
    assert.equal((await tell()).registered.length, 1);
  })],
  ["a token is renewed before it expires, each time with the newest refresh token", inWorld(async ({ tell, login, connect }) => {
    await tell({ set: { expires: 1 } });
    await using guarded = await connect(login());
    await guarded.call("read");
    const { asked } = await tell();
    assert.equal(asked[0]?.["grant_type"], "authorization_code");
    assert.ok(asked.length > 1 && asked.slice(1).every((form) => form["grant_type"] === "refresh_token"));
    assert.equal(new Set(asked.map((form) => form["refresh_token"])).size, asked.length);
  })],
  ["a token that the server takes no more is renewed, and the request made again", inWorld(async ({ tell, login, connect }) => {
    await using guarded = await connect(login());
    await tell({ clear: ["tokens"] });
    assert.equal(await guarded.call("read"), "read");
    assert.equal((await tell({ clear: ["tokens", "grants"] })).registered.length, 1);
    // Without its refresh token, a person is asked again.
    assert.equal(await guarded.call("read"), "read");
    assert.equal((await tell()).registered.length, 2);
  })],
  ["what is stored of a sign-in is for this user and this server alone", inWorld(async ({ tell, login, connect }) => {
    const folder = await mkdtemp(join(tmpdir(), "gb-login."));
    try {
      const store = join(folder, "new", "tokens.json");
      await (await connect(login({ store }))).close();
      assert.equal((await stat(store)).mode & 0o777, 0o600);
      assert.deepEqual(await readdir(dirname(store)), ["tokens.json"]);
      await (await connect(login({ store, openPage: () => assert.fail("nobody has to agree") }))).close();
      const held = JSON.parse(await readFile(store, "utf8")) as object;
      let registered = 1;
      for (const wrong of ["", "[]", "{}", JSON.stringify({ ...held, url: "https://other.example" }),
        JSON.stringify({ ...held, token_endpoint: "http://other.example" })]) {
        await writeFile(store, wrong);
        await login({ store }).headers();
        assert.equal((await tell()).registered.length, ++registered);
      }
      await login({ store }).forget();
      assert.equal(await readFile(store, "utf8"), "{}");
    } finally {
      await rm(folder, { recursive: true });
    }
  })],
  ["a program that an authorization server does not register needs its client's id", inWorld(async ({ tell, login, refusal }) => {
    await tell({ set: { changed: { [ISSUER]: { registration_endpoint: null } } } });
    assert.match((await refusal()).message, /registers no programs/);
    let page = "";
    const mine = login({ clientId: "mine", openPage: (address) => { page = address; return false; } });
    await failure(mine.headers(), LoginError);
    assert.equal(new URL(page).searchParams.get("client_id"), "mine");
    assert.deepEqual((await tell()).registered, []);
  })],
  ["a sign-in that is refused, or that nobody comes to, is an error", inWorld(async ({ tell, login, refusal }) => {
    await tell({ set: { refuses: true } });
    assert.match((await refusal()).message, /refused: access_denied/);
    assert.match((await refusal({ openPage: () => false })).message, /no browser/);
    await failure(login({ openPage: () => {}, timeout: 0.01 }).headers(), TimeoutError);
  })],
  ["an answer to a sign-in without its state, or of another server, is not taken", inWorld(async ({ tell, login, refusal }) => {
    const seen: [number, string][] = [];
    await login({ openPage: async (address) => {
      const asked = new URL(address).searchParams;
      const many = Array.from({ length: 99 }, (_, at) => `a${at}=1`).join("&");
      for (const query of ["code=forged", "code=forged&state=x", `state=${asked.get("state")}&${many}`]) {
        const response = await fetch(`${asked.get("redirect_uri")}?${query}`);
        seen.push([response.status, await response.text()]);
      }
      visit(address);
    } }).headers();
    assert.deepEqual(seen, [[404, ""], [404, ""], [404, ""]]);
    const { asked, issuer } = await tell({ clear: ["tokens"], set: { answers: { iss: "https://evil.example" } } });
    assert.ok(asked.every((form) => form["code"] !== "forged"));
    assert.match((await refusal()).message, /another authorization server/);
    const must = { [ISSUER]: { authorization_response_iss_parameter_supported: true } };
    await tell({ set: { answers: {}, changed: must } });
    assert.match((await refusal()).message, /another authorization server/);
    await tell({ set: { answers: { iss: issuer } } });
    await login().headers();
  })],
  ["an MCP server that says of its sign-in what cannot be true gets nothing", inWorld(async ({ url, tell, refusal }) => {
    for (const [path, changed, words] of [
      [GUARDED, { resource: "https://other.example/mcp" }, /describes another/],
      [GUARDED, { resource: `${url}2` }, /describes another/],
      [GUARDED, { resource: `http://x\u001b[2J${"y".repeat(10_000)}` }, /describes another one: http:\/\/x\?\[2Jy{1,200}$/],
      [GUARDED, { authorization_servers: [] }, /names no authorization server/],
      [GUARDED, { authorization_servers: ["http://other.example"] }, /invalid address/],
      [GUARDED, { authorization_servers: ["file:///etc/passwd"] }, /invalid address/],
      [ISSUER, { issuer: "https://other.example" }, /no description/],
      [ISSUER, { code_challenge_methods_supported: ["plain"] }, /PKCE/],
      [ISSUER, { authorization_endpoint: "javascript:alert(1)" }, /invalid address/],
      [ISSUER, { authorization_endpoint: "https://a.example/ --help" }, /invalid address/],
      [ISSUER, { token_endpoint: "http://other.example/token" }, /invalid address/],
      [ISSUER, { registration_endpoint: "http://user@127.0.0.1/" }, /invalid address/]] as const) {
      await tell({ set: { changed: { [path]: changed } } });
      assert.match((await refusal()).message, words);
    }
    for (const address of ["http://other.example/mcp", "ftp://127.0.0.1/", "https://a.example/#x"]) {
      assert.throws(() => new McpLogin(address), LoginError);
    }
  })],
];
