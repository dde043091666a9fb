// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insideHeaders, url, withSandbox } from './support.mjs'

const held = withSandbox()

test('a signed URL downloads without any header', async () => {
  await held.sandbox.files.write('signed dir/hello.txt', 'signed')
  const answer = await fetch(await held.sandbox.downloadUrl('signed dir/hello.txt'))
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), 'signed')
  const of_user = await held.sandbox.downloadUrl('signed dir/hello.txt', { user: 'user', useSignatureExpiration: 60 })
  assert.equal((await fetch(of_user)).status, 200)
})

test('a signed URL uploads a form', async () => {
  const form = new FormData()
  form.append('file', 'by form')
  const answer = await fetch(await held.sandbox.uploadUrl('up.txt'), { method: 'POST', body: form })
  assert.equal(answer.status, 200)
  assert.deepEqual(await answer.json(), [{ name: 'up.txt', path: '/home/user/up.txt', type: 'file' }])
  assert.equal(await held.sandbox.files.read('up.txt'), 'by form')
})

test('an expired signature is refused, and says so', async () => {
  const link = await held.sandbox.downloadUrl('up.txt', { useSignatureExpiration: -120 })
  const answer = await fetch(link)
  assert.equal(answer.status, 401)
  const { code, message, hint } = await answer.json()
  assert.deepEqual({ code, message }, { code: 401, message: 'signature is already expired' })
  assert.ok(hint, 'a refusal says what to do')
})

test('a signature is good for its path, its operation and its user alone', async () => {
  await held.sandbox.files.write('other.txt', 'secret')
  const link = new URL(await held.sandbox.downloadUrl('up.txt'))
  const tampered = [
    [link.href.replace('up.txt', 'other.txt'), 'GET'], [link.href, 'POST'],
    [link.href + '&username=root', 'GET'], [link.href + '&signature_expiration=99999999999', 'GET'],
    [link.href.replace(/signature=v1_.{8}/, 'signature=v1_AAAAAAAA'), 'GET'],
  ]
  for (const [href, method] of tampered) {
    const answer = await fetch(href, { method, body: method === 'POST' ? new FormData() : undefined })
    assert.equal(answer.status, 401, href)
    assert.equal((await answer.json()).message, 'invalid signature')
  }
})

test('without a signature or a token files are closed', async () => {
  const path = `${url}/files?path=up.txt`
  const { 'X-Access-Token': token, ...anonymous } = insideHeaders(held.sandbox, 49983)
  const bare = await fetch(path, { headers: anonymous })
  assert.equal(bare.status, 401)
  assert.equal((await bare.json()).message, 'missing signature query parameter')
  const wrong = await fetch(path, { headers: { ...anonymous, 'X-Access-Token': token.replace(/.$/, '_') } })
  assert.equal(wrong.status, 401)
  assert.equal((await wrong.json()).message, 'access token present in header but does not match')
})

test('part of a file can be asked for', async () => {
  await held.sandbox.files.write('range.txt', '0123456789')
  const link = await held.sandbox.downloadUrl('range.txt')
  const part = await fetch(link, { headers: { Range: 'bytes=2-4' } })
  assert.equal(part.status, 206)
  assert.equal(part.headers.get('content-range'), 'bytes 2-4/10')
  assert.equal(await part.text(), '234')
  assert.equal(await (await fetch(link, { headers: { Range: 'bytes=-3' } })).text(), '789')
  assert.equal((await fetch(link, { headers: { Range: 'bytes=10-' } })).status, 416)
  const whole = await fetch(link)
  const modified = whole.headers.get('last-modified')
  assert.equal((await fetch(link, { headers: { 'If-Modified-Since': modified } })).status, 304)
})
