# SPDX-License-Identifier: Apache-2.0
"""A data directory on a disk that is full: what cannot be kept is refused in clear words, what runs
goes on, and nothing is wrong once there is room again."""

import contextlib
import os
import sqlite3
import subprocess
import unittest

import harness  # noqa: F401, which finds the next
from daemon import Daemon, wait_until

SIZE = 6 << 20
TOLD = (503, 507)


class FullDisk(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small disk needs root")
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.daemon.data.mkdir(mode=0o700)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "glovebox-test"]
            + [str(self.daemon.data)],
            check=True,
        )
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.daemon.data)], check=True)
        self.daemon.start()

    def fill(self):
        """To the last byte."""
        with open(self.daemon.data / "filler", "ab", buffering=0) as filler:
            for size in (1 << 16, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        filler.write(b"x" * size)

    def make_room(self):
        (self.daemon.data / "filler").unlink()

    def test_a_full_disk_is_told_and_what_runs_goes_on(self):
        sandbox = self.daemon.create(timeout="10m", metadata={"name": "kept"})
        context = sandbox.context()
        context.execute("kept = 41")
        sandbox.write("file", os.urandom(100_000))
        name = sandbox.must(201, "POST", "/snapshot", {"name": "before"})["template"]
        self.fill()
        told = set()

        def refused(*request, **how):
            answer = self.daemon.ask(*request, **how)
            told.add((request[1].rsplit("/", 1)[-1], answer.status))
            if answer.status >= 400:
                self.assertIn(answer.status, TOLD, f"{request}: {answer}")
                error = answer.json
                self.assertTrue(error["hint"], "no mend is told")
            return answer

        for number in range(5):
            refused("POST", sandbox.path + "/snapshot", {"name": f"full-{number}"})
            refused("POST", sandbox.path + "/fork", {})
            refused("POST", "/v1/sandboxes", {}, headers={"Idempotency-Key": f"full-{number}"})
            body = {"language": "python", "code": "1"}
            refused("POST", "/v1/run", body, headers={"Idempotency-Key": f"run-{number}"})
        self.assertIn(("snapshot", TOLD[0]), {(what, min(s, 503)) for what, s in told}, str(told))
        # What lives, lives in the keeper and needs no disk.
        self.assertEqual(context.value("kept + 1"), "42")
        sandbox.write("another", b"in memory")
        sandbox.must(200, "PATCH", "", {"metadata": {"name": "renamed"}})
        self.daemon.must(204, "DELETE", self.daemon.create().path)
        self.make_room()

        def works():
            answer = self.daemon.ask("POST", sandbox.path + "/snapshot", {"name": "after"})
            return answer.status == 201

        wait_until(works, "a snapshot again")
        for number in range(5):
            key = {"Idempotency-Key": f"full-{number}"}
            wait_until(
                lambda: self.daemon.ask("POST", "/v1/sandboxes", {}, key).status == 201,
                "that a request is not under way for ever",
            )
        again = {self.daemon.must(201, "POST", "/v1/sandboxes", {}, key)["id"] for _ in range(2)}
        self.assertEqual(len(again), 1, "made twice under one key")
        self.assertEqual(self.daemon.create(template=name).read("file"), sandbox.read("file"))
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(sandbox.info()["metadata"], {"name": "renamed"})
        self.assertEqual(sandbox.read("another"), b"in memory")
        self.assertEqual(self.daemon.stop(), 0)
        database = sqlite3.connect(self.daemon.data / "glovebox.db")
        with contextlib.closing(database):
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            rows = database.execute("SELECT content_hash FROM templates").fetchall()
        self.assertEqual(
            sorted(row[0] for row in rows), sorted(os.listdir(self.daemon.data / "snapshots"))
        )

    def test_a_daemon_starts_and_ends_on_a_full_disk(self):
        sandbox = self.daemon.create(timeout="10m")
        sandbox.write("file", b"kept")
        self.fill()
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(sandbox.read("file"), b"kept")
        sandbox.kill()
        self.make_room()
        self.assertEqual(self.daemon.create().context().value("1"), "1")


if __name__ == "__main__":
    unittest.main()
