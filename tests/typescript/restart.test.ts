// SPDX-License-Identifier: Apache-2.0
// A daemon that is killed while code runs. It is one of its own, and not the one of the table.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Client, Sandbox } from "glovebox";
import { nobodysUrl } from "./fake.js";

const DOTS = "import time\nfor i in range(30):\n    print(i, flush=True); time.sleep(0.1)";

test("an execution survives a kill of the daemon: it runs once, and each event comes once", async () => {
  const data = mkdtempSync(join(tmpdir(), "gb-restart."));
  const url = await nobodysUrl();
  const serve = async (): Promise<ChildProcess> => {
    const daemon = spawn(process.env["GLOVEBOX"] ?? "glovebox",
      ["serve", "--listen", new URL(url).host, "--unix", "", "--data", data], { stdio: ["ignore", "pipe", "ignore"] });
    // The line that says that it is ready.
    await new Promise((resolve) => daemon.stdout?.once("data", resolve));
    return daemon;
  };
  let daemon = await serve();
  try {
    const client = new Client({ url, apiKey: readFileSync(join(data, "api-key"), "utf8").trim(), retries: 8 });
    const sandbox = await Sandbox.create({ client, timeout: "5m" });
    let heard = "";
    let again: Promise<ChildProcess> | undefined;
    const verdict = await sandbox.run(DOTS, { onStdout: (text) => {
      heard += text;
      if (again) return;
      daemon.kill("SIGKILL");
      again = serve();
    } });
    assert.ok(again);
    daemon = await again;
    assert.equal(verdict.status, "ok");
    assert.equal(heard, Array.from({ length: 30 }, (_, at) => `${at}\n`).join(""));
    assert.equal(verdict.stdout, heard);
    await sandbox.kill();
  } finally {
    daemon.kill("SIGTERM");
    await new Promise((resolve) => daemon.once("exit", resolve));
    rmSync(data, { recursive: true, force: true });
  }
});
