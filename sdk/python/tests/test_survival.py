# SPDX-License-Identifier: Apache-2.0
"""What an execution's client notices of a daemon that is killed and started again: nothing."""

import pathlib
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[2] / "tests/service")]

from daemon import Daemon  # noqa: E402
from glovebox import Client, Retry, Sandbox  # noqa: E402

CODE = """
import os, time
print("before", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
print("after")
"ended"
"""


class Killed(unittest.TestCase):
    def test_an_execution_outlives_the_daemon_and_each_event_comes_once(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.discard)
        patient = Retry(attempts=1000, first=0.05, longest=0.2)
        with Client(f"unix:{daemon.unix}", retry=patient) as client:
            sandbox = Sandbox.create(client=client, timeout="10m")
            context = sandbox.contexts.create()
            out, started, found = [], threading.Event(), []

            def heard(text):
                out.append(text)
                started.set()

            work = threading.Thread(
                target=lambda: found.append(context.execute(CODE, on_stdout=heard, time="5m")))
            work.start()
            self.assertTrue(started.wait(60))
            daemon.kill()
            daemon.start()
            sandbox.files.write("go", "")
            work.join()
            self.assertEqual((found[0].text, found[0].stdout), ("'ended'", "before\nafter\n"))
            self.assertEqual("".join(out), "before\nafter\n")


if __name__ == "__main__":
    unittest.main()
