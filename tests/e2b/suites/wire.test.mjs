// SPDX-License-Identifier: Apache-2.0
// What older SDKs and other clients send, and what nobody should.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { control, insideHeaders, url, withSandbox } from './support.mjs'

const held = withSandbox()

test('the first generation of routes is served', async () => {
  const made = await control('POST', '/sandboxes', { templateID: 'base', timeout: 60, secure: true })
  assert.equal(made.status, 201)
  const id = made.body.sandboxID
  assert.ok(made.body.envdAccessToken)
  assert.equal((await control('POST', `/sandboxes/${id}/connect`, { timeout: 60 })).status, 200)
  assert.equal((await control('POST', `/sandboxes/${id}/refreshes`, { duration: 60 })).status, 204)
  assert.ok((await control('GET', '/sandboxes')).body.some((each) => each.sandboxID === id))
  const metrics = await control('GET', `/sandboxes/metrics?sandbox_ids=${id},none`)
  assert.deepEqual(Object.keys(metrics.body.sandboxes), [id])
  assert.equal((await control('GET', `/sandboxes/${id}/logs`)).status, 200)
  assert.equal((await control('POST', `/sandboxes/${id}/pause`, { memory: true })).status, 204)
  assert.equal((await control('POST', `/sandboxes/${id}/resume`, { timeout: 60 })).status, 201)
  assert.equal((await control('DELETE', `/sandboxes/${id}`)).status, 204)
})

test('404 and 409 say so in the body', async () => {
  for (const [method, path, body] of [['GET', '/sandboxes/nothing'], ['DELETE', '/sandboxes/nothing'],
    ['POST', '/sandboxes/nothing/timeout', { timeout: 1 }], ['POST', '/v2/sandboxes/nothing/connect', {}],
    ['GET', '/sandboxes/nothing/metrics'], ['PUT', '/sandboxes/nothing/network', {}], ['GET', '/volumes/nothing'],
    ['GET', '/sandboxes/a/b/c']]) {
    const answer = await control(method, path, body)
    assert.equal(answer.status, 404, path)
    assert.equal(answer.body.code, 404, path)
    assert.equal(typeof answer.body.message, 'string')
  }
})

test('bodies of the wrong shape are refused, and named', async () => {
  for (const body of [{}, { templateID: 7 }, { templateID: 'base', timeout: 'soon' }, { templateID: 'base', timeout: 0 },
    { templateID: 'base', metadata: { a: 1 } }, { templateID: 'base', envVars: [] }, { templateID: 'not a name' }]) {
    const answer = await control('POST', '/v2/sandboxes', body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.equal(answer.body.code, 400)
  }
  const deep = '['.repeat(10_000) + ']'.repeat(10_000)
  const answer = await fetch(url + '/v2/sandboxes', {
    method: 'POST', headers: { 'X-API-KEY': process.env.E2B_API_KEY }, body: `{"templateID":${deep}}` })
  assert.equal(answer.status, 400)
})

test('a sandbox that is not there is 502, with its id', async () => {
  const answer = await control('GET', '/health', undefined, { 'E2b-Sandbox-Id': 'inothing', 'E2b-Sandbox-Port': '49983' })
  assert.equal(answer.status, 502)
  assert.deepEqual(answer.body, { sandboxId: 'inothing', message: 'The sandbox was not found', code: 502 })
})

test('one header without the other is refused', async () => {
  assert.equal((await control('GET', '/health', undefined, { 'E2b-Sandbox-Id': 'i1' })).status, 400)
  assert.equal((await control('GET', '/health', undefined, { 'E2b-Sandbox-Port': '49983' })).status, 400)
})

test('a closed port of a running sandbox is 502, and names the port', async () => {
  const answer = await control('GET', '/', undefined, insideHeaders(held.sandbox, 3999))
  assert.equal(answer.status, 502)
  assert.equal(answer.body.port, 3999)
})

test('a web server in a sandbox is reached', async () => {
  const { commands } = held.sandbox
  await held.sandbox.files.write('site/index.html', '<h1>inside</h1>')
  const server = await commands.run('cd site && exec python3 -u -m http.server 3000 --bind 127.0.0.1',
    { background: true, timeoutMs: 0 })
  const headers = insideHeaders(held.sandbox, 3000)
  let answer
  for (let i = 0; i < 200 && answer?.status !== 200; ++i) answer = await control('GET', '/index.html', undefined, headers)
  assert.equal(answer.status, 200)
  assert.equal(answer.body, '<h1>inside</h1>')
  assert.equal(answer.headers.get('content-type'), 'text/html')
  assert.equal((await control('GET', '/missing', undefined, headers)).status, 404)
  await server.kill()
})

test('commands and files need the token of the sandbox', async () => {
  const { 'X-Access-Token': _, ...anonymous } = insideHeaders(held.sandbox, 49983)
  for (const path of ['/process.Process/List', '/filesystem.Filesystem/ListDir']) {
    const answer = await control('POST', path, {}, anonymous)
    assert.equal(answer.status, 401)
  }
  for (const path of ['/metrics', '/envs']) {
    assert.equal((await control('GET', path, undefined, anonymous)).status, 401)
    assert.equal((await control('GET', path, undefined, insideHeaders(held.sandbox, 49983))).status, 200)
  }
})

test('the routes with which E2B steers its own server are closed', async () => {
  for (const path of ['/init', '/freeze', '/upgrade']) {
    const answer = await control('POST', path, {}, insideHeaders(held.sandbox, 49983))
    assert.equal(answer.status, 404)
    assert.equal(answer.body.path, path)
  }
})

test('a malformed call of a stream is an error within the stream', async () => {
  const headers = { ...insideHeaders(held.sandbox, 49983), 'Content-Type': 'application/connect+json' }
  for (const body of ['', 'x', '\x00\x00\x00\x00\x05{}', '\x00\x7f\xff\xff\xff{}', '\x01\x00\x00\x00\x02{}']) {
    const answer = await fetch(url + '/process.Process/Start', { method: 'POST', headers, body: Buffer.from(body, 'latin1') })
    const bytes = Buffer.from(await answer.arrayBuffer())
    assert.equal(answer.status, 200)
    assert.equal(bytes[0], 2)
    assert.equal(JSON.parse(bytes.subarray(5)).error.code, 'invalid_argument')
  }
})

test('a process that has the time of its call ends as the call does', async () => {
  const headers = { ...insideHeaders(held.sandbox, 49983), 'Content-Type': 'application/connect+json', 'Connect-Timeout-Ms': '300' }
  const message = Buffer.from(JSON.stringify({ process: { cmd: '/bin/sh', args: ['-c', 'sleep 61.25'] } }))
  const head = Buffer.from([0, 0, 0, 0, 0])
  head.writeUInt32BE(message.length, 1)
  const answer = await fetch(url + '/process.Process/Start', { method: 'POST', headers, body: Buffer.concat([head, message]) })
  let bytes = Buffer.from(await answer.arrayBuffer())
  const messages = []
  while (bytes.length > 0) {
    const end = 5 + bytes.readUInt32BE(1)
    messages.push({ flags: bytes[0], ...JSON.parse(bytes.subarray(5, end)) })
    bytes = bytes.subarray(end)
  }
  assert.ok(messages[0].event.start.pid)
  assert.deepEqual([messages.at(-1).flags, messages.at(-1).error.code], [2, 'deadline_exceeded'])
})

test('a watch can be polled by clients that can not stream', async () => {
  const call = (method, message) => control('POST', `/filesystem.Filesystem/${method}`, message, insideHeaders(held.sandbox, 49983))
  await held.sandbox.files.makeDir('polled')
  const { watcherId } = (await call('CreateWatcher', { path: 'polled' })).body
  await held.sandbox.files.write('polled/x', '1')
  let events = []
  for (let i = 0; i < 200 && events.length === 0; ++i) events = (await call('GetWatcherEvents', { watcherId })).body.events
  assert.equal(events[0].name, 'x')
  assert.equal((await call('RemoveWatcher', { watcherId })).status, 200)
  assert.equal((await call('GetWatcherEvents', { watcherId })).status, 404)
})
