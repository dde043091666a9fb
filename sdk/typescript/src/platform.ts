// SPDX-License-Identifier: Apache-2.0
// What web standards do not cover: Unix sockets, raw connections, programs and the environment.
// Modules of Node (which Deno and Bun have too) are loaded only when they are needed.
import type { Socket } from "node:net";

/** A variable of the environment. */
export function variable(name: string): string | undefined {
  return globalThis.process?.env?.[name] || undefined;
}

/** Where `glovebox serve` has its socket by default, for the user who runs this program. */
export function defaultSocket(): string {
  const root = globalThis.process?.getuid?.() === 0;
  return `${root ? "/var/lib/glovebox" : `${variable("HOME") ?? "/tmp"}/.glovebox`}/api.sock`;
}

/** Opens a page in the browser of whoever uses this machine. False where there is none. */
export async function openBrowser(address: string): Promise<boolean> {
  const { spawn } = await import("node:child_process");
  const [program, ...words] = process.platform === "darwin" ? ["open"]
    : process.platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"];
  return await new Promise((resolve) => {
    const child = spawn(program ?? "", [...words, address], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

/** `fetch`, but over a Unix socket. The host of the address is only a name. */
export function fetchOverSocket(path: string): typeof fetch {
  return async (input, init = {}) => {
    const [http, { Readable }] = await Promise.all([import("node:http"), import("node:stream")]);
    const url = new URL(input instanceof Request ? input.url : input);
    const body = init.body instanceof Blob ? init.body.stream() : init.body;
    return await new Promise<Response>((resolve, reject) => {
      const request = http.request({
        socketPath: path, path: url.pathname + url.search, method: init.method ?? "GET",
        headers: { host: url.host, ...Object.fromEntries(new Headers(init.headers)) },
        ...(init.signal ? { signal: init.signal } : {}),
      }, (message) => {
        const headers = new Headers();
        for (let at = 0; at + 1 < message.rawHeaders.length; at += 2) {
          headers.append(message.rawHeaders[at] ?? "", message.rawHeaders[at + 1] ?? "");
        }
        const status = message.statusCode ?? 0;
        const bodyless = init.method === "HEAD" || status === 204 || status === 304;
        if (bodyless) message.resume();
        const content = bodyless ? null : Readable.toWeb(message) as ReadableStream<Uint8Array>;
        resolve(new Response(content, { status, headers }));
      });
      request.on("error", reject);
      if (body instanceof ReadableStream) {
        const source = Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]);
        source.on("error", (error) => request.destroy(error));
        source.pipe(request);
      } else {
        request.end(body ?? undefined);
      }
    });
  };
}

/** A connection for bytes both ways: to `unix:PATH`, `http://HOST` or `https://HOST`. */
export async function connect(address: string, signal?: AbortSignal): Promise<Socket> {
  signal?.throwIfAborted();
  let socket: Socket;
  let ready = "connect";
  if (address.startsWith("unix:")) {
    const { connect: open } = await import("node:net");
    socket = open({ path: address.slice("unix:".length) });
  } else {
    const url = new URL(address);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (url.protocol === "https:") {
      const { connect: open } = await import("node:tls");
      socket = open({ host, port: Number(url.port || 443),
        ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }), ALPNProtocols: ["http/1.1"] });
      ready = "secureConnect";
    } else {
      const { connect: open } = await import("node:net");
      socket = open({ host, port: Number(url.port || 80), noDelay: true });
    }
  }
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => socket.destroy(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    socket.once("error", reject);
    socket.once(ready, () => {
      signal?.removeEventListener("abort", onAbort);
      socket.off("error", reject);
      resolve();
    });
  });
  return socket;
}

export interface ProgramEnd {
  code: number | null;
  signal: string | null;
  stderr: string;
}

/** How much of a program's standard error is kept. */
const MOST_STDERR = 64 * 1024;

/** Runs a program, passes its standard output to `onOutput` one piece after the other, and waits for its end. */
export async function runProgram(command: readonly string[], input: Uint8Array | string,
  onOutput: (bytes: Uint8Array) => Promise<void>,
  options: { env: Record<string, string>; signal?: AbortSignal | undefined }): Promise<ProgramEnd> {
  const { spawn } = await import("node:child_process");
  const { env, signal } = options;
  signal?.throwIfAborted();
  return await new Promise<ProgramEnd>((resolve, reject) => {
    const child = spawn(command[0] ?? "", command.slice(1),
      { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
    const onAbort = () => child.kill("SIGTERM");
    signal?.addEventListener("abort", onAbort, { once: true });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-MOST_STDERR);
    });
    const read = (async () => {
      for await (const bytes of child.stdout) await onOutput(bytes as Uint8Array);
    })().catch((error: unknown) => {
      child.kill("SIGTERM");
      reject(error);
    });
    // A program that ends without reading all of its input is no error of ours.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    child.on("error", reject);
    child.on("close", (code, ended) => {
      signal?.removeEventListener("abort", onAbort);
      void read.then(() => resolve({ code, signal: ended, stderr }));
    });
  });
}

/** Gives files to a program: writes them to a temporary directory for as long as `use` takes. */
export async function withFiles<T>(files: Readonly<Record<string, string>>,
  use: (directory: string) => Promise<T>): Promise<T> {
  const [fs, path, os] = await Promise.all(
    [import("node:fs/promises"), import("node:path"), import("node:os")]);
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), "glovebox-"));
  try {
    for (const [name, content] of Object.entries(files)) {
      const place = path.resolve(directory, name);
      if (!place.startsWith(directory + path.sep)) throw new RangeError(`invalid file name '${name}'`);
      await fs.mkdir(path.dirname(place), { recursive: true });
      await fs.writeFile(place, content);
    }
    return await use(directory);
  } finally {
    await fs.rm(directory, { recursive: true, force: true });
  }
}

/** The program `glovebox`: the one of this package where it has one, or else that of PATH. */
export async function findProgram(): Promise<string> {
  const [{ existsSync }, { fileURLToPath }] = await Promise.all(
    [import("node:fs"), import("node:url")]);
  const own = fileURLToPath(new URL("../bin/glovebox", import.meta.url));
  return existsSync(own) ? own : "glovebox";
}
