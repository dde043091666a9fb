# SPDX-License-Identifier: Apache-2.0
import contextlib
import importlib.util
import io
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from harness import AGENT, PYTHON, Agent

MODULES = ["numpy", "pandas", "matplotlib", "no_such_module"]
START = f"""
import sys
sys.path.insert(0, {str(AGENT.parent)!r})
import agent
agent.prepare({MODULES!r})
"""


def settle_module():
    """settle.py alone."""
    place = AGENT.parent / "settle.py"
    spec = importlib.util.spec_from_file_location("settle", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def warm_agent(before_serving: str = "") -> Agent:
    code = f"{START}\n{before_serving}\nagent.serve(3)"
    return Agent(command=[PYTHON, "-c", code], env={"MPLCONFIGDIR": "/tmp/glovebox-mpl-test"})


class Settling(unittest.TestCase):
    def settled_in(self, *version):
        """What settle() says in that version, and whether it filled the allocator's pools."""
        settle = settle_module()
        said = io.StringIO()
        with mock.patch.object(settle, "_fill_pools") as fill, \
                mock.patch.object(settle, "_fill_heap"), mock.patch.object(settle, "gc"), \
                mock.patch.object(settle.sys, "version_info", version), \
                contextlib.redirect_stderr(said):
            settle.settle()
        return said.getvalue(), fill.called

    def test_a_version_that_was_not_tested_is_left_alone_and_told_of(self):
        self.assertEqual(self.settled_in(3, 11, 2), ("", True))
        for version in ((3, 9, 1), (3, 99, 0), (4, 0, 0)):
            said, filled = self.settled_in(*version)
            self.assertFalse(filled, version)
            self.assertIn(f"Python {version[0]}.{version[1]} was not tested", said)

    def test_what_is_made_afterwards_lies_side_by_side(self):
        if not settle_module().knows_allocator():
            self.skipTest("this version of Python was not tested")
        code = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("settle", {str(AGENT.parent / "settle.py")!r})
settle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(settle)
holes = [bytes(n % 480) for n in range(200_000)]
del holes[::3]
settle._fill_pools()
for size in (64, 128, 256, 512):
    made = [bytes(size - 33) for _ in range(20)]
    print(sum(id(b) - id(a) == size for a, b in zip(made, made[1:])))
"""
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              check=True).stdout
        self.assertTrue(all(int(line) >= 15 for line in said.split()), said)


class Warm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = warm_agent("import random, numpy\nrandom.seed(1); numpy.random.seed(1)")
        cls.addClassCleanup(cls.agent.close)
        cls.first = cls.agent.run("print(sorted(globals()), In, Out, _, __, _i, sep='\\n')")

    def test_warm_up_writes_nothing(self):
        self.assertEqual(self.agent.ready.name, "ready")
        self.assertEqual(set(self.first.names), {"started", "stdout", "done"})
        self.assertTrue(self.first.text().startswith("['In', 'Out'"))

    def test_the_first_cell_is_number_one(self):
        self.assertEqual(self.first.one("done")["execution_count"], 1)

    def test_the_first_cell_sees_what_it_would_see_in_a_cold_agent(self):
        with Agent() as cold:
            expected = cold.run("print(sorted(globals()), In, Out, _, __, _i, sep='\\n')")
        self.assertEqual(self.first.text(), expected.text())

    def test_figures_start_at_one(self):
        outcome = self.agent.run("import matplotlib.pyplot as plt\nplt.gcf().number")
        self.assertEqual(outcome.plain, "1")

    def test_random_numbers_are_not_the_zygotes(self):
        outcome = self.agent.run(
            "import random, numpy\n"
            "random.random() == random.Random(1).random(), "
            "numpy.random.rand() == numpy.random.RandomState(1).rand()"
        )
        self.assertEqual(outcome.plain, "(False, False)")

    def test_garbage_is_collected_again_after_the_first_cell(self):
        outcome = self.agent.run("import gc\ngc.isenabled(), gc.get_threshold()")
        self.assertEqual(outcome.plain, "(True, (700, 10, 10))")

    def test_plots_and_tables_work(self):
        outcome = self.agent.run("import pandas as pd\npd.Series([1, 2]).plot()\npd.Series([3])")
        self.assertEqual(outcome.names, ["started", "result", "display", "done"])

    def test_a_guests_module_may_be_called_agent(self):
        self.assertEqual(self.agent.run("import agent").error["name"], "ModuleNotFoundError")


class Checkpoints(unittest.TestCase):
    def test_a_copy_that_wakes_serves_in_place_of_the_agent(self):
        with tempfile.TemporaryDirectory() as folder:
            gate = os.path.join(folder, "gate")
            os.mkfifo(gate)
            hook = (
                "import os\n"
                "def make(channel, reply):\n"
                "    if os.fork():\n"
                "        os.write(channel, reply)\n"
                "        return 'original'\n"
                f"    with open({gate!r}) as f: f.read()\n"
                "    return 'rollback'\n"
                "agent.checkpoint = make"
            )
            with warm_agent(hook) as agent:
                self.assertIn("checkpoint", agent.ready.json["features"])
                agent.run("state = 'before'\nprint('x', end='')")
                agent.run("import os\npid = os.getpid()")
                carried = agent.ask("checkpoint", id=7)
                self.assertEqual(carried, {"threads": [], "files": []})
                agent.run("state = 'after'")
                os.kill(agent.process.pid, signal.SIGKILL)
                agent.process.wait()
                with open(gate, "w"):
                    pass
                self.assertEqual(agent.run("print(state)\nstate").plain, "'before'")
                self.assertEqual(agent.run("os.getpid() == pid").plain, "False")


if __name__ == "__main__":
    unittest.main()
