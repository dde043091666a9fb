// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FileNotFoundError, FilesystemEventType, InvalidArgumentError } from 'e2b'
import { eventually, expectation, withSandbox } from './support.mjs'

const held = withSandbox()
const files = () => held.sandbox.files

async function watched(path, options = {}) {
  await files().makeDir(path)
  const events = []
  const handle = await files().watchDir(path, (event) => void events.push(event), options)
  const has = (type, name) => events.find((each) => each.type === type && each.name === name)
  return { events, handle, has }
}

test('changes of files are told as they happen', async () => {
  const { handle, has } = await watched('watch-plain')
  await files().write('watch-plain/a.txt', 'x')
  await eventually(() => has(FilesystemEventType.WRITE, 'a.txt') || has(FilesystemEventType.CREATE, 'a.txt'))
  await held.sandbox.commands.run('chmod 600 watch-plain/a.txt && mv watch-plain/a.txt watch-plain/b.txt')
  await eventually(() => has(FilesystemEventType.CHMOD, 'a.txt') && has(FilesystemEventType.RENAME, 'a.txt'))
  await files().remove('watch-plain/b.txt')
  await eventually(() => has(FilesystemEventType.REMOVE, 'b.txt'))
  await handle.stop()
})

test('a watch of a tree sees directories that are made later', async () => {
  const { handle, has } = await watched('watch-deep', { recursive: true })
  await files().makeDir('watch-deep/nested')
  await eventually(() => has(FilesystemEventType.CREATE, 'nested'))
  await files().write('watch-deep/nested/file', 'x')
  await eventually(() => has(FilesystemEventType.WRITE, 'nested/file') || has(FilesystemEventType.CREATE, 'nested/file'))
  await handle.stop()
})

test('events carry the entry when asked for', async () => {
  const { handle, events } = await watched('watch-entry', { includeEntry: true })
  await held.sandbox.commands.run('printf 1234 > watch-entry/x')
  const event = await eventually(() => events.find((each) => each.name === 'x' && each.entry?.size === 4))
  assert.equal(event.entry.path, '/home/user/watch-entry/x')
  await handle.stop()
})

test('a stopped watch ends in order', async () => {
  await files().makeDir('watch-stop')
  const ended = expectation()
  const handle = await files().watchDir('watch-stop', () => {}, { onExit: () => ended.settle(true) })
  await handle.stop()
  assert.equal(await ended.promise, true)
})

test('only directories that exist can be watched', async () => {
  await files().write('watch-file', 'x')
  await assert.rejects(() => files().watchDir('watch-nowhere', () => {}), FileNotFoundError)
  await assert.rejects(() => files().watchDir('watch-file', () => {}), InvalidArgumentError)
})
