# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that are paused to disk: their memory outlives the keeper and the daemon."""

import os
import signal
import unittest

from daemon import Daemon, wait_until
from traces import Traces

TO_DISK = {"to_disk": True}


class Saved(unittest.TestCase):
    """One daemon for the class, which leaves nothing on the host at its end."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.traces = Traces(cls.daemon)
        cls.daemon.start()
        probe = cls.daemon.ask("POST", "/v1/sandboxes", {"tier": "gvisor"})
        if probe.status == 501:
            raise unittest.SkipTest(probe.json["message"])
        path = f"/v1/sandboxes/{probe.json['id']}"
        if cls.daemon.ask("POST", f"{path}/pause", TO_DISK).status == 501:
            raise unittest.SkipTest("only root can save the memory of a sandbox")
        cls.daemon.must(204, "DELETE", path)

    @classmethod
    def tearDownClass(cls):
        cls.traces.gather()
        assert cls.daemon.stop() == 0
        wait_until(lambda: not list(cls.traces.left()), "the end of all processes")

    def setUp(self):
        self.addCleanup(self.traces.gather)

    def create(self):
        sandbox = self.daemon.create(tier="gvisor")
        self.addCleanup(self.daemon.ask, "DELETE", sandbox.path)
        return sandbox

    def directory(self, sandbox):
        return self.daemon.data / "workspaces" / f"{sandbox.id}.saved"

    def test_variables_files_and_background_processes_continue(self):
        sandbox = self.create()
        context = sandbox.context()
        context.execute(
            "import subprocess; x = [1, 2]; open('f', 'w').write('kept')\n"
            "child = subprocess.Popen(['sleep', '1000'])"
        )
        sandbox.must(204, "POST", "/pause", TO_DISK)
        info = sandbox.info()
        self.assertEqual((info["state"], info["saved"]), ("paused", True))
        sandbox.must(409, "POST", "/pause", TO_DISK)
        resumed = sandbox.must(200, "POST", "/resume")
        self.assertEqual(
            (resumed["state"], resumed["saved"], resumed["restarted"]), ("running", False, False)
        )
        self.assertEqual(context.value("x, open('f').read(), child.poll()"), "[1, 2] kept None")
        self.assertFalse(self.directory(sandbox).exists())
        sandbox.must(204, "POST", "/pause", TO_DISK)
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(context.value("x.append(3) or x"), "[1, 2, 3]")
        self.assertEqual(sandbox.context().value("1 + 1"), "2")

    def test_they_continue_after_every_process_of_ours_was_killed(self):
        sandbox = self.create()
        context = sandbox.context()
        context.execute("x = bytearray(b'7') * (20 << 20)")
        sandbox.must(204, "POST", "/pause", TO_DISK)
        self.traces.gather()
        keeper = self.daemon.keeper()
        self.daemon.kill()
        os.kill(keeper, signal.SIGKILL)
        self.daemon.start()
        info = sandbox.info()
        self.assertEqual(
            (info["state"], info["saved"], info["restarted"]), ("paused", True, False)
        )
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(context.value("len(x), x[-1:]"), "20971520 bytearray(b'7')")

    def test_only_a_sandbox_in_which_nothing_of_a_client_runs_is_paused_to_disk(self):
        sandbox = self.create()
        context = sandbox.context()
        running = context.start("print('up', flush=True); input()", allow_input=True)
        running.until("input_request")
        told = sandbox.must(409, "POST", "/pause", TO_DISK)
        self.assertIn("code is running", told["message"])
        context.must(204, "POST", "/interrupt")
        running.until("verdict")
        self.assertEqual(context.value("1 + 1"), "2")
        native = self.daemon.create(tier="native")
        self.addCleanup(self.daemon.ask, "DELETE", native.path)
        native.must(501, "POST", "/pause", TO_DISK)
        self.assertEqual(native.context().value("2"), "2")

    def test_a_damaged_one_is_refused_with_a_clear_error_and_goes_on_once_it_is_mended(self):
        sandbox = self.create()
        context = sandbox.context()
        context.execute("x = 5")
        sandbox.must(204, "POST", "/pause", TO_DISK)
        image = max(self.directory(sandbox).iterdir(), key=lambda file: file.stat().st_size)
        whole = image.read_bytes()
        image.write_bytes(whole[:-1])
        told = sandbox.must(400, "POST", "/resume")
        self.assertIn("damaged", told["message"])
        self.assertEqual(sandbox.info()["state"], "paused")
        image.write_bytes(whole)
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(context.value("x"), "5")

    def test_nothing_is_left_of_one_that_is_deleted(self):
        sandbox = self.create()
        sandbox.context().execute("x = 5")
        sandbox.must(204, "POST", "/pause", TO_DISK)
        self.assertTrue(self.directory(sandbox).exists())
        sandbox.kill()
        self.assertTrue(sandbox.is_gone())
        self.assertFalse(self.directory(sandbox).exists())


if __name__ == "__main__":
    unittest.main()
