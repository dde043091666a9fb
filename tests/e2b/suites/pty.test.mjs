// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, withSandbox } from './support.mjs'

const held = withSandbox()

async function terminal(options = {}) {
  const decoder = new TextDecoder()
  const seen = { text: '' }
  const handle = await held.sandbox.pty.create({
    cols: 80, rows: 24, timeoutMs: 0, onData: (data) => (seen.text += decoder.decode(data, { stream: true })),
    ...options,
  })
  const type = (text) => held.sandbox.pty.sendInput(handle.pid, new TextEncoder().encode(text))
  return { handle, seen, type }
}

test('a terminal takes what is typed, shows it, and ends with its shell', async () => {
  const { handle, seen, type } = await terminal()
  await type('echo "sum $((40 + 2))"\n')
  await eventually(() => seen.text.includes('sum 42'))
  await type('exit\n')
  assert.equal((await handle.wait()).exitCode, 0)
})

test('it has the size that it was made with, and another when resized', async () => {
  const { handle, seen, type } = await terminal({ cols: 91, rows: 31 })
  await type('stty size\n')
  await eventually(() => /31 91/.test(seen.text))
  await held.sandbox.pty.resize(handle.pid, { cols: 123, rows: 45 })
  await type('stty size\n')
  await eventually(() => /45 123/.test(seen.text))
  assert.equal(await held.sandbox.pty.kill(handle.pid), true)
  await assert.rejects(() => handle.wait())
})

test('its variables and directory are those asked for', async () => {
  const { handle, seen, type } = await terminal({ envs: { COLOR: 'teal' }, cwd: '/tmp' })
  await type('echo "$COLOR-$TERM-$PWD"\n')
  await eventually(() => seen.text.includes('teal-xterm-256color-/tmp'))
  await handle.kill()
})

test('who joins later sees what comes then', async () => {
  const { handle, type } = await terminal()
  await handle.disconnect()
  let text = ''
  const joined = await held.sandbox.pty.connect(handle.pid, {
    timeoutMs: 0, onData: (data) => (text += new TextDecoder().decode(data)),
  })
  await type('echo "jo""ined"\n')
  await eventually(() => text.includes('joined'))
  await joined.kill()
})
