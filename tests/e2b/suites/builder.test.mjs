// SPDX-License-Identifier: Apache-2.0
// The steps of a template, one by one.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Sandbox, Template, defaultBuildLogger, waitForFile, waitForPort, waitForProcess, waitForTimeout,
  waitForURL } from '@e2b/code-interpreter'

// Packages that need no index: a folder for npm, and a wheel, which is a zip archive, for pip.
const WHEEL = `import zipfile
with zipfile.ZipFile("tiny-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("tiny.py", "SAYS = 'from the wheel'\\n")
    wheel.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n")
    wheel.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("tiny-1.dist-info/RECORD", "")
`

function makeFiles(place) {
  const run = (...words) => execFileSync(words[0], words.slice(1), { cwd: place })
  mkdirSync(join(place, 'folder'))
  mkdirSync(join(place, 'package'))
  writeFileSync(join(place, 'folder/inner.txt'), 'inner')
  writeFileSync(join(place, 'one.txt'), 'one')
  writeFileSync(join(place, 'package/package.json'), JSON.stringify({ name: 'tiny', version: '1.0.0' }))
  run('python3', '-c', WHEEL)
  run('git', 'init', '-q', '-b', 'main', 'repository')
  run('git', '-C', 'repository', '-c', 'user.name=a', '-c', 'user.email=a@example.com',
    'commit', '-q', '--allow-empty', '-m', 'first')
}

test('each step does what its name says', async () => {
  const place = mkdtempSync(join(tmpdir(), 'gb-e2b-'))
  try {
    makeFiles(place)
    const template = Template({ fileContextPath: place })
      .skipCache()
      .fromBaseImage()
      .setEnvs({ PIP_BREAK_SYSTEM_PACKAGES: '1', STAGE: 'js' })
      .copy('folder', 'folder').copy('package', 'package').copy('repository', 'repository')
      .copyItems([{ src: 'one.txt', dest: 'one.txt' },
        { src: 'tiny-1-py3-none-any.whl', dest: 'tiny-1-py3-none-any.whl' }])
      .makeDir('made').makeSymlink('one.txt', 'link').rename('folder/inner.txt', 'renamed')
      .remove('folder', { recursive: true }).runCmd('echo $STAGE > made/stage')
      .pipInstall('./tiny-1-py3-none-any.whl', { g: false }).npmInstall('./package')
      .gitClone('file:///home/user/repository', 'clone')
      .setUser('user').setWorkdir('/home/user/made')
      .setReadyCmd(waitForTimeout(10))
    const info = await Template.buildInBackground(template, 'steps-js')
    let status
    do {
      status = await Template.getBuildStatus(info)
    } while (['building', 'waiting'].includes(status.status))
    assert.equal(status.status, 'ready', JSON.stringify(status.reason))
    assert.equal(await Template.aliasExists('steps-js'), true)
  } finally {
    rmSync(place, { recursive: true })
  }
  const sandbox = await Sandbox.create('steps-js')
  try {
    const done = await sandbox.commands.run(
      'cat link renamed made/stage; test -e folder || echo no folder; ' +
      'python3 -c "import tiny; print(tiny.SAYS)"; ls node_modules; git -C clone log --format=%s',
      { cwd: '/home/user' })
    assert.equal(done.stdout, 'oneinnerjs\nno folder\nfrom the wheel\ntiny\nfirst\n')
  } finally {
    await sandbox.kill()
  }
})

test('a build tells what it does', async () => {
  const said = []
  const shows = defaultBuildLogger()
  await Template.build(Template().fromTemplate('base').runCmd('echo told'), 'told-js', {
    onBuildLogs: (entry) => {
      said.push(entry.toString())
      shows(entry)
    },
  })
  assert.ok(said.some((line) => line.includes('told')), said.join('\n'))
})

test('an image becomes a Dockerfile', async () => {
  for (const [name, first] of Object.entries({ Alpine: 'alpine:', Arch: 'archlinux:', Bun: 'oven/bun:',
    Debian: 'debian:', Fedora: 'fedora:', Node: 'node:', Python: 'python:', Ubuntu: 'ubuntu:' })) {
    const template = Template()[`from${name}Image`]().runCmd('true')
    assert.ok(Template.toDockerfile(template).startsWith(`FROM ${first}`), name)
  }
  const template = Template().fromDockerfile('FROM debian:12\nRUN echo one\n')
  assert.match(await Template.toJSON(template), /debian:12/)
  const private_one = Template().fromGCPRegistry('gcr.io/p/i', { serviceAccountJSON: { project_id: 'p' } })
  assert.match(await Template.toJSON(private_one), /gcp/)
})

test('ready commands are commands', () => {
  for (const [ready, part] of [[waitForPort(80), '80'], [waitForURL('http://localhost'), 'http://localhost'],
    [waitForProcess('server'), 'server'], [waitForFile('/f'), '/f'], [waitForTimeout(1_000), 'sleep']]) {
    assert.ok(ready.getCmd().includes(part), ready.getCmd())
  }
})
