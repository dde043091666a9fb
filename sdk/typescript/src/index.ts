// SPDX-License-Identifier: Apache-2.0
export { Client, type Call, type ClientOptions, type RequestOptions, type WithClient } from "./client.js";
export { Commands, Process, type Command, type ProcessEnd, type RunOptions, type StartOptions } from "./commands.js";
export { Context, Contexts, type ContextOptions } from "./context.js";
export * from "./errors.js";
export type { ExecutionEvent } from "./events.js";
export { Execution, type Callbacks, type ExecuteOptions } from "./execution.js";
export { Files, SandboxFiles, type ArchiveFormat, type FileContent, type ReadOptions, type WatchOptions,
  type WriteOptions } from "./files.js";
export type * as models from "./generated/models.js";
export { type OperationId, type Operations, type Route, routes } from "./generated/operations.js";
export { McpServer, type Complete, type HeaderMap, type HeaderSource, type McpHttpOptions, type McpOptions, type McpProgramOptions, type McpServers } from "./mcp.js";
export { McpLogin, type McpLoginOptions } from "./oauth.js";
export { Packages, type InstallOptions } from "./packages.js";
export { Ports, type PortToken } from "./ports.js";
export { judge, run, type JudgeOptions, type OneRunOptions, type Review, type ReviewReply } from "./run.js";
export { Sandbox, type ListOptions, type SandboxOptions } from "./sandbox.js";
export { Socket, type Message } from "./socket.js";
export { Template, type BuildOptions } from "./template.js";
export { Terminal, Terminals, type TerminalOptions, type TerminalSize } from "./terminal.js";
export { toolSchemas, type Tool, type ToolCallContext, type Tools } from "./tools.js";
export { CommandResult, Verdict } from "./verdict.js";
export { Volume } from "./volume.js";
