# SPDX-License-Identifier: Apache-2.0
"""What a policy refuses to write in the workspace is closed for all that runs there, whether it exists or not."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
GLOVEBOX = os.environ["GLOVEBOX"]
POLICY = """
[files.write]
refuse = [".git/hooks/*", ".env", "deep/a/b/**"]
"""
# Each in Python, with the names of closer.py.
WAYS = [
    "put(HOOK)",
    "put('.env')",
    "put('.env', 'a')",
    "put('deep/a/b/c')",
    "os.makedirs('deep/a/b/c')",
    "os.remove('.env')",
    "os.truncate('.env', 1)",
    "os.rmdir('.git/hooks')",
    "shutil.rmtree('.git')",
    "run('rm', '-rf', '.git')",
    "os.rename('.git', 'moved'); build('.git')",
    "os.rename('.git/hooks', 'moved'); build('.git')",
    "os.rename('deep/a', 'deep/moved'); os.makedirs('deep/a/b'); put('deep/a/b/c')",
    "os.rename('deep', 'moved'); os.makedirs('deep/a/b'); put('deep/a/b/c')",
    "build('other'); os.rename('other', '.git')",
    "build('other'); os.rename('other/hooks', '.git/hooks')",
    "build('other'); call('renameat2', -100, b'other', -100, b'.git', 2)",
    "build('other'); call('renameat2', -100, b'other/hooks', -100, b'.git/hooks', 2)",
    "put('other'); os.replace('other', '.env')",
    "put('other'); os.link('other', HOOK)",
    "os.symlink('/etc/passwd', HOOK)",
    "os.mkfifo(HOOK)",
    "os.link('.env', 'linked'); put('linked')",
    "os.symlink('.git/hooks', 'way'); put('way/pre-commit')",
    "os.symlink('.env', 'way2'); put('way2')",
    "put('/proc/self/root/workspace/' + HOOK)",
    "put('/proc/self/cwd/' + HOOK)",
    "put('/proc/thread-self/root' + TOP + '/.env')",
    "put('/workspace/../workspace/.env')",
    "fd = os.open('.env', os.O_RDONLY); put(f'/proc/self/fd/{fd}')",
    "fd = os.open('.git/hooks', os.O_PATH); os.open('x', os.O_CREAT | os.O_WRONLY, dir_fd=fd)",
    "fd = os.open('.git/hooks', os.O_TMPFILE | os.O_RDWR); os.link(f'/proc/self/fd/{fd}', HOOK)",
    "os.chdir('.git/hooks'); put('pre-commit')",
    "fd = os.open('.env', os.O_RDONLY); mmap.mmap(fd, 4096, prot=mmap.PROT_WRITE)[0] = 1",
    "call('mount', b'/tmp', b'.git/hooks', None, 4096, None)",
    "call('umount2', b'.git/hooks', 2)",
    "call('umount2', TOP.encode(), 2); put(HOOK)",
    "call('mount', None, b'.git/hooks', None, 4128, None); put(HOOK)",
    "run('unshare', '-Ur', 'sh', '-c', 'umount .git/hooks; echo x > ' + HOOK)",
    "[put(f'/proc/{pid}/cwd/' + HOOK) for pid in os.listdir('/proc') if pid.isdigit()]",
    "put('/proc/1/cwd/.env')",
    "put('/proc/1/root/workspace/.env')",
    "os.open('/proc/1/cwd', os.O_PATH); put('/proc/1/cwd/' + HOOK)",
    "call('pivot_root', b'.', b'.'); put(HOOK)",
    "call('chroot', b'.'); put('/.env')",
    "run('cp', '/bin/true', HOOK)",
    "run('git', 'init', '--template=/usr/share/git-core/templates')",
    "build('other'); run('mv', '-fT', 'other', '.git')",
    "run('tar', 'xf', '-', input=b'')",
]
GIT = """
set -e
export HOME=/tmp
git init -q .
git config user.email a@example.com
git config user.name A
echo one > file && git add file && git commit -qm one
git checkout -q -b other && echo two >> file && git commit -qam two
git rebase -q HEAD~1 && git gc -q && git stash list && git tag v1
git clone -q . /tmp/copy
git clone -q . inside
git -C inside log --oneline | wc -l
test ! -e .git/hooks/pre-commit
git fsck 2> /dev/null && echo whole
"""


def run(program, *options, policy=POLICY):
    with tempfile.TemporaryDirectory() as folder:
        files = pathlib.Path(folder)
        (files / "p.toml").write_text(policy)
        (files / "closed.json").write_text(json.dumps(WAYS))
        done = subprocess.run(
            [GLOVEBOX, "run", "--json", "--policy", str(files / "p.toml"), "--file",
             str(files / "closed.json"), *options, *program],
            capture_output=True, text=True, timeout=120, check=False)
    verdict = json.loads(done.stdout)
    assert verdict.get("status") == "ok", (verdict, done.stderr)
    return verdict


class ClosedTest(unittest.TestCase):
    maxDiff = None

    def test_no_way_changes_what_is_closed_and_not_there_yet(self):
        verdict = run([str(HERE / "closer.py")], "--tier", "native")
        before, changed = json.loads(verdict["stdout"])
        self.assertEqual(before, [[], [], "", False])
        self.assertEqual(changed, [])
        self.assertEqual(verdict["walls"]["write"], "rules")

    def test_nor_what_was_copied_in(self):
        with tempfile.TemporaryDirectory() as folder:
            hooks = pathlib.Path(folder) / ".git/hooks"
            hooks.mkdir(parents=True)
            (hooks / "pre-push").write_text("given")
            verdict = run([str(HERE / "closer.py")], "--tier", "native", "--file", folder + "/.git:.git")
        before, changed = json.loads(verdict["stdout"])
        self.assertEqual(before[0], ["pre-push"])
        self.assertEqual(changed, [])

    def test_without_the_policy_the_ways_change_it(self):
        code = "import os; os.makedirs('.git/hooks'); os.makedirs('deep/a/b'); open('.env', 'w').close()\n"
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "open.py"
            program.write_text(code + (HERE / "closer.py").read_text())
            _, changed = json.loads(run([str(program)], policy="[files.write]\nnote = ['x']\n")["stdout"])
        self.assertGreater(len(changed), 8)

    def test_git_works_beside_closed_hooks(self):
        verdict = run(["-l", "bash", "-e", GIT], "--tier", "native")
        self.assertEqual(verdict["stdout"].split(), ["2", "whole"], verdict)

    def test_a_tier_without_mounts_says_that_it_does_not_hold(self):
        verdict = run(["-l", "python", "-e", "open('.env', 'w')"], "--min-tier", "landlock", "--tier", "landlock",
                      policy='[files.write]\nrefuse = ["deep/*"]\n')
        self.assertNotIn("write", verdict["walls"])
        self.assertTrue(any("has no mounts" in note for note in verdict["notes"]), verdict["notes"])


if __name__ == "__main__":
    unittest.main()
