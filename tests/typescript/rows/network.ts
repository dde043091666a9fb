// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { ConflictError, type Sandbox } from "glovebox";
import { type Row, eventually, failure } from "../table.js";
import { fake } from "../fake.js";

/** The status of a request from inside, through the proxy that the environment names. */
async function inside(sandbox: Sandbox, url: string): Promise<string> {
  const result = await sandbox.commands.run(["python3", "-c", `
import os, urllib.request, urllib.error
for name in ("no_proxy", "NO_PROXY"): os.environ.pop(name, None)
proxy = urllib.request.ProxyHandler({"http": os.environ.get("http_proxy", "")})
try: print(urllib.request.build_opener(proxy).open("${url}", timeout=60).status)
except urllib.error.HTTPError as error: print(error.code)
except (OSError, ValueError) as error: print(type(error).__name__)`]);
  return result.stdout.trim();
}

export const network: readonly Row[] = [
  ["a sandbox reaches nothing by default", async ({ fresh }) => {
    await using server = await fake([(response) => void response.end("here")]);
    assert.notEqual(await inside(await fresh(), server.url), "200");
    assert.equal(server.asked.length, 0);
  }],
  ["an allowed address is reached, and another is not", async ({ fresh }) => {
    await using server = await fake([(response) => void response.end("here")]);
    await using other = await fake([(response) => void response.end("there")]);
    const sandbox = await fresh({ network: { allow: [new URL(server.url).host] } });
    assert.equal(await inside(sandbox, server.url), "200");
    assert.equal(await inside(sandbox, other.url), "403");
    assert.equal(other.asked.length, 0);
  }],
  ["connections tells what was allowed and what was denied", async ({ fresh }) => {
    await using server = await fake([(response) => void response.end("here")]);
    await using other = await fake([(response) => void response.end("there")]);
    const sandbox = await fresh({ network: { allow: [new URL(server.url).host] } });
    await inside(sandbox, server.url);
    await inside(sandbox, other.url);
    await eventually(async () => {
      const { connections = [] } = await sandbox.connections();
      return connections.some((each) => each.verdict === "allowed") && connections.some((each) => each.verdict === "denied");
    });
  }],
  ["setNetwork replaces the rules", async ({ fresh }) => {
    await using server = await fake([(response) => void response.end("here")]);
    const sandbox = await fresh({ network: { allow: ["127.0.0.1:1"] } });
    assert.equal(await inside(sandbox, server.url), "403");
    await sandbox.setNetwork({ allow: [new URL(server.url).host] });
    assert.equal(await inside(sandbox, server.url), "200");
  }],
  ["a sandbox without rules cannot get some later", async ({ fresh }) => {
    await failure((await fresh()).setNetwork({ allow: ["127.0.0.1:1"] }), ConflictError);
  }],
];
