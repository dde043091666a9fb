// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { randomUUID } from 'node:crypto'
import { Sandbox } from '@e2b/code-interpreter'
import { control } from './support.mjs'

const batch = randomUUID()
const sandboxes = []

before(async () => {
  for (const n of ['1', '2', '3']) {
    sandboxes.push(
      await Sandbox.create({ timeoutMs: 120_000, metadata: { batch, 'k y': `v&=${n} %20ü` } })
    )
  }
})
after(async () => {
  for (const sandbox of sandboxes) await sandbox.kill()
})

async function all(options) {
  const paginator = Sandbox.list(options)
  const pages = []
  while (paginator.hasNext) pages.push(await paginator.nextItems())
  return pages
}
const ids = (pages) => pages.flat().map((each) => each.sandboxId)
const made = () => sandboxes.map((each) => each.sandboxId)

test('a list has those whose metadata match, the newest first', async () => {
  const pages = await all({ query: { metadata: { batch } } })
  assert.deepEqual(ids(pages), made().reverse())
  assert.deepEqual(pages[0][0].metadata, { batch, 'k y': 'v&=3 %20ü' })
  assert.equal(pages[0][0].state, 'running')
})

test('all pairs of metadata have to match, whatever characters they hold', async () => {
  assert.deepEqual(ids(await all({ query: { metadata: { batch, 'k y': 'v&=2 %20ü' } } })), [made()[1]])
  assert.deepEqual(ids(await all({ query: { metadata: { batch, 'k y': 'v' } } })), [])
})

test('pages hold as many as asked for, and the last one says that it is the last', async () => {
  const pages = await all({ query: { metadata: { batch } }, limit: 1 })
  assert.deepEqual(pages.map((page) => page.length), [1, 1, 1])
  assert.deepEqual(ids(pages), made().reverse())
  const exact = await all({ query: { metadata: { batch } }, limit: 3 })
  assert.equal(exact.length, 1)
})

test('the order can be turned, in pages too', async () => {
  const pages = await all({ query: { metadata: { batch } }, order: 'asc', limit: 2 })
  assert.deepEqual(ids(pages), made())
  assert.equal(pages.length, 2)
})

test('a list can be of one template, or of what started after a moment', async () => {
  const query = { metadata: { batch } }
  assert.equal(ids(await all({ query: { ...query, template: 'code-interpreter-v1' } })).length, 3)
  assert.deepEqual(ids(await all({ query: { ...query, template: 'no-such' } })), [])
  const { startedAt } = await sandboxes[1].getInfo()
  const later = ids(await all({ query: { ...query, startedAfter: startedAt } }))
  assert.ok(later.includes(made()[1]) && later.includes(made()[2]))
  const never = new Date(Date.now() + 3_600_000)
  assert.deepEqual(ids(await all({ query: { ...query, startedAfter: never } })), [])
})

test('paused ones are listed, unless only running ones are asked for', async () => {
  await sandboxes[0].pause()
  const query = { metadata: { batch } }
  assert.deepEqual(ids(await all({ query: { ...query, state: ['paused'] } })), [made()[0]])
  assert.equal(ids(await all({ query: { ...query, state: ['running'] } })).length, 2)
  assert.equal(ids(await all({ query: { ...query, state: ['running', 'paused'] } })).length, 3)
  assert.equal(ids(await all({ query })).length, 3)
  await sandboxes[0].connect()
})

test('what makes no sense in a list is refused', async () => {
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'order=up', 'state=dead', 'template=a:b',
    'startedAfter=yesterday']) {
    const { status, body } = await control('GET', `/v2/sandboxes?${query}`)
    assert.equal(status, 400, query)
    assert.equal(body.code, 400)
  }
})
