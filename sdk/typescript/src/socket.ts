// SPDX-License-Identifier: Apache-2.0
// A WebSocket (RFC 6455). The standard's own class cannot send an API key, nor use a Unix socket.
import type { Socket as Connection } from "node:net";
import { ConnectionError, errorOfResponse } from "./errors.js";
import { connect } from "./platform.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** More than the daemon sends in one message. */
const LONGEST_MESSAGE = 128 * 1024 * 1024;
const LONGEST_HEAD = 64 * 1024;
const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export type Message = string | Uint8Array;

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

async function acceptanceOf(key: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(key + GUID));
  return base64(new Uint8Array(hash));
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Hands out the bytes of a connection in the amounts that are asked for. */
class Bytes {
  private readonly source: AsyncIterator<Uint8Array>;
  private pieces: Uint8Array[] = [];
  private size = 0;

  constructor(connection: Connection) {
    this.source = connection[Symbol.asyncIterator]();
  }

  /** That many bytes, or undefined at the end of the connection. */
  async take(count: number): Promise<Uint8Array | undefined> {
    while (this.size < count) if (!await this.more()) return undefined;
    const whole = this.pieces.length === 1 && this.pieces[0] ? this.pieces[0] : join(this.pieces);
    this.pieces = [whole.subarray(count)];
    this.size -= count;
    return whole.subarray(0, count);
  }

  /** The head of an HTTP response, with the empty line that ends it. */
  async head(): Promise<string | undefined> {
    for (;;) {
      const whole = join(this.pieces);
      this.pieces = [whole];
      const text = new TextDecoder("latin1").decode(whole.subarray(0, LONGEST_HEAD));
      const end = text.indexOf("\r\n\r\n");
      if (end >= 0) {
        this.pieces = [whole.subarray(end + 4)];
        this.size -= end + 4;
        return text.slice(0, end);
      }
      if (this.size >= LONGEST_HEAD || !await this.more()) return undefined;
    }
  }

  private async more(): Promise<boolean> {
    const { done, value } = await this.source.next();
    if (done) return false;
    this.pieces.push(value);
    this.size += value.length;
    return true;
  }
}

function frame(opcode: number, payload: Uint8Array): Uint8Array {
  const long = payload.length > 65535 ? 8 : payload.length > 125 ? 2 : 0;
  const bytes = new Uint8Array(2 + long + 4 + payload.length);
  const view = new DataView(bytes.buffer);
  bytes[0] = 0x80 | opcode;
  bytes[1] = 0x80 | (long === 8 ? 127 : long === 2 ? 126 : payload.length);
  if (long === 2) view.setUint16(2, payload.length);
  if (long === 8) view.setBigUint64(2, BigInt(payload.length));
  const mask = crypto.getRandomValues(new Uint8Array(4));
  bytes.set(mask, 2 + long);
  for (let at = 0; at < payload.length; at++) {
    bytes[2 + long + 4 + at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0);
  }
  return bytes;
}

/** An open WebSocket. Iterate over it for the messages that come; once only. */
export class Socket implements AsyncIterable<Message>, AsyncDisposable {
  #closing = false;

  private constructor(private readonly connection: Connection, private readonly bytes: Bytes) {}

  /** Opens the WebSocket at `path` of the server at `address`. Throws what the server says if it refuses. */
  static async open(address: string, path: string, headers: Readonly<Record<string, string>>,
    signal?: AbortSignal): Promise<Socket> {
    const connection = await connect(address, signal);
    const onAbort = () => connection.destroy(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const key = base64(crypto.getRandomValues(new Uint8Array(16)));
      const host = address.startsWith("unix:") ? "localhost" : new URL(address).host;
      const lines = Object.entries({ host, upgrade: "websocket", connection: "Upgrade",
        "sec-websocket-key": key, "sec-websocket-version": "13", ...headers });
      connection.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
      const bytes = new Bytes(connection);
      const [status = "", ...rest] = (await bytes.head() ?? "").split("\r\n");
      const answer = new Headers(rest.map((line) => line.split(/:\s*(.*)/, 2) as [string, string]));
      const code = Number(/^HTTP\/1\.1 (\d{3})/.exec(status)?.[1]);
      if (code >= 300) {
        const length = Math.min(Number(answer.get("content-length") ?? 0), LONGEST_HEAD);
        throw await errorOfResponse(new Response(await bytes.take(length) as BodyInit | undefined ?? null,
          { status: code, headers: answer }));
      }
      if (code !== 101 || answer.get("sec-websocket-accept") !== await acceptanceOf(key)) {
        throw new ConnectionError("the server did not open a WebSocket", { code: "connection_lost" });
      }
      return new Socket(connection, bytes);
    } catch (error) {
      connection.destroy();
      throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Sends a message; resolves once the connection takes more. */
  async send(message: Message): Promise<void> {
    await (typeof message === "string"
      ? this.#write(OPCODES.text, new TextEncoder().encode(message))
      : this.#write(OPCODES.binary, message));
  }

  /** Says goodbye and closes the connection. */
  async close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      await this.#write(OPCODES.close, new Uint8Array([3, 232])).catch(() => {});
    }
    this.connection.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async* [Symbol.asyncIterator](): AsyncGenerator<Message, void> {
    let open: { opcode: number; pieces: Uint8Array[]; size: number } | undefined;
    try {
      for (;;) {
        const next = await this.#read();
        if (!next || next.opcode === OPCODES.close) return;
        if (next.opcode === OPCODES.ping) await this.#write(OPCODES.pong, next.payload);
        if (next.opcode >= OPCODES.close) continue;
        open ??= { opcode: next.opcode, pieces: [], size: 0 };
        open.pieces.push(next.payload);
        open.size += next.payload.length;
        if (open.size > LONGEST_MESSAGE) throw new ConnectionError("a message is too long");
        if (!next.final) continue;
        const whole = join(open.pieces);
        yield open.opcode === OPCODES.text ? new TextDecoder().decode(whole) : whole;
        open = undefined;
      }
    } catch (error) {
      if (!this.#closing) throw error;
    } finally {
      await this.close();
    }
  }

  async #read(): Promise<{ final: boolean; opcode: number; payload: Uint8Array } | undefined> {
    const head = await this.bytes.take(2);
    if (!head) return undefined;
    const [first = 0, second = 0] = head;
    let size = second & 0x7f;
    if (size > 125) {
      const more = await this.bytes.take(size === 126 ? 2 : 8);
      if (!more) return undefined;
      const view = new DataView(more.buffer, more.byteOffset);
      size = more.length === 2 ? view.getUint16(0) : Number(view.getBigUint64(0));
    }
    if (size > LONGEST_MESSAGE) throw new ConnectionError("a message is too long");
    const payload = await this.bytes.take(size);
    return payload && { final: (first & 0x80) !== 0, opcode: first & 0x0f, payload };
  }

  #write(opcode: number, payload: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.connection.write(frame(opcode, payload), (error) => error ? reject(error) : resolve());
    });
  }
}
