// SPDX-License-Identifier: Apache-2.0
// Where the daemon is, and what belongs to all of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { AuthenticationError, Client, ConnectionError, InvalidError, PermissionError, Sandbox, routes } from "glovebox";
import { nobodysUrl } from "../fake.js";
import { type Row, failure } from "../table.js";

export const daemon: readonly Row[] = [
  ["the daemon describes itself", async ({ client }) => {
    const itself = await client.call("self");
    assert.equal(itself.name, "glovebox");
  }],
  ["health needs no key", async ({ url }) => {
    const client = new Client({ url });
    assert.equal((await client.call("health")).status, "ok");
  }],
  ["every route of the daemon is in the table, and no other", async ({ client }) => {
    const api = await client.call("openapi") as { paths: Record<string, Record<string, { operationId?: string }>> };
    const theirs = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item)
      .filter(([, operation]) => operation.operationId !== undefined)
      .map(([method, operation]) => `${operation.operationId} ${method.toUpperCase()} ${path}`));
    const ours = Object.entries(routes).map(([id, route]) => `${id} ${route.method} ${route.path}`);
    assert.deepEqual(ours.sort(), theirs.sort());
  }],
  ["metrics are text", async ({ client }) => {
    assert.match(String(await client.call("metrics")), /^# HELP /m);
  }],
  ["languages are listed", async ({ client }) => {
    const { languages } = await client.call("listLanguages");
    assert.ok(languages.some((each) => each["id"] === "python"));
  }],
  ["a Unix socket needs no key", async ({ socket }) => {
    const client = new Client({ url: `unix:${socket}` });
    await using sandbox = await Sandbox.create({ client });
    assert.equal((await sandbox.run("1 + 1")).text, "2");
    await sandbox.files.write("a", new Blob(["by socket"]));
    await sandbox.files.write("b", new ReadableStream({ start(controller) {
      controller.enqueue(new TextEncoder().encode("streamed"));
      controller.close();
    } }));
    assert.equal(await sandbox.files.read("a") + await sandbox.files.read("b"), "by socketstreamed");
  }],
  ["unix:///PATH is the same as unix:PATH", async ({ socket }) => {
    assert.equal(new Client({ url: `unix://${socket}` }).url, `unix:${socket}`);
  }],
  ["an address that could mean two things is refused", async () => {
    for (const url of ["example.org", "ftp://x", "http://", "http://a/path", "http://u@a", "http://a?b", "unix:"]) {
      await failure((async () => new Client({ url }))(), InvalidError);
    }
  }],
  ["a key with a line break is refused", async ({ url }) => {
    await failure((async () => new Client({ url, apiKey: "a\nb" }))(), InvalidError);
  }],
  ["a wrong key is an AuthenticationError with a hint", async ({ url }) => {
    const error = await failure(new Client({ url, apiKey: "wrong" }).call("listTemplates"), AuthenticationError);
    assert.equal(error.status, 401);
  }],
  ["a key without the scope is a PermissionError", async ({ client, url }) => {
    const { key, id } = await client.call("createKey", { body: { scopes: ["read"], expires_in: "1h" } });
    try {
      const reader = new Client({ url, apiKey: key });
      assert.ok((await reader.call("listSandboxes")).sandboxes);
      await failure(Sandbox.create({ client: reader }), PermissionError);
    } finally {
      await client.call("revokeKey", { path: { key: id } });
    }
  }],
  ["tenants and their quotas can be called by operation", async ({ client }) => {
    const name = `ts-${crypto.randomUUID().slice(0, 8)}`;
    await client.call("createTenant", { body: { name, quotas: { sandboxes: 2 } } });
    try {
      const tenant = await client.call("changeTenant", { path: { tenant: name }, body: { quotas: { memory: "1G" } } });
      assert.equal(tenant.quotas.sandboxes, 2);
      assert.ok((await client.call("listTenants")).tenants.some((each) => each.name === name));
    } finally {
      await client.call("deleteTenant", { path: { tenant: name } });
    }
  }],
  ["a daemon that is not there is unreachable, and the hint says what to do", async () => {
    const error = await failure(new Client({ url: await nobodysUrl(), retries: 0 }).call("health"), ConnectionError);
    assert.equal(error.code, "unreachable");
    assert.match(error.message, /glovebox serve/);
    await failure(new Client({ url: "unix:/nonexistent/sock", retries: 0 }).call("health"), ConnectionError);
  }],
  ["the version of the package is that of the project", async () => {
    const own = JSON.parse(readFileSync(new URL(import.meta.resolve("glovebox/package.json")), "utf8")) as { version: string };
    assert.equal(own.version, process.env["TEST_VERSION"]);
  }],
];
