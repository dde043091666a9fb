// SPDX-License-Identifier: Apache-2.0
import type { Client, RequestOptions } from "./client.js";
import { decide } from "./dry_run.js";
import { type ExecuteOptions, Execution, execute } from "./execution.js";
import type * as models from "./generated/models.js";

export interface ContextOptions extends RequestOptions {
  /** Default: `python`. */
  language?: string | undefined;
  cwd?: string | undefined;
  env?: models.Environment | undefined;
}

/** A live interpreter of a sandbox. It keeps its variables from one execution to the next. */
export class Context {
  /** @internal */
  constructor(private readonly client: Client, readonly sandboxId: string, readonly id: string,
    /** Unknown of a context that was only named. */
    readonly language?: string) {}

  private get path() {
    return { id: this.sandboxId, cid: this.id };
  }

  /** Executes code. Await the result for the verdict, or iterate over it for the events. */
  execute(code: string, options: ExecuteOptions = {}): Execution {
    return new Execution((sink) => execute(this.client, this.path, code, options, sink));
  }

  /** Interrupts what is running, as Ctrl-C does. The variables stay. */
  async interrupt(options: RequestOptions = {}): Promise<void> {
    await this.client.call("interruptContext", { ...options, path: this.path });
  }

  /** Starts over without variables. */
  async restart(options: RequestOptions = {}): Promise<void> {
    await this.client.call("restartContext", { ...options, path: this.path });
  }

  /** Gives code that waits for input a line; `null` is the end of input. `request` is the number of the event. */
  async reply(value: string | null, options: RequestOptions & { request?: number | undefined } = {}): Promise<void> {
    const { request, ...rest } = options;
    await this.client.call("replyInput", { ...rest, path: this.path, body: { value, request } });
  }

  /** Captures memory and files; returns the checkpoint's number. */
  async checkpoint(options: RequestOptions = {}): Promise<number> {
    return (await this.client.call("checkpointContext", { ...options, path: this.path })).checkpoint;
  }

  /** Goes back to a checkpoint, or to the newest; returns its number. */
  async rollback(checkpoint?: number, options: RequestOptions = {}): Promise<number> {
    return (await this.client.call("rollbackContext", { ...options, path: this.path, body: { checkpoint } })).checkpoint;
  }

  /** Keeps what a dry run has changed. */
  async commit(dryRun: string | models.DryRun, options: RequestOptions = {}): Promise<void> {
    await decide(this.client, "commitDryRun", this.sandboxId, dryRun, options);
  }

  /** Takes back what a dry run has changed: memory and files are as they were. */
  async discard(dryRun: string | models.DryRun, options: RequestOptions = {}): Promise<void> {
    await decide(this.client, "discardDryRun", this.sandboxId, dryRun, options);
  }

  /** A new context from a checkpoint of this one. */
  async fork(checkpoint: number, options: RequestOptions = {}): Promise<Context> {
    const made = await this.client.call("forkContext", { ...options, path: this.path, body: { checkpoint } });
    return new Context(this.client, this.sandboxId, made.id, made.language);
  }

  /** What may follow at the cursor, which counts Unicode code points. */
  async complete(code: string, cursor?: number, options: RequestOptions = {}): Promise<models.Completion> {
    return await this.client.call("completeCode", { ...options, path: this.path, body: { code, cursor } });
  }

  /** What the interpreter knows of the name at the cursor. */
  async inspect(code: string, cursor?: number,
    options: RequestOptions & { detail?: 0 | 1 | undefined } = {}): Promise<models.Inspection> {
    const { detail, ...rest } = options;
    return await this.client.call("inspectCode", { ...rest, path: this.path, body: { code, cursor, detail } });
  }

  /** The finished cells, in Jupyter's format. */
  async notebook(options: RequestOptions = {}): Promise<Record<string, unknown>> {
    return await this.client.call("getNotebook", { ...options, path: this.path }) as Record<string, unknown>;
  }

  /** The finished cells as an HTML page without scripts. */
  async notebookPage(options: RequestOptions = {}): Promise<string> {
    return await this.client.call("getNotebookPage", { ...options, path: this.path }) as string;
  }

  /** Ends the context. */
  async delete(options: RequestOptions = {}): Promise<void> {
    await this.client.call("deleteContext", { ...options, path: this.path });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete();
  }
}

/** The contexts of a sandbox. */
export class Contexts {
  /** @internal */
  constructor(private readonly client: Client, private readonly sandboxId: string) {}

  /** Starts a live interpreter. */
  async create(options: ContextOptions = {}): Promise<Context> {
    const { language, cwd, env, ...rest } = options;
    const made = await this.client.call("createContext",
      { ...rest, path: { id: this.sandboxId }, body: { language, cwd, env } });
    return new Context(this.client, this.sandboxId, made.id, made.language);
  }

  /** A context by its id, without asking the daemon. `default` runs Python and is started on first use. */
  get(id: string): Context {
    return new Context(this.client, this.sandboxId, id, id === "default" ? "python" : undefined);
  }

  async list(options: RequestOptions = {}): Promise<models.Context[]> {
    return (await this.client.call("listContexts", { ...options, path: { id: this.sandboxId } })).contexts;
  }
}
