// SPDX-License-Identifier: Apache-2.0
// Calls that no other suite has a reason to make.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { E2B, Secret } from 'e2b'
import { Sandbox } from '@e2b/code-interpreter'
import { inSandbox, key, url, withSandbox } from './support.mjs'

const held = withSandbox()

test('a sandbox can be paused by the former name of the call', async () => {
  await inSandbox(async (sandbox) => {
    assert.equal(await sandbox.betaPause(), true)
    await sandbox.connect()
    assert.equal(await Sandbox.betaPause(sandbox.sandboxId), true)
    assert.equal((await Sandbox.getFullInfo(sandbox.sandboxId)).state, 'paused')
    await sandbox.connect()
  })
})

test('addresses name the sandbox and its ports', () => {
  const { sandbox } = held
  assert.equal(sandbox.getHost(8080), `8080-${sandbox.sandboxId}.${sandbox.sandboxDomain}`)
  assert.equal(sandbox.getMcpUrl(), `https://${sandbox.getHost(50005)}/mcp`)
})

test('a sandbox knows its snapshots', async () => {
  const snapshot = await held.sandbox.createSnapshot()
  const listed = await held.sandbox.listSnapshots().nextItems()
  assert.deepEqual(listed.map((each) => each.snapshotId), [snapshot.snapshotId])
})

test('a command that has ended says how', async () => {
  const handle = await held.sandbox.commands.run('exit 3', { background: true })
  await assert.rejects(() => handle.wait())
  assert.equal(handle.exitCode, 3)
  assert.match(String(handle.error), /3/)
})

test('what code gave can be shown and stored', async () => {
  const execution = await held.sandbox.runCode('6 * 7')
  assert.equal(execution.toJSON().results[0].text, '42')
  assert.equal(execution.results[0].toJSON().text, '42')
})

test('a header may name a secret', async () => {
  await Secret.create('header', 'value')
  const rules = { 'example.com': [{ transform: { headers: { 'X-Key': Secret.fill('header') } } }] }
  try {
    await inSandbox(async (sandbox) => {
      const told = (await sandbox.getInfo()).network
      assert.match(JSON.stringify(told.rules), /e2b\.secrets\.header/)
    }, { network: { allowOut: ['example.com'], denyOut: ['0.0.0.0/0'], rules } })
  } finally {
    await Secret.destroy('header')
  }
})

test('a client with its own settings has all classes', async () => {
  const client = new E2B({ apiKey: key, apiUrl: url, sandboxUrl: url })
  const again = await client.Sandbox.connect(held.sandbox.sandboxId)
  assert.equal((await again.commands.run('echo same')).stdout, 'same\n')
  assert.equal(await client.Template.exists('base'), true)
  assert.deepEqual(await client.Secret.list().nextItems(), [])
})
