// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Sandbox, TimeoutError } from '@e2b/code-interpreter'
import { eventually, expectation, inSandbox, patience, withSandbox } from './support.mjs'

const held = withSandbox()
const run = (code, options) => held.sandbox.runCode(code, options)

test('the value of the last expression is the text', async () => {
  const execution = await run('1 + 1')
  assert.equal(execution.text, '2')
  assert.equal(execution.results.length, 1)
  assert.equal(execution.results[0].isMainResult, true)
  assert.equal(execution.error, undefined)
  assert.ok(execution.executionCount >= 1)
})

test('executions are counted, and variables stay', async () => {
  const first = await run('value = "kept"')
  const second = await run('value')
  assert.equal(second.executionCount, first.executionCount + 1)
  assert.equal(second.text, 'kept')
})

test('a print is one line of output', async () => {
  assert.deepEqual((await run('print("hello")')).logs, { stdout: ['hello\n'], stderr: [] })
})

test('output reaches the callbacks while the code runs', async () => {
  const early = expectation()
  const lines = []
  const done = run('import time, sys\nprint("one", flush=True)\ntime.sleep(1)\nprint("two", file=sys.stderr)\n"end"', {
    onStdout: (message) => early.settle({ line: message.line, error: message.error }),
    onStderr: (message) => lines.push(message.line),
    onResult: (result) => lines.push(result.text),
  })
  assert.equal(await Promise.race([early.promise.then(() => 'early'), done.then(() => 'late')]), 'early')
  await done
  assert.deepEqual(await early.promise, { line: 'one\n', error: false })
  assert.deepEqual(lines, ['two\n', 'end'])
})

test('text of any script comes whole', async () => {
  const execution = await run('print("ü€漢字🎉" * 20000)')
  assert.equal(execution.logs.stdout.join(''), 'ü€漢字🎉'.repeat(20_000) + '\n')
})

test('an exception has its name, its value and its traceback, without colours', async () => {
  const seen = []
  const { error } = await run('def f():\n    return 1 / 0\nf()', { onError: (each) => seen.push(each) })
  assert.equal(error.name, 'ZeroDivisionError')
  assert.equal(error.value, 'division by zero')
  assert.match(error.traceback, /return 1 \/ 0/)
  assert.doesNotMatch(error.traceback, /\u001b/)
  assert.equal(seen.length, 1)
})

test('variables of one execution are gone with it', async () => {
  const code = 'import os\nos.environ.get("ONLY_NOW", "absent")'
  assert.equal((await run(code, { envs: { ONLY_NOW: 'present' } })).text, 'present')
  assert.equal((await run(code)).text, 'absent')
})

test('IPython is all there: magics, shell commands, top-level await, indented cells', async () => {
  assert.deepEqual((await run('!echo from a shell')).logs.stdout.join('').trim(), 'from a shell')
  assert.match((await run('%pwd')).text, /\/home\/user/)
  assert.equal((await run('import asyncio\nawait asyncio.sleep(0.01, 7)')).text, '7')
  assert.equal((await run('    indented = 3\n    indented')).text, '3')
})

test('it runs in the home, among the files of the sandbox', async () => {
  await held.sandbox.files.write('input.txt', 'from outside')
  assert.equal((await run('open("input.txt").read()')).text, 'from outside')
  await run('open("output.txt", "w").write("from inside")')
  assert.equal(await held.sandbox.files.read('output.txt'), 'from inside')
})

for (const [language, code, text] of [
  ['javascript', 'const x = 20; x * 2 + 2', '42'], ['js', '[1, 2].length', '2'],
  ['typescript', 'const y: number = 40; y + 2', '42'], ['ts', 'const z: string = "s"; z.length', '1'],
  ['r', 'x <- 40; x + 2', '[1] 42'], ['java', 'int x = 40; x + 2', '42'],
]) {
  test(`an expression in ${language} has a value`, async () => {
    const { text: answered, error } = await run(code, { language })
    assert.equal(error, undefined)
    assert.equal(answered, text)
  })
}

for (const [language, code] of [
  ['javascript', 'console.log("printed")'], ['typescript', 'console.log("printed" as string)'],
  ['bash', 'echo printed'], ['r', 'cat("printed\\n")'], ['java', 'System.out.println("printed")'],
]) {
  test(`what ${language} prints is output`, async () => {
    assert.equal((await run(code, { language })).logs.stdout.join(''), 'printed\n')
  })
}

test('each language keeps variables of its own', async () => {
  await run('mine = 1', { language: 'python' })
  await run('var mine = 2', { language: 'javascript' })
  assert.equal((await run('mine')).text, '1')
  assert.equal((await run('mine', { language: 'javascript' })).text, '2')
})

test('an unknown language is refused', async () => {
  await assert.rejects(() => run('1', { language: 'klingon' }), /400/)
})

test('who goes away interrupts the code, so that the next runs at once', async () => {
  await assert.rejects(() => run('import time\ntime.sleep(600)', { timeoutMs: 1_000 }), TimeoutError)
  assert.equal((await run('"free again"', { timeoutMs: 60_000 })).text, 'free again')
})

test('executions of one context wait for each other', async () => {
  const [first, second] = await Promise.all([
    run('import time\nqueued = ["a"]\ntime.sleep(0.5)\nqueued.append("b")'), new Promise((resolve) =>
      setTimeout(() => resolve(run('queued.append("c"); queued')), 200)),
  ])
  assert.equal(first.error, undefined)
  assert.equal(second.text, "['a', 'b', 'c']")
})

test('silence does not end a long execution', async () => {
  const execution = await run('import time\ntime.sleep(7)\n"after silence"')
  assert.equal(execution.text, 'after silence')
})

test('a sandbox that is killed fails the execution that runs in it', async () => {
  await inSandbox(async (sandbox) => {
    const begun = expectation()
    const running = sandbox.runCode('print("begun", flush=True)\nimport time\ntime.sleep(60)', {
      onStdout: () => begun.settle(true),
    })
    running.catch(() => {})
    await begun.promise
    await Sandbox.kill(sandbox.sandboxId)
    await assert.rejects(() => running, (error) =>
      error instanceof TimeoutError && /was killed/.test(error.message))
    await assert.rejects(() => sandbox.runCode('1'), TimeoutError)
  })
})

test('a context that dies says so, and the next execution has a new one', async () => {
  const { error } = await run('import os\nos._exit(3)')
  assert.equal(error.name, 'UnexpectedEndOfExecution')
  assert.equal((await eventually(() => run('6 * 7'))).text, '42')
})

test('code of the wrong type is refused', async () => {
  await assert.rejects(() => run({ an: 'object' }), /422/)
})
