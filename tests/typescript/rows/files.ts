// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { InvalidError, NotFoundError } from "glovebox";
import { type Row, failure } from "../table.js";

const place = () => `files-${crypto.randomUUID()}`;

export const files: readonly Row[] = [
  ["a text is read as it was written", async ({ sandbox: { files } }) => {
    const path = `${place()}/deep/a.txt`;
    const entry = await files.write(path, "hällo 漢\n");
    assert.deepEqual([entry.path, entry.size, entry.type], [path, 11, "file"]);
    assert.equal(await files.read(path), "hällo 漢\n");
  }],
  ["bytes are read as they were written", async ({ sandbox: { files } }) => {
    const path = place();
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    await files.write(path, bytes);
    assert.deepEqual(await files.readBytes(path), bytes);
  }],
  ["an ArrayBuffer and a Blob are written as bytes", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(path, new TextEncoder().encode("buffer").buffer as ArrayBuffer);
    assert.equal(await files.read(path), "buffer");
    await files.write(path, new Blob(["bl", "ob"]));
    assert.equal(await files.read(path), "blob");
  }],
  ["a stream is written as it comes", async ({ sandbox: { files } }) => {
    const path = place();
    const piece = new Uint8Array(65_536).fill(7);
    let left = 40;
    await files.write(path, new ReadableStream({
      pull(controller) {
        if (left-- > 0) controller.enqueue(piece);
        else controller.close();
      },
    }));
    assert.equal((await files.stat(path)).size, 40 * 65_536);
  }],
  ["what yields bytes is written as it comes", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(path, (async function* () {
      yield new TextEncoder().encode("one ");
      yield new TextEncoder().encode("two");
    })());
    assert.equal(await files.read(path), "one two");
  }],
  ["a file is read as a stream", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(path, new Uint8Array(3_000_000));
    let size = 0;
    for await (const piece of await files.readStream(path)) size += piece.length;
    assert.equal(size, 3_000_000);
  }],
  ["a range of a file is read", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(path, "0123456789");
    assert.equal(await files.read(path, { range: [2, 4] }), "234");
    assert.equal(await files.read(path, { range: [7] }), "789");
  }],
  ["an empty file is a file", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(path, "");
    assert.equal(await files.read(path), "");
    assert.equal((await files.stat(path)).size, 0);
  }],
  ["append adds", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(path, "a");
    await files.write(path, "b", { append: true, flush: true });
    assert.equal(await files.read(path), "ab");
  }],
  ["mode is the file's mode", async ({ sandbox: { files, commands } }) => {
    const path = place();
    await files.write(path, "#!/bin/sh\necho ran\n", { mode: "0755" });
    assert.equal((await files.stat(path)).mode, "0755");
    assert.equal((await commands.run(`./${path}`)).stdout, "ran\n");
  }],
  ["names with spaces, signs and any script are names", async ({ sandbox: { files } }) => {
    const path = `${place()}/a b?#%25&漢.txt`;
    await files.write(path, "x");
    assert.equal(await files.read(path), "x");
    assert.equal((await files.stat(path)).path, path);
  }],
  ["an absolute path is one", async ({ sandbox: { files } }) => {
    const path = `/tmp/${place()}`;
    assert.equal((await files.write(path, "x")).path, path);
    assert.equal(await files.read(path), "x");
  }],
  ["'.' and '..' are resolved, and lead nowhere else", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(`./${path}/../${path}/x`, "x");
    assert.equal(await files.read(`${path}/./x`), "x");
    await failure(files.read("../../../../v1/sandboxes"), InvalidError);
    await failure(files.read("/../../nothing-here"), NotFoundError);
  }],
  ["writeMany writes all", async ({ sandbox: { files } }) => {
    const path = place();
    const entries = await files.writeMany({ [`${path}/a`]: "1", [`${path}/b`]: "22" });
    assert.deepEqual(entries.map((each) => each.size), [1, 2]);
  }],
  ["list has the entries in lexical order", async ({ sandbox: { files } }) => {
    const path = place();
    await files.writeMany({ [`${path}/b`]: "", [`${path}/a`]: "", [`${path}/c/d`]: "" });
    const names = (entries: { path: string }[]) => entries.map((each) => each.path.slice(path.length + 1));
    assert.deepEqual(names(await files.list(path)), ["a", "b", "c"]);
    assert.deepEqual(names(await files.list(path, { depth: 2 })), ["a", "b", "c", "c/d"]);
  }],
  ["list without a path is the workspace", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(path, "");
    assert.ok((await files.list()).some((each) => each.path.endsWith(path)));
  }],
  ["exists says whether", async ({ sandbox: { files } }) => {
    const path = place();
    assert.equal(await files.exists(path), false);
    await files.write(path, "");
    assert.equal(await files.exists(path), true);
  }],
  ["makeDir creates a directory and those above", async ({ sandbox: { files } }) => {
    const path = `${place()}/a/b`;
    assert.equal((await files.makeDir(path)).type, "directory");
    assert.equal((await files.stat(path)).type, "directory");
  }],
  ["rename moves", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(path, "x");
    assert.equal((await files.rename(path, `${path}-to`)).path, `${path}-to`);
    assert.equal(await files.exists(path), false);
    assert.equal(await files.read(`${path}-to`), "x");
  }],
  ["remove removes a directory and all in it", async ({ sandbox: { files } }) => {
    const path = place();
    await files.write(`${path}/a/b`, "x");
    await files.remove(path);
    assert.equal(await files.exists(path), false);
  }],
  ["a file that is not there is not found", async ({ sandbox: { files } }) => {
    await failure(files.read(place()), NotFoundError);
    await failure(files.stat(place()), NotFoundError);
  }],
  ["removing what is not there is no error", async ({ sandbox: { files } }) => {
    await files.remove(place());
  }],
  ["an archive of a directory is unpacked again", async ({ sandbox: { files } }) => {
    const path = place();
    await files.writeMany({ [`${path}/a`]: "one", [`${path}/b/c`]: "two" });
    for (const format of ["tar", "tar.gz", "zip"] as const) {
      const archive = new Uint8Array(await new Response(await files.archive(path, format)).arrayBuffer());
      await files.unpack(`${path}-${format}`, archive);
      const [found] = (await files.list(`${path}-${format}`, { depth: 3 })).filter((each) => each.path.endsWith("b/c"));
      assert.equal(await files.read(found?.path ?? ""), "two");
    }
  }],
  ["watch yields what changes, until it is aborted", async ({ sandbox: { files } }) => {
    const path = place();
    await files.makeDir(path);
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const event of files.watch(path, {
      signal: stop.signal, onStarted: () => void files.write(`${path}/new.txt`, "x"),
    })) {
      seen.push(event.type);
      if (event.path?.endsWith("new.txt")) stop.abort();
    }
    assert.ok(seen.length > 0);
  }],
  ["watch sees what is further below only if it is recursive", async ({ sandbox: { files } }) => {
    const path = place();
    await files.makeDir(`${path}/deep`);
    for await (const event of files.watch(path,
      { recursive: true, onStarted: () => void files.write(`${path}/deep/x`, "") })) {
      if (event.path?.endsWith("deep/x")) break;
    }
  }],
  ["code and files are of one workspace", async ({ sandbox, context }) => {
    const path = place();
    await (await context()).execute(`open('${path}', 'w').write('by code')`);
    assert.equal(await sandbox.files.read(path), "by code");
  }],
  ["an aborted signal ends a read", async ({ sandbox: { files } }) => {
    await failure(files.read("x", { signal: AbortSignal.abort(new EvalError("mine")) }), EvalError);
  }],
];
