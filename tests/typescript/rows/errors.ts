// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import * as glovebox from "glovebox";
import { type Row, failure } from "../table.js";
import { fake, json } from "../fake.js";

const STATUS: readonly (readonly [number, abstract new (...args: never[]) => glovebox.GloveboxError])[] = [
  [400, glovebox.InvalidError], [401, glovebox.AuthenticationError], [403, glovebox.PermissionError],
  [404, glovebox.NotFoundError], [409, glovebox.ConflictError], [410, glovebox.GoneError],
  [413, glovebox.TooLargeError], [429, glovebox.RateLimitError], [500, glovebox.ServerError],
  [501, glovebox.UnsupportedError], [503, glovebox.UnavailableError], [418, glovebox.GloveboxError],
];

export const errors: readonly Row[] = [
  ...STATUS.map(([status, kind]): Row => [`status ${status} is a ${kind.name}`, async () => {
    await using server = await fake([json({ code: status, error: "kind", message: "what", hint: "how" }, status,
      { "x-request-id": "r-1" })], { retries: 0 });
    const error = await failure(server.client.call("health"), kind);
    assert.ok(error instanceof glovebox.GloveboxError);
    assert.equal(error.name, kind.name);
    assert.deepEqual([error.status, error.code, error.hint, error.requestId], [status, "kind", "how", "r-1"]);
    assert.equal(error.message, "what\n  hint: how");
  }]),
  ["an error without JSON has the status", async () => {
    await using server = await fake([(response) => { response.writeHead(502); response.end("<html>"); }], { retries: 0 });
    const error = await failure(server.client.call("health"), glovebox.ServerError);
    assert.match(error.message, /502/);
  }],
  ["an error without a hint has none", async () => {
    await using server = await fake([json({ code: 404, error: "not_found", message: "what", hint: "" }, 404)]);
    const error = await failure(server.client.call("health"), glovebox.NotFoundError);
    assert.equal(error.hint, undefined);
    assert.equal(error.message, "what");
  }],
  ["a 410 says the reason and the time", async () => {
    await using server = await fake([json({ code: 410, error: "gone", message: "over", hint: "", reason: "expired",
      ended_at: "2026-11-23T13:35:00.000Z" }, 410)]);
    const error = await failure(server.client.call("health"), glovebox.GoneError);
    assert.equal(error.reason, "expired");
    assert.equal(error.endedAt?.toISOString(), "2026-11-23T13:35:00.000Z");
  }],
  ["retryAfter has the seconds of Retry-After", async () => {
    await using server = await fake([json({ code: 429, error: "rate", message: "slow", hint: "" }, 429, { "retry-after": "7" })], { retries: 0 });
    assert.equal((await failure(server.client.call("health"), glovebox.RateLimitError)).retryAfter, 7);
  }],
  ["a time-out is a TimeoutError that names it", async () => {
    await using server = await fake([() => {}]);
    const error = await failure(server.client.call("health", { timeout: "100ms" }), glovebox.TimeoutError);
    assert.match(error.message, /100ms/);
  }],
  ["the client's own time-out is the default", async () => {
    await using server = await fake([() => {}], { timeout: 0.1 });
    await failure(server.client.call("health"), glovebox.TimeoutError);
  }],
  ["a time-out counts while the body comes, too", async () => {
    await using server = await fake([(response) => { response.writeHead(200); response.write("{"); }]);
    await failure(server.client.call("health", { timeout: "200ms" }), glovebox.TimeoutError);
  }],
  ["an invalid duration is refused", async ({ client }) => {
    await failure(client.call("health", { timeout: "soon" }), glovebox.InvalidError);
  }],
  ["the caller's reason to abort is thrown as it is", async () => {
    await using server = await fake([() => {}]);
    const stop = new AbortController();
    const reason = new EvalError("mine");
    setTimeout(() => stop.abort(reason), 20);
    assert.equal(await failure(server.client.call("health", { signal: stop.signal }), EvalError), reason);
  }],
  ["the key goes into a header, and nowhere else", async () => {
    await using server = await fake([json({})], { apiKey: "secret-key" });
    await server.client.call("health");
    assert.equal(server.asked[0]?.headers.authorization, "Bearer secret-key");
    assert.ok(!server.asked[0].path.includes("secret-key"));
    assert.ok(!JSON.stringify(server.client).includes("secret-key"));
  }],
  ["a redirect is not followed", async () => {
    await using elsewhere = await fake([json({})]);
    await using server = await fake([(response) => {
      response.writeHead(302, { location: elsewhere.url });
      response.end();
    }], { retries: 0 });
    await failure(server.client.call("health"), glovebox.GloveboxError);
    assert.equal(elsewhere.asked.length, 0);
  }],
];
