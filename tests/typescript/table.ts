// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Client, type Context, Sandbox, type SandboxOptions } from "glovebox";

/** What the rows are run against. */
export interface World {
  client: Client;
  /** A sandbox that all rows share: a row leaves nothing in it that could disturb another. */
  sandbox: Sandbox;
  url: string;
  key: string;
  /** Path of the daemon's socket, and of the program `glovebox`. */
  socket: string;
  program: string;
  /** A sandbox for this row alone; it ends with the row. */
  fresh(options?: SandboxOptions): Promise<Sandbox>;
  /** A context for this row alone, in the shared sandbox. */
  context(language?: string): Promise<Context>;
}

/** A claim, and how it is verified. */
export type Row = readonly [claim: string, verify: (world: World) => Promise<void>];

/** Waits until `condition` returns something, asking again and again. */
export async function eventually<T>(condition: () => Promise<T | undefined | false>): Promise<T> {
  const end = Date.now() + 30_000;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error("not within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The error of this class that a promise is rejected with. */
export async function failure<E extends Error>(promise: PromiseLike<unknown>,
  kind: abstract new (...args: never[]) => E): Promise<E> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof kind, `${error}`);
    return error;
  }
  throw new assert.AssertionError({ message: `no ${kind.name}` });
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
