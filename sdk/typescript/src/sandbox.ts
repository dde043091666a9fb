// SPDX-License-Identifier: Apache-2.0
import { Client, type RequestOptions, type WithClient } from "./client.js";
import { Commands } from "./commands.js";
import { Contexts } from "./context.js";
import { decide } from "./dry_run.js";
import { GoneError, NotFoundError } from "./errors.js";
import type { Execution, ExecuteOptions } from "./execution.js";
import { bodyOf, type FileContent, SandboxFiles } from "./files.js";
import type * as models from "./generated/models.js";
import { Packages } from "./packages.js";
import { Ports } from "./ports.js";
import { Terminals } from "./terminal.js";

export interface SandboxOptions extends models.SandboxRequest {
  client?: Client | undefined;
  /** Ends the request. */
  signal?: AbortSignal | undefined;
}

export interface ListOptions extends WithClient {
  state?: "running" | "paused" | undefined;
  /** Only those with these values. */
  metadata?: Readonly<Record<string, string>> | undefined;
  /** How many to ask for at once. Default: 100. */
  limit?: number | undefined;
}

/** A sandbox of a daemon. It lives until its time-out, or until it is killed. */
export class Sandbox implements AsyncDisposable {
  /** Its interpreters, which keep their variables. */
  readonly contexts: Contexts;
  readonly files: SandboxFiles;
  readonly commands: Commands;
  readonly terminals: Terminals;
  readonly ports: Ports;
  readonly packages: Packages;

  private constructor(readonly client: Client, readonly id: string) {
    this.contexts = new Contexts(client, id);
    this.files = new SandboxFiles(client, id);
    this.commands = new Commands(client, id);
    this.terminals = new Terminals(client, id);
    this.ports = new Ports(client, id);
    this.packages = new Packages(client, id);
  }

  /** Creates a sandbox. Its first `timeout` is 5 minutes, unless you give one. */
  static async create(options: SandboxOptions = {}): Promise<Sandbox> {
    const { client: given, signal, ...body } = options;
    const client = Client.of(given);
    return new Sandbox(client, (await client.call("createSandbox", { body, signal })).id);
  }

  /** Creates a sandbox from an archive that `export` has given. */
  static async import(archive: FileContent, options: WithClient = {}): Promise<Sandbox> {
    const { client: given, ...rest } = options;
    const client = Client.of(given);
    // However large it is: without the time limit of a call.
    const response = await client.send("importSandbox", { ...rest, body: bodyOf(archive) });
    return new Sandbox(client, (await response.json() as models.Sandbox).id);
  }

  /** A sandbox that is there. Fails if it is not. */
  static async connect(id: string, options: WithClient = {}): Promise<Sandbox> {
    const sandbox = Sandbox.get(id, options);
    await sandbox.info(options);
    return sandbox;
  }

  /** A sandbox by its id, without asking the daemon. */
  static get(id: string, options: { client?: Client | undefined } = {}): Sandbox {
    return new Sandbox(Client.of(options.client), id);
  }

  /** All sandboxes of the tenant, newest first. Pages are asked for as they are needed. */
  static async* list(options: ListOptions = {}): AsyncGenerator<models.Sandbox, void> {
    const { client: given, state, metadata = {}, limit, ...rest } = options;
    const client = Client.of(given);
    const chosen = Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]));
    for (let after: string | undefined, first = true; first || after !== undefined; first = false) {
      const page = await client.call("listSandboxes", { ...rest, query: { ...chosen, state, limit, after } });
      yield* page.sandboxes;
      after = page.next ?? undefined;
    }
  }

  /** Executes code in the context `default`, which runs Python and keeps its variables. */
  run(code: string, options: ExecuteOptions = {}): Execution {
    return this.contexts.get("default").execute(code, options);
  }

  async info(options: RequestOptions = {}): Promise<models.Sandbox> {
    const { signal, timeout } = options;
    return await this.client.call("getSandbox", { signal, timeout, path: { id: this.id } });
  }

  /** Whether it is there and running. */
  async isRunning(options: RequestOptions = {}): Promise<boolean> {
    try {
      return (await this.info(options)).state === "running";
    } catch (error) {
      if (error instanceof GoneError || error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Changes metadata, network rules, or what happens when its time is over. */
  async update(change: models.SandboxChange, options: RequestOptions = {}): Promise<models.Sandbox> {
    return await this.client.call("changeSandbox", { ...options, path: { id: this.id }, body: change });
  }

  /** Ends it this long from now: seconds, or a text like `10m`. */
  async setTimeout(timeout: models.Duration, options: RequestOptions = {}): Promise<models.Sandbox> {
    return await this.update({ timeout }, options);
  }

  /** Replaces the rules of a sandbox that was created with some. Open connections are cut. */
  async setNetwork(network: models.Network, options: RequestOptions = {}): Promise<models.Sandbox> {
    return await this.update({ network }, options);
  }

  /** The connections that have ended, of a sandbox with network rules. */
  async connections(options: RequestOptions = {}): Promise<models.Connections> {
    return await this.client.call("getConnections", { ...options, path: { id: this.id } });
  }

  /** What it uses now. */
  async usage(options: RequestOptions = {}): Promise<models.Usage> {
    return await this.client.call("getUsage", { ...options, path: { id: this.id } });
  }

  /** The dry runs that wait for a decision: one at most. */
  async dryRuns(options: RequestOptions = {}): Promise<models.DryRun[]> {
    return (await this.client.call("listDryRuns", { ...options, path: { id: this.id } })).dry_runs;
  }

  /** Keeps what a dry run of code or of a command has changed. */
  async commit(dryRun: string | models.DryRun, options: RequestOptions = {}): Promise<void> {
    await decide(this.client, "commitDryRun", this.id, dryRun, options);
  }

  /** Takes back what a dry run has changed: memory and files are as they were. */
  async discard(dryRun: string | models.DryRun, options: RequestOptions = {}): Promise<void> {
    await decide(this.client, "discardDryRun", this.id, dryRun, options);
  }

  /** Stops its processes; its memory is kept. */
  async pause(options: RequestOptions = {}): Promise<void> {
    await this.client.call("pauseSandbox", { ...options, path: { id: this.id } });
  }

  async resume(options: RequestOptions = {}): Promise<models.Sandbox> {
    return await this.client.call("resumeSandbox", { ...options, path: { id: this.id } });
  }

  /** Saves its files as a template; returns the template's name. */
  async snapshot(options: RequestOptions & { name?: string | undefined } = {}): Promise<string> {
    const { name, ...rest } = options;
    return (await this.client.call("snapshotSandbox", { ...rest, path: { id: this.id }, body: { name } })).template;
  }

  /**
   * Creates sandboxes with the same files; processes of clients are not copied. `memory` copies contexts with
   * their variables, too; the tier must be gvisor or microvm.
   */
  async fork(options: RequestOptions &
    { count?: number | undefined; lifetime?: models.Duration | undefined; memory?: boolean | undefined } = {}):
    Promise<Sandbox[]> {
    const { count, lifetime, memory, ...rest } = options;
    const made = await this.client.call("forkSandbox",
      { ...rest, path: { id: this.id }, body: { count, timeout: lifetime, memory } });
    return made.sandboxes.map((each) => new Sandbox(this.client, each.id));
  }

  /** It as one archive: with its memory if it was paused to disk, else with its files alone. */
  async export(options: RequestOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const response = await this.client.send("exportSandbox", { ...options, path: { id: this.id } });
    return response.body ?? new ReadableStream({ start: (each) => each.close() });
  }

  /** Ends it and deletes everything in it. */
  async kill(options: RequestOptions = {}): Promise<void> {
    await this.client.call("killSandbox", { ...options, path: { id: this.id } });
  }

  /** Kills it at the end of a block, with `await using`. One that has ended already is no error. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.kill();
    } catch (error) {
      if (!(error instanceof GoneError || error instanceof NotFoundError)) throw error;
    }
  }
}
