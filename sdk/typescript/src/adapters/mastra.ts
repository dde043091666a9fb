// SPDX-License-Identifier: Apache-2.0
// A sandbox for Mastra's workspaces (npm: @mastra/core): `new Workspace({ sandbox: new GloveboxSandbox() })`.
import { type CommandResult, MastraSandbox, ProcessHandle, type ProcessInfo, type ProviderStatus, type SandboxFileInput,
  type SandboxInfo, SandboxProcessManager, type SpawnProcessOptions } from "@mastra/core/workspace";
import type { Process, ProcessEnd } from "../commands.js";
import { GoneError, NotFoundError } from "../errors.js";
import type * as models from "../generated/models.js";
import { Sandbox, type SandboxOptions } from "../sandbox.js";

const PROVIDER = "glovebox";
/** The value of metadata by which a sandbox is found again. */
const ID = "mastra-sandbox";
/** What shells say of a command whose time was over. */
const TIMED_OUT = 124;

async function unlessEnded<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof GoneError) return undefined;
    throw error;
  }
}

class Handle extends ProcessHandle {
  readonly pid: string;
  #exitCode: number | undefined;
  readonly #began = Date.now();
  readonly #ended: Promise<ProcessEnd>;

  constructor(private readonly process: Process, options: SpawnProcessOptions) {
    super(options);
    this.pid = String(process.pid);
    this.#ended = process.wait({ onStdout: (text) => this.emitStdout(text), onStderr: (text) => this.emitStderr(text) });
    this.#ended.then(({ exit_code, reason }) => {
      this.#exitCode = reason === "timeout" ? TIMED_OUT : exit_code;
    }, () => {});
  }

  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  async kill(): Promise<boolean> {
    return this.#exitCode === undefined && await unlessEnded(this.process.kill().then(() => true)) === true;
  }

  async sendStdin(data: string): Promise<void> {
    await this.process.write(data);
  }

  override async closeStdin(): Promise<void> {
    await this.process.closeStdin();
  }

  override async wait(): Promise<CommandResult> {
    const { reason, signal } = await this.#ended;
    const exitCode = this.#exitCode ?? -1;
    return { success: exitCode === 0, exitCode, stdout: this.stdout, stderr: this.stderr,
      executionTimeMs: Date.now() - this.#began, timedOut: reason === "timeout", killed: signal !== null };
  }
}

class Processes extends SandboxProcessManager<GloveboxSandbox> {
  override async spawn(command: string, options: SpawnProcessOptions = {}): Promise<ProcessHandle> {
    const env = Object.fromEntries(Object.entries(options.env ?? {}).filter((each): each is [string, string] => each[1] !== undefined));
    const process = await this.sandbox.sandbox.commands.start(command, { env, cwd: options.cwd ?? this.sandbox.workingDirectory,
      stdin: options.stdinMode !== "ignore",
      // As long as the sandbox lives, if need be.
      timeout: options.timeout === undefined ? "24h" : options.timeout / 1000 });
    const handle = new Handle(process, options);
    this._tracked.set(handle.pid, handle);
    return handle;
  }

  override async list(): Promise<ProcessInfo[]> {
    return [...this._tracked.values()].map((each) => ({ pid: each.pid, running: each.exitCode === undefined,
      ...(each.command === undefined ? {} : { command: each.command }),
      ...(each.exitCode === undefined ? {} : { exitCode: each.exitCode }) }));
  }
}

export interface GloveboxSandboxOptions extends Omit<SandboxOptions, "signal"> {
  /** Mastra's name for it: a sandbox that was started with it is found again. Default: a new one. */
  id?: string | undefined;
  /** Where commands run that have no directory of their own. Default: the workspace. */
  workingDirectory?: string | undefined;
}

/** Starts with the first command, pauses with `stop`, and ends with `destroy`. */
export class GloveboxSandbox extends MastraSandbox<models.Sandbox> {
  readonly id: string;
  readonly name = "Glovebox";
  readonly provider = PROVIDER;
  status: ProviderStatus = "pending";
  override readonly networking = { getPortUrl: async (port: number) => (await this.sandbox.ports.token(port, { expires_in: "24h" })).url ?? null };
  readonly #options: Omit<GloveboxSandboxOptions, "id" | "workingDirectory">;
  #sandbox: Sandbox | undefined;

  constructor(options: GloveboxSandboxOptions = {}) {
    const { id, workingDirectory, ...rest } = options;
    super({ name: "GloveboxSandbox", processes: new Processes(), ...(workingDirectory === undefined ? {} : { workingDirectory }) });
    this.id = id ?? crypto.randomUUID();
    this.#options = rest;
  }

  /** The sandbox itself, once it has started. */
  get sandbox(): Sandbox {
    if (!this.#sandbox) throw new Error("the sandbox has not started; call _start()");
    return this.#sandbox;
  }

  protected override async find(): Promise<models.Sandbox | undefined> {
    const { client } = this.#options;
    for await (const found of Sandbox.list({ client, metadata: { [ID]: this.id } })) return found;
    return undefined;
  }

  protected override async connect(found: models.Sandbox): Promise<void> {
    this.#sandbox = Sandbox.get(found.id, { client: this.#options.client });
    if (found.state === "paused") await this.#sandbox.resume();
  }

  protected override async create(options: { abortSignal?: AbortSignal } = {}): Promise<void> {
    this.#sandbox = await Sandbox.create({ timeout: "1h", on_timeout: "pause", ...this.#options, signal: options.abortSignal,
      metadata: { ...this.#options.metadata, [ID]: this.id } });
  }

  override async stop(): Promise<void> {
    await this.#sandbox?.pause();
  }

  override async destroy(): Promise<void> {
    await this.#sandbox?.[Symbol.asyncDispose]();
    this.#sandbox = undefined;
  }

  override async writeFiles(files: SandboxFileInput[], options: { abortSignal?: AbortSignal } = {}): Promise<void> {
    await this.ensureRunning();
    const signal = options.abortSignal;
    for (const { path, content, mode } of files) {
      await this.sandbox.files.write(path, content, { signal });
      if (mode !== undefined) {
        (await this.sandbox.commands.run(["chmod", mode.toString(8), "--", path], { signal })).orThrow();
      }
    }
  }

  override async getInfo(): Promise<SandboxInfo> {
    const info = this.#sandbox && await unlessEnded(this.#sandbox.info());
    return { id: this.id, name: this.name, provider: this.provider, status: this.status,
      createdAt: new Date(info?.created ?? 0), ...(info ? { timeoutAt: new Date(info.expires), metadata: { sandbox: info.id } } : {}) };
  }

  override getInstructions(): string {
    return "Commands run in a Linux sandbox without a network, unless it was given rules. Relative paths start in its workspace, "
      + "and files stay from command to command.";
  }
}
