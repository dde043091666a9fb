// SPDX-License-Identifier: Apache-2.0
// What becomes of a dry run.
import type { Client, RequestOptions } from "./client.js";
import type * as models from "./generated/models.js";

/** Decides about a dry run of a sandbox. */
export async function decide(client: Client, decision: "commitDryRun" | "discardDryRun", sandbox: string,
  dryRun: string | models.DryRun, options: RequestOptions): Promise<void> {
  await client.call(decision, { ...options, path: { id: sandbox, dry: typeof dryRun === "string" ? dryRun : dryRun.id } });
}
