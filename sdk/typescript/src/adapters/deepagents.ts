// SPDX-License-Identifier: Apache-2.0
// A backend for deepagents (npm: deepagents): its files and its shell are those of a sandbox.
import { BaseSandbox } from "deepagents";
import { GloveboxError, NotFoundError } from "../errors.js";
import type { Duration } from "../generated/models.js";
import { Sandbox, type SandboxOptions } from "../sandbox.js";

type FileProblem = "file_not_found" | "permission_denied" | "is_directory" | "invalid_path";

function problemOf(error: unknown): FileProblem {
  if (error instanceof NotFoundError) return "file_not_found";
  if (!(error instanceof GloveboxError)) throw error;
  if (/director/i.test(error.message)) return "is_directory";
  return /permission|denied/i.test(error.message) || error.status === 403 ? "permission_denied" : "invalid_path";
}

export interface BackendOptions {
  /** Ends a command after this time. Default: 30 minutes. */
  timeout?: Duration | undefined;
}

export class GloveboxSandbox extends BaseSandbox {
  readonly id: string;

  constructor(readonly sandbox: Sandbox, private readonly options: BackendOptions = {}) {
    super();
    this.id = sandbox.id;
  }

  /** Creates a sandbox for the backend; `close` ends it. */
  static async create(options: SandboxOptions = {}): Promise<GloveboxSandbox> {
    return new GloveboxSandbox(await Sandbox.create({ timeout: "1h", ...options }));
  }

  async execute(command: string): Promise<{ output: string; exitCode: number | null; truncated: boolean }> {
    const result = await this.sandbox.commands.run(command, { timeout: this.options.timeout ?? "30m" });
    return { output: result.stdout + result.stderr, exitCode: result.exit_code,
      truncated: Boolean(result.truncated.stdout) || Boolean(result.truncated.stderr) };
  }

  async uploadFiles(files: [string, Uint8Array][]): Promise<{ path: string; error: FileProblem | null }[]> {
    return await Promise.all(files.map(async ([path, content]) => {
      const error = await this.sandbox.files.write(path, content).then(() => null, problemOf);
      return { path, error };
    }));
  }

  async downloadFiles(paths: string[]):
    Promise<{ path: string; content: Uint8Array | null; error: FileProblem | null }[]> {
    return await Promise.all(paths.map(async (path) => await this.sandbox.files.readBytes(path).then(
      (content) => ({ path, content, error: null }),
      (error: unknown) => ({ path, content: null, error: problemOf(error) }))));
  }

  /** Ends the sandbox. */
  async close(): Promise<void> {
    await this.sandbox[Symbol.asyncDispose]();
  }
}
