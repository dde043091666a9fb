// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { ConflictError, ConnectionError, RateLimitError, Sandbox, ServerError, UnavailableError, run } from "glovebox";
import { type Row, collect, failure } from "../table.js";
import { cut, fake, json, lines, verdict } from "../fake.js";

const busy = (headers: Record<string, string> = { "retry-after": "0" }) =>
  json({ code: 503, error: "unavailable", message: "not now", hint: "" }, 503, headers);
const made = json({ id: "s" }, 201);

export const retries: readonly Row[] = [
  ["a request that was refused for now is sent again", async () => {
    await using server = await fake([busy(), busy(), json({ status: "ok" })]);
    assert.equal((await server.client.call("health")).status, "ok");
    assert.equal(server.asked.length, 3);
  }],
  ["a rate that is used up is waited for", async () => {
    await using server = await fake([json({ code: 429, message: "slow" }, 429, { "retry-after": "1" }), json({ status: "ok" })]);
    const begun = performance.now();
    await server.client.call("health");
    assert.ok(performance.now() - begun >= 950);
  }],
  ["a wait that is too long is the caller's to decide", async () => {
    await using server = await fake([json({ code: 429, message: "slow" }, 429, { "retry-after": "3600" })]);
    const error = await failure(server.client.call("health"), RateLimitError);
    assert.equal(error.retryAfter, 3600);
    assert.equal(server.asked.length, 1);
  }],
  ["retries end", async () => {
    await using server = await fake([busy()], { retries: 2 });
    await failure(server.client.call("health"), UnavailableError);
    assert.equal(server.asked.length, 3);
  }],
  ["retries: 0 sends once", async () => {
    await using server = await fake([busy()], { retries: 0 });
    await failure(server.client.call("health"), UnavailableError);
    assert.equal(server.asked.length, 1);
  }],
  ["a lost response of GET is asked for again", async () => {
    await using server = await fake([cut, json({ status: "ok" })]);
    assert.equal((await server.client.call("health")).status, "ok");
  }],
  ["creating is repeated with the same key, so that there is one sandbox", async () => {
    await using server = await fake([cut, made]);
    await Sandbox.create({ client: server.client });
    const keys = server.asked.map((each) => each.headers["idempotency-key"]);
    assert.equal(keys.length, 2);
    assert.ok(keys[0] && keys[0] === keys[1]);
  }],
  ["two creations have two keys", async () => {
    await using server = await fake([made]);
    await Sandbox.create({ client: server.client });
    await Sandbox.create({ client: server.client });
    assert.notEqual(server.asked[0]?.headers["idempotency-key"], server.asked[1]?.headers["idempotency-key"]);
  }],
  ["what cannot be repeated safely is not: a command whose response was lost", async () => {
    await using server = await fake([cut]);
    const error = await failure(Sandbox.get("s", { client: server.client }).commands.run("x"), ConnectionError);
    assert.equal(error.code, "connection_lost");
    assert.equal(server.asked.length, 1);
  }],
  ["a command that was refused for now is sent again", async () => {
    await using server = await fake([busy(), json({ pid: 1, exit_code: 0 })]);
    assert.equal((await Sandbox.get("s", { client: server.client }).commands.run("x")).exit_code, 0);
  }],
  ["an upload of bytes is repeated, appending is not", async () => {
    await using server = await fake([cut, json({ path: "a" }), cut]);
    const { files } = Sandbox.get("s", { client: server.client });
    await files.write("a", "content");
    assert.equal(server.asked[1]?.body, "content");
    await failure(files.write("a", "content", { append: true }), ConnectionError);
    assert.equal(server.asked.length, 3);
  }],
  ["a stream is sent once", async () => {
    await using server = await fake([cut]);
    const { files } = Sandbox.get("s", { client: server.client });
    await failure(files.write("a", new ReadableStream({ start: (each) => each.close() })), ConnectionError);
    assert.equal(server.asked.length, 1);
  }],
  ["a removal whose response was lost has happened", async () => {
    await using server = await fake([cut, json({ code: 410, message: "gone" }, 410)]);
    await Sandbox.get("s", { client: server.client }).kill();
  }],
  ["a conflict is not repeated", async () => {
    await using server = await fake([json({ code: 409, message: "no" }, 409)]);
    await failure(server.client.call("health"), ConflictError);
    assert.equal(server.asked.length, 1);
  }],
  ["an error of the server is not repeated", async () => {
    await using server = await fake([json({ code: 500, message: "no" }, 500)]);
    await failure(server.client.call("health"), ServerError);
    assert.equal(server.asked.length, 1);
  }],
  ["an execution whose stream broke is found again by its key, and each event comes once", async () => {
    const said = (text: string) => ({ type: "stdout", text });
    await using server = await fake([
      lines([{ type: "started" }, said("1"), { type: "keepalive" }, said("2")], (response) => setTimeout(() => response.destroy(), 50)),
      lines([{ type: "started" }, said("1"), said("2"), said("3"), verdict]),
    ]);
    const heard: string[] = [];
    const execution = Sandbox.get("s", { client: server.client }).run("x", { onStdout: (text) => heard.push(text) });
    assert.equal((await execution).status, "ok");
    assert.deepEqual(heard, ["1", "2", "3"]);
    assert.equal(server.asked[0]?.headers["idempotency-key"], server.asked[1]?.headers["idempotency-key"]);
    assert.deepEqual((await collect(execution)).map((each) => each.type), ["started", "stdout", "stdout", "stdout", "verdict"]);
  }],
  ["an execution whose stream ends without a verdict is found again, too", async () => {
    await using server = await fake([lines([{ type: "started" }]), lines([{ type: "started" }, verdict])]);
    assert.equal((await Sandbox.get("s", { client: server.client }).run("x")).status, "ok");
    assert.equal(server.asked.length, 2);
  }],
  ["an execution that is never found again is a ConnectionError", async () => {
    await using server = await fake([lines([{ type: "started" }])]);
    await failure(Sandbox.get("s", { client: server.client }).run("x"), ConnectionError);
  }],
  ["a failed event is thrown as the error that it is", async () => {
    await using server = await fake([lines([{ type: "started" }, { type: "failed", code: 409, error: "conflict", message: "no", hint: "how" }])]);
    const error = await failure(run("x", { client: server.client, language: "python" }), ConflictError);
    assert.equal(error.hint, "how");
  }],
  ["waiting for another attempt ends when the signal is aborted", async () => {
    await using server = await fake([busy({ "retry-after": "20" })]);
    const stop = new AbortController();
    setTimeout(() => stop.abort(new EvalError("mine")), 50);
    await failure(server.client.call("health", { signal: stop.signal }), EvalError);
  }],
  ["events are read however they are cut into pieces", async () => {
    const bytes = new TextEncoder().encode(`${[{ type: "stdout", text: "漢🎉\n" }, verdict].map((each) => JSON.stringify(each)).join("\n")}\n`);
    await using server = await fake([async (response) => {
      response.writeHead(200);
      for (const byte of bytes) {
        response.write(Uint8Array.of(byte));
        if (byte > 127) await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    }]);
    let heard = "";
    await run("x", { client: server.client, language: "python", onStdout: (text) => { heard += text; } });
    assert.equal(heard, "漢🎉\n");
  }],
];
