# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that leave one daemon as an archive and go on in another, which is as another machine:
it has a data directory, a keeper and a database of its own."""

import json
import os
import shutil
import signal
import unittest

from daemon import Context, Daemon, Sandbox

TO_DISK = {"to_disk": True}
HUNDRED_MB = 100_000_000


def head_of(archive):
    return json.loads(archive.split(b"\n", 1)[0])


class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.here, cls.there = Daemon(), Daemon()
        for daemon in (cls.here, cls.there):
            cls.addClassCleanup(daemon.discard)
            daemon.start()

    def create(self, tier):
        answer = self.here.ask("POST", "/v1/sandboxes", {"tier": tier, "metadata": {"of": "here"}})
        if answer.status == 501:
            self.skipTest(answer.json["message"])
        self.assertEqual(answer.status, 201, answer)
        sandbox = Sandbox(self.here, answer.json["id"])
        self.addCleanup(self.here.ask, "DELETE", sandbox.path)
        return sandbox

    def export(self, sandbox):
        answer = self.here.ask("GET", f"{sandbox.path}/export")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(len(answer.body), int(answer.headers["Content-Length"]))
        return answer.body

    def send(self, daemon, archive):
        answer = daemon.ask("POST", "/v1/sandboxes/import", archive)
        if answer.status == 201:
            self.addCleanup(daemon.ask, "DELETE", f"/v1/sandboxes/{answer.json['id']}")
        return answer

    def left(self, daemon):
        """What an import may leave in the data directory."""
        return [path for place in ("workspaces", "snapshots")
                for path in (daemon.data / place).iterdir()]

    def test_a_sandbox_without_its_memory_goes_on_with_its_files_and_says_so(self):
        sandbox = self.create("native")
        sandbox.context().execute("open('f', 'w').write('kept')")
        archive = self.export(sandbox)
        self.assertIs(head_of(archive)["memory"], False)
        answer = self.send(self.there, archive)
        self.assertEqual(answer.status, 201, answer)
        self.assertEqual(answer.json["metadata"], {"of": "here"})
        imported = Sandbox(self.there, answer.json["id"])
        self.assertEqual(imported.context().value("open('f').read()"), "kept")
        self.assertEqual(self.left(self.there), [])

    def test_what_is_damaged_or_is_no_archive_is_refused_and_leaves_nothing(self):
        archive = self.export(self.create("native"))
        head, signature, content = archive.split(b"\n", 2)
        wrong = {
            "empty": b"",
            "cut off": archive[:-1],
            "something behind it": archive + b"x",
            "another content": head + b"\n\n" + bytes([content[0] ^ 1]) + content[1:],
            "no JSON": b"x\n\n",
            "an endless line": b"x" * (1 << 20),
            "no list of files": b'{"format":1,"memory":false,"sandbox":{},"files":1}\n\n',
            "a size beyond all": head.replace(b'"size":', b'"size":9') + b"\n\n" + content,
            "an unknown tier": head.replace(b'"tier":"native"', b'"tier":"nativ"')
                               + b"\n\n" + content,
            "a variable with '='": head.replace(b'"env":[]', b'"env":[["A=B","c"]]')
                                   + b"\n\n" + content,
        }
        for name, bytes_ in wrong.items():
            with self.subTest(name):
                answer = self.send(self.there, bytes_)
                self.assertEqual(answer.status, 400, answer)
        self.assertEqual(self.left(self.there), [])

    def test_a_template_that_is_missing_is_a_clear_error(self):
        archive = self.export(self.create("native"))
        head, rest = archive.split(b"\n", 1)
        order = json.loads(head)
        order["sandbox"]["template"] = "elsewhere"
        answer = self.send(self.there, json.dumps(order).encode() + b"\n" + rest)
        self.assertEqual(answer.status, 404, answer)
        self.assertIn("elsewhere", answer.json["message"])
        self.assertIn("template export", answer.json["hint"])

    def test_a_variable_of_100_mb_goes_on_elsewhere_after_everything_here_was_killed(self):
        sandbox = self.create("gvisor")
        context = sandbox.context()
        context.execute(f"x = bytearray(b'7') * {HUNDRED_MB}; open('f', 'w').write('kept')")
        told = self.here.ask("POST", f"{sandbox.path}/pause", TO_DISK)
        if told.status == 501:
            self.skipTest("only root can save the memory of a sandbox")
        keeper = self.here.keeper()
        self.here.kill()
        os.kill(keeper, signal.SIGKILL)
        self.here.start()
        archive = self.export(sandbox)
        self.assertIs(head_of(archive)["memory"], True)

        refused = self.send(self.there, archive)
        self.assertEqual(refused.status, 403, refused)
        self.assertIn("keys/export-key", refused.json["hint"])
        self.assertEqual(self.left(self.there), [])

        shutil.copy(self.here.data / "keys/export-key", self.there.data / "keys/export-key")
        answer = self.send(self.there, archive)
        self.assertEqual(answer.status, 201, answer)
        imported = Sandbox(self.there, answer.json["id"])
        self.assertEqual(
            Context(imported, context.id).value("len(x), x[-1:], open('f').read()"),
            f"{HUNDRED_MB} bytearray(b'7') kept")
        self.assertEqual(self.left(self.there), [])
        # The original is where it was.
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(context.value("len(x)"), str(HUNDRED_MB))

        for name, changed in {
            "another variable": archive[:-1] + bytes([archive[-1] ^ 1]),
            "another tier": archive.replace(b'"tier":"gvisor"', b'"tier":"native"', 1),
            "no signature": archive.split(b"\n", 2)[0] + b"\n\n" + archive.split(b"\n", 2)[2],
        }.items():
            with self.subTest(name):
                answer = self.send(self.there, changed)
                self.assertIn(answer.status, (400, 403), answer)
        self.assertEqual(self.left(self.there), [])


if __name__ == "__main__":
    unittest.main()
