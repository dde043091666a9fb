// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { ConflictError, GoneError, InvalidError, NotFoundError, Sandbox, Template } from "glovebox";
import { type Row, collect, failure } from "../table.js";

export const sandboxes: readonly Row[] = [
  ["a new sandbox runs, and says from which template", async ({ fresh }) => {
    const info = await (await fresh()).info();
    assert.equal(info.state, "running");
    assert.equal(info.template, "default");
  }],
  ["create takes limits, env and metadata", async ({ fresh }) => {
    const sandbox = await fresh({ limits: { memory: "300M" }, env: { A: "b" }, metadata: { task: "one" } });
    const info = await sandbox.info();
    assert.deepEqual(info.metadata, { task: "one" });
    assert.equal((await sandbox.usage()).memory_limit, 300 * 1024 * 1024);
    assert.equal((await sandbox.run("import os; os.environ['A']")).text, "'b'");
  }],
  ["what is no image is an error", async ({ client }) => {
    const error = await failure(Sandbox.create({ client, image: "No Image" }), InvalidError);
    assert.match(error.hint ?? "", /python:3.12-slim/);
    await failure(Sandbox.create({ client, image: "python:3.12-slim", template: "default" }), InvalidError);
  }],
  ["create takes a time-out as seconds or as text", async ({ fresh }) => {
    const left = async (sandbox: Sandbox) => Date.parse((await sandbox.info()).expires) - Date.now();
    assert.ok(await left(await fresh({ timeout: 3600 })) > 3_500_000);
    assert.ok(await left(await fresh({ timeout: "2h" })) > 7_000_000);
  }],
  ["a template that is unknown is not found", async ({ client }) => {
    const error = await failure(Sandbox.create({ client, template: "nothing-like-it" }), NotFoundError);
    assert.match(error.message, /template[\s\S]*hint: /);
  }],
  ["an impossible limit is invalid", async ({ client }) => {
    await failure(Sandbox.create({ client, limits: { memory: "many" } }), InvalidError);
  }],
  ["an unknown field is invalid and named", async ({ client }) => {
    const error = await failure(Sandbox.create({ client, ...{ tiemout: 3 } }), InvalidError);
    assert.match(error.message, /tiemout/);
  }],
  ["connect finds a sandbox by its id", async ({ client, sandbox }) => {
    const same = await Sandbox.connect(sandbox.id, { client });
    assert.equal(same.id, sandbox.id);
  }],
  ["connect to an unknown id is not found", async ({ client }) => {
    const error = await failure(Sandbox.connect("nowhere", { client }), NotFoundError);
    assert.equal(error.status, 404);
    assert.equal(error.code, "not_found");
  }],
  ["an empty id is refused without asking the daemon", async ({ client }) => {
    await failure(Sandbox.connect("", { client }), InvalidError);
  }],
  ["an id cannot lead to another route", async ({ client }) => {
    await failure(Sandbox.connect("..", { client }), InvalidError);
    await failure(Sandbox.connect("a/../..", { client }), NotFoundError);
  }],
  ["list has it, and finds it by its metadata", async ({ client, fresh }) => {
    const name = crypto.randomUUID();
    const sandbox = await fresh({ metadata: { name } });
    const found = await collect(Sandbox.list({ client, metadata: { name } }));
    assert.deepEqual(found.map((each) => each.id), [sandbox.id]);
  }],
  ["list goes through all pages", async ({ client, fresh }) => {
    const name = crypto.randomUUID();
    const made = [await fresh({ metadata: { name } }), await fresh({ metadata: { name } }), await fresh({ metadata: { name } })];
    const found = await collect(Sandbox.list({ client, metadata: { name }, limit: 1 }));
    assert.deepEqual(found.map((each) => each.id).sort(), made.map((each) => each.id).sort());
  }],
  ["list takes a state", async ({ client, fresh }) => {
    const sandbox = await fresh();
    await sandbox.pause();
    const paused = await collect(Sandbox.list({ client, state: "paused" }));
    assert.ok(paused.some((each) => each.id === sandbox.id));
    const running = await collect(Sandbox.list({ client, state: "running" }));
    assert.ok(!running.some((each) => each.id === sandbox.id));
  }],
  ["setTimeout counts from now", async ({ fresh }) => {
    const sandbox = await fresh();
    const info = await sandbox.setTimeout("1h");
    assert.ok(Date.parse(info.expires) - Date.now() > 3_500_000);
  }],
  ["update changes metadata and what happens at the end", async ({ fresh }) => {
    const sandbox = await fresh();
    const info = await sandbox.update({ metadata: { now: "this" }, on_timeout: "pause" });
    assert.deepEqual(info.metadata, { now: "this" });
    assert.equal(info.on_timeout, "pause");
  }],
  ["pause keeps the variables until resume", async ({ fresh }) => {
    const sandbox = await fresh();
    await sandbox.run("x = 7");
    await sandbox.pause();
    assert.equal((await sandbox.info()).state, "paused");
    assert.equal(await sandbox.isRunning(), false);
    assert.equal((await sandbox.resume()).state, "running");
    assert.equal((await sandbox.run("x")).text, "7");
  }],
  ["a paused sandbox executes nothing", async ({ fresh }) => {
    const sandbox = await fresh();
    await sandbox.pause();
    await failure(sandbox.run("1"), ConflictError);
  }],
  ["auto_resume wakes it", async ({ fresh }) => {
    const sandbox = await fresh({ auto_resume: true });
    await sandbox.run("x = 7");
    await sandbox.pause();
    assert.equal((await sandbox.run("x")).text, "7");
  }],
  ["a snapshot is a template with the files", async ({ client, fresh }) => {
    const sandbox = await fresh();
    await sandbox.files.write("kept.txt", "here");
    const template = await sandbox.snapshot({ name: `snap-${sandbox.id.slice(0, 8)}` });
    try {
      assert.equal(await (await fresh({ template })).files.read("kept.txt"), "here");
    } finally {
      await Template.remove(template, { client });
    }
  }],
  ["forks have the files, and their own future", async ({ fresh }) => {
    const sandbox = await fresh();
    await sandbox.files.write("a.txt", "same");
    const forks = await sandbox.fork({ count: 2, lifetime: "2m" });
    try {
      assert.equal(forks.length, 2);
      await forks[0]?.files.write("a.txt", "other");
      assert.equal(await forks[1]?.files.read("a.txt"), "same");
      assert.equal(await sandbox.files.read("a.txt"), "same");
    } finally {
      for (const fork of forks) await fork.kill();
    }
  }],
  ["an exported sandbox is imported with its files", async ({ client, fresh }) => {
    const sandbox = await fresh();
    await sandbox.files.write("a.txt", "kept");
    await using imported = await Sandbox.import(await sandbox.export(), { client });
    assert.notEqual(imported.id, sandbox.id);
    assert.equal(await imported.files.read("a.txt"), "kept");
  }],
  ["a killed sandbox is gone, and the error says why", async ({ fresh }) => {
    const sandbox = await fresh();
    await sandbox.kill();
    const error = await failure(sandbox.info(), GoneError);
    assert.equal(error.reason, "deleted");
    assert.ok(error.endedAt instanceof Date && !Number.isNaN(error.endedAt.getTime()));
    assert.equal(await sandbox.isRunning(), false);
  }],
  ["await using kills it at the end of the block", async ({ client }) => {
    let id: string;
    {
      await using sandbox = await Sandbox.create({ client });
      id = sandbox.id;
    }
    await failure(Sandbox.connect(id, { client }), GoneError);
  }],
  ["await using forgives a sandbox that has ended already", async ({ client }) => {
    await using sandbox = await Sandbox.create({ client });
    await sandbox.kill();
  }],
  ["usage has memory and disk with their limits", async ({ sandbox }) => {
    const usage = await sandbox.usage();
    assert.ok((usage.memory ?? 0) > 0 && (usage.disk_limit ?? 0) > 0);
  }],
  ["get asks nobody", async ({ client }) => {
    assert.equal(Sandbox.get("whatever", { client }).id, "whatever");
  }],
  ["a sandbox ends when its time is over", async ({ fresh }) => {
    const sandbox = await fresh({ timeout: 1 });
    while (await sandbox.isRunning()) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal((await failure(sandbox.info(), GoneError)).reason, "expired");
  }],
];
