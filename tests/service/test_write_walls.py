# SPDX-License-Identifier: Apache-2.0
"""A policy's rules for files on a daemon: what guests can write, and what clients can all the same."""

import unittest

from daemon import Daemon

POLICY = """
[files.write]
allow = ["out/**", "/tmp/*"]
otherwise = "refuse"
"""
# The name comes from outside: the policy's analysis would refuse a constant one.
TRY = """
import os
def tries(name):
    try:
        with open(name, 'w') as file:
            file.write('x')
        return 'written'
    except PermissionError:
        return 'refused'
print(*(tries(name) for name in os.environ['NAMES'].split()))
"""
NAMES = "out/a.txt src/a.txt a.txt"
FOUND = "written refused refused\n"


class WriteWallsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        policy = cls.daemon.dir / "places.toml"
        policy.write_text(POLICY)
        cls.daemon.options = ["--policy", str(policy)]
        cls.daemon.start()

    def created(self):
        sandbox = self.daemon.create(env={"NAMES": NAMES})
        self.assertEqual(sandbox.info()["walls"]["write"], "rules")
        sandbox.write("src/given.txt", b"given")
        return sandbox

    def check(self, path):
        made = self.daemon.must(201, "POST", path + "/contexts", {"language": "python"})["id"]
        answer = self.daemon.must(200, "POST", f"{path}/contexts/{made}/execute", {"code": TRY})
        self.assertEqual(answer["stdout"], FOUND, answer)
        command = {"argv": ["python3", "-c", TRY]}
        answer = self.daemon.must(200, "POST", path + "/commands", command)
        self.assertEqual(answer["stdout"], FOUND, answer)

    def test_contexts_and_commands_write_only_where_it_says(self):
        self.check(self.created().path)

    def test_a_fork_does_so_too(self):
        fork = self.created().must(201, "POST", "/fork", {})["sandboxes"][0]["id"]
        self.check(f"/v1/sandboxes/{fork}")

    def test_a_client_writes_everywhere(self):
        sandbox = self.created()
        for path in ("src/deep/b.txt", "b.txt"):
            sandbox.write(path, b"by the client")
            self.assertEqual(sandbox.read(path), b"by the client")
        sandbox.must(204, "DELETE", "/files/b.txt")
        self.check(sandbox.path)

    def test_a_run_writes_only_where_it_says(self):
        body = {"language": "python", "code": TRY, "env": {"NAMES": NAMES},
                "files": {"src/given.txt": "given"}}
        self.assertEqual(self.daemon.must(200, "POST", "/v1/run", body)["stdout"], FOUND)


if __name__ == "__main__":
    unittest.main()
