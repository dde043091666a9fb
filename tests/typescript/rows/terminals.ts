// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Client, InvalidError, NotFoundError, Sandbox, UnavailableError, type Terminal } from "glovebox";
import { type Row, eventually, failure, text } from "../table.js";

async function shown(terminal: Terminal): Promise<string> {
  let all = "";
  for await (const bytes of terminal) all += text(bytes);
  return all;
}

/** Reads until a terminal has shown this. */
async function until(terminal: Terminal, wanted: string): Promise<void> {
  let all = "";
  for await (const bytes of terminal) if ((all += text(bytes)).includes(wanted)) return;
}

const SERVER = `
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.startswith("/away"):
            self.send_response(302)
            self.send_header("Location", "/v1/sandboxes")
            self.end_headers()
            return
        text = f"{self.command} {self.path} {body.decode()} key={self.headers.get('x-api-key')} x={self.headers.get('x-mine')}"
        self.send_response(418 if "teapot" in self.path else 200)
        self.end_headers()
        self.wfile.write(text.encode())
    do_GET = do_POST = do_PUT = answer
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
`;

async function withServer(sandbox: Sandbox): Promise<Sandbox> {
  await sandbox.files.write("server.py", SERVER);
  await sandbox.commands.start(["python3", "server.py"]);
  await eventually(async () => (await sandbox.ports.fetch(8000)).status === 200);
  return sandbox;
}

export const terminals: readonly Row[] = [
  ["a terminal has its size, and shows what is typed", async ({ sandbox }) => {
    const terminal = await sandbox.terminals.create({ argv: ["sh"], columns: 100, rows: 30 });
    await terminal.write("stty size; exit 5\n");
    assert.match(await shown(terminal), /30 100/);
    assert.deepEqual(await terminal.wait(), { exit_code: 5, signal: null, reason: "error" });
  }],
  ["a terminal is resized", async ({ sandbox }) => {
    const terminal = await sandbox.terminals.create({ argv: ["sh"] });
    await terminal.resize({ columns: 77, rows: 22 });
    await terminal.write("until stty size | grep '22 77'; do :; done; exit\n");
    assert.match(await shown(terminal), /22 77\r\n/);
  }],
  ["a terminal's default is a login shell", async ({ sandbox }) => {
    const terminal = await sandbox.terminals.create();
    await terminal.write("shopt -q login_shell && echo is-$((40+2)); exit\n");
    assert.match(await shown(terminal), /is-42/);
  }],
  ["onData gets what a terminal shows", async ({ sandbox }) => {
    let all = "";
    const terminal = await sandbox.terminals.create({ argv: ["echo", "hällo"], onData: (bytes) => { all += text(bytes); } });
    await terminal.wait();
    assert.equal(all, "hällo\r\n");
  }],
  ["a signal reaches a terminal's process", async ({ sandbox }) => {
    const terminal = await sandbox.terminals.create({ argv: ["sh", "-c", "trap 'exit 9' INT; echo ready; while :; do sleep 0.05; done"] });
    await until(terminal, "ready");
    await terminal.signal("SIGINT");
    assert.equal((await terminal.wait()).exit_code, 9);
  }],
  ["Ctrl-C in a terminal is an interrupt", async ({ sandbox }) => {
    const terminal = await sandbox.terminals.create({ argv: ["python3", "-c", "import signal; print('ready', flush=True); signal.pause()"] });
    await until(terminal, "ready");
    await terminal.write("\u0003");
    assert.equal((await terminal.wait()).signal, 2);
  }],
  ["a terminal that is left can be joined again", async ({ sandbox }) => {
    const terminal = await sandbox.terminals.create({ argv: ["sh", "-c", "read x; echo got $x"] });
    await terminal.detach();
    const again = await sandbox.terminals.connect(terminal.pid);
    await again.write("this\n");
    assert.match(await shown(again), /got this/);
  }],
  ["a terminal is killed at the end of an await using block", async ({ fresh }) => {
    const sandbox = await fresh();
    {
      await using terminal = await sandbox.terminals.create({ argv: ["sleep", "1000"] });
      assert.ok(terminal.pid > 0);
    }
    await eventually(async () => (await sandbox.commands.run("pgrep -x sleep")).exit_code !== 0);
  }],
  ["much output of a terminal comes whole", async ({ sandbox }) => {
    const terminal = await sandbox.terminals.create({ argv: ["sh", "-c", "seq 1 60000"] });
    const all = await shown(terminal);
    assert.equal(all, Array.from({ length: 60_000 }, (_, at) => `${at + 1}\r\n`).join(""));
  }],
  ["a terminal that nobody reads ends, and the end of its output is kept", async ({ sandbox }) => {
    const terminal = await sandbox.terminals.create({ argv: ["sh", "-c", "seq 1 1500000"] });
    assert.equal((await terminal.wait()).exit_code, 0);
    const all = await shown(terminal);
    assert.ok(all.length < 5_000_000 && all.endsWith("1499999\r\n1500000\r\n"), String(all.length));
  }],
  ["a terminal of an unknown process is not found", async ({ sandbox }) => {
    await failure(sandbox.terminals.connect(999_999), NotFoundError);
  }],
  ["a terminal works over a Unix socket", async ({ socket, sandbox }) => {
    const same = Sandbox.get(sandbox.id, { client: new Client({ url: `unix:${socket}` }) });
    const terminal = await same.terminals.create({ argv: ["echo", "by socket"] });
    assert.equal(await shown(terminal), "by socket\r\n");
  }],
  ["a port passes requests on, with any method", async ({ fresh }) => {
    const { ports } = await withServer(await fresh());
    assert.match(await (await ports.fetch(8000, "/a?b=c")).text(), /^GET \/a\?b=c /);
    const posted = await ports.fetch(8000, "x", { method: "POST", body: "content", headers: { "x-mine": "y" } });
    assert.match(await posted.text(), /^POST \/x content .*x=y/);
  }],
  ["a guest's server gets no key, its status is no error, and its redirects are not followed", async ({ fresh, key }) => {
    const { ports } = await withServer(await fresh());
    assert.ok(!(await (await ports.fetch(8000)).text()).includes(key));
    assert.equal((await ports.fetch(8000, "/teapot")).status, 418);
    assert.ok([0, 302].includes((await ports.fetch(8000, "/away")).status));
  }],
  ["nobody on a port is status 502", async ({ sandbox }) => {
    assert.equal((await sandbox.ports.fetch(9)).status, 502);
  }],
  ["a path cannot lead out of a port", async ({ sandbox }) => {
    await failure(sandbox.ports.fetch(8000, "/../../../sandboxes"), InvalidError);
    await failure(sandbox.ports.fetch(8000, "%2e%2e/9000/"), InvalidError);
    await failure(sandbox.ports.fetch(70_000), InvalidError);
  }],
  ["a token opens a port without a key", async ({ fresh }) => {
    const sandbox = await withServer(await fresh());
    const token = await sandbox.ports.token(8000, { expires_in: "5m" });
    assert.ok(Date.parse(token.expires) > Date.now());
    const { host, search } = new URL(token.url ?? "");
    assert.ok(host.startsWith(`8000-${sandbox.id}.localhost`) && search.includes(token.token));
  }],
  ["a WebSocket that the guest's server does not open is an error", async ({ fresh }) => {
    const { ports } = await withServer(await fresh());
    await failure(ports.connect(8000), Error);
    await failure((await fresh()).ports.connect(8000), UnavailableError).catch(() => {});
  }],
];
