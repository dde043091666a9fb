// SPDX-License-Identifier: Apache-2.0
// Generated from api/openapi.yaml by sdk/typescript/generate. Do not edit.

export interface Error {
  schema?: "glovebox.error/1" | undefined;
  code: number;
  error: string;
  message: string;
  hint: string;
  /** Of 410 alone. */
  reason?: "deleted" | "expired" | "out_of_memory" | "crashed" | "emergency_stop" | "keeper_ended" | "unknown" | undefined;
  /** Of 410 alone. */
  ended_at?: string | undefined;
}

/** Seconds, or a string like 30s, 5m or 250ms. */
export type Duration = number | string;

/** Bytes, or a string like 512M. */
export type Size = number | string;

export type Environment = Record<string, string>;

export interface Limits {
  time?: Duration | undefined;
  cpu_time?: Duration | undefined;
  memory?: Size | undefined;
  cpus?: number | undefined;
  pids?: number | undefined;
  disk?: Size | undefined;
  inodes?: number | undefined;
  open_files?: number | undefined;
  output?: Size | undefined;
}

/** Where the sandbox may connect to, through a proxy (docs/network.md). 403 where the operator forbids such rules (glovebox serve --network). */
export interface Network {
  /** HOST, *.HOST, an IPv4 or IPv6 address or ADDRESS/LENGTH, each with :PORT if needed (IPv6: [ADDRESS]:PORT). Addresses that are not public are reached only by rules of addresses. */
  allow?: string[] | undefined;
  /** The same. */
  deny?: string[] | undefined;
  /** For what no rule matches. */
  default?: "deny" | "allow" | undefined;
  /** Which rule wins where both lists have one. */
  precedence?: "deny" | "allow" | undefined;
  secrets?: SecretUse[] | undefined;
  headers?: HeaderRule[] | undefined;
  budget?: NetworkBudget | undefined;
}

/** Programs find a placeholder in a variable; in headers of requests to these hosts, the secret takes its place. 400 for a secret that the tenant has not stored. */
export interface SecretUse {
  /** The name or id of a stored secret. */
  secret: string;
  /** The variable; by default the secret's name. */
  env?: string | undefined;
  /** HOST, *.HOST or an address, with :PORT if it is not 443; http://HOST without TLS. They are allowed without another rule. */
  hosts: string[];
  /** By default a random one. */
  placeholder?: string | undefined;
}

/** Requests to the host get this header, in place of any of that name. */
export interface HeaderRule {
  /** As in secrets. */
  host: string;
  name: string;
  /** {NAME} stands for the value of a stored secret, {{ and }} for braces. Stored and shown as it is. */
  value: string;
}

/** What the sandbox may use of the network in all. */
export interface NetworkBudget {
  connections?: number | undefined;
  /** Bytes. */
  sent?: number | undefined;
  /** Bytes. */
  received?: number | undefined;
  /** Bytes a second, in each direction. */
  rate?: number | undefined;
}

export interface SandboxRequest {
  template?: string | undefined;
  /** Image of a container registry, in place of a template. It is pulled once, as a template of the tenant's, where the operator lets sandboxes out. */
  image?: string | undefined;
  timeout?: Duration | undefined;
  on_timeout?: "kill" | "pause" | undefined;
  auto_resume?: boolean | undefined;
  limits?: Limits | undefined;
  network?: Network | undefined;
  env?: Environment | undefined;
  metadata?: Record<string, string> | undefined;
  tier?: string | undefined;
  min_tier?: string | undefined;
  /** Who its processes are inside. `root` has a file system that it can change, and needs the native tier. Without it, the user that the template's image names, or `user`. */
  user?: "user" | "root" | undefined;
  /** Tools inside can build sandboxes of their own, such as bubblewrap's. Needs the native tier, and the operator's `--allow-nested` (else 403); not together with `user: root`. */
  nested?: boolean | undefined;
  /** Where the workspace is stored; on disk it survives restarts of the daemon, the keeper and the machine. */
  storage?: "memory" | "disk" | undefined;
  volumes?: VolumeMount[] | undefined;
  /** Names of policies that check what runs in it, beside the daemon's own; the strictest decides. */
  policy?: string[] | undefined;
}

export interface Approval {
  id: string;
  /** null: a run, in a sandbox of its own. */
  sandbox: string | null;
  /** tool_call: the code calls a tool; 'code' is its name and its arguments. */
  kind: "execution" | "run" | "judge" | "command" | "packages" | "template" | "tool_call";
  language: string;
  /** At most its first 64 KiB. */
  code: string;
  risk: number;
  findings: Finding[];
  /** What it would be granted. */
  grants: string[];
  /** What a dry run of it has changed, which an approval commits; null: there was none. */
  dry_run: DryRun | null;
  /** Why there was no dry run although a policy wants one. */
  no_dry_run: string | null;
  /** Of all that would run, with what, of what it would be granted, and of what a dry run of it has changed. */
  hash: string;
  asked: string;
  expires: string;
}

export interface Finding {
  rule: string;
  severity: "low" | "medium" | "high";
  action: "note" | "ask" | "refuse";
  line: number;
  column: number;
  /** What was found; chosen by the program's author. */
  subject: string;
  reason: string;
  policy: string;
}

export interface ApprovalReply {
  decision: "allow" | "refuse";
  /** The hash of what was looked at. */
  hash: string;
  /** Do not ask about the same hash again, as long as the daemon runs. */
  remember?: boolean | undefined;
}

/** null or absent means no limit. */
export interface Quotas {
  sandboxes?: number | null | undefined;
  /** Total of all sandboxes. */
  memory?: Size | null | undefined;
  cpus?: number | null | undefined;
  disk?: Size | null | undefined;
  /** Concurrent executions. */
  executions?: number | null | undefined;
  requests_per_second?: number | null | undefined;
  /** Burst size of requests above the rate. */
  burst?: number | null | undefined;
}

export interface PortTokenRequest {
  port: number;
  /** One hour by default, at most 24 hours. */
  expires_in?: Duration | undefined;
}

/** What happened once. docs/audit.md lists the actions and their details. */
export interface AuditRecord {
  /** The number of the record, of all tenants' records. */
  seq?: number | undefined;
  time?: string | undefined;
  action?: string | undefined;
  tenant?: string | undefined;
  /** The id of the API key; absent for another proof, such as the Unix socket or a sandbox's token. */
  key?: string | undefined;
  /** rest, e2b or mcp. */
  door?: string | undefined;
  sandbox?: string | undefined;
  context?: string | undefined;
  /** What else it is about: the name of a template, for example. */
  subject?: string | undefined;
  decision?: "allowed" | "refused" | undefined;
  /** ok, the name of an error, or the status of an execution. */
  result?: string | undefined;
  details?: Record<string, unknown> | undefined;
  hash?: string | undefined;
}

export interface EmergencyStop {
  scope?: "all" | "tenant" | "sandbox" | undefined;
  /** Of the tenant, or the sandbox's id; absent for all. */
  name?: string | undefined;
  /** Who stopped it. */
  by_tenant?: string | undefined;
  /** The id of the API key; null for the Unix socket. */
  by_key?: string | null | undefined;
  at?: string | undefined;
}

export interface TenantRequest {
  name: string;
  quotas?: Quotas | undefined;
}

export interface TenantChange {
  quotas?: Quotas | undefined;
}

export interface Tenant {
  schema?: "glovebox.tenant/1" | undefined;
  name: string;
  created: string;
  quotas: Quotas;
  used: {
    sandboxes?: number | undefined;
    memory?: number | undefined;
    cpus?: number | undefined;
    disk?: number | undefined;
  };
}

export interface ApiKeyRequest {
  tenant?: string | undefined;
  scopes: ("run" | "read" | "admin" | "approve")[];
  expires_in?: Duration | undefined;
}

export interface KeyRotation {
  /** How long the old key keeps working: one hour by default, at most 30 days. */
  overlap?: Duration | undefined;
}

export interface ApiKey {
  /** The first digits of the key; not a secret. */
  id: string;
  tenant: string;
  scopes: string[];
  last_four: string;
  state: "valid" | "expired" | "revoked";
  created: string;
  expires: string | null;
  revoked?: string | null | undefined;
  /** Since the daemon started. */
  last_used: string | null;
}

export type NewApiKey = ApiKey & { schema?: "glovebox.key/1" | undefined; key: string };

export interface SandboxChange {
  timeout?: Duration | undefined;
  on_timeout?: "kill" | "pause" | undefined;
  auto_resume?: boolean | undefined;
  metadata?: Record<string, string> | undefined;
  network?: Network | undefined;
}

export interface VolumeMount {
  /** The volume's name or id. */
  name: string;
  /** Absolute path inside the sandbox. */
  path: string;
  read_only?: boolean | undefined;
}

export interface Volume {
  schema?: "glovebox.volume/1" | undefined;
  id: string;
  name: string;
  /** Capacity in bytes. */
  size: number;
  inodes: number;
  created: string;
}

export interface Sandbox {
  /** Not in lists, and not within another document. */
  schema?: "glovebox.sandbox/1" | undefined;
  id: string;
  template: string;
  tier: string;
  state: "running" | "paused";
  created: string;
  expires: string;
  on_timeout?: "kill" | "pause" | undefined;
  auto_resume?: boolean | undefined;
  user?: "user" | "root" | undefined;
  nested?: boolean | undefined;
  /** The policies that it was made with. */
  policy?: string[] | undefined;
  limits?: Record<string, unknown> | undefined;
  env?: Environment | undefined;
  metadata?: Record<string, unknown> | undefined;
  network?: Record<string, unknown> | null | undefined;
  storage?: "memory" | "disk" | undefined;
  /** What snapshots and forks of its workspace are. shared: they take milliseconds however much it holds, and no space but for what changes later. full: every byte that it holds is copied. */
  copies?: "shared" | "full" | undefined;
  volumes?: { id: string; path: string; read_only: boolean }[] | undefined;
  /** Its processes were lost after it was created; its workspace on disk was kept. */
  restarted?: boolean | undefined;
  /** It is paused and its memory is on disk. */
  saved?: boolean | undefined;
  walls?: Record<string, unknown> | null | undefined;
}

export interface TemplateRecipe {
  /** Letters, digits, '.', '_' and '-'. */
  name: string;
  /** A template name, or an object with one of registry (an image of a container registry, with login: username, and password or the name of a secret), debootstrap (suite, mirror, packages), oci (a path), docker (a path) or rootfs (a path). */
  base?: string | Record<string, unknown> | undefined;
  /** Path of the workspace: /workspace or /home/NAME; by default the base's. */
  home?: string | undefined;
  /** The guest's user name; by default the base's. */
  user?: string | undefined;
  /** pip:NAME, pip:NAME==VERSION, npm:NAME, npm:NAME@VERSION */
  packages?: string[] | undefined;
  /** Directories on the daemon's host that contain package files. */
  package_sources?: string[] | undefined;
  files?: TemplateFile[] | undefined;
  /** Run in order by bash in a sandbox of the template; the files they leave in the workspace are kept. */
  commands?: string[] | undefined;
  /** What the commands, the pull of an image and debootstrap may connect to. Without secrets and headers (501). Sandboxes of the template do not inherit it. */
  network?: Network | undefined;
  env?: Environment | undefined;
  /** A bash command to start with each sandbox. */
  start?: string | undefined;
  /** A bash command: a sandbox is handed out once it succeeds, or after one minute. */
  ready?: string | undefined;
  /** Python modules to import in advance for contexts. */
  preload?: string[] | undefined;
  limits?: Limits | undefined;
  /** Its sandboxes and runs are `nested`, but those with `user: root`; also if its base is. */
  nested?: boolean | undefined;
  /** Names of policies that check what runs in its sandboxes, beside those of its base. */
  policy?: string[] | undefined;
}

export interface TemplateFile {
  /** Relative to the workspace, or an absolute path inside it. */
  path: string;
  content?: string | undefined;
  /** Instead of content, for binary data. */
  base64?: string | undefined;
  mode?: string | undefined;
}

export interface Template {
  schema?: "glovebox.template/1" | undefined;
  name: string;
  /** Built in; cannot be removed. */
  builtin: boolean;
  /** host, registry, debootstrap, oci, docker, rootfs, recipe, dockerfile or snapshot. */
  source: string;
  /** The template that it is based on. */
  base?: string | null | undefined;
  /** SHA-256 of everything it was built from. */
  content?: string | undefined;
  created?: string | null | undefined;
  /** Size on disk in bytes. */
  size?: number | undefined;
  home?: string | undefined;
  user?: string | undefined;
  /** Has its own root file system instead of the host's /usr. */
  own_root?: boolean | undefined;
  packages?: string[] | undefined;
  env?: Environment | undefined;
  image?: ImageConfig | undefined;
  start?: string | undefined;
  ready?: string | undefined;
  preload?: string[] | undefined;
  limits?: Record<string, unknown> | undefined;
  /** Its sandboxes are `nested`, but those with `user: root`. */
  nested?: boolean | undefined;
  /** The policies that check what runs in its sandboxes; of its base, too. */
  policy?: string[] | undefined;
}

/** What the template's image or Dockerfile says of how it is run; what it does not say is empty. */
export interface ImageConfig {
  /** A name or a number, also with ':GROUP'; empty is root. */
  user: string;
  /** Where commands begin; empty is the workspace. */
  workdir: string;
  entrypoint: string[];
  cmd: string[];
  /** As "80/tcp"; every port can be reached. */
  exposed_ports: string[];
  /** Paths; no volumes are made for them. */
  volumes: string[];
  labels: Environment;
  /** Kept for an exported image; sandboxes are killed. */
  stop_signal: string;
}

/** progress with step, steps and message; log with text; keepalive; finally built with template and cached, or failed with error. */
export interface TemplateEvent {
  type: "progress" | "log" | "keepalive" | "built" | "failed";
  step?: number | undefined;
  steps?: number | undefined;
  message?: string | undefined;
  text?: string | undefined;
  template?: Template | undefined;
  cached?: boolean | undefined;
  /** Of failed, as the next four. */
  schema?: "glovebox.error/1" | undefined;
  code?: number | undefined;
  error?: string | undefined;
  hint?: string | undefined;
  [field: string]: unknown;
}

export interface Usage {
  schema?: "glovebox.usage/1" | undefined;
  at?: string | undefined;
  cpus?: number | undefined;
  /** Processor time so far. */
  cpu_ms?: number | undefined;
  memory?: number | undefined;
  memory_limit?: number | undefined;
  disk?: number | undefined;
  disk_limit?: number | undefined;
  pids?: number | undefined;
}

export interface Connections {
  schema?: "glovebox.connections/1" | undefined;
  connections?: ConnectionRecord[] | undefined;
  /** Connections after the first 1,000. */
  more_connections?: number | undefined;
}

export interface ConnectionRecord {
  host?: string | undefined;
  port?: number | undefined;
  verdict?: "allowed" | "denied" | "failed" | undefined;
  /** What decided. */
  rule?: string | undefined;
  /** The address that the proxy connected to. */
  address?: string | undefined;
  via?: "direct" | "upstream" | undefined;
  sent?: number | undefined;
  received?: number | undefined;
  reason?: string | undefined;
}

export interface RunRequest {
  /** Template whose root, packages, environment and files the code finds. A snapshot with a workspace on disk cannot be used. */
  template?: string | undefined;
  /** Image of a container registry, in place of a template. It is pulled once, as a template of the tenant's, where the operator lets sandboxes out. */
  image?: string | undefined;
  code: string;
  /** Required unless the name identifies it. */
  language?: string | undefined;
  /** Name of the file that contains the code. */
  name?: string | undefined;
  arguments?: string[] | undefined;
  stdin?: string | undefined;
  /** Files to copy in: name to content. */
  files?: Record<string, string> | undefined;
  env?: Environment | undefined;
  limits?: Limits | undefined;
  tier?: string | undefined;
  min_tier?: string | undefined;
  /** Who its processes are inside. `root` has a file system that it can change, and needs the native tier. Without it, the user that the template's image names, or `user`. */
  user?: "user" | "root" | undefined;
  /** Tools inside can build sandboxes of their own, such as bubblewrap's. Needs the native tier, and the operator's `--allow-nested` (else 403); not together with `user: root`. */
  nested?: boolean | undefined;
  /** A command that verifies the result. */
  verify?: string | undefined;
  checks?: Checks | undefined;
  network?: Network | undefined;
  /** Id of an earlier run, whose recorded answers (`glovebox serve --audit-network`) come in place of the network's: nothing is connected to, and what has no answer is refused. Needs the scope `admin`. */
  replay_network?: string | undefined;
  /** Names of policies that check what runs in it, beside the daemon's own; the strictest decides. */
  policy?: string[] | undefined;
}

export interface ReviewReply {
  /** Whether all of the criteria hold. */
  ok: boolean;
  /** Why, for the verdict. */
  reason?: string | undefined;
}

/** What has to hold before a run that ended with `ok` counts as that, beside what policies demand. Where something does not, the status is `unverified`. */
export interface Checks {
  /** Shell commands in the same sandbox that exit with 0. */
  commands?: string[] | undefined;
  /** Files in the workspace that the run made or changed. */
  files?: string[] | undefined;
  /** JSON Schema (draft 4, 6 or 7) that standard output conforms to. References lead only into itself. */
  output_schema?: Record<string, unknown> | undefined;
  /** What a second model has to find true. The stream has an event `tool_call` of the tool `review`; its answer decides, and where nobody answers in time the run has not passed. */
  review?: string | undefined;
}

export interface JudgeRequest {
  language: string;
  code: string;
  /** Name of the file that contains the code. */
  name?: string | undefined;
  arguments?: string[] | undefined;
  env?: Environment | undefined;
  limits?: Limits | undefined;
  tier?: string | undefined;
  min_tier?: string | undefined;
  /** Names of policies that check what runs in it, beside the daemon's own; the strictest decides. */
  policy?: string[] | undefined;
  cases: JudgeCase[];
  /** lines, exact, tokens, or float:TOLERANCE. */
  compare?: string | undefined;
  /** A program that decides instead. It is called with the names of the input, the output and the expected output; exit status 0 accepts, 1 and 2 reject. */
  checker?: {
    language: string;
    code: string;
    name?: string | undefined;
  } | undefined;
  /** Cases at once, as far as the tenant's quota allows. */
  jobs?: number | undefined;
  /** Skips the cases behind the first that is not accepted. */
  stop_at_first?: boolean | undefined;
}

export interface JudgeCase {
  /** Its number by default. */
  name?: string | undefined;
  input?: string | undefined;
  expected?: string | undefined;
  points?: number | undefined;
  time?: Duration | undefined;
  memory?: Size | undefined;
}

export interface JudgeReport {
  schema?: "glovebox.judge/1" | undefined;
  /** The first of the cases' that is not AC. */
  verdict: "AC" | "WA" | "TLE" | "MLE" | "OLE" | "RE" | "CE" | "SKIPPED";
  points: number;
  points_of: number;
  compile_ms: number;
  compiler_output: string;
  cases: ({ name: string; verdict: "AC" | "WA" | "TLE" | "MLE" | "OLE" | "RE" | "CE" | "SKIPPED"; points: number; points_of: number; message: string; exit_code: number; signal: number | null; usage: { wall_ms?: number | undefined; cpu_ms?: number | undefined; memory_peak?: number | undefined } })[];
}

export interface ExecuteRequest {
  code: string;
  env?: Environment | undefined;
  limits?: Limits | undefined;
  /** Restores the previous state if the code ends the interpreter. */
  recover?: boolean | undefined;
  store_history?: boolean | undefined;
  /** Code that asks for input waits for a reply, and an input_request event tells the client. Otherwise it finds the end of input. */
  allow_input?: boolean | undefined;
  /** What the code may call; nothing else. Each call is a tool_call event, and waits for a reply. */
  tools?: Tool[] | undefined;
  tool_limits?: {
    /** Calls in this execution; further ones raise an error. */
    calls?: number | undefined;
    /** How long calls may be open, all in all, before that counts towards the limit time; 1 hour by default, at most 30 days. */
    wait?: Duration | undefined;
  } | undefined;
  /** The verdict says what the code has changed, and the changes wait until they are committed or discarded. Until then nothing else may change the sandbox. Python in the native tier; not with recover. */
  dry_run?: boolean | undefined;
  /** open lets a dry run reach what the network rules allow, although nobody can take that back. */
  dry_run_network?: "closed" | "open" | undefined;
  /** How long an undecided dry run waits before it is discarded; 5 minutes by default, at most 1 hour. */
  dry_run_timeout?: Duration | undefined;
}

/** What a dry run of code or of a command has changed. Names, values, commands and contents are its own, cut to bounds. */
export interface DryRun {
  id: string;
  /** Where the code was executed; absent for a command. */
  context?: string | undefined;
  /** When it is discarded. */
  expires: string;
  /** Of the workspace; not of /tmp. */
  files: {
    added: DryRunFile[];
    modified: DryRunFile[];
    deleted: DryRunFile[];
    truncated: boolean;
  };
  /** Absent where the interpreter did not say. */
  variables?: {
    added: DryRunVariable[];
    changed: DryRunVariable[];
    removed: DryRunVariable[];
    truncated: boolean;
  } | undefined;
  /** Processes that it started and left behind. */
  processes: { pid: number; command: string }[];
  /** What it tried to reach, in a sandbox with network rules. */
  hosts: ({ host: string; port: number; verdict: "allowed" | "denied" | "failed" })[];
  /** Tools that it tried to call; none was called. */
  tool_calls: { name: string; arguments: string }[];
  /** Of glovebox run, which decides at once. */
  committed?: boolean | undefined;
}

export interface DryRunFile {
  /** Relative to the workspace. */
  path: string;
  type: "file" | "directory" | "symlink" | "other";
  /** Bytes; of a deleted file, those that it had. */
  size: number;
  size_before?: number | undefined;
  /** Permission bits, where they changed. */
  mode?: number | undefined;
  mode_before?: number | undefined;
  /** A unified diff, of texts of at most 64 KiB and as far as there is room. */
  diff?: string | undefined;
  [field: string]: unknown;
}

export interface DryRunVariable {
  name: string;
  type: string;
  /** The beginning of its representation. */
  value: string;
  /** Of a changed one. */
  type_before?: string | undefined;
  value_before?: string | undefined;
  [field: string]: unknown;
}

export interface Tool {
  /** The function's name. What precedes its last dot is the module in which code finds it. */
  name: string;
  description?: string | undefined;
  /** A JSON schema of an object. The order of its properties is that of positional arguments. */
  parameters?: Record<string, unknown> | undefined;
}

/** Either a result, or an error, which is raised in the code. */
export interface ToolReply {
  /** Any JSON value, at most 1 MiB and 32 levels deep. */
  result?: unknown | undefined;
  error?: {
    message: string;
  } | undefined;
}

export interface InputReply {
  /** A line of text without its line break, at most 64 KiB; null or absent for the end of input. */
  value?: string | null | undefined;
  /** The request's number, from its event. The reply is refused unless that one is open. */
  request?: number | undefined;
}

export interface CompletionRequest {
  code: string;
  /** Unicode code points before the cursor; by default all of the code's. */
  cursor?: number | undefined;
}

export interface Completion {
  schema?: "glovebox.completion/1" | undefined;
  matches: string[];
  /** In Unicode code points, as end. */
  start: number;
  end: number;
}

export interface InspectionRequest {
  code: string;
  /** Unicode code points before the cursor; by default all of the code's. */
  cursor?: number | undefined;
  /** 1 asks for more, such as the source, where the language has it. */
  detail?: number | undefined;
}

export interface Inspection {
  schema?: "glovebox.inspection/1" | undefined;
  found: boolean;
  /** By MIME type, at most 1 MiB each; empty unless found. */
  data: Record<string, string>;
}

/** started, stdout, stderr, result, error, input_request (with request, prompt and password), tool_call (with id, name and arguments), tool_refused (with id, name, message and arguments: a policy or a person refused the call), approval_needed (with id, risk, findings, grants and hash), keepalive, and finally verdict, which carries a Verdict, or failed, which carries an Error. */
export interface Event {
  type: string;
  text?: string | undefined;
  [field: string]: unknown;
}

/** How the code ended, what it used, and which walls and limits held. */
export interface Verdict {
  schema?: "glovebox.verdict/1" | undefined;
  id: string;
  language: string;
  tier: string;
  status: "ok" | "error" | "compile_error" | "timeout" | "out_of_memory" | "pids_limit" | "disk_full" | "signaled" | "canceled" | "refused" | "unverified" | "failed";
  exit_code: number;
  signal: number | null;
  /** Which limit ended the code, where the status leaves it open. */
  limit?: "time" | "cpu_time" | undefined;
  stdout: string;
  /** The bytes, where they are not UTF-8. */
  stdout_base64?: string | undefined;
  stderr: string;
  /** The bytes, where they are not UTF-8. */
  stderr_base64?: string | undefined;
  /** Whether the limit on output cut the stream. */
  truncated: OfStreams;
  /** How much the code wrote. */
  bytes: OfStreams;
  results: Result[];
  /** Of a context. */
  execution_count?: number | undefined;
  error: { name: string; value: string; traceback: string } | null;
  files: ({ path: string; size: number; change: "created" | "modified" | "deleted" })[];
  /** More files changed than are listed. */
  files_truncated?: boolean | undefined;
  walls: Record<string, unknown>;
  limits: Record<string, { value: number; enforced: boolean; hit: boolean }>;
  usage: {
    wall_ms?: number | undefined;
    cpu_ms?: number | undefined;
    /** Bytes. */
    memory_peak?: number | undefined;
    pids_peak?: number | undefined;
    disk_bytes?: number | undefined;
  };
  /** Microseconds, by step. */
  timings: Record<string, number>;
  notes?: string[] | undefined;
  /** Of a sandbox with network rules, as they ended. */
  connections?: ConnectionRecord[] | undefined;
  /** Connections after the first 1,000. */
  more_connections?: number | undefined;
  verification?: Verdict | undefined;
  /** What became of the checks that the request or a policy demands. */
  checks?: ({ check: "command" | "file" | "output_schema" | "review"; what?: string | undefined; passed: boolean; reason?: string | undefined })[] | undefined;
  dry_run?: DryRun | undefined;
}

export interface OfStreams {
  stdout: boolean | number;
  stderr: boolean | number;
}

export interface Result {
  /** The value of the code itself, not something it displayed. */
  main: boolean;
  /** MIME type to value. */
  data: Record<string, unknown>;
  metadata?: Record<string, unknown> | undefined;
  display_id?: string | undefined;
  /** Replaces what was shown under this display_id. */
  update?: boolean | undefined;
}

export interface Context {
  schema?: "glovebox.context/1" | undefined;
  id: string;
  language: string;
  cwd: string;
  alive: boolean;
  busy: boolean;
}

export interface Terminal {
  columns?: number | undefined;
  rows?: number | undefined;
}

export interface ProcessRequest {
  argv: string[];
  cwd?: string | undefined;
  env?: Environment | undefined;
  /** Who runs it: `user`, `root`, or another user of the sandbox's root. Only where the sandbox's own user is root can it be somebody else; by default, it is the sandbox's own. */
  user?: string | undefined;
  terminal?: Terminal | undefined;
  /** Whether the process gets a standard input to write to. */
  stdin?: boolean | undefined;
  tag?: string | undefined;
  timeout?: Duration | undefined;
}

/** Exactly one of argv and shell. */
export interface CommandRequest {
  argv?: string[] | undefined;
  /** A line for /bin/sh. */
  shell?: string | undefined;
  cwd?: string | undefined;
  env?: Environment | undefined;
  /** Who runs it: `user`, `root`, or another user of the sandbox's root. Only where the sandbox's own user is root can it be somebody else; by default, it is the sandbox's own. */
  user?: string | undefined;
  stdin?: string | undefined;
  limits?: {
    time?: Duration | undefined;
    output?: Size | undefined;
  } | undefined;
  /** The result says what the command has changed, and the changes wait until they are committed or discarded. Until then nothing else may change the sandbox. In the native tier. */
  dry_run?: boolean | undefined;
  /** open lets a dry run reach what the network rules allow, although nobody can take that back. */
  dry_run_network?: "closed" | "open" | undefined;
  /** How long an undecided dry run waits before it is discarded; 5 minutes by default, at most 1 hour. */
  dry_run_timeout?: Duration | undefined;
}

export interface CommandResult {
  schema?: "glovebox.command/1" | undefined;
  pid: number;
  /** 128 plus the signal's number if a signal ended it. */
  exit_code: number;
  signal: number | null;
  reason: EndReason;
  stdout: string;
  stderr: string;
  /** If the bytes are not UTF-8. */
  stdout_base64?: string | undefined;
  /** If the bytes are not UTF-8. */
  stderr_base64?: string | undefined;
  truncated: {
    stdout?: boolean | undefined;
    stderr?: boolean | undefined;
  };
  bytes: {
    stdout?: number | undefined;
    stderr?: number | undefined;
  };
  dry_run?: DryRun | undefined;
}

/** Why a process ended, in the words of a verdict's status. canceled: a client killed it. */
export type EndReason = "ok" | "error" | "timeout" | "out_of_memory" | "signaled" | "canceled";

export interface Process {
  schema?: "glovebox.process/1" | undefined;
  pid: number;
  argv: string[];
  cwd?: string | undefined;
  env?: Environment | undefined;
  tag?: string | undefined;
  terminal?: boolean | undefined;
  alive: boolean;
}

/** started with pid; stdout, stderr and terminal with text, and base64 if the bytes are not text; keepalive; finally ended with exit_code, signal and reason. */
export interface ProcessEvent {
  type: "started" | "stdout" | "stderr" | "terminal" | "keepalive" | "ended" | "failed";
  pid?: number | undefined;
  text?: string | undefined;
  base64?: string | undefined;
  exit_code?: number | undefined;
  signal?: number | null | undefined;
  reason?: EndReason | undefined;
  [field: string]: unknown;
}

export interface FileEntry {
  schema?: "glovebox.file/1" | undefined;
  path: string;
  type: "file" | "directory" | "symlink" | "other";
  size: number;
  mode: string;
  owner?: string | undefined;
  group?: string | undefined;
  modified: string;
  target?: string | undefined;
  target_type?: "file" | "directory" | "symlink" | "other" | undefined;
  [field: string]: unknown;
}

export interface FileEvent {
  type: "started" | "create" | "write" | "remove" | "rename" | "chmod" | "keepalive" | "failed";
  path?: string | undefined;
  [field: string]: unknown;
}
