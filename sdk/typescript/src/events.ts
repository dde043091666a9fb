// SPDX-License-Identifier: Apache-2.0
import { ConnectionError } from "./errors.js";
import type { Error as ErrorDocument, Finding, Result, Verdict } from "./generated/models.js";

/** What happens while code runs. The last event is `verdict`, or `failed`. */
export type ExecutionEvent =
  | { type: "started"; id?: string; phase?: string }
  | { type: "stdout" | "stderr"; text: string; base64?: string }
  | ({ type: "result" } & Result)
  | { type: "error"; name: string; value: string; traceback: string }
  | { type: "input_request"; request: number; prompt: string; password: boolean }
  | { type: "tool_call"; id: string; name: string; arguments: unknown }
  | { type: "tool_refused"; id: string; name: string; message: string; arguments: unknown }
  | { type: "approval_needed"; id: string; risk: number; findings: Finding[]; grants: string[]; hash: string }
  | { type: "connection"; host: string; port: number; verdict: string; rule: string }
  | { type: "clear"; wait: boolean }
  | { type: "note"; text: string }
  | { type: "keepalive" }
  | ({ type: "verdict" } & Verdict)
  | ({ type: "failed" } & ErrorDocument);

/** Splits text into lines as it comes, without joining what is already whole. */
export class LineSplitter {
  private readonly decoder = new TextDecoder();
  private open: string[] = [];

  push(bytes: Uint8Array): string[] {
    return this.split(this.decoder.decode(bytes, { stream: true }));
  }

  /** What came after the last line break. */
  end(): string {
    this.open.push(this.decoder.decode());
    return this.open.join("");
  }

  private split(text: string): string[] {
    const parts = text.split("\n");
    if (parts.length > 1) {
      parts[0] = this.open.join("") + (parts[0] ?? "");
      this.open = [];
    }
    const last = parts.pop();
    if (last) this.open.push(last);
    return parts;
  }
}

/** The next piece of a stream, or an error if there is none for `idleMs`. */
async function nextPiece(reader: ReadableStreamDefaultReader<Uint8Array>, idleMs: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionError("the daemon has gone silent",
      { code: "connection_lost" })), idleMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

/** The objects of a body of JSON lines, one by one. The daemon sends something every 5 seconds. */
export async function* jsonLines(body: ReadableStream<Uint8Array> | null, idleMs: number):
  AsyncGenerator<{ type: string } & Record<string, unknown>, void> {
  if (!body) return;
  const reader = body.getReader();
  const splitter = new LineSplitter();
  try {
    for (;;) {
      const { done, value } = await nextPiece(reader, idleMs);
      const lines = done ? [splitter.end()] : splitter.push(value);
      for (const line of lines) if (line.trim()) yield JSON.parse(line);
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Bytes of an event, which carries them as text where they are text. */
export function bytesOf(event: { text?: unknown; base64?: unknown }): Uint8Array {
  if (typeof event.base64 !== "string") return new TextEncoder().encode(String(event.text ?? ""));
  return Uint8Array.from(atob(event.base64), (each) => each.charCodeAt(0));
}
