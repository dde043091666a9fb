// SPDX-License-Identifier: Apache-2.0
// The AI SDK (npm: ai): a tool for code, a sandbox session, and a provider of sandboxes for its harnesses.
import { jsonSchema, tool } from "ai";
import type { Client } from "../client.js";
import type { Commands } from "../commands.js";
import type { ProcessEvent } from "../generated/models.js";
import { InvalidError, NotFoundError } from "../errors.js";
import { bytesOf } from "../events.js";
import { Sandbox, type SandboxOptions } from "../sandbox.js";
import { type ToolOptions, type ToolOutput, runCodeTool, runTool } from "./code_runner.js";

/** A tool that runs code in a sandbox. Variables stay from call to call. */
export function codeTool(sandbox: Sandbox, options: ToolOptions = {}) {
  return tool<{ code: string; language: string }, ToolOutput>({
    description: runCodeTool.description,
    inputSchema: jsonSchema<{ code: string; language: string }>(runCodeTool.parameters),
    execute: async (input, { abortSignal }) =>
      await runTool(sandbox, runCodeTool.name, input, { ...options, signal: abortSignal ?? options.signal }),
    toModelOutput: ({ output }) => ({ type: "content" as const, value: [
      { type: "text" as const, text: output.text },
      ...output.images.map((each) => ({ type: "file" as const, mediaType: each.mediaType,
        data: { type: "data" as const, data: each.base64 } }))] }),
  });
}

interface ProcessOptions {
  command: string;
  workingDirectory?: string;
  env?: Record<string, string>;
  abortSignal?: AbortSignal;
}

interface SpawnOptions extends ProcessOptions {
  stdin?: boolean;
}

/** A running process, as the AI SDK has it. */
export interface SpawnedProcess {
  readonly pid: number;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  wait(): Promise<{ exitCode: number }>;
  kill(): Promise<void>;
}

/** One that was started with `stdin: true`. */
export interface WritableProcess extends SpawnedProcess {
  readonly stdin: WritableStream<Uint8Array>;
}

interface Spawn {
  (options: ProcessOptions & { stdin: true }): Promise<WritableProcess>;
  (options: ProcessOptions & { stdin?: false }): Promise<SpawnedProcess>;
  (options: SpawnOptions): Promise<SpawnedProcess | WritableProcess>;
}

interface PathOptions {
  path: string;
  abortSignal?: AbortSignal;
}

async function unlessMissing<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

/** Splits the events of a process into its two streams. Each holds back the process while nobody reads it. */
function streamsOf(events: AsyncIterable<ProcessEvent>, onAbort: Promise<never>) {
  const open = () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(undefined, undefined,
      new ByteLengthQueuingStrategy({ highWaterMark: 1024 * 1024 }));
    return { readable, writer: writable.getWriter() };
  };
  const [stdout, stderr] = [open(), open()];
  const follow = async () => {
    try {
      for await (const event of events) {
        // A stream that its reader has left is no reason to stop.
        if (event.type === "stdout") await stdout.writer.write(bytesOf(event)).catch(() => {});
        if (event.type === "stderr") await stderr.writer.write(bytesOf(event)).catch(() => {});
        if (event.type === "ended") return { exitCode: event.exit_code ?? -1 };
      }
      throw new Error("the process's events ended early");
    } finally {
      await Promise.allSettled([stdout.writer.close(), stderr.writer.close()]);
    }
  };
  const ended = Promise.race([follow(), onAbort]);
  ended.catch(() => {});
  return { stdout: stdout.readable, stderr: stderr.readable, ended };
}

async function spawn(commands: Commands, options: SpawnOptions): Promise<SpawnedProcess | WritableProcess> {
  const { command, workingDirectory, env, stdin, abortSignal } = options;
  abortSignal?.throwIfAborted();
  const process = await commands.start(command, { cwd: workingDirectory, env, stdin });
  const kill = async () => await process.kill().catch(() => {});
  const aborted = new Promise<never>((_, reject) => abortSignal?.addEventListener("abort", () => {
    reject(abortSignal.reason);
    void kill();
  }, { once: true }));
  aborted.catch(() => {});
  const { ended, ...streams } = streamsOf(process.events(), aborted);
  const spawned = { pid: process.pid, ...streams, wait: () => ended, kill };
  return !stdin ? spawned : { ...spawned, stdin: new WritableStream<Uint8Array>({
    write: async (bytes) => await process.write(bytes),
    close: async () => await process.closeStdin(),
    abort: kill,
  }) };
}

/** A sandbox as the AI SDK's tools use one: `experimental_sandbox`. */
export function sandboxSession(sandbox: Sandbox) {
  const { files, commands } = sandbox;
  return {
    description: "A Linux sandbox without a network, unless it was given rules. Relative paths start in its workspace.",
    readFile: ({ path, abortSignal }: PathOptions) => unlessMissing(files.readStream(path, { signal: abortSignal })),
    readBinaryFile: ({ path, abortSignal }: PathOptions) => unlessMissing(files.readBytes(path, { signal: abortSignal })),
    async readTextFile({ path, abortSignal, encoding = "utf-8", startLine = 1, endLine }: PathOptions & {
      encoding?: string; startLine?: number; endLine?: number;
    }): Promise<string | null> {
      const bytes = await unlessMissing(files.readBytes(path, { signal: abortSignal }));
      if (!bytes) return null;
      const text = new TextDecoder(encoding).decode(bytes);
      if (startLine <= 1 && endLine === undefined) return text;
      return text.split(/(?<=\n)/).slice(startLine - 1, endLine).join("");
    },
    async writeFile({ path, content, abortSignal }: PathOptions & { content: ReadableStream<Uint8Array> }) {
      await files.write(path, content, { signal: abortSignal });
    },
    async writeBinaryFile({ path, content, abortSignal }: PathOptions & { content: Uint8Array }) {
      await files.write(path, content, { signal: abortSignal });
    },
    async writeTextFile({ path, content, abortSignal, encoding = "utf-8" }: PathOptions & { content: string; encoding?: string }) {
      if (!/^utf-?8$/i.test(encoding)) throw new RangeError(`cannot write text as '${encoding}', only as utf-8`);
      await files.write(path, content, { signal: abortSignal });
    },
    /** Follows links. */
    async stat({ path, abortSignal }: PathOptions) {
      const entry = await unlessMissing(files.stat(path, { signal: abortSignal }));
      if (!entry) return null;
      const type = entry.type === "symlink" ? entry.target_type : entry.type;
      if (type !== "file") return { type: type === "directory" ? type : "other" as const, size: entry.size };
      if (entry.type === "file") return { type, size: entry.size };
      const head = await sandbox.client.send("headFile", { path: { id: sandbox.id, path }, signal: abortSignal });
      return { type, size: Number(head.headers.get("content-length")) };
    },
    async listDirectory({ path, abortSignal }: PathOptions) {
      const entries = await unlessMissing(files.list(path, { signal: abortSignal }));
      return entries && entries.map((each) => ({ name: each.path.slice(each.path.lastIndexOf("/") + 1), type: each.type }));
    },
    async deleteFile({ path, abortSignal }: PathOptions) {
      const entry = await unlessMissing(files.stat(path, { signal: abortSignal }));
      if (entry?.type === "directory") throw new InvalidError(`'${path}' is a directory`, { code: "invalid" });
      if (entry) await files.remove(path, { signal: abortSignal });
      return entry !== null;
    },
    spawn: ((options: SpawnOptions) => spawn(commands, options)) as Spawn,
    async run({ command, workingDirectory, env, abortSignal }: ProcessOptions) {
      // As long as the sandbox lives, if need be: the caller has a signal.
      const result = await commands.run(command, { cwd: workingDirectory, env, signal: abortSignal, timeout: "24h" });
      return { exitCode: result.exit_code, stdout: result.stdout, stderr: result.stderr };
    },
  };
}

export interface SandboxProviderOptions extends Omit<SandboxOptions, "signal"> {
  client?: Client | undefined;
  /** Ports of servers that are expected inside. */
  ports?: readonly number[] | undefined;
}

type NetworkPolicy =
  | { mode: "allow-all" | "deny-all" }
  | { mode: "custom"; allowedHosts?: readonly string[]; allowedCIDRs?: readonly string[]; deniedCIDRs?: readonly string[] };

const SESSION = "ai-sdk-session";

async function networkSession(sandbox: Sandbox, ports: readonly number[]) {
  const workspace = (await sandbox.commands.run("pwd")).stdout.trim();
  return {
    ...sandboxSession(sandbox),
    id: sandbox.id,
    defaultWorkingDirectory: workspace,
    ports,
    async getPortEndpoint({ port, protocol = "http" }: { port: number; protocol?: "http" | "https" | "ws" }) {
      const { token, url } = await sandbox.ports.token(port, { expires_in: "24h" });
      if (!url) throw new Error("a daemon on a Unix socket has no addresses for ports; use http://");
      const at = new URL(url);
      if (protocol === "ws") at.protocol = at.protocol === "https:" ? "wss:" : "ws:";
      return { url: at.origin === "null" ? `${at.protocol}//${at.host}` : at.origin, headers: { "x-port-token": token } };
    },
    async getPortUrl({ port, protocol = "http" }: { port: number; protocol?: "http" | "https" | "ws" }) {
      const { url } = await sandbox.ports.token(port, { expires_in: "24h" });
      if (!url) throw new Error("a daemon on a Unix socket has no addresses for ports; use http://");
      return protocol === "ws" ? url.replace(/^http/, "ws") : url;
    },
    async setNetworkPolicy(policy: NetworkPolicy) {
      await sandbox.setNetwork(policy.mode !== "custom"
        ? { allow: [], deny: [], default: policy.mode === "allow-all" ? "allow" : "deny" }
        : { allow: [...policy.allowedHosts ?? [], ...policy.allowedCIDRs ?? []], deny: [...policy.deniedCIDRs ?? []] });
    },
    stop: async () => await sandbox.pause(),
    destroy: async () => await sandbox[Symbol.asyncDispose](),
    restricted: () => sandboxSession(sandbox),
  };
}

/** Sandboxes for the AI SDK's harnesses: each session has one, which `resumeSession` finds again. */
export function sandboxProvider(options: SandboxProviderOptions = {}) {
  const { ports = [], ...sandboxOptions } = options;
  return {
    specificationVersion: "harness-sandbox-v1" as const,
    providerId: "glovebox",
    async createSession({ sessionId, abortSignal, onFirstCreate }: {
      sessionId?: string;
      abortSignal?: AbortSignal;
      identity?: string;
      onFirstCreate?: (session: ReturnType<typeof sandboxSession>, opts: { abortSignal?: AbortSignal }) => Promise<void>;
    } = {}) {
      const sandbox = await Sandbox.create({ timeout: "1h", on_timeout: "pause", ...sandboxOptions, signal: abortSignal,
        metadata: { ...sandboxOptions.metadata, ...(sessionId === undefined ? {} : { [SESSION]: sessionId }) } });
      try {
        const session = await networkSession(sandbox, ports);
        await onFirstCreate?.(session.restricted(), abortSignal ? { abortSignal } : {});
        return session;
      } catch (error) {
        await sandbox[Symbol.asyncDispose]().catch(() => {});
        throw error;
      }
    },
    async resumeSession({ sessionId, abortSignal }: { sessionId: string; abortSignal?: AbortSignal }) {
      const { client } = options;
      for await (const found of Sandbox.list({ client, metadata: { [SESSION]: sessionId }, signal: abortSignal })) {
        const sandbox = Sandbox.get(found.id, { client });
        if (found.state === "paused") await sandbox.resume({ signal: abortSignal });
        return await networkSession(sandbox, ports);
      }
      throw new NotFoundError(`no sandbox of the session '${sessionId}'`, { code: "not_found" });
    },
  };
}
