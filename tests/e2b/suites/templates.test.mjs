// SPDX-License-Identifier: Apache-2.0
// Snapshots, templates, and what the SDKs know and this daemon has not: it has to say so.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Template } from 'e2b'
import { Sandbox, SandboxNotFoundError } from '@e2b/code-interpreter'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { control, inSandbox, url } from './support.mjs'

async function inTemplate(name, use) {
  const sandbox = await Sandbox.create(name, { timeoutMs: 60_000 })
  try {
    await use(sandbox)
  } finally {
    await sandbox.kill()
  }
}

test('a snapshot can be made, listed, and made a sandbox of', async () => {
  await inSandbox(async (sandbox) => {
    await sandbox.files.write('state.txt', 'as it was')
    const named = await sandbox.createSnapshot({ name: 'my-snap' })
    const unnamed = await sandbox.createSnapshot()
    assert.ok(named.names.some((name) => name.includes('my-snap')))
    assert.deepEqual(unnamed.names, [])
    await sandbox.files.write('state.txt', 'changed later')
    const listed = []
    const paginator = Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId, limit: 1 })
    while (paginator.hasNext) listed.push(...(await paginator.nextItems()))
    assert.deepEqual(listed.map((each) => each.snapshotId).sort(), [named.snapshotId, unnamed.snapshotId].sort())
    for (const from of [named.snapshotId, unnamed.snapshotId]) {
      const copy = await Sandbox.create(from, { timeoutMs: 60_000 })
      try {
        assert.equal(await copy.files.read('/home/user/state.txt'), 'as it was')
      } finally {
        await copy.kill()
      }
    }
  })
  assert.equal(await Sandbox.deleteSnapshot('no-such-snapshot:default'), false)
  await assert.rejects(() => Sandbox.createSnapshot('ino0such0sandbox'), SandboxNotFoundError)
})

test('it is known which templates there are', async () => {
  assert.equal(await Template.exists('base'), true)
  assert.equal(await Template.exists('no-such-template'), false)
})

test('a template is built, says what it does, and is what its sandboxes begin with', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gb-e2b-'))
  mkdirSync(join(directory, 'app/inner'), { recursive: true })
  writeFileSync(join(directory, 'app/main.py'), 'print(6 * 7)\n')
  writeFileSync(join(directory, 'app/inner/data.txt'), 'data')
  writeFileSync(join(directory, 'one.txt'), 'one')
  const template = Template({ fileContextPath: directory })
    .fromBaseImage()
    .copy('app', 'app')
    .copy('one.txt', 'renamed.txt', { mode: 0o600 })
    .setWorkdir('/home/user/app')
    .setEnvs({ STAGE: 'test' })
    .runCmd('python3 main.py > ../answer.txt; echo "$STAGE was said"')
    .setStartCmd('echo started > /tmp/started; sleep 1000', 'test -e /tmp/started')
  const said = []
  const built = await Template.build(template, 'built-by-sdk', {
    memoryMB: 256,
    onBuildLogs: (entry) => said.push(entry.message),
  })
  assert.equal(built.templateId, 'built-by-sdk')
  assert.ok(said.some((message) => message.includes('test was said')), said.join('\n'))
  assert.equal(await Template.exists('built-by-sdk'), true)
  const sandbox = await Sandbox.create('built-by-sdk', { timeoutMs: 60_000 })
  try {
    assert.equal(await sandbox.files.read('answer.txt'), '42\n')
    assert.equal(await sandbox.files.read('app/inner/data.txt'), 'data')
    const run = await sandbox.commands.run('stat -c %a renamed.txt; cat /tmp/started; echo $STAGE')
    assert.equal(run.stdout, '600\nstarted\ntest\n')
    assert.equal((await sandbox.getInfo()).memoryMB, 256)
  } finally {
    await sandbox.kill()
    rmSync(directory, { recursive: true })
  }
})

test('a template can begin with another one', async () => {
  await Template.build(Template().fromBaseImage().runCmd('echo low > low'), 'sdk-low')
  await Template.build(Template().fromTemplate('sdk-low').runCmd('cat low > high'), 'sdk-high')
  await inTemplate('sdk-high', async (sandbox) => {
    assert.equal(await sandbox.files.read('high'), 'low\n')
  })
  assert.equal((await control('DELETE', '/templates/sdk-low')).status, 204)
  assert.equal(await Template.exists('sdk-low'), false)
  assert.equal((await control('DELETE', '/templates/sdk-low')).status, 404)
})

test('what a build can not do fails it, with the reason', async () => {
  const failing = [
    [Template().fromImage('python:3.12'), /registry/],
    [Template().fromBaseImage().runCmd('echo no good >&2; exit 3'), /exit status 3.*no good/],
    [Template().fromBaseImage().setWorkdir('/srv/app'), /cannot be written/],
    [Template().fromBaseImage().setUser('postgres'), /unknown user/],
    [Template().fromTemplate('no-such-template'), /no such template|not found/],
  ]
  for (const [template, reason] of failing) {
    await assert.rejects(() => Template.build(template, 'sdk-fails'), (error) => {
      assert.match(error.message, reason)
      return true
    })
    assert.equal(await Template.exists('sdk-fails'), false)
  }
})

test('a build and its files are nobody else\'s', async () => {
  assert.equal((await control('GET', '/templates/x/builds/0123/status')).status, 404)
  assert.equal((await control('GET', '/templates/x/files/not-a-hash')).status, 400)
  const upload = await fetch(`${url}/templates/x/files/${'a'.repeat(64)}`, { method: 'PUT', body: 'x' })
  assert.equal(upload.status, 401)
})

test('a snapshot can be removed', async () => {
  await inSandbox(async (sandbox) => {
    const made = await sandbox.createSnapshot({ name: 'to-go' })
    assert.equal(await Sandbox.deleteSnapshot(made.snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(made.snapshotId), false)
    await assert.rejects(() => Sandbox.create(made.snapshotId))
  })
})

test('tags name builds of a template', async () => {
  const first = await Template.build(Template().fromBaseImage().runCmd('echo one > which'), 'sdk-tags:v1')
  assert.deepEqual(first.tags, ['v1'])
  // Without the tag "default" its plain name stands for nothing yet.
  assert.equal(await Template.exists('sdk-tags'), true)
  await assert.rejects(() => Sandbox.create('sdk-tags'))
  const assigned = await Template.assignTags('sdk-tags:v1', ['Stable', 'default'])
  assert.equal(assigned.buildId, first.buildId)
  assert.deepEqual(assigned.tags.sort(), ['default', 'stable'])
  const second = await Template.build(Template().fromBaseImage().runCmd('echo two > which'), 'sdk-tags',
                                      { tags: ['v2', 'stable'] })
  const tags = await Template.getTags('sdk-tags')
  assert.deepEqual(Object.fromEntries(tags.map((each) => [each.tag, each.buildId])),
                   { v1: first.buildId, default: first.buildId, v2: second.buildId, stable: second.buildId })
  assert.ok(tags.every((each) => each.createdAt instanceof Date))
  for (const [name, content] of [['sdk-tags', 'one'], ['sdk-tags:v1', 'one'], ['sdk-tags:v2', 'two'],
                                 ['sdk-tags:stable', 'two']]) {
    await inTemplate(name, async (sandbox) => assert.equal(await sandbox.files.read('which'), content + '\n'))
  }
  await Template.removeTags('sdk-tags', ['stable', 'v2'])
  await assert.rejects(() => Sandbox.create('sdk-tags:v2'))
  assert.deepEqual((await Template.getTags('sdk-tags')).map((each) => each.tag).sort(), ['default', 'v1'])
  assert.equal((await control('DELETE', '/templates/sdk-tags')).status, 204)
  await assert.rejects(() => Template.getTags('sdk-tags'))
})

test('what can be no tag is refused', async () => {
  await Template.build(Template().fromBaseImage(), 'sdk-tagged:v1')
  for (const tag of [':invalid', 'sdk-tagged:', 'a b', '']) {
    await assert.rejects(() => Template.assignTags('sdk-tagged:v1', tag))
  }
  await assert.rejects(() => Template.assignTags('sdk-tagged:v2', 'v3'))
  await assert.rejects(() => Template.assignTags('base', 'mine'))
  await assert.rejects(() => Template.removeTags('sdk-tagged', 'default'))
  await assert.rejects(() => Template.removeTags('no-such-template', 'v1'))
})
