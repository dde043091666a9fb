// SPDX-License-Identifier: Apache-2.0
import type { Client } from "./client.js";
import type { ExecutionEvent } from "./events.js";
import { type Callbacks, Execution, tell, verdictOf } from "./execution.js";
import type { Limits } from "./generated/models.js";
import { ConnectionError } from "./errors.js";

export interface InstallOptions extends Callbacks {
  limits?: Limits | undefined;
  signal?: AbortSignal | undefined;
}

/** Packages of a sandbox, from the sources that its daemon has. */
export class Packages {
  /** @internal */
  constructor(private readonly client: Client, private readonly sandboxId: string) {}

  /** Installs packages into the workspace: `pip:NAME`, `pip:NAME==VERSION`, `npm:NAME`, `npm:NAME@VERSION`. */
  install(packages: readonly string[], options: InstallOptions = {}): Execution {
    const { limits, signal } = options;
    return new Execution(async (sink) => {
      for await (const raw of this.client.events("installPackages", ["verdict"],
        { path: { id: this.sandboxId }, body: { packages: [...packages], limits }, signal })) {
        const event = raw as ExecutionEvent;
        tell(options, event);
        await sink(event);
        if (event.type === "verdict") return verdictOf(event);
      }
      throw new ConnectionError("the stream of events ended early", { code: "connection_lost" });
    });
  }
}
