# SPDX-License-Identifier: Apache-2.0
"""Random kills under load: nothing that was confirmed is lost, nothing is left, nothing happens
twice. GLOVEBOX_CHAOS_KILLS says how many,
GLOVEBOX_CHAOS_TIER in which tier; GLOVEBOX_TEST_SEED repeats a run."""

import concurrent.futures
import os
import sqlite3
import sys
import threading
import time
import unittest

from harness import SEED, chance_of
from daemon import Daemon, wait_until
from footprint import Footprint
from killer import Killer
from load import Worker
from oracle import Oracle

KILLS = int(os.environ.get("GLOVEBOX_CHAOS_KILLS", "25"))
# How much slower than native the tier may be.
PATIENCE = int(os.environ.get("GLOVEBOX_CHAOS_PATIENCE", "1"))
WORKERS = 4
ANSWERS_BETWEEN = 20


class Kills(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.footprint = Footprint(self.daemon)
        self.daemon.start()
        self.oracle = Oracle(self.daemon)

    def test_random_kills_lose_nothing_leave_nothing_and_repeat_nothing(self):
        begun = time.monotonic()
        over, restarting = threading.Event(), threading.RLock()
        killer = Killer(self.daemon, self.oracle, self.footprint, restarting, chance_of("killer"))
        chance = chance_of("moments")
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as threads:
            workers = [Worker(self.oracle, n, over, restarting) for n in range(WORKERS)]
            running = [threads.submit(worker.work) for worker in workers]
            try:
                for _ in range(KILLS):
                    # What never gets to work cannot lose anything.
                    done = self.oracle.done + ANSWERS_BETWEEN
                    wait_until(lambda at=done: self.oracle.done >= at or any(
                        worker.done() for worker in running), "answers after a kill", 60 * PATIENCE)
                    # The moment is the test's input; nothing waits for a result here.
                    time.sleep(chance.uniform(0.0, 0.4))
                    killer.kill_something()
                    if any(worker.done() for worker in running):
                        break
            finally:
                over.set()
            for worker in running:
                worker.result()
        self.footprint.gather()
        wait_until(self.is_settled, "that the daemon knows what has died")
        wrong = self.oracle.check()
        oracle = self.oracle
        print(
            f"{sum(killer.killed.values())} kills {killer.killed} in "
            f"{time.monotonic() - begun:.0f} s; {oracle.done} answers, {oracle.lost} lost, "
            f"{len(oracle.sandboxes)} sandboxes, "
            f"{sum(len(one.confirmed) for one in oracle.sandboxes)} executions confirmed, "
            f"{len(oracle.snapshots)} snapshots",
            file=sys.stderr,
        )
        if wrong:
            self.fail(f"seed {SEED}:\n" + "\n".join(wrong))
        self.end()

    def is_settled(self):
        listed = {one["id"] for one in self.oracle.list_all()}
        return not any(
            one.doomed == "gone" and one.sandbox.id in listed for one in self.oracle.sandboxes
        )

    def end(self):
        """All sandboxes are ended by their own clients, then the daemon: nothing may stay."""
        for one in list(self.oracle.list_all()):
            self.daemon.must(204, "DELETE", "/v1/sandboxes/" + one["id"])
        self.assertEqual(list(self.oracle.list_all()), [])
        self.footprint.gather()
        self.assertEqual(self.daemon.stop(), 0)
        try:
            wait_until(lambda: not list(self.footprint.left()), "the end of everything", 10 * PATIENCE)
        except AssertionError:
            self.fail("left behind:\n" + "\n".join(self.footprint.left()))
        database = sqlite3.connect(self.daemon.data / "glovebox.db")
        self.addCleanup(database.close)
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        alive = database.execute("SELECT id FROM sandboxes WHERE state != 'ended'").fetchall()
        self.assertEqual(alive, [], "records of sandboxes that are no more")


if __name__ == "__main__":
    unittest.main()
