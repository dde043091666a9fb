// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withSandbox } from './support.mjs'

const held = withSandbox()

test('a repository is made, changed, shared and cloned', async () => {
  const { git, files } = held.sandbox
  await git.configureUser('A User', 'user@example.com')
  await git.setConfig('pull.rebase', 'false')
  assert.equal(await git.getConfig('user.name'), 'A User')
  await git.dangerouslyAuthenticate({ username: 'name', password: 'token', host: 'git.example.com' })
  await git.init('origin.git', { bare: true, initialBranch: 'main' })
  await git.init('work', { initialBranch: 'main' })
  await git.remoteAdd('work', 'origin', '/home/user/origin.git')
  assert.equal(await git.remoteGet('work', 'origin'), '/home/user/origin.git')

  await files.write('work/a.txt', 'one\n')
  assert.equal((await git.status('work')).untrackedCount, 1)
  await git.add('work')
  assert.equal((await git.status('work')).stagedCount, 1)
  await git.commit('work', 'first')
  assert.equal((await git.status('work')).isClean, true)
  await git.push('work', { remote: 'origin', branch: 'main' })

  await git.createBranch('work', 'side')
  assert.equal((await git.branches('work')).currentBranch, 'side')
  await git.checkoutBranch('work', 'main')
  await git.deleteBranch('work', 'side')
  assert.deepEqual((await git.branches('work')).branches, ['main'])

  await files.write('work/a.txt', 'two\n')
  await git.restore('work', { paths: ['a.txt'] })
  assert.equal(await files.read('work/a.txt'), 'one\n')
  await files.write('work/a.txt', 'three\n')
  await git.reset('work', { mode: 'hard' })
  assert.equal(await files.read('work/a.txt'), 'one\n')

  await git.clone('/home/user/origin.git', { path: 'copy' })
  await files.write('copy/b.txt', 'of the copy\n')
  await git.add('copy')
  await git.commit('copy', 'second')
  await git.push('copy')
  await git.pull('work', { remote: 'origin', branch: 'main' })
  assert.equal(await files.read('work/b.txt'), 'of the copy\n')
})
