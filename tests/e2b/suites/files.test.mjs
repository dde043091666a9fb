// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FileNotFoundError, FileType, InvalidArgumentError } from 'e2b'
import { withSandbox } from './support.mjs'

const held = withSandbox()
const files = () => held.sandbox.files
const run = (command) => held.sandbox.commands.run(command)
const bytes = (count) => Uint8Array.from({ length: count }, (_, i) => (i * 7 + (i >> 8)) & 0xff)

test('what is written can be read, in every form', async () => {
  const info = await files().write('forms.txt', 'text ü €')
  assert.deepEqual(JSON.parse(JSON.stringify(info)),
    { name: 'forms.txt', path: '/home/user/forms.txt', type: 'file' })
  assert.equal(await files().read('forms.txt'), 'text ü €')
  assert.deepEqual(await files().read('forms.txt', { format: 'bytes' }), new TextEncoder().encode('text ü €'))
  assert.equal(await (await files().read('forms.txt', { format: 'blob' })).text(), 'text ü €')
  let streamed = ''
  const decoder = new TextDecoder()
  for await (const piece of await files().read('forms.txt', { format: 'stream' })) {
    streamed += decoder.decode(piece, { stream: true })
  }
  assert.equal(streamed, 'text ü €')
})

for (const [name, options] of [
  ['as a form', {}], ['as a stream of bytes', { useOctetStream: true }], ['compressed', { gzip: true }],
]) {
  test(`large and binary contents come back the same, sent ${name}`, async () => {
    const contents = bytes(5_000_003)
    await files().write('large.bin', contents.buffer, options)
    const read = await files().read('large.bin', { format: 'bytes', gzip: options.gzip })
    assert.equal(Buffer.compare(Buffer.from(read), Buffer.from(contents)), 0)
  })
}

test('contents that look like the end of a form are contents', async () => {
  const text = '\r\n--\r\n------formdata-undici-0\r\nContent-Disposition: form-data\r\n\r\n--\r\n'
  await files().write('tricky.txt', text)
  assert.equal(await files().read('tricky.txt'), text)
})

test('a stream can be written while it is made', async () => {
  const source = new ReadableStream({
    async start(controller) {
      for (let i = 0; i < 5; ++i) {
        controller.enqueue(new TextEncoder().encode(`line ${i}\n`))
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      controller.close()
    },
  })
  await files().write('stream.txt', source)
  assert.equal(await files().read('stream.txt'), 'line 0\nline 1\nline 2\nline 3\nline 4\n')
})

test('many files can be written at once, with new directories', async () => {
  const written = await files().write([
    { path: 'many/a.txt', data: 'a' }, { path: '/home/user/many/deep/"b" ü.txt', data: new Blob(['b']) },
    { path: 'many/empty', data: '' },
  ])
  assert.deepEqual(written.map((each) => each.path),
    ['/home/user/many/a.txt', '/home/user/many/deep/"b" ü.txt', '/home/user/many/empty'])
  assert.equal(await files().read('many/deep/"b" ü.txt'), 'b')
  assert.equal(await files().read('many/empty'), '')
  assert.deepEqual(await files().write([]), [])
  const streamed = await files().writeFiles([{ path: 'many/c', data: 'c' }, { path: 'many/d', data: 'd' }],
    { useOctetStream: true })
  assert.equal(streamed.length, 2)
})

test('writing replaces, and only user can write where there is no root', async () => {
  await files().write('twice.txt', 'a longer first text')
  await files().write('twice.txt', 'second', { user: 'user' })
  assert.equal(await files().read('twice.txt', { user: 'user' }), 'second')
  await assert.rejects(() => files().write('x', 'y', { user: 'root' }), /--e2b-root/)
  await assert.rejects(() => files().write('x', 'y', { user: 'somebody' }))
})

test('what does not exist is not found', async () => {
  assert.equal(await files().exists('nowhere'), false)
  for (const call of [() => files().read('nowhere'), () => files().list('nowhere'),
    () => files().getInfo('nowhere'), () => files().rename('nowhere', 'there')]) {
    await assert.rejects(call, FileNotFoundError)
  }
  await files().remove('nowhere')
})

test('a directory is no file to read or to write', async () => {
  await files().makeDir('a-directory')
  await assert.rejects(() => files().read('a-directory'), InvalidArgumentError)
  await assert.rejects(() => files().write('a-directory', 'x'), InvalidArgumentError)
})

test('directories are made once, with their parents, and removed with what they hold', async () => {
  assert.equal(await files().makeDir('made/by/us'), true)
  assert.equal(await files().makeDir('made/by/us'), false)
  await files().write('made/file', 'x')
  await assert.rejects(() => files().makeDir('made/file'), InvalidArgumentError)
  assert.equal(await files().exists('made/by'), true)
  await files().remove('made')
  assert.equal(await files().exists('made'), false)
})

test('a list has what is below, as deep as asked for', async () => {
  await run('mkdir -p tree/b/c && touch tree/a.txt tree/b/x tree/b/c/y')
  const names = async (depth) => (await files().list('tree', { depth })).map((each) => each.path)
  assert.deepEqual(await names(1), ['/home/user/tree/a.txt', '/home/user/tree/b'])
  assert.deepEqual(await names(2), ['/home/user/tree/a.txt', '/home/user/tree/b', '/home/user/tree/b/c',
    '/home/user/tree/b/x'])
  assert.equal((await names(3)).length, 5)
  await assert.rejects(() => files().list('tree', { depth: 0 }), InvalidArgumentError)
  await assert.rejects(() => files().list('tree/a.txt'), InvalidArgumentError)
})

test('an entry tells all about a file', async () => {
  await run('printf 12345 > told.txt && chmod 640 told.txt')
  const info = await files().getInfo('told.txt')
  assert.equal(info.name, 'told.txt')
  assert.equal(info.path, '/home/user/told.txt')
  assert.equal(info.type, FileType.FILE)
  assert.equal(info.size, 5)
  assert.equal(info.mode, 0o640)
  assert.equal(info.permissions, '-rw-r-----')
  assert.ok(info.owner.length > 0 && info.group.length > 0)
  assert.ok(Math.abs(info.modifiedTime.getTime() - Date.now()) < 60_000)
  assert.equal((await files().getInfo('/home/user')).type, FileType.DIR)
})

test('a link tells where it leads', async () => {
  await run('echo x > real.txt && chmod 604 real.txt && ln -sf real.txt link.txt && ln -sf gone dangling')
  const link = await files().getInfo('link.txt')
  assert.equal(link.type, FileType.FILE)
  assert.equal(link.symlinkTarget, '/home/user/real.txt')
  assert.equal(link.mode, 0o604)
  assert.match(link.permissions, /^L/)
  const names = (await files().list('.')).map((each) => each.name)
  assert.ok(names.includes('link.txt') && !names.includes('dangling'))
})

test('renaming moves a file into directories that are made for it', async () => {
  await files().write('from.txt', 'moved')
  const entry = await files().rename('from.txt', 'new/place/to.txt')
  assert.equal(entry.path, '/home/user/new/place/to.txt')
  assert.equal(await files().read('new/place/to.txt'), 'moved')
  assert.equal(await files().exists('from.txt'), false)
})

test('paths start at the home', async () => {
  await files().write('~/tilde.txt', 'x')
  assert.equal((await files().getInfo('./a/../tilde.txt')).path, '/home/user/tilde.txt')
  await assert.rejects(() => files().getInfo('~root/x'), InvalidArgumentError)
})

test('no path leads out of the sandbox', async () => {
  await run('ln -sfn / out')
  assert.equal((await run('cat /etc/hostname || true')).stdout,
    await files().read('out/etc/hostname').catch(() => ''))
  await assert.rejects(() => files().read('../../../../../../proc/1/root/etc/shadow'))
})

test('metadata are kept with a file until it is written again', async () => {
  const info = await files().write('meta.txt', 'x', { metadata: { Author: 'me', kind: 'note' } })
  assert.deepEqual(info.metadata, { author: 'me', kind: 'note' })
  assert.deepEqual((await files().getInfo('meta.txt')).metadata, { author: 'me', kind: 'note' })
  await files().write('meta.txt', 'y')
  assert.equal((await files().getInfo('meta.txt')).metadata, undefined)
})
