// SPDX-License-Identifier: Apache-2.0
// A server that says what a test wants a daemon to say, and remembers what it was asked.
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Client, type ClientOptions } from "glovebox";

export interface Asked {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export type Reply = (response: ServerResponse, asked: Asked) => void | Promise<void>;

export interface Fake extends AsyncDisposable {
  client: Client;
  asked: Asked[];
  url: string;
}

export function json(document: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(document === undefined ? "" : JSON.stringify(document));
  };
}

/** The connection ends without a response. */
export const cut: Reply = (response) => void response.socket?.destroy();

export function lines(events: readonly unknown[], then?: (response: ServerResponse) => void): Reply {
  return (response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    for (const event of events) response.write(`${JSON.stringify(event)}\n`);
    if (then) then(response);
    else response.end();
  };
}

/** Replies to one request after the other; the last reply also serves those that follow. */
export async function fake(replies: readonly Reply[], options: ClientOptions = {}): Promise<Fake> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += String(piece);
    const one = { method: request.method ?? "", path: request.url ?? "", headers: request.headers, body };
    const reply = replies[Math.min(asked.length, replies.length - 1)];
    asked.push(one);
    await reply?.(response, one);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    asked, url, client: new Client({ url, apiKey: "k", ...options }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An address at which nobody listens. */
export async function nobodysUrl(): Promise<string> {
  const server = await fake([]);
  await server[Symbol.asyncDispose]();
  return server.url;
}

/** A verdict of code that ended well. */
export const verdict = {
  type: "verdict", id: "v", language: "python", tier: "native", status: "ok", exit_code: 0, signal: null,
  stdout: "", stderr: "", truncated: { stdout: false, stderr: false }, bytes: { stdout: 0, stderr: 0 },
  results: [], error: null, files: [], walls: {}, limits: {}, usage: {}, timings: {},
};
