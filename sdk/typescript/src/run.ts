// SPDX-License-Identifier: Apache-2.0
import { Client } from "./client.js";
import { ConnectionError, NotFoundError } from "./errors.js";
import type { ExecutionEvent } from "./events.js";
import { type Callbacks, type EventSink, Execution, tell, verdictOf } from "./execution.js";
import type * as models from "./generated/models.js";
import { variable } from "./platform.js";
import { runByProgram } from "./program.js";
import type { Verdict } from "./verdict.js";

/** What a second model is asked about. */
export interface Review {
  criteria: string;
  language: string;
  code: string;
  stdout: string;
  stderr: string;
}
export type ReviewReply = models.ReviewReply;

export interface OneRunOptions extends Callbacks, Omit<models.RunRequest, "code"> {
  /** Who runs it: a daemon, or the program `glovebox`, which needs none. By default the program, but only if there is
   *  no daemon and you have not named one by `client` or GLOVEBOX_URL. */
  by?: "daemon" | "program" | undefined;
  client?: Client | undefined;
  /** Path of the program. Default: the one of this package, or else that of PATH. */
  program?: string | undefined;
  /** Ends the code. */
  signal?: AbortSignal | undefined;
  /** Answers where `checks` or a policy demand a review; the output is what the code wrote, and may address the
   *  reviewer. What it throws counts as no. */
  reviewer?: ((about: Review) => ReviewReply | Promise<ReviewReply>) | undefined;
  /** With the same key, a daemon runs it only once. Default: a new one. */
  idempotencyKey?: string | undefined;
}

/** Whether nobody has said that there is a daemon. */
function namesNone(options: OneRunOptions): boolean {
  return options.client === undefined && variable("GLOVEBOX_URL") === undefined;
}

async function answer(client: Client, event: Extract<ExecutionEvent, { type: "tool_call" }>,
  reviewer: NonNullable<OneRunOptions["reviewer"]>): Promise<void> {
  let body: ReviewReply;
  try {
    body = await reviewer(event.arguments as Review);
  } catch (error) {
    body = { ok: false, reason: `the reviewer failed: ${error}`.slice(0, 1000) };
  }
  try {
    await client.call("answerReview", { path: { id: event.id }, body });
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;  // It was too late, as the verdict says.
  }
}

async function runByDaemon(request: models.RunRequest, options: OneRunOptions,
  sink: EventSink): Promise<Verdict> {
  const { signal, idempotencyKey } = options;
  for await (const raw of Client.of(options.client).events("run", ["verdict"],
    { body: request, signal, idempotencyKey })) {
    const event = raw as ExecutionEvent;
    if (event.type === "keepalive") continue;
    tell(options, event);
    await sink(event);
    if (event.type === "tool_call" && options.reviewer) {
      await answer(Client.of(options.client), event, options.reviewer);
    }
    if (event.type === "verdict") return verdictOf(event);
  }
  throw new ConnectionError("the stream of events ended early", { code: "connection_lost" });
}

/** Runs code in a fresh sandbox. Await the result for the verdict, or iterate over it for the events. */
export function run(code: string, options: OneRunOptions = {}): Execution {
  const { onStdout, onStderr, onResult, onEvent: _, by, client, program, signal, idempotencyKey, reviewer: _reviewer, ...rest } = options;
  const request = { ...rest, code };
  return new Execution(async (sink) => {
    const callbacks = { onStdout, onStderr, onResult, onEvent: options.onEvent };
    const byProgram = () => runByProgram(request, { program, signal }, async (event) => {
      tell(callbacks, event);
      await sink(event);
    });
    if (by === "program") return await byProgram();
    try {
      return await runByDaemon(request, options, sink);
    } catch (error) {
      const absent = error instanceof ConnectionError && error.code === "unreachable";
      if (by === "daemon" || !absent || !namesNone(options)) throw error;
      return await byProgram();
    }
  });
}

export interface JudgeOptions extends models.JudgeRequest {
  client?: Client | undefined;
  /** Called for each case in its order, as it ends. */
  onCase?: ((result: models.JudgeReport["cases"][number]) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Compiles a program once and judges it by cases, each in a fresh sandbox. */
export async function judge(options: JudgeOptions): Promise<models.JudgeReport> {
  const { client, onCase, signal, ...body } = options;
  for await (const event of Client.of(client).events("judge", ["verdict"], { body, signal })) {
    const { type, ...fields } = event;
    if (type === "case") onCase?.(fields as models.JudgeReport["cases"][number]);
    if (type === "verdict") return fields as unknown as models.JudgeReport;
  }
  throw new ConnectionError("the stream of events ended early", { code: "connection_lost" });
}
