// SPDX-License-Identifier: Apache-2.0
// Secrets: kept, listed, changed, and never told.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, SecretError, SecretNotFoundError } from 'e2b'
import { control } from './support.mjs'

// Calls `use` with a secret that goes with it.
async function withSecret(name, use, metadata) {
  const secret = await Secret.create(name, 'value of ' + name, metadata ? { metadata } : {})
  try {
    return await use(secret)
  } finally {
    await Secret.destroy(secret.secretId)
  }
}

async function all(paginator) {
  const found = []
  let pages = 0
  while (paginator.hasNext) {
    found.push(...(await paginator.nextItems()))
    ++pages
  }
  return { names: found.map((each) => each.name), pages }
}

test('a secret is made, found by name and id, changed and destroyed', async () => {
  const before = Date.now()
  const secret = await Secret.create('api key', 'first', { metadata: { team: 'a' } })
  assert.equal(secret.name, 'api key')
  assert.equal(secret.version, 1)
  assert.deepEqual(secret.metadata, { team: 'a' })
  assert.ok(Math.abs(secret.createdAt - before) < 60_000)
  assert.deepEqual(await Secret.getInfo('api key'), secret)
  assert.deepEqual(await Secret.getInfo(secret.secretId), secret)
  assert.equal(await Secret.exists('api key'), true)

  const kept = await Secret.update('api key', 'second')
  assert.equal(kept.version, 2)
  assert.deepEqual(kept.metadata, { team: 'a' })
  assert.ok(kept.updatedAt >= kept.createdAt)
  const changed = await Secret.update(secret.secretId, 'third', { metadata: { team: 'b' } })
  assert.equal(changed.version, 3)
  assert.deepEqual(changed.metadata, { team: 'b' })

  assert.equal(await Secret.destroy('api key'), true)
  assert.equal(await Secret.destroy('api key'), false)
  assert.equal(await Secret.exists(secret.secretId), false)
  await assert.rejects(() => Secret.getInfo('api key'), SecretNotFoundError)
  await assert.rejects(() => Secret.update('api key', 'x'), SecretNotFoundError)
})

test('no answer holds a value', async () => {
  const value = 'never-to-be-told'
  const made = await control('POST', '/secrets', { name: 'hidden', value })
  assert.equal(made.status, 201)
  const path = `/secrets/${made.body.secretID}`
  const answers = [
    made,
    await control('GET', path),
    await control('GET', '/secrets'),
    await control('POST', '/secrets', { name: 'hidden', value }),
    await control('POST', path, { value, metadata: 7 }),
    await control('POST', path, { value }),
    await control('DELETE', path),
  ]
  assert.deepEqual(answers.map((each) => each.status), [201, 200, 200, 409, 400, 200, 204])
  for (const { body } of answers) assert.ok(!JSON.stringify(body).includes(value))
})

test('secrets are listed in pages', async () => {
  await withSecret('one', () => withSecret('two', () => withSecret('zwölf', async () => {
    assert.deepEqual(await all(Secret.list()), { names: ['one', 'two', 'zwölf'], pages: 1 })
    assert.deepEqual(await all(Secret.list({ limit: 1 })),
      { names: ['one', 'two', 'zwölf'], pages: 3 })
    assert.deepEqual(await all(Secret.list({ limit: 2 })),
      { names: ['one', 'two', 'zwölf'], pages: 2 })
  })))
  assert.deepEqual(await all(Secret.list()), { names: [], pages: 1 })
})

test('a page goes on where it ended, also when that secret is gone', async () => {
  await withSecret('b', async () => {
    const first = await Secret.create('a', 'value')
    const pages = Secret.list({ limit: 1 })
    assert.deepEqual((await pages.nextItems()).map((each) => each.name), ['a'])
    await Secret.destroy(first.secretId)
    assert.deepEqual((await pages.nextItems()).map((each) => each.name), ['b'])
  })
  for (const token of ['x', 'abc', 'ZZ']) {
    assert.equal((await control('GET', `/secrets?nextToken=${token}`)).status, 400, token)
  }
})

test('what no secret can be is refused', async () => {
  await withSecret('taken', async () => {
    await assert.rejects(() => Secret.create('taken', 'x'), SecretError)
    for (const name of ['', 'a{b', 'a}b', 'a\nb', 'a\u0085b', 'x'.repeat(129)]) {
      assert.equal((await control('POST', '/secrets', { name, value: 'x' })).status, 400, name)
    }
    for (const value of ['', 'x'.repeat(65_537), 'a\0b', 7]) {
      assert.equal((await control('POST', '/secrets', { name: 'new', value })).status, 400)
    }
    const entries = (count) => Object.fromEntries([...Array(count).keys()].map((i) => [i, 'v']))
    for (const metadata of [entries(33), { k: 'x'.repeat(1_025) }, { ['k'.repeat(129)]: 'v' },
      { k: 1 }, []]) {
      const refused = await control('POST', '/secrets', { name: 'new', value: 'x', metadata })
      assert.equal(refused.status, 400, JSON.stringify(metadata).slice(0, 80))
    }
  })
})
