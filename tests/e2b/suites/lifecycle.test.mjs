// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AuthenticationError, Sandbox, SandboxError, SandboxNotFoundError } from 'e2b'
import { Sandbox as CodeSandbox } from '@e2b/code-interpreter'
import { control, eventually, inSandbox } from './support.mjs'

test('a sandbox can be made, is running, and is gone when killed', async () => {
  const sandbox = await Sandbox.create()
  assert.match(sandbox.sandboxId, /^[a-z0-9]+$/)
  assert.equal(await sandbox.isRunning(), true)
  assert.equal(await sandbox.kill(), true)
  assert.equal(await sandbox.isRunning(), false)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
  await assert.rejects(() => sandbox.getInfo(), SandboxNotFoundError)
  await assert.rejects(() => sandbox.setTimeout(1000), SandboxNotFoundError)
  await assert.rejects(() => Sandbox.connect(sandbox.sandboxId), SandboxNotFoundError)
  await assert.rejects(() => sandbox.commands.run('true'), { name: /NotFound|Timeout/ })
})

test('its information is what it was made with', async () => {
  const before = Date.now()
  await inSandbox(
    async (sandbox) => {
      const info = await sandbox.getInfo()
      assert.equal(info.sandboxId, sandbox.sandboxId)
      assert.equal(info.state, 'running')
      assert.deepEqual(info.metadata, { purpose: 'test & "more"', ключ: 'значение' })
      assert.equal(info.templateId, 'code-interpreter-v1')
      assert.ok(info.cpuCount >= 1 && Number.isInteger(info.cpuCount))
      assert.ok(info.memoryMB > 0)
      assert.ok(info.startedAt.getTime() >= before - 5_000)
      const lasts = info.endAt.getTime() - info.startedAt.getTime()
      assert.ok(Math.abs(lasts - 100_000) < 2_000, `lasts ${lasts} ms`)
      assert.deepEqual(info.lifecycle, { onTimeout: 'kill', autoResume: false })
      assert.deepEqual(info.volumeMounts, [])
    },
    { timeoutMs: 100_000, metadata: { purpose: 'test & "more"', ключ: 'значение' } }
  )
})

test('without a timeout it lasts 300 seconds', async () => {
  const sandbox = await CodeSandbox.create()
  try {
    const { startedAt, endAt } = await sandbox.getInfo()
    assert.ok(Math.abs(endAt - startedAt - 300_000) < 2_000)
  } finally {
    await sandbox.kill()
  }
})

test('its time can be made longer and shorter, and connecting only makes it longer', async () => {
  await inSandbox(async (sandbox) => {
    const left = async () => (await sandbox.getInfo()).endAt.getTime() - Date.now()
    await sandbox.setTimeout(200_000)
    assert.ok((await left()) > 190_000)
    await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 10_000 })
    assert.ok((await left()) > 180_000)
    await sandbox.setTimeout(20_000)
    assert.ok((await left()) < 21_000)
    const again = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 90_000 })
    assert.ok((await left()) > 80_000)
    assert.equal(again.envdAccessToken, sandbox.envdAccessToken)
    assert.equal((await again.commands.run('echo same')).stdout, 'same\n')
  })
})

test('it ends by itself when its time is over', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 1_000 })
  await eventually(async () => !(await sandbox.isRunning()))
  await assert.rejects(() => sandbox.getInfo(), SandboxNotFoundError)
})

test('paused it answers nothing but questions after it, and resumed it has its files and processes', async () => {
  await inSandbox(async (sandbox) => {
    await sandbox.files.write('kept.txt', 'still here')
    const sleeper = await sandbox.commands.run('sleep 300', { background: true, timeoutMs: 0 })
    assert.equal(await sandbox.pause(), true)
    assert.equal(await sandbox.pause(), false)
    assert.equal((await sandbox.getInfo()).state, 'paused')
    assert.equal(await sandbox.isRunning(), false)
    const resumed = await sandbox.connect({ timeoutMs: 60_000 })
    assert.equal(resumed.sandboxId, sandbox.sandboxId)
    assert.equal((await sandbox.getInfo()).state, 'running')
    assert.equal(await sandbox.files.read('kept.txt'), 'still here')
    const { exitCode } = await sandbox.commands.run(`kill -0 ${sleeper.pid}`)
    assert.equal(exitCode, 0)
    await sleeper.kill()
  })
})

test('a paused one can be killed, and one that is gone cannot be paused', async () => {
  const sandbox = await Sandbox.create()
  await sandbox.pause()
  assert.equal(await Sandbox.kill(sandbox.sandboxId), true)
  await assert.rejects(() => Sandbox.pause(sandbox.sandboxId), SandboxNotFoundError)
})

test('variables of a context outlive a pause', async () => {
  await inSandbox(async (sandbox) => {
    await sandbox.runCode('x = 41')
    await sandbox.pause()
    await sandbox.connect()
    assert.equal((await sandbox.runCode('x + 1')).text, '42')
  })
})

test('with onTimeout pause it is paused when its time is over', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 1_000, lifecycle: { onTimeout: 'pause' } })
  try {
    await eventually(async () => (await sandbox.getInfo()).state === 'paused')
    assert.deepEqual((await sandbox.getInfo()).lifecycle, { onTimeout: 'pause', autoResume: false })
    assert.equal(await sandbox.isRunning(), false)
  } finally {
    await sandbox.kill()
  }
})

test('with autoResume a request wakes it', async () => {
  const sandbox = await Sandbox.create({
    timeoutMs: 60_000,
    lifecycle: { onTimeout: 'pause', autoResume: true },
  })
  try {
    await sandbox.pause()
    assert.equal((await sandbox.commands.run('echo awake')).stdout, 'awake\n')
    assert.equal((await sandbox.getInfo()).state, 'running')
  } finally {
    await sandbox.kill()
  }
})

test('what only a virtual machine can do is refused, and says so', async () => {
  await inSandbox(async (sandbox) => {
    await assert.rejects(() => sandbox.pause({ keepMemory: false }), SandboxError)
  })
  await assert.rejects(
    () => Sandbox.create({ lifecycle: { onTimeout: { action: 'pause', keepMemory: false } } }),
    /501/
  )
})

test('an unknown template is not found', async () => {
  await assert.rejects(() => Sandbox.create('no-such-template'), /404: template 'no-such-template' not found/)
})

test('a wrong key is refused, and no key as well', async () => {
  await assert.rejects(() => Sandbox.create({ apiKey: 'e2b_0000' }), AuthenticationError)
  assert.equal((await control('GET', '/v2/sandboxes', undefined, {})).status, 401)
})

test('variables of a sandbox are those of its commands and its code', async () => {
  await inSandbox(
    async (sandbox) => {
      assert.equal((await sandbox.commands.run('echo "$GREETING"')).stdout, 'hello there\n')
      const one = await sandbox.commands.run('echo "$GREETING"', { envs: { GREETING: 'hi' } })
      assert.equal(one.stdout, 'hi\n')
      const run = await sandbox.runCode('import os; print(os.environ["GREETING"])')
      assert.deepEqual(run.logs.stdout, ['hello there\n'])
    },
    { envs: { GREETING: 'hello there' } }
  )
})

test('metrics tell of memory, disk and processors', async () => {
  await inSandbox(async (sandbox) => {
    const metrics = await eventually(async () => {
      const found = await sandbox.getMetrics()
      return found.length > 0 && found
    })
    const [metric] = metrics
    assert.ok(metric.cpuCount >= 1)
    assert.ok(metric.cpuUsedPct >= 0)
    assert.ok(metric.memTotal > 0 && metric.memUsed >= 0 && metric.memUsed <= metric.memTotal)
    assert.ok(metric.diskTotal > 0)
    assert.ok(Math.abs(metric.timestamp - Date.now()) < 60_000)
    const long_ago = { start: new Date(Date.now() - 2e8), end: new Date(Date.now() - 1e8) }
    assert.deepEqual(await sandbox.getMetrics(long_ago), [])
  })
})

test('network rules are kept, told and replaced', async () => {
  const network = {
    allowOut: ['8.8.8.8', 'example.com'],
    denyOut: ['0.0.0.0/0'],
    egressProxy: { address: 'proxy.example.com:1080', username: 'u', password: 'secret' },
  }
  await inSandbox(
    async (sandbox) => {
      const told = (await sandbox.getInfo()).network
      assert.deepEqual(told.allowOut, network.allowOut)
      assert.deepEqual(told.denyOut, network.denyOut)
      assert.deepEqual(told.egressProxy, { address: 'proxy.example.com:1080', username: 'u' })
      await sandbox.updateNetwork({ denyOut: ['10.0.0.0/8'] })
      const after = (await sandbox.getInfo()).network
      assert.deepEqual(after.denyOut, ['10.0.0.0/8'])
      assert.equal(after.allowOut, undefined)
      await assert.rejects(() => sandbox.updateNetwork({ denyOut: ['example.com'] }), /400/)
      await assert.rejects(() => sandbox.updateNetwork({ allowOut: ['example.com'] }), /400/)
    },
    { network, allowInternetAccess: true }
  )
  await inSandbox(
    async (sandbox) => assert.equal((await sandbox.getInfo()).allowInternetAccess, false),
    { allowInternetAccess: false }
  )
})

test('forks have the files and secrets of their own', async () => {
  await inSandbox(async (sandbox) => {
    await sandbox.files.write('shared.txt', 'from the origin')
    const forks = await sandbox.fork({ count: 2, timeoutMs: 60_000 })
    assert.equal(forks.length, 2)
    for (const fork of forks) {
      try {
        assert.ok(!(fork instanceof Error), String(fork))
        assert.notEqual(fork.sandboxId, sandbox.sandboxId)
        assert.notEqual(fork.envdAccessToken, sandbox.envdAccessToken)
        assert.equal(await fork.files.read('shared.txt'), 'from the origin')
        await fork.files.write('shared.txt', 'of the fork')
      } finally {
        await fork.kill?.()
      }
    }
    assert.equal(await sandbox.files.read('shared.txt'), 'from the origin')
  })
})
