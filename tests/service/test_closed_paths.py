# SPDX-License-Identifier: Apache-2.0
"""What a policy closes in a workspace stays closed in a daemon's sandboxes, and in what comes of them."""
import unittest

from daemon import Daemon, Sandbox

# In a file, where no analysis sees what it does.
ATTEMPT = b"""import os
for attempt in (lambda: open('.git/hooks/new', 'w'), lambda: os.rename('.git', 'moved'),
                lambda: os.rmdir('.git/hooks')):
    try:
        attempt()
        print('done')
    except OSError as error:
        print(error.strerror)
open('a', 'w').write('open')
"""
CLOSED = "Read-only file system\nDevice or resource busy\nDevice or resource busy\n"
POLICY = ["coding-agent"]


class ClosedPaths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.discard)

    def create(self, **wishes):
        sandbox = self.daemon.create(policy=POLICY, **wishes)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def assert_closed(self, sandbox):
        run = {"argv": ["python3", "attempt.py"]}
        self.assertEqual(sandbox.must(200, "POST", "/commands", run)["stdout"], CLOSED)
        self.assertEqual(sandbox.read("a"), b"open")

    def test_they_are_closed_for_commands_interpreters_and_uploads(self):
        sandbox = self.create()
        sandbox.write("attempt.py", ATTEMPT)
        self.assert_closed(sandbox)
        context = sandbox.context()
        self.assertEqual(context.execute("import attempt")["stdout"], CLOSED)
        sandbox.must(403, "PUT", "/files/.git/hooks/new", b"x")

    def test_they_are_closed_in_forks_and_in_what_is_made_of_snapshots(self):
        sandbox = self.create()
        sandbox.write("attempt.py", ATTEMPT)
        (made,) = sandbox.must(201, "POST", "/fork", {})["sandboxes"]
        self.assert_closed(Sandbox(self.daemon, made["id"]))
        sandbox.must(201, "POST", "/snapshot", {"name": "with-closed"})
        self.assert_closed(self.create(template="with-closed"))

    def test_they_are_closed_after_a_rollback_which_brings_back_what_was_there(self):
        sandbox = self.create()
        sandbox.write("attempt.py", ATTEMPT)
        context = sandbox.context()
        point = context.must(201, "POST", "/checkpoint")["checkpoint"]
        context.execute("open('later', 'w').write('x'); import os; os.remove('attempt.py')")
        context.must(200, "POST", "/rollback", {"checkpoint": point})
        self.assert_closed(sandbox)
        sandbox.must(404, "GET", "/files/later")


# Of what the policy hides in the workspace, which has come in before.
LOOKS = b"""import os
for attempt in (lambda: print(open('.netrc').read()), lambda: os.listdir('.ssh'), lambda: os.rename('.netrc', 'b'),
                lambda: os.chmod('.netrc', 0o600), lambda: open('.netrc', 'w'),
                lambda: print(open('/proc/self/root/workspace/.ssh/key').read())):
    try:
        print('done', attempt())
    except OSError as error:
        print(error.strerror)
"""
HIDDEN = ("Permission denied\nPermission denied\nDevice or resource busy\nRead-only file system\n"
          "Read-only file system\nPermission denied\n")
TOKEN = "token-that-nobody-reads"


class HiddenPaths(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.discard)

    def create(self, **wishes):
        sandbox = self.daemon.create(**wishes)
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def command(self, sandbox, *argv):
        return sandbox.must(200, "POST", "/commands", {"argv": [*argv]})

    def assert_hidden(self, sandbox):
        for _ in range(2):
            self.assertEqual(self.command(sandbox, "python3", "looks.py")["stdout"], HIDDEN)
        sandbox.must(403, "GET", "/files/.netrc")
        self.assertEqual(sandbox.context().execute("import looks")["stdout"], HIDDEN)

    def with_secrets(self):
        """The name of a snapshot with what a policy hides, made where none did."""
        sandbox = self.create()
        sandbox.write(".netrc", TOKEN.encode())
        sandbox.write(".ssh/key", TOKEN.encode())
        sandbox.write("looks.py", LOOKS)
        sandbox.must(201, "POST", "/snapshot", {"name": "with-secrets"})
        return "with-secrets"

    def test_it_is_hidden_in_what_is_made_of_snapshots_and_in_forks_of_that(self):
        sandbox = self.create(template=self.with_secrets(), policy=POLICY)
        self.assert_hidden(sandbox)
        (fork,) = sandbox.must(201, "POST", "/fork", {})["sandboxes"]
        self.assert_hidden(Sandbox(self.daemon, fork["id"]))
        sandbox.must(201, "POST", "/snapshot", {"name": "again"})
        self.assert_hidden(self.create(template="again", policy=POLICY))

    def test_it_is_hidden_after_a_rollback_and_a_pause(self):
        sandbox = self.create(template=self.with_secrets(), policy=POLICY)
        context = sandbox.context()
        point = context.must(201, "POST", "/checkpoint")["checkpoint"]
        context.execute("open('later', 'w').write('x'); import os; os.remove('looks.py')")
        context.must(200, "POST", "/rollback", {"checkpoint": point})
        sandbox.must(404, "GET", "/files/later")
        self.assert_hidden(sandbox)
        sandbox.must(204, "POST", "/pause")
        sandbox.must(200, "POST", "/resume")
        self.assert_hidden(sandbox)

    def test_git_works_in_a_workspace_with_hidden_places(self):
        sandbox = self.create(policy=POLICY)
        done = self.command(sandbox, "sh", "-c", "git init -q . && echo x > f && git add -A && git status --short")
        self.assertEqual((done["exit_code"], done["stdout"], done["stderr"]), (0, "A  f\n", ""))


# Of a file in a volume: whatever shows it, but not where it may not be.
IN_VOLUME = b"""import os
for attempt in (lambda: open('data/closed/new', 'w'), lambda: os.rename('data/closed', 'data/moved'),
                lambda: print(open('data/key').read()), lambda: os.listdir('data/vault'),
                lambda: os.chmod('data/key', 0o600), lambda: os.link('data/key', 'data/linked'),
                lambda: print(open('/proc/self/root/workspace/data/vault/inner').read()),
                lambda: print(open('data/closed/given').read()), lambda: open('data/open', 'w').write('x')):
    try:
        attempt()
    except OSError as error:
        print(error.strerror)
"""


class InVolumes(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        policy = self.daemon.data.parent / "policy.toml"
        policy.write_text('[files.write]\nrefuse = ["data/closed/*"]\n'
                          '[files.read]\nrefuse = ["data/key", "data/vault/*"]\n')
        policy.chmod(0o644)
        self.daemon.options = ["--policy", str(policy)]
        self.daemon.start()

    def test_what_is_closed_or_hidden_in_a_volume_is_so_whatever_was_there_before(self):
        self.daemon.must(201, "POST", "/v1/volumes", {"name": "kept"})
        before = self.daemon.create(volumes=[{"name": "kept", "path": "/volumes/data"}])
        give = "mkdir -p closed vault; echo given > closed/given; echo no > key; echo no > vault/inner"
        made = before.must(200, "POST", "/commands", {"argv": ["sh", "-c", "cd /volumes/data; " + give]})
        self.assertEqual((made["exit_code"], made["stderr"]), (0, ""))
        self.daemon.must(204, "DELETE", before.path)
        sandbox = self.daemon.create(volumes=[{"name": "kept", "path": "/workspace/data"}])
        sandbox.write("attempt.py", IN_VOLUME)
        done = sandbox.must(200, "POST", "/commands", {"argv": ["python3", "attempt.py"]})
        self.assertEqual(done["stdout"].splitlines(),
                         ["Read-only file system", "Device or resource busy", "Permission denied", "Permission denied",
                          "Read-only file system", "Invalid cross-device link", "Permission denied", "given", ""],
                         done)
        self.assertEqual(sandbox.read("data/open"), b"x")
        sandbox.must(403, "GET", "/files/data/key")

    def test_nobody_else_writes_to_a_volume_in_which_places_are_closed(self):
        """Who replaces a place takes away what other sandboxes have mounted there (unlink, rename)."""
        beside = {"volumes": [{"name": "kept", "path": "/volumes/data"}]}
        closed = {"volumes": [{"name": "kept", "path": "/workspace/data"}]}
        self.daemon.must(201, "POST", "/v1/volumes", {"name": "kept"})
        self.daemon.must(200, "PUT", "/v1/volumes/kept/files/key", b"no")
        other = self.daemon.create(**beside)
        refused = self.daemon.must(409, "POST", "/v1/sandboxes", closed)
        self.assertIn("another sandbox can write", refused["message"])
        self.daemon.must(204, "DELETE", other.path)
        sandbox = self.daemon.create(**closed)
        refused = self.daemon.must(409, "POST", "/v1/sandboxes", beside)
        self.assertIn("policy of another sandbox", refused["message"])
        self.daemon.must(409, "PUT", "/v1/volumes/kept/files/new", b"x")
        beside["volumes"][0]["read_only"] = True
        reader = self.daemon.create(**beside)
        for program in ("cat /volumes/data/key", "mv /volumes/data/key /volumes/data/other"):
            self.assertEqual(reader.must(200, "POST", "/commands", {"shell": program})["exit_code"],
                             0 if program.startswith("cat") else 1)
        program = "cat data/key; echo x > data/closed/y; test -e data/closed/y || echo kept"
        sandbox.write("attempt.sh", program.encode())
        done = sandbox.must(200, "POST", "/commands", {"argv": ["sh", "attempt.sh"]})
        self.assertIn("data/key: Permission denied", done["stderr"])
        self.assertEqual(done["stdout"], "kept\n")


if __name__ == "__main__":
    unittest.main()
