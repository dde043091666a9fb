// SPDX-License-Identifier: Apache-2.0
// Rows that change the environment, which all share: they run alone.
import assert from "node:assert/strict";
import { Client, Sandbox, run } from "glovebox";
import { type Row } from "../table.js";

export const environment: readonly Row[] = [
  ["GLOVEBOX_URL and GLOVEBOX_API_KEY are the default, and without them the socket of this user's daemon", async ({ url, key }) => {
    assert.match(new Client().url, /^unix:.*glovebox\/api\.sock$/);
    process.env["GLOVEBOX_URL"] = url;
    process.env["GLOVEBOX_API_KEY"] = key;
    try {
      await using sandbox = await Sandbox.create();
      assert.equal(sandbox.client.url, url);
    } finally {
      delete process.env["GLOVEBOX_URL"];
      delete process.env["GLOVEBOX_API_KEY"];
    }
  }],
  ["without a daemon that anybody named, the program runs it", async ({ program }) => {
    const [url, home] = [process.env["GLOVEBOX_URL"], process.env["HOME"]];
    assert.equal(url, undefined);
    try {
      // Nobody's daemon has its socket there; root's has another place.
      process.env["HOME"] = "/nonexistent";
      const verdict = await run("print('either way')", { program, language: "python" });
      assert.equal(verdict.stdout, "either way\n");
    } finally {
      process.env["HOME"] = home;
    }
  }],
];
