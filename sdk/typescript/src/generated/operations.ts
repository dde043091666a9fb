// SPDX-License-Identifier: Apache-2.0
// Generated from api/openapi.yaml by sdk/typescript/generate. Do not edit.
import type * as models from "./models.js";

/** A body that is sent as it is. */
export type Body = string | Uint8Array | Blob | ReadableStream<Uint8Array>;

/** What each operation takes, and what its response holds. */
export interface Operations {
  /** Says what this is, as JSON, or as a page for browsers. */
  self: {
    path: {};
    query: {};
    body?: undefined;
    response: { schema: "glovebox.service/1"; name: "glovebox"; description: string; openapi: string; health: string; ready: boolean };
  };
  /** Checks the daemon's health. */
  health: {
    path: {};
    query: {};
    body?: undefined;
    response: { schema: "glovebox.health/1"; status: "ok"; ready: boolean };
  };
  /** Returns this API description. */
  openapi: { path: {}; query: {}; body?: undefined; response: Record<string, unknown> };
  /** Returns Prometheus metrics. Scope read. */
  metrics: { path: {}; query: {}; body?: undefined; response: unknown };
  /** Runs code in a fresh sandbox. Scope run. */
  run: { path: {}; query: {}; body: models.RunRequest; response: models.Verdict };
  /** Compiles a program once and judges it by cases, each in a fresh sandbox. Scope run. */
  judge: { path: {}; query: {}; body: models.JudgeRequest; response: models.JudgeReport };
  /** Lists the tenant's sandboxes, newest first. Scope read. */
  listSandboxes: {
    path: {};
    query: { limit?: number | undefined; after?: string | undefined; state?: "running" | "paused" | undefined; [metadata: `metadata.${string}`]: string | undefined };
    body?: undefined;
    response: { schema: "glovebox.sandboxes/1"; sandboxes: models.Sandbox[]; next: string | null };
  };
  /** Creates a sandbox. Scope run. */
  createSandbox: {
    path: {};
    query: {};
    body?: models.SandboxRequest | undefined;
    response: models.Sandbox;
  };
  /** Returns a sandbox. Scope read. */
  getSandbox: { path: { id: string }; query: {}; body?: undefined; response: models.Sandbox };
  /** Updates a sandbox's timeout, metadata or network. Scope run. */
  changeSandbox: {
    path: { id: string };
    query: {};
    body: models.SandboxChange;
    response: models.Sandbox;
  };
  /** Ends a sandbox and deletes everything in it. Scope run. */
  killSandbox: { path: { id: string }; query: {}; body?: undefined; response: void };
  /** Pauses a sandbox: its processes stop, its memory is kept. Scope run. */
  pauseSandbox: {
    path: { id: string };
    query: {};
    body?: { to_disk?: boolean | undefined } | undefined;
    response: void;
  };
  /** Resumes a paused sandbox. Scope run. */
  resumeSandbox: { path: { id: string }; query: {}; body?: undefined; response: models.Sandbox };
  /** Saves a sandbox's files as a template. Scope run. */
  snapshotSandbox: {
    path: { id: string };
    query: {};
    body?: { name?: string | undefined } | undefined;
    response: { schema: "glovebox.snapshot/1"; template: string };
  };
  /** Creates sandboxes with the same files, and with 'memory' the same contexts and their variables. Scope run. */
  forkSandbox: {
    path: { id: string };
    query: {};
    body?: { count?: number | undefined; timeout?: models.Duration | undefined; memory?: boolean | undefined } | undefined;
    response: { schema: "glovebox.sandboxes/1"; sandboxes: models.Sandbox[] };
  };
  /** Returns a sandbox as one archive: with its memory if it was paused to disk, else with the files of its workspace alone. The first line of the archive is JSON that says which. Scope run. */
  exportSandbox: { path: { id: string }; query: {}; body?: undefined; response: unknown };
  /** Creates a sandbox from an archive that this or another daemon exported. 403 for a memory that was exported with another export key, 501 for one that this machine cannot continue. Scope run. */
  importSandbox: { path: {}; query: {}; body: Body; response: models.Sandbox };
  /** Returns a sandbox's current resource usage. Scope read. */
  getUsage: { path: { id: string }; query: {}; body?: undefined; response: models.Usage };
  /** Returns the connections of a sandbox with network rules. Scope read. */
  getConnections: {
    path: { id: string };
    query: {};
    body?: undefined;
    response: models.Connections;
  };
  /** Installs packages into the workspace from the daemon's package sources (glovebox serve --package-source); 501 if it has none. Scope run. */
  installPackages: {
    path: { id: string };
    query: {};
    body: { packages: string[]; limits?: models.Limits | undefined };
    response: models.Verdict;
  };
  /** Lists a sandbox's contexts, oldest first. Scope read. */
  listContexts: {
    path: { id: string };
    query: {};
    body?: undefined;
    response: { schema: "glovebox.contexts/1"; contexts: models.Context[] };
  };
  /** Starts a live interpreter. Scope run. */
  createContext: {
    path: { id: string };
    query: {};
    body?: { language?: string | undefined; cwd?: string | undefined; env?: models.Environment | undefined } | undefined;
    response: models.Context;
  };
  /** Ends a context. Scope run. */
  deleteContext: {
    path: { id: string; cid: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Opens a WebSocket for executions: send ExecuteRequest or {interrupt: true}, receive events. Scope run. */
  executeBySocket: {
    path: { id: string; cid: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Executes code; executions of one context run one after the other. Scope run. */
  execute: {
    path: { id: string; cid: string };
    query: {};
    body: models.ExecuteRequest;
    response: models.Verdict;
  };
  /** Interrupts the running execution. Scope run. */
  interruptContext: {
    path: { id: string; cid: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Replies to the oldest open input request of the running execution. Scope run. */
  replyInput: {
    path: { id: string; cid: string };
    query: {};
    body?: models.InputReply | undefined;
    response: void;
  };
  /** Returns the result of a tool that the running execution calls. Scope run. */
  replyTool: {
    path: { id: string; cid: string; call: string };
    query: {};
    body: models.ToolReply;
    response: void;
  };
  /** Completes the name before the cursor. Scope run. */
  completeCode: {
    path: { id: string; cid: string };
    query: {};
    body: models.CompletionRequest;
    response: models.Completion;
  };
  /** Describes the name at the cursor. Scope run. */
  inspectCode: {
    path: { id: string; cid: string };
    query: {};
    body: models.InspectionRequest;
    response: models.Inspection;
  };
  /** Restarts a context; its variables are lost. Scope run. */
  restartContext: {
    path: { id: string; cid: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Creates a checkpoint of a context's state. Scope run. */
  checkpointContext: {
    path: { id: string; cid: string };
    query: {};
    body?: undefined;
    response: { schema: "glovebox.checkpoint/1"; checkpoint: number };
  };
  /** Rolls a context back to a checkpoint. Scope run. */
  rollbackContext: {
    path: { id: string; cid: string };
    query: {};
    body?: { checkpoint?: number | undefined } | undefined;
    response: { schema: "glovebox.checkpoint/1"; checkpoint: number };
  };
  /** Creates a new context from a checkpoint. Scope run. */
  forkContext: {
    path: { id: string; cid: string };
    query: {};
    body: { checkpoint: number };
    response: models.Context;
  };
  /** Lists the dry runs of a sandbox that wait for a decision: one at most. Scope read. */
  listDryRuns: {
    path: { id: string };
    query: {};
    body?: undefined;
    response: { schema?: "glovebox.dry_runs/1" | undefined; dry_runs: models.DryRun[] };
  };
  /** Keeps what a dry run has changed. Scope run. */
  commitDryRun: { path: { id: string; dry: string }; query: {}; body?: undefined; response: void };
  /** Takes back what a dry run has changed: memory and files are as they were before. Scope run. */
  discardDryRun: {
    path: { id: string; dry: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Returns the finished cells as a notebook. Scope read. */
  getNotebook: {
    path: { id: string; cid: string };
    query: {};
    body?: undefined;
    response: unknown;
  };
  /** Returns the notebook as an HTML page. Scope read. */
  getNotebookPage: {
    path: { id: string; cid: string };
    query: {};
    body?: undefined;
    response: unknown;
  };
  /** Runs a command and waits for its end. The command is killed if the client disconnects. Scope run. */
  runCommand: {
    path: { id: string };
    query: {};
    body: models.CommandRequest;
    response: models.CommandResult;
  };
  /** Lists a sandbox's processes. Scope read. */
  listProcesses: {
    path: { id: string };
    query: {};
    body?: undefined;
    response: { schema: "glovebox.processes/1"; processes: models.Process[] };
  };
  /** Starts a command or a terminal. Scope run. */
  startProcess: {
    path: { id: string };
    query: {};
    body: models.ProcessRequest;
    response: { schema: "glovebox.process/1"; pid: number };
  };
  /** Returns a process, its events, or a WebSocket: binary messages carry terminal or stdin bytes, text messages carry events and {resize}, {signal} or {end_stdin}. Scope run. */
  attachProcess: {
    path: { id: string; pid: number };
    query: {};
    body?: undefined;
    response: models.Process;
  };
  /** Kills a process. Scope run. */
  killProcess: { path: { id: string; pid: number }; query: {}; body?: undefined; response: void };
  /** Writes the body to a process's standard input. Scope run. */
  writeStdin: {
    path: { id: string; pid: number };
    query: {};
    body?: Body | undefined;
    response: void;
  };
  /** Closes a process's standard input. Scope run. */
  closeStdin: { path: { id: string; pid: number }; query: {}; body?: undefined; response: void };
  /** Sends a signal to a process. Scope run. */
  signalProcess: {
    path: { id: string; pid: number };
    query: {};
    body: { signal: string };
    response: void;
  };
  /** Resizes a process's terminal. Scope run. */
  resizeProcess: {
    path: { id: string; pid: number };
    query: {};
    body: models.Terminal;
    response: void;
  };
  /** Lists a directory. Scope read. */
  listFiles: {
    path: { id: string };
    query: { list?: string | undefined; depth?: number | undefined };
    body?: undefined;
    response: { schema: "glovebox.files/1"; entries: models.FileEntry[] };
  };
  /** Creates a directory, or moves a file or directory. Scope run. */
  changeFiles: {
    path: { id: string };
    query: {};
    body: { action: "make_directory" | "move"; path: string; to?: string | undefined };
    response: models.FileEntry;
  };
  /** Streams changes below a directory. Scope read. */
  watchFiles: {
    path: { id: string };
    query: { path?: string | undefined; recursive?: boolean | undefined };
    body?: undefined;
    response: unknown;
  };
  /** Returns a file, a range of a file, or a directory as an archive. Scope read. */
  readFile: {
    path: { id: string; path: string };
    query: { stat?: boolean | undefined; archive?: "tar" | "tar.gz" | "zip" | undefined };
    body?: undefined;
    response: models.FileEntry;
  };
  /** Returns a file's size and tags. Scope read. */
  headFile: {
    path: { id: string; path: string };
    query: { stat?: boolean | undefined; archive?: "tar" | "tar.gz" | "zip" | undefined };
    body?: undefined;
    response: void;
  };
  /** Writes a file, creating its parent directories, or unpacks an archive. Scope run. */
  writeFile: {
    path: { id: string; path: string };
    query: { mode?: string | undefined; append?: boolean | undefined; flush?: boolean | undefined; unpack?: boolean | undefined };
    body: Body;
    response: models.FileEntry;
  };
  /** Removes a file, or a directory and everything in it. Scope run. */
  removeFile: { path: { id: string; path: string }; query: {}; body?: undefined; response: void };
  /** Forwards the request to the server on a port inside the sandbox, including WebSockets. Scope run. */
  getPort: {
    path: { id: string; port: number; path: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Forwards the request to the server on a port inside the sandbox, including WebSockets. Scope run. */
  headPort: {
    path: { id: string; port: number; path: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Forwards the request to the server on a port inside the sandbox, including WebSockets. Scope run. */
  postPort: {
    path: { id: string; port: number; path: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Forwards the request to the server on a port inside the sandbox, including WebSockets. Scope run. */
  putPort: {
    path: { id: string; port: number; path: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Forwards the request to the server on a port inside the sandbox, including WebSockets. Scope run. */
  patchPort: {
    path: { id: string; port: number; path: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Forwards the request to the server on a port inside the sandbox, including WebSockets. Scope run. */
  deletePort: {
    path: { id: string; port: number; path: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Forwards the request to the server on a port inside the sandbox, including WebSockets. Scope run. */
  optionsPort: {
    path: { id: string; port: number; path: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Lists the tenant's volumes by name. Scope read. */
  listVolumes: {
    path: {};
    query: {};
    body?: undefined;
    response: { schema: "glovebox.volumes/1"; volumes: models.Volume[] };
  };
  /** Creates a volume: a directory that outlives sandboxes. Scope run. */
  createVolume: {
    path: {};
    query: {};
    body: { name: string; size?: models.Size | undefined; inodes?: number | undefined };
    response: models.Volume;
  };
  /** Returns a volume. Scope read. */
  getVolume: { path: { id: string }; query: {}; body?: undefined; response: models.Volume };
  /** Removes a volume and everything in it; not while a sandbox uses it. Scope run. */
  removeVolume: { path: { id: string }; query: {}; body?: undefined; response: void };
  /** Lists a directory. Scope read. */
  listVolumeFiles: {
    path: { id: string };
    query: { list?: string | undefined; depth?: number | undefined };
    body?: undefined;
    response: { schema: "glovebox.files/1"; entries: models.FileEntry[] };
  };
  /** Creates a directory, or moves a file or directory. Scope run. */
  changeVolumeFiles: {
    path: { id: string };
    query: {};
    body: { action: "make_directory" | "move"; path: string; to?: string | undefined };
    response: models.FileEntry;
  };
  /** Returns a file, a range of a file, or a directory as an archive. Scope read. */
  readVolumeFile: {
    path: { id: string; path: string };
    query: { stat?: boolean | undefined; archive?: "tar" | "tar.gz" | "zip" | undefined };
    body?: undefined;
    response: models.FileEntry;
  };
  /** Returns a file's size and tags. Scope read. */
  headVolumeFile: {
    path: { id: string; path: string };
    query: { stat?: boolean | undefined; archive?: "tar" | "tar.gz" | "zip" | undefined };
    body?: undefined;
    response: void;
  };
  /** Writes a file, creating its parent directories, or unpacks an archive. Scope run. */
  writeVolumeFile: {
    path: { id: string; path: string };
    query: { mode?: string | undefined; append?: boolean | undefined; flush?: boolean | undefined; unpack?: boolean | undefined };
    body: Body;
    response: models.FileEntry;
  };
  /** Removes a file, or a directory and everything in it. Scope run. */
  removeVolumeFile: {
    path: { id: string; path: string };
    query: {};
    body?: undefined;
    response: void;
  };
  /** Creates a token for one port, for clients that cannot send a key: http://PORT-ID.host/?glovebox_token=TOKEN, or the header X-Port-Token. Scope run. */
  createPortToken: {
    path: { id: string };
    query: {};
    body: models.PortTokenRequest;
    response: { schema: "glovebox.port_token/1"; token: string; port: number; expires: string };
  };
  /** Lists the available languages. Scope read. */
  listLanguages: {
    path: {};
    query: {};
    body?: undefined;
    response: { schema: "glovebox.languages/1"; languages: Record<string, unknown>[] };
  };
  /** Lists the templates that sandboxes can be created from. Scope read. */
  listTemplates: {
    path: {};
    query: {};
    body?: undefined;
    response: { schema: "glovebox.templates/1"; templates: models.Template[] };
  };
  /** Builds a template from a recipe; identical builds are reused. Host paths and package_sources require scope admin. Scope run. */
  buildTemplate: { path: {}; query: {}; body: models.TemplateRecipe; response: unknown };
  /** Returns a template. Scope read. */
  getTemplate: { path: { name: string }; query: {}; body?: undefined; response: models.Template };
  /** Removes a template, and its content as soon as nothing uses it. Scope run. */
  removeTemplate: { path: { name: string }; query: {}; body?: undefined; response: void };
  /** Returns a template as an image in a tar archive: an OCI layout with one layer, which docker load reads as well. 501 for a template without a root of its own. Scope read. */
  exportTemplate: {
    path: { name: string };
    query: { format: "oci" };
    body?: undefined;
    response: unknown;
  };
  /** Builds a template from a tar archive. An image: an OCI layout, the output of 'docker save', or a root file system, uncompressed, gzip or zstd. Or, with dockerfile, a Dockerfile with the files that it copies, uncompressed or gzip, at most 1 GiB. Scope run. */
  importTemplate: {
    path: { name: string };
    query: { format: "oci" | "docker" | "rootfs" | "dockerfile"; dockerfile?: string | undefined; build_args?: string | undefined; cache?: boolean | undefined; network?: string | undefined };
    body: Body;
    response: unknown;
  };
  /** Lists what waits until a person agrees to it, because a policy asks for one. Scope read. */
  listApprovals: {
    path: {};
    query: {};
    body?: undefined;
    response: { schema: "glovebox.approvals/1"; approvals: models.Approval[] };
  };
  /** Agrees to a program that waits, or refuses it, once. Scope approve. */
  decideApproval: { path: { id: string }; query: {}; body: models.ApprovalReply; response: void };
  /** Says what a second model finds of a run that waits for its review, once. The id is that of the event `tool_call` of the tool `review`. Scope run. */
  answerReview: { path: { id: string }; query: {}; body: models.ReviewReply; response: void };
  /** Lists records of the audit journal, oldest first: the caller's tenant's, or all for the tenant 'default'. 501 if the daemon keeps no journal. Scope admin. */
  listAudit: {
    path: {};
    query: { after?: number | undefined; limit?: number | undefined; newest?: number | undefined; action?: string | undefined; sandbox?: string | undefined };
    body?: undefined;
    response: { schema: "glovebox.audit/1"; records: models.AuditRecord[]; next: string };
  };
  /** Lists the emergency stops in effect, oldest first. Scope admin. */
  listEmergencyStops: {
    path: {};
    query: {};
    body?: undefined;
    response: { schema: "glovebox.stops/1"; stops: models.EmergencyStop[] };
  };
  /** Ends every sandbox and execution of a tenant, of a sandbox, or, without a body, of everything, and refuses new ones until the stop is lifted. Workspaces on disk stay. Scope admin. */
  emergencyStop: {
    path: {};
    query: {};
    body?: { tenant?: string | undefined; sandbox?: string | undefined } | undefined;
    response: { schema: "glovebox.stop/1"; stopped: number };
  };
  /** Lifts the emergency stop of this scope: of a tenant, of a sandbox, or, without parameters, of everything. 404 if there is none. Scope admin. */
  liftEmergencyStop: {
    path: {};
    query: { tenant?: string | undefined; sandbox?: string | undefined };
    body?: undefined;
    response: void;
  };
  /** Lists tenants with their usage and quotas. Scope admin. */
  listTenants: {
    path: {};
    query: {};
    body?: undefined;
    response: { schema: "glovebox.tenants/1"; tenants: models.Tenant[] };
  };
  /** Creates a tenant. Scope admin. */
  createTenant: { path: {}; query: {}; body: models.TenantRequest; response: models.Tenant };
  /** Returns a tenant. Scope admin. */
  getTenant: { path: { tenant: string }; query: {}; body?: undefined; response: models.Tenant };
  /** Updates the given quotas; null removes a quota. Takes effect with the next request. Scope admin. */
  changeTenant: {
    path: { tenant: string };
    query: {};
    body: models.TenantChange;
    response: models.Tenant;
  };
  /** Removes a tenant and its keys. 409 while it has sandboxes or volumes. Scope admin. */
  deleteTenant: { path: { tenant: string }; query: {}; body?: undefined; response: void };
  /** Lists API keys, oldest first, without their secret values. Scope admin. */
  listKeys: {
    path: {};
    query: { tenant?: string | undefined };
    body?: undefined;
    response: { schema: "glovebox.keys/1"; keys: models.ApiKey[] };
  };
  /** Creates an API key. Scope admin. */
  createKey: { path: {}; query: {}; body: models.ApiKeyRequest; response: models.NewApiKey };
  /** Revokes an API key immediately. Scope admin. */
  revokeKey: { path: { key: string }; query: {}; body?: undefined; response: void };
  /** Creates a key with the same scopes and expiry; the old key keeps working for a while. Scope admin. */
  rotateKey: {
    path: { key: string };
    query: {};
    body?: models.KeyRotation | undefined;
    response: models.NewApiKey;
  };
}

export type OperationId = keyof Operations;

export interface Route {
  readonly method: string;
  readonly path: string;
  /** Whether it accepts an Idempotency-Key, and so can be repeated. */
  readonly keyed?: boolean;
}

/** Where each operation is. */
export const routes: Readonly<Record<OperationId, Route>> = {
  self: { method: "GET", path: "/" },
  health: { method: "GET", path: "/healthz" },
  openapi: { method: "GET", path: "/openapi.json" },
  metrics: { method: "GET", path: "/metrics" },
  run: { method: "POST", path: "/v1/run", keyed: true },
  judge: { method: "POST", path: "/v1/judge" },
  listSandboxes: { method: "GET", path: "/v1/sandboxes" },
  createSandbox: { method: "POST", path: "/v1/sandboxes", keyed: true },
  getSandbox: { method: "GET", path: "/v1/sandboxes/{id}" },
  changeSandbox: { method: "PATCH", path: "/v1/sandboxes/{id}" },
  killSandbox: { method: "DELETE", path: "/v1/sandboxes/{id}" },
  pauseSandbox: { method: "POST", path: "/v1/sandboxes/{id}/pause" },
  resumeSandbox: { method: "POST", path: "/v1/sandboxes/{id}/resume" },
  snapshotSandbox: { method: "POST", path: "/v1/sandboxes/{id}/snapshot" },
  forkSandbox: { method: "POST", path: "/v1/sandboxes/{id}/fork" },
  exportSandbox: { method: "GET", path: "/v1/sandboxes/{id}/export" },
  importSandbox: { method: "POST", path: "/v1/sandboxes/import" },
  getUsage: { method: "GET", path: "/v1/sandboxes/{id}/usage" },
  getConnections: { method: "GET", path: "/v1/sandboxes/{id}/connections" },
  installPackages: { method: "POST", path: "/v1/sandboxes/{id}/packages" },
  listContexts: { method: "GET", path: "/v1/sandboxes/{id}/contexts" },
  createContext: { method: "POST", path: "/v1/sandboxes/{id}/contexts" },
  deleteContext: { method: "DELETE", path: "/v1/sandboxes/{id}/contexts/{cid}" },
  executeBySocket: { method: "GET", path: "/v1/sandboxes/{id}/contexts/{cid}/execute" },
  execute: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/execute", keyed: true },
  interruptContext: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/interrupt" },
  replyInput: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/input" },
  replyTool: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/tools/{call}" },
  completeCode: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/complete" },
  inspectCode: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/inspect" },
  restartContext: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/restart" },
  checkpointContext: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/checkpoint" },
  rollbackContext: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/rollback" },
  forkContext: { method: "POST", path: "/v1/sandboxes/{id}/contexts/{cid}/fork" },
  listDryRuns: { method: "GET", path: "/v1/sandboxes/{id}/dry-runs" },
  commitDryRun: { method: "POST", path: "/v1/sandboxes/{id}/dry-runs/{dry}/commit" },
  discardDryRun: { method: "POST", path: "/v1/sandboxes/{id}/dry-runs/{dry}/discard" },
  getNotebook: { method: "GET", path: "/v1/sandboxes/{id}/contexts/{cid}/notebook" },
  getNotebookPage: { method: "GET", path: "/v1/sandboxes/{id}/contexts/{cid}/notebook.html" },
  runCommand: { method: "POST", path: "/v1/sandboxes/{id}/commands" },
  listProcesses: { method: "GET", path: "/v1/sandboxes/{id}/processes" },
  startProcess: { method: "POST", path: "/v1/sandboxes/{id}/processes" },
  attachProcess: { method: "GET", path: "/v1/sandboxes/{id}/processes/{pid}" },
  killProcess: { method: "DELETE", path: "/v1/sandboxes/{id}/processes/{pid}" },
  writeStdin: { method: "POST", path: "/v1/sandboxes/{id}/processes/{pid}/stdin" },
  closeStdin: { method: "DELETE", path: "/v1/sandboxes/{id}/processes/{pid}/stdin" },
  signalProcess: { method: "POST", path: "/v1/sandboxes/{id}/processes/{pid}/signal" },
  resizeProcess: { method: "POST", path: "/v1/sandboxes/{id}/processes/{pid}/resize" },
  listFiles: { method: "GET", path: "/v1/sandboxes/{id}/files" },
  changeFiles: { method: "POST", path: "/v1/sandboxes/{id}/files" },
  watchFiles: { method: "GET", path: "/v1/sandboxes/{id}/files/watch" },
  readFile: { method: "GET", path: "/v1/sandboxes/{id}/files/{path}" },
  headFile: { method: "HEAD", path: "/v1/sandboxes/{id}/files/{path}" },
  writeFile: { method: "PUT", path: "/v1/sandboxes/{id}/files/{path}" },
  removeFile: { method: "DELETE", path: "/v1/sandboxes/{id}/files/{path}" },
  getPort: { method: "GET", path: "/v1/sandboxes/{id}/ports/{port}/{path}" },
  headPort: { method: "HEAD", path: "/v1/sandboxes/{id}/ports/{port}/{path}" },
  postPort: { method: "POST", path: "/v1/sandboxes/{id}/ports/{port}/{path}" },
  putPort: { method: "PUT", path: "/v1/sandboxes/{id}/ports/{port}/{path}" },
  patchPort: { method: "PATCH", path: "/v1/sandboxes/{id}/ports/{port}/{path}" },
  deletePort: { method: "DELETE", path: "/v1/sandboxes/{id}/ports/{port}/{path}" },
  optionsPort: { method: "OPTIONS", path: "/v1/sandboxes/{id}/ports/{port}/{path}" },
  listVolumes: { method: "GET", path: "/v1/volumes" },
  createVolume: { method: "POST", path: "/v1/volumes" },
  getVolume: { method: "GET", path: "/v1/volumes/{id}" },
  removeVolume: { method: "DELETE", path: "/v1/volumes/{id}" },
  listVolumeFiles: { method: "GET", path: "/v1/volumes/{id}/files" },
  changeVolumeFiles: { method: "POST", path: "/v1/volumes/{id}/files" },
  readVolumeFile: { method: "GET", path: "/v1/volumes/{id}/files/{path}" },
  headVolumeFile: { method: "HEAD", path: "/v1/volumes/{id}/files/{path}" },
  writeVolumeFile: { method: "PUT", path: "/v1/volumes/{id}/files/{path}" },
  removeVolumeFile: { method: "DELETE", path: "/v1/volumes/{id}/files/{path}" },
  createPortToken: { method: "POST", path: "/v1/sandboxes/{id}/port-tokens" },
  listLanguages: { method: "GET", path: "/v1/languages" },
  listTemplates: { method: "GET", path: "/v1/templates" },
  buildTemplate: { method: "POST", path: "/v1/templates" },
  getTemplate: { method: "GET", path: "/v1/templates/{name}" },
  removeTemplate: { method: "DELETE", path: "/v1/templates/{name}" },
  exportTemplate: { method: "GET", path: "/v1/templates/{name}/archive" },
  importTemplate: { method: "PUT", path: "/v1/templates/{name}/archive" },
  listApprovals: { method: "GET", path: "/v1/approvals" },
  decideApproval: { method: "POST", path: "/v1/approvals/{id}" },
  answerReview: { method: "POST", path: "/v1/reviews/{id}" },
  listAudit: { method: "GET", path: "/v1/audit" },
  listEmergencyStops: { method: "GET", path: "/v1/emergency-stop" },
  emergencyStop: { method: "POST", path: "/v1/emergency-stop" },
  liftEmergencyStop: { method: "DELETE", path: "/v1/emergency-stop" },
  listTenants: { method: "GET", path: "/v1/tenants" },
  createTenant: { method: "POST", path: "/v1/tenants" },
  getTenant: { method: "GET", path: "/v1/tenants/{tenant}" },
  changeTenant: { method: "PATCH", path: "/v1/tenants/{tenant}" },
  deleteTenant: { method: "DELETE", path: "/v1/tenants/{tenant}" },
  listKeys: { method: "GET", path: "/v1/keys" },
  createKey: { method: "POST", path: "/v1/keys" },
  revokeKey: { method: "DELETE", path: "/v1/keys/{key}" },
  rotateKey: { method: "POST", path: "/v1/keys/{key}/rotate" },
};
