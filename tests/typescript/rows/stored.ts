// SPDX-License-Identifier: Apache-2.0
// What outlives a sandbox, or comes from elsewhere: volumes, templates, packages.
import assert from "node:assert/strict";
import { ConflictError, NotFoundError, Template, Volume } from "glovebox";
import { type Row, failure } from "../table.js";

const name = () => `ts-${crypto.randomUUID().slice(0, 8)}`;

export const stored: readonly Row[] = [
  ["a volume keeps files from one sandbox to the next", async ({ client, fresh }) => {
    const volume = await Volume.create({ client, name: name(), size: "16M" });
    try {
      const first = await fresh({ volumes: [{ name: volume.name, path: "/data" }] });
      await first.commands.run("echo kept > /data/a.txt");
      await first.kill();
      const second = await fresh({ volumes: [{ name: volume.name, path: "/data", read_only: true }] });
      assert.equal((await second.commands.run("cat /data/a.txt")).stdout, "kept\n");
      assert.notEqual((await second.commands.run("echo x > /data/a.txt")).exit_code, 0);
      await failure(volume.remove(), ConflictError);
      await second.kill();
    } finally {
      await volume.remove();
    }
  }],
  ["a volume has files without a sandbox", async ({ client }) => {
    const volume = await Volume.create({ client, name: name(), size: "16M" });
    try {
      await volume.files.write("a/b.txt", "hello");
      assert.equal(await volume.files.read("a/b.txt"), "hello");
      assert.deepEqual((await volume.files.list("a")).map((each) => each.size), [5]);
      await volume.files.rename("a/b.txt", "c.txt");
      await volume.files.remove("a");
      assert.equal(await volume.files.exists("a"), false);
      assert.equal(await volume.files.exists("c.txt"), true);
    } finally {
      await volume.remove();
    }
  }],
  ["volumes are listed, and described by name", async ({ client }) => {
    const volume = await Volume.create({ client, name: name(), size: "16M" });
    try {
      assert.ok((await Volume.list({ client })).some((each) => each.name === volume.name));
      assert.ok((await Volume.get(volume.name, { client }).info()).size >= 16 * 1024 * 1024);
    } finally {
      await volume.remove();
    }
    await failure(volume.info(), NotFoundError);
  }],
  ["a name of a volume that is taken is a conflict", async ({ client }) => {
    const volume = await Volume.create({ client, name: name(), size: "16M" });
    try {
      await failure(Volume.create({ client, name: volume.name }), ConflictError);
    } finally {
      await volume.remove();
    }
  }],
  ["the built-in templates are listed", async ({ client }) => {
    const found = (await Template.list({ client })).find((each) => each.name === "default");
    assert.equal(found?.builtin, true);
  }],
  ["a recipe becomes a template, and its progress is heard", async ({ client, fresh }) => {
    const wanted = name();
    const steps: string[] = [];
    const template = await Template.build({ name: wanted, env: { MADE: "so" },
      files: [{ path: "given.txt", content: "by recipe" }], commands: ["echo loud; echo built > built.txt"] },
    { client, onProgress: (progress) => steps.push(progress.message), onLog: (text) => steps.push(text) });
    try {
      assert.equal(template.name, wanted);
      assert.ok(steps.length > 0);
      const sandbox = await fresh({ template: wanted });
      assert.equal((await sandbox.commands.run("cat given.txt built.txt; echo $MADE")).stdout, "by recipebuilt\nso\n");
      assert.equal((await Template.info(wanted, { client })).source, "recipe");
      await sandbox.kill();
    } finally {
      await Template.remove(wanted, { client });
    }
    await failure(Template.info(wanted, { client }), NotFoundError);
  }],
  ["a build that fails throws why", async ({ client }) => {
    const error = await failure(Template.build({ name: name(), commands: ["echo broken >&2; exit 7"] }, { client }), Error);
    assert.match(error.message, /7|broken/);
  }],
  ["packages are installed while contexts live", async ({ fresh }) => {
    const sandbox = await fresh();
    assert.equal((await sandbox.run("import ts_offered")).error?.name, "ModuleNotFoundError");
    let heard = "";
    const verdict = await sandbox.packages.install(["pip:ts_offered"], { onStdout: (text) => { heard += text; } });
    assert.equal(verdict.status, "ok", verdict.stderr);
    assert.ok(heard.length > 0);
    assert.equal((await sandbox.run("import ts_offered; ts_offered.low()")).text, "'low'");
  }],
  ["a package that nobody offers is a verdict, not an error", async ({ fresh }) => {
    const verdict = await (await fresh()).packages.install(["pip:no_such_package_here"]);
    assert.equal(verdict.ok, false);
  }],
];
