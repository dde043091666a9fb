// SPDX-License-Identifier: Apache-2.0
// What the adapters use of other packages, so that this one compiles without them. Its users compile against the
// packages themselves, and so do the tests.
declare module "ai" {
  export function jsonSchema<T>(schema: object): { readonly jsonSchema: object; readonly _type: T };
  export function tool<Input, Output>(definition: {
    description: string;
    inputSchema: { readonly jsonSchema: object; readonly _type: Input };
    execute: (input: Input, options: { abortSignal?: AbortSignal }) => Promise<Output>;
    toModelOutput: (options: { output: Output }) => unknown;
  }): import("ai").Tool<Input, Output>;
  export interface Tool<Input, Output> { execute?: (input: Input, options: { abortSignal?: AbortSignal }) => Promise<Output> }
}

declare module "deepagents" {
  export abstract class BaseSandbox {
    abstract readonly id: string;
  }
}

declare module "@mastra/core/workspace" {
  export type ProviderStatus = "pending" | "initializing" | "ready" | "starting" | "running" | "stopping" | "stopped" | "destroying"
    | "destroyed" | "error";
  export interface SandboxInfo {
    id: string; name: string; provider: string; status: ProviderStatus; createdAt: Date; timeoutAt?: Date; metadata?: Record<string, unknown>;
  }
  export interface SandboxFileInput { path: string; content: string | Uint8Array; mode?: number }
  export interface CommandResult {
    success: boolean; exitCode: number; stdout: string; stderr: string; executionTimeMs: number; timedOut?: boolean; killed?: boolean;
  }
  export interface SpawnProcessOptions {
    timeout?: number; env?: Record<string, string | undefined>; cwd?: string; stdinMode?: "pipe" | "ignore";
  }
  export interface ProcessInfo { pid: string; command?: string; running: boolean; exitCode?: number }
  export abstract class ProcessHandle {
    constructor(options?: SpawnProcessOptions);
    abstract readonly pid: string;
    abstract readonly exitCode: number | undefined;
    command?: string;
    get stdout(): string;
    get stderr(): string;
    abstract kill(): Promise<boolean>;
    abstract sendStdin(data: string): Promise<void>;
    closeStdin(): Promise<void>;
    wait(): Promise<CommandResult>;
    emitStdout(data: string): void;
    emitStderr(data: string): void;
  }
  export abstract class SandboxProcessManager<Of> {
    sandbox: Of;
    protected readonly _tracked: Map<string, ProcessHandle>;
    spawn(command: string, options?: SpawnProcessOptions): Promise<ProcessHandle>;
    list(): Promise<ProcessInfo[]>;
  }
  export abstract class MastraSandbox<Found> {
    constructor(options: { name: string; processes: SandboxProcessManager<any>; workingDirectory?: string });
    abstract readonly id: string;
    abstract readonly name: string;
    abstract readonly provider: string;
    abstract status: ProviderStatus;
    readonly networking?: { getPortUrl(port: number): Promise<string | null> };
    get workingDirectory(): string | undefined;
    ensureRunning(): Promise<void>;
    protected find?(): Promise<Found | undefined>;
    protected connect?(found: Found): Promise<void>;
    protected create?(options?: { abortSignal?: AbortSignal }): Promise<void>;
    stop(): Promise<void>;
    destroy(): Promise<void>;
    writeFiles?(files: SandboxFileInput[], options?: { abortSignal?: AbortSignal }): Promise<void>;
    getInfo?(): SandboxInfo | Promise<SandboxInfo>;
    getInstructions?(): string;
  }
}
