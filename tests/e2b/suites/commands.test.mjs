// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommandExitError, InvalidArgumentError, NotFoundError, Sandbox, TimeoutError } from 'e2b'
import { eventually, expectation, inSandbox, withSandbox } from './support.mjs'

const held = withSandbox()
const commands = () => held.sandbox.commands

test('a command gives its output and its end', async () => {
  const result = await commands().run('echo out; echo err >&2')
  assert.deepEqual(
    { ...result },
    { exitCode: 0, error: undefined, stdout: 'out\n', stderr: 'err\n' }
  )
})

test('a command that fails is an error with all that it said', async () => {
  await assert.rejects(
    () => commands().run('echo before; echo why >&2; exit 3'),
    (error) => {
      assert.ok(error instanceof CommandExitError)
      assert.equal(error.exitCode, 3)
      assert.equal(error.stdout, 'before\n')
      assert.equal(error.stderr, 'why\n')
      assert.equal(error.error, 'exit status 3')
      return true
    }
  )
})

test('output comes while it is made, with its characters whole', async () => {
  const pieces = []
  const result = await commands().run(
    'for i in 1 2 3; do echo "ü$i€"; sleep 0.1; done', { onStdout: (text) => pieces.push(text) })
  assert.deepEqual(pieces, ['ü1€\n', 'ü2€\n', 'ü3€\n'])
  assert.equal(result.stdout, 'ü1€\nü2€\nü3€\n')
})

test('much output comes whole', async () => {
  const { stdout } = await commands().run('head -c 3000000 /dev/zero | tr "\\0" x')
  assert.equal(stdout.length, 3_000_000)
})

test('a command runs in the home, or where it is told to', async () => {
  assert.equal((await commands().run('pwd')).stdout, '/home/user\n')
  assert.equal((await commands().run('echo $HOME')).stdout, '/home/user\n')
  assert.equal((await commands().run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n')
  await assert.rejects(() => commands().run('pwd', { cwd: '/no/where' }),
    (error) => error instanceof InvalidArgumentError && /cwd '\/no\/where' does not exist/.test(error.message))
})

test('user can run commands; root is refused where there is none, and so is anybody else', async () => {
  assert.equal((await commands().run('echo b', { user: 'user' })).stdout, 'b\n')
  await assert.rejects(() => commands().run('echo a', { user: 'root' }), /no user 'root'.*--e2b-root/)
  await assert.rejects(() => commands().run('echo c', { user: 'nobody-here' }), /invalid username/)
})

test('one in the background can be found, joined, and killed', async () => {
  const handle = await commands().run('echo ready; exec sleep 300', { background: true, timeoutMs: 0 })
  assert.ok(handle.pid > 0)
  const found = (await commands().list()).find((each) => each.pid === handle.pid)
  assert.equal(found.cmd, '/bin/bash')
  assert.deepEqual(found.args, ['-l', '-c', 'echo ready; exec sleep 300'])
  const joined = await commands().connect(handle.pid, { timeoutMs: 0 })
  assert.equal(joined.pid, handle.pid)
  assert.equal(await commands().kill(handle.pid), true)
  for (const each of [handle, joined]) {
    await assert.rejects(() => each.wait(),
      (error) => error instanceof CommandExitError && error.exitCode === -1 && error.error === 'signal: killed')
  }
  assert.ok(!(await commands().list()).some((each) => each.pid === handle.pid))
  assert.equal(await commands().kill(handle.pid), false)
})

test('who disconnects does not end it, and who joins gets what comes from then on', async () => {
  const handle = await commands().run('sleep 0.5; echo later; sleep 300', { background: true, timeoutMs: 0 })
  await handle.disconnect()
  const seen = expectation()
  const joined = await commands().connect(handle.pid, { onStdout: (text) => seen.settle(text) })
  assert.equal(await seen.promise, 'later\n')
  await joined.kill()
})

test('an unknown process is not found', async () => {
  await assert.rejects(() => commands().connect(999_999), NotFoundError)
  await assert.rejects(() => commands().sendStdin(999_999, 'x'), NotFoundError)
  assert.equal(await commands().kill(999_999), false)
})

test('input reaches it, and ends when it is closed', async () => {
  const handle = await commands().run('cat', { background: true, stdin: true, timeoutMs: 0 })
  await handle.sendStdin('first ')
  await commands().sendStdin(handle.pid, new Uint8Array([0xc3, 0xbc, 10]))
  await handle.closeStdin()
  await commands().closeStdin(handle.pid).catch(() => {})
  assert.equal((await handle.wait()).stdout, 'first ü\n')
})

test('without input it reads the end of it', async () => {
  assert.equal((await commands().run('cat; echo done')).stdout, 'done\n')
})

test('the time limit of the caller ends it', async () => {
  await assert.rejects(() => commands().run('sleep 61.5', { timeoutMs: 500 }), TimeoutError)
  await eventually(async () => !(await commands().list()).some((each) => each.args.includes('sleep 61.5')))
})

test('several run at once, each with its own output', async () => {
  const results = await Promise.all(
    Array.from({ length: 10 }, (_, i) => commands().run(`sleep 0.2; echo ${i}`)))
  assert.deepEqual(results.map((each) => each.stdout), Array.from({ length: 10 }, (_, i) => `${i}\n`))
})

test('one whose sandbox is killed meanwhile fails as if its time were over', async () => {
  await inSandbox(async (sandbox) => {
    const handle = await sandbox.commands.run('sleep 300', { background: true, timeoutMs: 0 })
    await Sandbox.kill(sandbox.sandboxId)
    await assert.rejects(() => handle.wait(), TimeoutError)
  })
})
