// SPDX-License-Identifier: Apache-2.0
import { Backlog } from "./backlog.js";
import type { Client } from "./client.js";
import type { ProcessEnd } from "./commands.js";
import { ConnectionError, errorOf } from "./errors.js";
import type * as models from "./generated/models.js";
import type { Socket } from "./socket.js";

export interface TerminalSize {
  columns?: number | undefined;
  rows?: number | undefined;
}

export interface TerminalOptions extends TerminalSize {
  /** Default: a login shell. */
  argv?: readonly string[] | undefined;
  cwd?: string | undefined;
  env?: models.Environment | undefined;
  /** Who runs it, in a sandbox whose own user is root. */
  user?: string | undefined;
  /** Ends the process after this time. */
  timeout?: models.Duration | undefined;
  /** Gets what the terminal shows. Without it, iterate over the terminal. */
  onData?: ((bytes: Uint8Array) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** A process with a terminal, over a WebSocket. */
export class Terminal implements AsyncIterable<Uint8Array>, AsyncDisposable {
  readonly #ended: Promise<ProcessEnd>;
  readonly #shown = new Backlog<Uint8Array>((bytes) => bytes.length);

  private constructor(private readonly client: Client, readonly sandboxId: string, readonly pid: number,
    private readonly socket: Socket, private readonly onData?: (bytes: Uint8Array) => void) {
    this.#ended = this.follow().finally(() => this.#shown.end());
    this.#ended.catch(() => {});
  }

  /** @internal */
  static async attach(client: Client, sandboxId: string, pid: number,
    options: Pick<TerminalOptions, "onData" | "signal">): Promise<Terminal> {
    const path = `/v1/sandboxes/${encodeURIComponent(sandboxId)}/processes/${pid}`;
    return new Terminal(client, sandboxId, pid, await client.socket(path, options.signal), options.onData);
  }

  private async follow(): Promise<ProcessEnd> {
    for await (const message of this.socket) {
      if (typeof message !== "string") {
        if (this.onData) this.onData(message);
        else await this.#shown.add(message);
        continue;
      }
      const event = JSON.parse(message) as models.ProcessEvent & models.Error;
      if (event.type === "failed") throw errorOf(event);
      if (event.type === "ended") {
        return { exit_code: event.exit_code ?? -1, signal: event.signal ?? null, reason: event.reason ?? "error" };
      }
    }
    throw new ConnectionError("the terminal's connection ended before its process",
      { code: "connection_lost" });
  }

  /** What the terminal shows, as it comes, until its process ends. A second loop continues where the first was left. Of
   *  what nobody reads, the last 4 MiB are kept. */
  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    return this.#shown.read("unread");
  }

  /** Types. */
  async write(data: string | Uint8Array): Promise<void> {
    await this.socket.send(typeof data === "string" ? new TextEncoder().encode(data) : data);
  }

  async resize(size: TerminalSize): Promise<void> {
    await this.socket.send(JSON.stringify({ resize: size }));
  }

  /** Sends a signal, such as `SIGINT`. */
  async signal(signal: string): Promise<void> {
    await this.socket.send(JSON.stringify({ signal }));
  }

  /** Waits for the end of its process. */
  async wait(): Promise<ProcessEnd> {
    return await this.#ended;
  }

  /** Ends its process. */
  async kill(): Promise<void> {
    await this.client.call("killProcess", { path: { id: this.sandboxId, pid: this.pid } });
  }

  /** Leaves the terminal; its process continues. */
  async detach(): Promise<void> {
    await this.socket.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill().catch(() => {});
    await this.detach();
  }
}

/** Terminals of a sandbox. */
export class Terminals {
  /** @internal */
  constructor(private readonly client: Client, private readonly sandboxId: string) {}

  /** Starts a process with a terminal. */
  async create(options: TerminalOptions = {}): Promise<Terminal> {
    const { argv = ["/bin/bash", "-l"], columns, rows, cwd, env, user, timeout, signal } = options;
    const made = await this.client.call("startProcess", { signal, path: { id: this.sandboxId },
      body: { argv: [...argv], cwd, env, user, timeout, terminal: { columns, rows } } });
    return await Terminal.attach(this.client, this.sandboxId, (made as { pid: number }).pid, options);
  }

  /** Goes to the terminal of a process that runs already. */
  async connect(pid: number, options: Pick<TerminalOptions, "onData" | "signal"> = {}): Promise<Terminal> {
    return await Terminal.attach(this.client, this.sandboxId, pid, options);
  }
}
