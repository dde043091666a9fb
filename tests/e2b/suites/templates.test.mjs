// SPDX-License-Identifier: Apache-2.0
// Snapshots, templates, and what the SDKs know and this daemon has not: it has to say so.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, Template, Volume } from 'e2b'
import { Sandbox, SandboxNotFoundError } from '@e2b/code-interpreter'
import { inSandbox } from './support.mjs'

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

test('a build is refused', async () => {
  const template = Template().fromBaseImage().runCmd('true')
  await assert.rejects(() => Template.build(template, 'mine'), /501|not supported/)
})

test('volumes and secrets are none, and can not be made', async () => {
  assert.deepEqual(await Volume.list(), [])
  await assert.rejects(() => Volume.create('data'), /not supported/)
  const secrets = Secret.list()
  assert.deepEqual(await secrets.nextItems(), [])
  await assert.rejects(() => Secret.create('name', 'value'), /not supported/)
})
