// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NotFoundError } from '@e2b/code-interpreter'
import { control, insideHeaders, withSandbox } from './support.mjs'

const held = withSandbox()
const sandbox = () => held.sandbox

test('two contexts are there from the start', async () => {
  const contexts = await sandbox().listCodeContexts()
  assert.deepEqual(contexts.map((each) => each.language), ['python', 'javascript'])
  assert.ok(contexts.every((each) => each.cwd === '/home/user' && each.id.length > 0))
})

test('the default context is one of them, before and after its first use', async () => {
  const [python] = await sandbox().listCodeContexts()
  await sandbox().runCode('shared = "default"')
  assert.equal((await sandbox().runCode('shared', { context: python })).text, 'default')
  assert.deepEqual((await sandbox().listCodeContexts())[0], python)
  assert.equal((await sandbox().listCodeContexts()).length, 2)
})

test('a new context has variables of its own', async () => {
  const context = await sandbox().createCodeContext()
  assert.deepEqual({ language: context.language, cwd: context.cwd }, { language: 'python', cwd: '/home/user' })
  await sandbox().runCode('own = 1', { context })
  assert.equal((await sandbox().runCode('own', { context })).text, '1')
  assert.equal((await sandbox().runCode('own')).error.name, 'NameError')
  assert.equal((await sandbox().listCodeContexts()).at(-1).id, context.id)
  await sandbox().removeCodeContext(context)
  assert.ok(!(await sandbox().listCodeContexts()).some((each) => each.id === context.id))
  await assert.rejects(() => sandbox().runCode('1', { context }), NotFoundError)
})

test('a context has the language and the directory asked for', async () => {
  await sandbox().files.makeDir('work')
  const context = await sandbox().createCodeContext({ cwd: '/home/user/work' })
  assert.equal(context.cwd, '/home/user/work')
  assert.equal((await sandbox().runCode('import os; os.getcwd()', { context })).text, '/home/user/work')
  const javascript = await sandbox().createCodeContext({ language: 'js' })
  assert.equal(javascript.language, 'javascript')
  assert.equal((await sandbox().runCode('1 + 1', { context: javascript })).text, '2')
})

test('a restart forgets variables and keeps the id', async () => {
  const context = await sandbox().createCodeContext()
  await sandbox().runCode('gone = 1', { context })
  await sandbox().restartCodeContext(context)
  assert.equal((await sandbox().runCode('gone', { context })).error.name, 'NameError')
  const [, javascript] = await sandbox().listCodeContexts()
  await sandbox().restartCodeContext(javascript.id)
})

test('unknown contexts are not found', async () => {
  await assert.rejects(() => sandbox().removeCodeContext('nothing'), NotFoundError)
  await assert.rejects(() => sandbox().restartCodeContext('nothing'), NotFoundError)
  await assert.rejects(() => sandbox().createCodeContext({ language: 'klingon' }), /400/)
})

test('a context and a language exclude each other', async () => {
  const [python] = await sandbox().listCodeContexts()
  const { status } = await control('POST', '/execute', { code: '1', context_id: python.id, language: 'python' },
    insideHeaders(sandbox(), 49999))
  assert.equal(status, 400)
})

test('without a secret of the sandbox nobody reaches its contexts', async () => {
  const { 'X-Access-Token': _, ...anonymous } = insideHeaders(sandbox(), 49999)
  for (const [method, path] of [['GET', '/contexts'], ['POST', '/contexts'], ['POST', '/execute'],
    ['DELETE', '/contexts/x'], ['POST', '/contexts/x/restart']]) {
    const { status, body } = await control(method, path, method === 'POST' ? {} : undefined, anonymous)
    assert.equal(status, 403, `${method} ${path}`)
    assert.equal(body.sandboxId, sandbox().sandboxId)
  }
})
