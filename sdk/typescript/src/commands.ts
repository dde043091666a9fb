// SPDX-License-Identifier: Apache-2.0
import type { Client, RequestOptions } from "./client.js";
import { milliseconds } from "./duration.js";
import { ConnectionError } from "./errors.js";
import { bytesOf } from "./events.js";
import type * as models from "./generated/models.js";
import { CommandResult } from "./verdict.js";

/** A line for `/bin/sh`, or a program with its arguments. */
export type Command = string | readonly string[];

export interface StartOptions {
  cwd?: string | undefined;
  env?: models.Environment | undefined;
  /** Who runs it, in a sandbox whose own user is root. */
  user?: string | undefined;
  /** Gives the process a standard input to write to. */
  stdin?: boolean | undefined;
  /** A name of yours, by which `list` shows it. */
  tag?: string | undefined;
  /** Ends the process after this time. */
  timeout?: models.Duration | undefined;
  signal?: AbortSignal | undefined;
}

export interface RunOptions {
  cwd?: string | undefined;
  env?: models.Environment | undefined;
  /** Who runs it, in a sandbox whose own user is root. */
  user?: string | undefined;
  /** What the command reads. */
  stdin?: string | undefined;
  /** Ends the command after this time. Default: 1 minute. */
  timeout?: models.Duration | undefined;
  onStdout?: ((text: string) => void) | undefined;
  onStderr?: ((text: string) => void) | undefined;
  /** How much of each stream the result keeps. Default: 1 MiB. */
  output?: models.Size | undefined;
  /**
   * The result's `dry_run` says what the command has changed, and `sandbox.commit` or `discard` decides about it.
   * `onStdout` and `onStderr` get the output at the end.
   */
  dry_run?: boolean | undefined;
  /** `open` lets a dry run reach what the network rules allow, although nobody can take that back. */
  dry_run_network?: "closed" | "open" | undefined;
  /** How long a dry run waits for a decision before it is discarded. Default: 5 minutes. */
  dry_run_timeout?: models.Duration | undefined;
  /** Kills the command. */
  signal?: AbortSignal | undefined;
}

/** How a process ended. */
export interface ProcessEnd {
  exit_code: number;
  signal: number | null;
  reason: models.EndReason;
}

/** Longer than this, some runtimes do not wait for the head of a response; a stream has one at once. */
const LONGEST_WAIT_MS = 240_000;
const DEFAULT_TIMEOUT = 60;
const MOST_OUTPUT = 1024 * 1024;

function argvOf(command: Command): string[] {
  return typeof command === "string" ? ["/bin/sh", "-c", command] : [...command];
}

/** The end of an output stream, with how much of it there was. */
class Kept {
  text = "";
  bytes = 0;
  truncated = false;

  add(event: models.ProcessEvent): void {
    this.bytes += bytesOf(event).length;
    this.text += event.text ?? "";
    if (this.text.length > 2 * MOST_OUTPUT) this.cut();
  }

  cut(): void {
    this.truncated ||= this.text.length > MOST_OUTPUT;
    this.text = this.text.slice(-MOST_OUTPUT);
  }
}

async function feed(process: Process, input: string, signal: AbortSignal | undefined): Promise<void> {
  await process.write(input, { signal });
  await process.closeStdin({ signal });
}

function endOf(event: models.ProcessEvent): ProcessEnd {
  return { exit_code: event.exit_code ?? -1, signal: event.signal ?? null, reason: event.reason ?? "error" };
}

/** A process of a sandbox. It outlives this object, and its listeners. */
export class Process {
  /** @internal */
  constructor(private readonly client: Client, readonly sandboxId: string, readonly pid: number) {}

  private get path() {
    return { id: this.sandboxId, pid: this.pid };
  }

  /** Its output as it comes, and finally `ended`. The first listener also gets the output so far; later ones only
   *  what is new. */
  events(options: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<models.ProcessEvent, void> {
    return this.client.events("attachProcess", ["ended"], { ...options, path: this.path }) as
      AsyncGenerator<models.ProcessEvent, void>;
  }

  /** Waits for its end. The callbacks get its output. */
  async wait(options: Pick<RunOptions, "onStdout" | "onStderr" | "signal"> = {}): Promise<ProcessEnd> {
    for await (const event of this.events({ signal: options.signal })) {
      if (event.type === "stdout" || event.type === "terminal") options.onStdout?.(event.text ?? "");
      if (event.type === "stderr") options.onStderr?.(event.text ?? "");
      if (event.type === "ended") return endOf(event);
    }
    throw new ConnectionError("the stream of events ended early", { code: "connection_lost" });
  }

  /** Writes to its standard input, or types into its terminal. */
  async write(data: string | Uint8Array, options: RequestOptions = {}): Promise<void> {
    await this.client.call("writeStdin", { ...options, path: this.path, body: data });
  }

  async closeStdin(options: RequestOptions = {}): Promise<void> {
    await this.client.call("closeStdin", { ...options, path: this.path });
  }

  /** Sends a signal, such as `SIGINT`. */
  async signal(signal: string, options: RequestOptions = {}): Promise<void> {
    await this.client.call("signalProcess", { ...options, path: this.path, body: { signal } });
  }

  async info(options: RequestOptions = {}): Promise<models.Process> {
    return await this.client.call("attachProcess", { ...options, path: this.path });
  }

  async kill(options: RequestOptions = {}): Promise<void> {
    await this.client.call("killProcess", { ...options, path: this.path });
  }
}

/** Commands and processes of a sandbox. */
export class Commands {
  /** @internal */
  constructor(private readonly client: Client, private readonly sandboxId: string) {}

  private get path() {
    return { id: this.sandboxId };
  }

  /** Runs a command and waits for its end. A status that is not 0 is a result, not an error. */
  async run(command: Command, options: RunOptions = {}): Promise<CommandResult> {
    const { cwd, env, user, stdin, timeout = DEFAULT_TIMEOUT, output, signal } = options;
    const { dry_run, dry_run_network, dry_run_timeout } = options;
    if (!dry_run && (options.onStdout || options.onStderr || milliseconds(timeout) > LONGEST_WAIT_MS)) {
      return await this.follow(command, { ...options, timeout });
    }
    // The daemon ends the command at its time-out; ours is for a daemon that hangs.
    const response = await this.client.send("runCommand", { path: this.path, signal,
      timeout: milliseconds(timeout) / 1000 + 60,
      body: { ...(typeof command === "string" ? { shell: command } : { argv: [...command] }), cwd, env, user, stdin,
        limits: { time: timeout, output }, dry_run, dry_run_network, dry_run_timeout } });
    const result = new CommandResult(await response.json() as models.CommandResult);
    if (result.stdout) options.onStdout?.(result.stdout);
    if (result.stderr) options.onStderr?.(result.stderr);
    return result;
  }

  /** Starts a process and returns at once. */
  async start(command: Command, options: StartOptions = {}): Promise<Process> {
    const { signal, ...rest } = options;
    const made = await this.client.call("startProcess",
      { signal, path: this.path, body: { ...rest, argv: argvOf(command) } });
    return new Process(this.client, this.sandboxId, (made as { pid: number }).pid);
  }

  /** A process by its id, without asking the daemon. */
  get(pid: number): Process {
    return new Process(this.client, this.sandboxId, pid);
  }

  /** The processes that were started through the API. */
  async list(options: RequestOptions = {}): Promise<models.Process[]> {
    return (await this.client.call("listProcesses", { ...options, path: this.path })).processes;
  }

  private async follow(command: Command, options: RunOptions): Promise<CommandResult> {
    const { cwd, env, user, stdin, timeout, signal } = options;
    const kept = { stdout: new Kept(), stderr: new Kept() };
    let process: Process | undefined;
    let ended: ProcessEnd | undefined;
    try {
      // Started and listened to by one request, so that no output is dropped between two.
      for await (const each of this.client.events("startProcess", ["ended"], { path: this.path, signal,
        body: { argv: argvOf(command), cwd, env, user, timeout, stdin: stdin !== undefined } })) {
        const event = each as unknown as models.ProcessEvent;
        if (event.type === "started" && event.pid !== undefined) {
          process = this.get(event.pid);
          // It may end without reading all of it.
          if (stdin !== undefined) feed(process, stdin, signal).catch(() => {});
        }
        if (event.type === "stdout" || event.type === "stderr") {
          kept[event.type].add(event);
          (event.type === "stdout" ? options.onStdout : options.onStderr)?.(event.text ?? "");
        }
        if (event.type === "ended") ended = endOf(event);
      }
    } finally {
      // Aborted, or a callback threw.
      if (!ended) await process?.kill().catch(() => {});
    }
    kept.stdout.cut();
    kept.stderr.cut();
    return new CommandResult({ pid: process?.pid ?? 0, ...(ended ?? { exit_code: -1, signal: null, reason: "canceled" }),
      stdout: kept.stdout.text, stderr: kept.stderr.text,
      truncated: { stdout: kept.stdout.truncated, stderr: kept.stderr.truncated },
      bytes: { stdout: kept.stdout.bytes, stderr: kept.stderr.bytes } });
  }
}
