# SPDX-License-Identifier: Apache-2.0
"""Sandboxes whose memory is written: paused to disk, forked with it, and warm ones that wait."""

import os
import signal
import time
import unittest

from daemon import Context, Daemon, Sandbox, wait_until
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

    def fork(self, sandbox, count=1):
        forks = sandbox.must(201, "POST", "/fork", {"count": count, "memory": True})["sandboxes"]
        for each in forks:
            self.addCleanup(self.daemon.ask, "DELETE", f"/v1/sandboxes/{each['id']}")
        return [Sandbox(self.daemon, each["id"]) for each in forks]

    def test_forks_have_the_variables_and_the_original_goes_on(self):
        sandbox = self.create()
        context = sandbox.context()
        context.execute(
            "import numpy, os, random, ssl, uuid\n"
            "x = [1, 2]; open('f', 'w').write('kept')\n"
            "def draw():\n"
            "    return (random.random(), numpy.random.random(), uuid.uuid4().hex,\n"
            "            os.urandom(8).hex(), ssl.RAND_bytes(8).hex())\n"
            "draw()"
        )
        forks = [Context(each, context.id) for each in self.fork(sandbox, 2)]
        for number, fork in enumerate(forks):
            self.assertEqual(fork.value(f"x.append({number}) or x, open('f').read()"),
                             f"[1, 2, {number}] kept")
        self.assertEqual(context.value("x, open('f').read()"), "[1, 2] kept")
        drawn = [each.value("*draw()").split() for each in (context, *forks)]
        for source, values in zip(("random", "numpy", "uuid", "os", "ssl"), zip(*drawn)):
            self.assertEqual(len(set(values)), 3, source)
        self.assertEqual(sandbox.context().value("1 + 1"), "2")
        # Nothing of the copy stays on the disk.
        left = list((self.daemon.data / "workspaces").glob("*.saved*"))
        self.assertEqual(left, [])

    def test_a_fork_with_memory_is_refused_while_code_runs_and_where_the_tier_cannot(self):
        sandbox = self.create()
        context = sandbox.context()
        running = context.start("print('up', flush=True); input()", allow_input=True)
        running.until("input_request")
        told = sandbox.must(409, "POST", "/fork", {"memory": True})
        self.assertIn("code is running", told["message"])
        context.must(204, "POST", "/interrupt")
        running.until("verdict")
        sandbox.must(204, "POST", "/pause")
        self.assertIn("paused", sandbox.must(409, "POST", "/fork", {"memory": True})["message"])
        sandbox.must(200, "POST", "/resume")
        self.assertEqual(context.value("1 + 1"), "2")
        native = self.daemon.create(tier="native")
        self.addCleanup(self.daemon.ask, "DELETE", native.path)
        native.must(501, "POST", "/fork", {"memory": True})

    def test_after_the_first_one_sandboxes_wait_with_a_warm_context_of_their_own(self):
        self.create()
        ready = 'glovebox_pool_ready{template="default (gvisor)"} '

        def waiting():
            text = self.daemon.must(200, "GET", "/metrics").body.decode()
            return any(line.startswith(ready) and not line.endswith(" 0")
                       for line in text.splitlines())

        wait_until(waiting, "a sandbox that waits", patience_s=120)
        sandbox = self.create()
        first = Context(sandbox, "default")
        self.assertEqual(first.value("'IPython' in __import__('sys').modules"), "True")
        names = "[each for each in dir() if not each.startswith('_')]"
        self.assertEqual(first.value(names), sandbox.context().value(names))
        wait_until(waiting, "another one", patience_s=120)
        second = Context(self.create(), "default")
        self.assertNotEqual(*[each.value("__import__('random').random()")
                              for each in (first, second)])

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


class SavedMachines(unittest.TestCase):
    """The same of the tier microvm, whose processors are emulated: little is done here."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.start()
        cls.probe = cls.daemon.ask("POST", "/v1/sandboxes", {"tier": "microvm"})
        if cls.probe.status == 501:
            raise unittest.SkipTest(cls.probe.json["message"])

    def test_a_machine_is_forked_and_paused_to_disk_with_its_variables(self):
        sandbox = Sandbox(self.daemon, self.probe.json["id"])
        context = sandbox.context("bash")
        context.execute("x=5; echo kept > f")
        (made,) = sandbox.must(201, "POST", "/fork", {"memory": True})["sandboxes"]
        fork = Context(Sandbox(self.daemon, made["id"]), context.id)
        draw = "x=$((x + 1)); echo $x $(cat f) $(od -An -N8 -tx8 /dev/urandom)"
        told = [each.execute(draw)["stdout"].split() for each in (context, fork)]
        self.assertEqual([each[:2] for each in told], [["6", "kept"]] * 2)
        self.assertNotEqual(told[0][2], told[1][2])
        fork.sandbox.must(204, "POST", "/pause", TO_DISK)
        paused = time.time()
        wait_until(lambda: time.time() > paused + 3, "a time that a machine at rest does not see")
        fork.sandbox.must(200, "POST", "/resume")
        before = time.time()
        *again, clock = fork.execute(draw + "; date +%s.%N")["stdout"].split()
        self.assertEqual(again[:2], ["7", "kept"])
        self.assertNotIn(again[2], [each[2] for each in told])
        self.assertTrue(before - 1 <= float(clock) <= time.time() + 1, (before, clock))


if __name__ == "__main__":
    unittest.main()
