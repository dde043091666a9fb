// SPDX-License-Identifier: Apache-2.0
// Volumes: by themselves, and in sandboxes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Volume, VolumeError, VolumeNotFoundError, VolumePathNotFoundError } from 'e2b'
import { Sandbox } from '@e2b/code-interpreter'
import { control, inSandbox, key } from './support.mjs'

const probe = await control('POST', '/volumes', { name: 'probe' })
if (probe.status === 201) {
  await control('DELETE', `/volumes/${probe.body.volumeID}`)
}
// Only root has loop devices.
const skip = probe.status === 501 ? probe.body.message : false

// Calls `use` with a volume that goes with it.
async function withVolume(name, use) {
  const volume = await Volume.create(name)
  try {
    return await use(volume)
  } finally {
    await Volume.destroy(volume.volumeId)
  }
}

test('a volume is made, listed, found again and destroyed', { skip }, async () => {
  const volume = await Volume.create('one')
  assert.equal(volume.name, 'one')
  assert.deepEqual(await Volume.list(), [{ volumeId: volume.volumeId, name: 'one' }])
  const info = await Volume.getInfo(volume.volumeId)
  assert.equal(info.name, 'one')
  assert.equal(info.token, volume.token)
  await assert.rejects(() => Volume.create('one'), VolumeError)
  const again = await Volume.connect(volume.volumeId)
  await again.writeFile('/file', 'content')
  assert.equal(await volume.readFile('/file'), 'content')
  assert.equal(await Volume.destroy(volume.volumeId), true)
  assert.equal(await Volume.destroy(volume.volumeId), false)
  await assert.rejects(() => Volume.getInfo(volume.volumeId), VolumeNotFoundError)
  assert.deepEqual(await Volume.list(), [])
})

test('its files are written, read, listed and removed without a sandbox', { skip }, async () => {
  await withVolume('files', async (volume) => {
    assert.deepEqual(await volume.list('/'), [])
    const made = await volume.makeDir('/a/b', { force: true })
    assert.equal(made.type, 'directory')
    await assert.rejects(() => volume.makeDir('/x/y'), VolumePathNotFoundError)
    const bytes = new Uint8Array([0, 1, 2, 255])
    const written = await volume.writeFile('/a/b/bytes', new Blob([bytes]), { mode: 0o600 })
    assert.deepEqual(
      [written.name, written.type, written.path, written.size, written.mode & 0o777, written.uid],
      ['bytes', 'file', '/a/b/bytes', 4, 0o600, 1000])
    assert.ok(Math.abs(written.mtime - Date.now()) < 60_000)
    assert.deepEqual(await volume.readFile('/a/b/bytes', { format: 'bytes' }), bytes)
    const stream = await volume.readFile('/a/b/bytes', { format: 'stream' })
    let size = 0
    for await (const piece of stream) size += piece.length
    assert.equal(size, 4)
    assert.deepEqual((await volume.list('/')).map((entry) => entry.path), ['/a'])
    assert.deepEqual((await volume.list('/', { depth: 3 })).map((entry) => entry.path),
      ['/a', '/a/b', '/a/b/bytes'])
    await volume.writeFile('/a/b/bytes', 'over')
    assert.equal(await volume.readFile('/a/b/bytes'), 'over')
    assert.equal(await volume.exists('/a/b/bytes'), true)
    assert.equal((await volume.updateMetadata('/a', { uid: 1000 })).name, 'a')
    await assert.rejects(() => volume.updateMetadata('/a', { uid: 0 }), VolumeError)
    await volume.remove('/a')
    assert.equal(await volume.exists('/a/b/bytes'), false)
    await assert.rejects(() => volume.remove('/a'), VolumePathNotFoundError)
    await assert.rejects(() => volume.readFile('/none'), VolumePathNotFoundError)
    await assert.rejects(() => volume.readFile('/../etc/passwd'), VolumeError)
  })
})

test('sandboxes share a volume, which stays when they end', { skip }, async () => {
  await withVolume('shared', async (volume) => {
    const mounted = { volumeMounts: { '/mnt/data': volume } }
    await inSandbox(async (first) => {
      await inSandbox(async (second) => {
        await first.files.write('/mnt/data/file', 'from the first')
        assert.equal(await second.files.read('/mnt/data/file'), 'from the first')
        const ran = await second.runCode("open('/mnt/data/file').read()")
        assert.match(ran.text, /from the first/)
        await assert.rejects(() => Volume.destroy(volume.volumeId), VolumeError)
      }, mounted)
      const detail = await control('GET', `/sandboxes/${first.sandboxId}`)
      assert.deepEqual(detail.body.volumeMounts, [{ name: 'shared', path: '/mnt/data' }])
    }, { volumeMounts: { '/mnt/data': 'shared' } })
    assert.equal(await volume.readFile('/file'), 'from the first')
  })
  await assert.rejects(
    () => Sandbox.create({ volumeMounts: { '/mnt/data': 'no-such-volume' } }), /volume .* does not exist/)
})

test('files are shown to nobody without the token of their volume', { skip }, async () => {
  await withVolume('secret', async (volume) => {
    await volume.writeFile('/file', 'secret')
    const path = `/volumecontent/${volume.volumeId}/file?path=/file`
    const wrong = volume.token.slice(0, -1) + (volume.token.endsWith('0') ? '1' : '0')
    for (const headers of [{}, { 'X-API-KEY': key }, { Authorization: `Bearer ${wrong}` },
      { Authorization: `Bearer ${key}` }, { Authorization: 'Bearer ' }]) {
      assert.equal((await control('GET', path, undefined, headers)).status, 401)
    }
  })
})
