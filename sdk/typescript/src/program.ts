// SPDX-License-Identifier: Apache-2.0
import { GloveboxError, InvalidError, UnsupportedError, errorOf } from "./errors.js";
import { type ExecutionEvent, LineSplitter } from "./events.js";
import { type EventSink, verdictOf } from "./execution.js";
import type * as models from "./generated/models.js";
import { findProgram, runProgram, withFiles } from "./platform.js";
import type { Verdict } from "./verdict.js";

/** Variables that would mean something to the program itself. */
const OWN_VARIABLES = /^(GLOVEBOX_.*|LD_.*|LC_.*|XDG_.*|LANG|PATH|HOME|TMPDIR|.*_proxy)$/i;

/** The variables that reach the guest by way of the program's own environment: everybody on the machine can read the
 *  options of a program, but not its environment. */
function passedOn(env: models.Environment = {}): models.Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !OWN_VARIABLES.test(name)));
}

/** Refuses what only a daemon can do, instead of leaving it out. */
function check({ network, files = {}, checks, replay_network }: models.RunRequest): void {
  for (const [name, value] of Object.entries({ checks, replay_network })) {
    if (value !== undefined) {
      throw new UnsupportedError(`the program takes no '${name}'`, { code: "unsupported", hint: "use a daemon" });
    }
  }
  if (network?.default !== undefined || network?.precedence !== undefined) {
    throw new UnsupportedError("the program has no 'default' and 'precedence' of network rules",
      { code: "unsupported", hint: "use a daemon" });
  }
  const ambiguous = Object.keys(files).find((name) => name.includes(":"));
  if (ambiguous !== undefined) throw new InvalidError(`invalid file name '${ambiguous}'`, { code: "invalid" });
}

/** The options of `glovebox run` that mean the same as a request's fields. */
function optionsOf(request: models.RunRequest, directory: string): string[] {
  const options: string[] = ["--events"];
  const add = (name: string, value: unknown) => {
    if (value !== undefined) options.push(`--${name}=${value}`);
  };
  add("language", request.language);
  for (const [name, value] of Object.entries(request.limits ?? {})) add(name.replaceAll("_", "-"), value);
  const byEnvironment = passedOn(request.env);
  for (const [name, value] of Object.entries(request.env ?? {})) {
    add("env", name in byEnvironment ? name : `${name}=${value}`);
  }
  for (const rule of request.network?.allow ?? []) add("allow-net", rule);
  for (const rule of request.network?.deny ?? []) add("deny-net", rule);
  for (const name of Object.keys(request.files ?? {})) add("file", `${directory}/files/${name}:${name}`);
  add("tier", request.tier);
  add("min-tier", request.min_tier);
  add("template", request.template);
  add("image", request.image);
  add("user", request.user);
  add("nested", request.nested);
  for (const policy of request.policy ?? []) add("policy", policy);
  add("verify", request.verify);
  add("stdin", request.stdin === undefined ? "/dev/null" : `${directory}/stdin`);
  return options;
}

/** Runs code by the program `glovebox run`, which needs no daemon. */
export async function runByProgram(request: models.RunRequest,
  options: { program?: string | undefined; signal?: AbortSignal | undefined },
  sink: EventSink): Promise<Verdict> {
  check(request);
  const program = options.program ?? await findProgram();
  const files: Record<string, string> = request.stdin === undefined ? {} : { stdin: request.stdin };
  for (const [name, content] of Object.entries(request.files ?? {})) files[`files/${name}`] = content;
  // The code has a file of its own where its name matters.
  if (request.name !== undefined) files[`code/${request.name}`] = request.code;
  return await withFiles(files, async (directory) => {
    const source = request.name === undefined ? "-" : `${directory}/code/${request.name}`;
    const command = [program, "run", ...optionsOf(request, directory), source, ...(request.arguments?.length ? ["--", ...request.arguments] : [])];
    const splitter = new LineSplitter();
    let verdict: Verdict | undefined;
    let failure: GloveboxError | undefined;
    const take = async (line: string): Promise<void> => {
      if (!line.trim()) return;
      const event = JSON.parse(line) as ExecutionEvent & { schema?: string };
      if (event.type === "failed" || event.schema === "glovebox.error/1") {
        failure = errorOf(event as unknown as models.Error);
        return;
      }
      if (event.type !== "keepalive") await sink(event);
      if (event.type === "verdict") verdict = verdictOf(event);
    };
    const end = await runProgram(command, request.name === undefined ? request.code : "",
      async (bytes) => {
        for (const line of splitter.push(bytes)) await take(line);
      }, { env: passedOn(request.env), signal: options.signal })
      .catch((error: unknown) => {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") {
          throw new GloveboxError(`cannot start '${program}'`, { code: "unreachable", cause: error,
            hint: "install the program glovebox, or start 'glovebox serve' and set GLOVEBOX_URL" });
        }
        throw error;
      });
    await take(splitter.end());
    options.signal?.throwIfAborted();
    if (verdict) return verdict;
    throw failure ?? new GloveboxError(`'${program} run' ended with status ${end.code ?? end.signal}: `
      + end.stderr.trim().slice(-1000), { code: "failed" });
  });
}
