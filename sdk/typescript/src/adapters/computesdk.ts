// SPDX-License-Identifier: Apache-2.0
// A provider for ComputeSDK (npm: computesdk).
import type { Client } from "../client.js";
import { GoneError, NotFoundError } from "../errors.js";
import type * as models from "../generated/models.js";
import { Sandbox, type SandboxOptions } from "../sandbox.js";
import { Template } from "../template.js";

const PROVIDER = "glovebox";

interface CommandOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Milliseconds, as in all of ComputeSDK. */
  timeout?: number;
  background?: boolean;
  onStdout?: (data: string) => void;
  onStderr?: (data: string) => void;
}

interface CreateOptions {
  timeout?: number;
  templateId?: string;
  snapshotId?: string;
  metadata?: Record<string, unknown>;
  envs?: Record<string, string>;
  signal?: AbortSignal;
}

/** Metadata of a sandbox are texts. */
function texts(metadata: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) =>
    [name, typeof value === "string" ? value : JSON.stringify(value)]));
}

function sandboxOf(sandbox: Sandbox) {
  const { files } = sandbox;
  return {
    sandboxId: sandbox.id,
    provider: PROVIDER,
    async runCommand(command: string, options: CommandOptions = {}) {
      const begun = performance.now();
      const { cwd, env, timeout, background, onStdout, onStderr } = options;
      const time = timeout === undefined ? undefined : timeout / 1000;
      if (background) {
        await sandbox.commands.start(command, { cwd, env, timeout: time });
        return { stdout: "", stderr: "", exitCode: 0, durationMs: performance.now() - begun };
      }
      const result = await sandbox.commands.run(command, { cwd, env, onStdout, onStderr, ...(time === undefined ? {} : { timeout: time }) });
      return { stdout: result.stdout, stderr: result.stderr, exitCode: result.exit_code, durationMs: performance.now() - begun };
    },
    async getInfo() {
      const info: models.Sandbox = await sandbox.info();
      const createdAt = new Date(info.created);
      return { id: info.id, provider: PROVIDER, status: info.state === "running" ? "running" as const : "stopped" as const,
        createdAt, timeout: Date.parse(info.expires) - createdAt.getTime(), metadata: info.metadata ?? {} };
    },
    async getUrl({ port, protocol }: { port: number; protocol?: string }) {
      const { url } = await sandbox.ports.token(port, { expires_in: "24h" });
      if (!url) throw new Error("a daemon on a Unix socket has no addresses for ports; use http://");
      return protocol === undefined ? url : url.replace(/^[a-z]+/, protocol);
    },
    destroy: async () => await sandbox[Symbol.asyncDispose](),
    filesystem: {
      readFile: async (path: string) => await files.read(path),
      writeFile: async (path: string, content: string) => void await files.write(path, content),
      mkdir: async (path: string) => void await files.makeDir(path),
      readdir: async (path: string) => (await files.list(path)).map((each) => ({
        name: each.path.slice(each.path.lastIndexOf("/") + 1), size: each.size, modified: new Date(each.modified),
        type: each.type === "directory" ? "directory" as const : "file" as const })),
      exists: async (path: string) => await files.exists(path),
      remove: async (path: string) => await files.remove(path),
    },
  };
}

/** A provider for `compute.setConfig({ provider: glovebox() })`. What is given here holds for each sandbox. */
export function glovebox(defaults: Omit<SandboxOptions, "signal"> = {}) {
  const client: Client | undefined = defaults.client;
  return {
    name: PROVIDER,
    sandbox: {
      async create(options: CreateOptions = {}) {
        const { timeout, templateId, snapshotId, metadata, envs, signal } = options;
        const template = snapshotId ?? templateId ?? defaults.template;
        return sandboxOf(await Sandbox.create({ ...defaults, signal,
          ...(template === undefined ? {} : { template }), ...(timeout === undefined ? {} : { timeout: timeout / 1000 }),
          env: { ...defaults.env, ...envs }, metadata: { ...defaults.metadata, ...texts(metadata ?? {}) } }));
      },
      async getById(id: string) {
        try {
          return sandboxOf(await Sandbox.connect(id, { client }));
        } catch (error) {
          if (error instanceof NotFoundError || error instanceof GoneError) return null;
          throw error;
        }
      },
      async list() {
        const all: ReturnType<typeof sandboxOf>[] = [];
        for await (const each of Sandbox.list({ client })) all.push(sandboxOf(Sandbox.get(each.id, { client })));
        return all;
      },
      destroy: async (id: string) => await Sandbox.get(id, { client })[Symbol.asyncDispose](),
    },
    snapshot: {
      async create(sandboxId: string, options: { name?: string; metadata?: Record<string, unknown> } = {}) {
        const id = await Sandbox.get(sandboxId, { client }).snapshot({ name: options.name });
        return { id, provider: PROVIDER, createdAt: new Date() };
      },
      async list() {
        return (await Template.list({ client })).filter((each) => each.source === "snapshot")
          .map((each) => ({ id: each.name, provider: PROVIDER, createdAt: new Date(each.created ?? 0) }));
      },
      delete: async (id: string) => await Template.remove(id, { client }),
    },
  };
}
