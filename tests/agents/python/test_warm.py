# SPDX-License-Identifier: Apache-2.0
import os
import signal
import tempfile
import unittest

from harness import AGENT, PYTHON, Agent

MODULES = ["numpy", "pandas", "matplotlib", "no_such_module"]
START = f"""
import sys
sys.path.insert(0, {str(AGENT.parent)!r})
import agent
agent.prepare({MODULES!r})
"""


def warm_agent(before_serving: str = "") -> Agent:
    code = f"{START}\n{before_serving}\nagent.serve(3)"
    return Agent(command=[PYTHON, "-c", code], env={"MPLCONFIGDIR": "/tmp/glovebox-mpl-test"})


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
