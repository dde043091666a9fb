// SPDX-License-Identifier: Apache-2.0
// E2B's users in sandboxes that have root inside: a daemon with --e2b-root.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Sandbox } from '@e2b/code-interpreter'
import { eventually, withSandbox } from './support.mjs'

const held = withSandbox()
const commands = () => held.sandbox.commands
const files = () => held.sandbox.files

async function said(command, options = {}) {
  return (await commands().run(command, options)).stdout.trim()
}

test('user is the default, with its own home and group', async () => {
  for (const options of [{}, { user: 'user' }]) {
    assert.equal(await said('id -un; id -u; id -gn; echo $HOME $USER; pwd', options),
      'user\n1000\nuser\n/home/user user\n/home/user')
  }
  await commands().run('echo mine > mine.txt')
  assert.equal(await said('stat -c %U:%G mine.txt'), 'user:user')
})

test('root is root for the command that asks for it, and may change the system', async () => {
  assert.equal(await said('id -u; echo $HOME; pwd', { user: 'root' }), '0\n/root\n/root')
  const denied = (error) => /Permission denied/.test(error.stderr)
  await assert.rejects(() => commands().run('touch /etc/by-user'), denied)
  await commands().run('echo changed > /etc/by-root && chmod 600 /etc/by-root', { user: 'root' })
  await assert.rejects(() => commands().run('cat /etc/by-root'), denied)
  assert.equal(await said('cat /etc/by-root', { user: 'root' }), 'changed')
})

test('user may use sudo without a password, where it is installed', async (context) => {
  assert.match(await said('cat /etc/sudoers', { user: 'root' }), /^user ALL=\(ALL:ALL\) NOPASSWD: ALL$/m)
  assert.equal(await said('stat -c "%a %u" /etc/sudoers', { user: 'root' }), '440 0')
  if (await said('command -v sudo || true') === '') return context.skip('the host has no sudo')
  assert.equal(await said('sudo -n id -u'), '0')
})

test('an account that was made inside is a user, and one that was not is refused', async () => {
  await commands().run('useradd --create-home --shell /bin/bash ada', { user: 'root' })
  assert.equal(await said('id -un; pwd; echo $HOME', { user: 'ada' }), 'ada\n/home/ada\n/home/ada')
  await files().write('note.txt', 'of Ada', { user: 'ada' })
  assert.equal(await said('stat -c %U /home/ada/note.txt'), 'ada')
  for (const user of ['nobody-here', '0']) {
    await assert.rejects(() => commands().run('id', { user }), /invalid username/)
    await assert.rejects(() => files().write('x', 'y', { user }))
  }
})

test('a file belongs to whom it was written for, and begins at that user\'s home', async () => {
  await files().write('owned/by/user.txt', 'a')
  assert.equal(await said('stat -c %U owned owned/by owned/by/user.txt'), 'user\nuser\nuser')
  const written = await files().write('by-root.txt', 'b', { user: 'root' })
  assert.equal(written.path, '/root/by-root.txt')
  assert.equal((await files().getInfo('by-root.txt', { user: 'root' })).owner, 'root')
  await files().makeDir('made', { user: 'user' })
  assert.equal((await files().getInfo('made')).owner, 'user')
  await files().rename('owned', 'moved')
  assert.equal(await said('stat -c %U moved/by/user.txt'), 'user')
})

test('writing and reading is limited by no user, as the files are root\'s to serve', async () => {
  await files().write('/srv/anywhere.txt', 'c')
  assert.equal(await said('stat -c %U /srv/anywhere.txt'), 'user')
  await commands().run('echo secret > /root/secret && chmod 600 /root/secret', { user: 'root' })
  assert.equal(await files().read('/root/secret'), 'secret\n')
})

test('a terminal is of the user that it was made for', async () => {
  for (const [user, id] of [[undefined, '1000'], ['root', '0']]) {
    let shown = ''
    const terminal = await held.sandbox.pty.create({
      cols: 80, rows: 24, user, onData: (bytes) => { shown += new TextDecoder().decode(bytes) },
    })
    await held.sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('echo "is $(id -u)."; exit\n'))
    await eventually(() => shown.includes(`is ${id}.`))
    await terminal.wait().catch(() => {})
  }
})

test('code runs, as root as it does at E2B, and user reads what it wrote', async () => {
  const execution = await held.sandbox.runCode('import os; open("/home/user/by-code.txt", "w").write("d"); os.getuid()')
  assert.equal(execution.text, '0')
  assert.equal(await said('cat by-code.txt'), 'd')
})

test('a fork and a snapshot have the same users', async () => {
  await files().write('kept.txt', 'kept')
  const { snapshotId } = await held.sandbox.createSnapshot()
  const copy = await Sandbox.create(snapshotId, { timeoutMs: 60_000 })
  try {
    assert.equal((await copy.commands.run('stat -c %U kept.txt; id -un')).stdout, 'user\nuser\n')
    assert.equal((await copy.commands.run('id -un', { user: 'root' })).stdout, 'root\n')
  } finally {
    await copy.kill()
  }
})
