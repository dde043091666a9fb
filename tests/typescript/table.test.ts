// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Client, Sandbox } from "glovebox";
import { commands } from "./rows/commands.js";
import { contexts } from "./rows/contexts.js";
import { daemon } from "./rows/daemon.js";
import { environment } from "./rows/environment.js";
import { errors } from "./rows/errors.js";
import { files } from "./rows/files.js";
import { login } from "./rows/login.js";
import { network } from "./rows/network.js";
import { retries } from "./rows/retries.js";
import { runs } from "./rows/runs.js";
import { sandboxes } from "./rows/sandboxes.js";
import { stored } from "./rows/stored.js";
import { terminals } from "./rows/terminals.js";
import { tools } from "./rows/tools.js";
import type { Row, World } from "./table.js";

const table: Readonly<Record<string, readonly Row[]>> = {
  commands, contexts, daemon, errors, files, login, network, retries, runs, sandboxes, stored, terminals, tools,
};

function given(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
}

const url = given("TEST_URL");
const key = given("TEST_KEY");
const client = new Client({ url, apiKey: key });
let shared: Sandbox;
before(async () => {
  shared = await Sandbox.create({ client, timeout: "10m", limits: { memory: "1G" } });
});
after(async () => await shared.kill());

function verify(subject: string, rows: readonly Row[], concurrency: number): void {
  describe(subject, { concurrency }, () => {
    for (const [claim, holds] of rows) {
      test(claim, { timeout: 120_000 }, async () => {
        const ends: (() => Promise<unknown>)[] = [];
        const world: World = {
          client, url, key, socket: given("TEST_SOCKET"), program: given("GLOVEBOX"), sandbox: shared,
          async fresh(options = {}) {
            const sandbox = await Sandbox.create({ client, timeout: "5m", ...options });
            ends.push(async () => await sandbox[Symbol.asyncDispose]());
            return sandbox;
          },
          async context(language) {
            const context = await shared.contexts.create({ language });
            ends.push(async () => await context.delete());
            return context;
          },
        };
        try {
          await holds(world);
        } finally {
          await Promise.allSettled(ends.map((end) => end()));
        }
      });
    }
  });
}

describe("beside each other", { concurrency: 4 }, () => {
  for (const [subject, rows] of Object.entries(table)) verify(subject, rows, 2);
});
describe("alone", () => verify("environment", environment, 1));

test("no two rows claim the same", () => {
  const claims = [...Object.values(table), environment].flatMap((rows) => rows.map(([claim]) => claim));
  assert.equal(new Set(claims).size, claims.length);
  assert.ok(claims.length >= 150, `${claims.length} rows`);
});
