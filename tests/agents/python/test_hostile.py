# SPDX-License-Identifier: Apache-2.0
import unittest

from harness import Agent


class Hostile(unittest.TestCase):
    """What a guest may do to its own process without breaking the frames."""

    def setUp(self):
        self.agent = Agent()
        self.addCleanup(self.agent.close)

    def survives(self, code: str, expression: str = "40 + 2", value: str = "42") -> None:
        self.agent.run(code)
        outcome = self.agent.run(expression)
        self.assertEqual(outcome.status, "ok", outcome.frames)
        self.assertEqual(outcome.plain, value)

    def answers(self, code: str) -> None:
        """Less than survival: what IPython itself needs is gone, but each request is answered."""
        self.agent.run(code)
        for _ in range(3):
            self.assertIn(self.agent.run("40 + 2").status, ("ok", "error"))

    def test_deleting_print(self):
        self.survives("import builtins\ndel builtins.print")

    def test_breaking_open(self):
        self.survives("import builtins\nbuiltins.open = None")

    def test_deleting_all_builtins(self):
        self.answers("import builtins\nfor n in list(vars(builtins)):\n    delattr(builtins, n)")

    def test_clearing_the_modules(self):
        self.answers("import sys\nsys.modules.clear()")

    def test_replacing_the_streams(self):
        self.survives("import sys\nsys.stdout = sys.stderr = None")

    def test_closing_the_streams(self):
        self.survives("import sys\nsys.stdout.close()", "print('still')\n42")

    def test_closing_the_standard_descriptors(self):
        self.survives("import os\nfor fd in range(3): os.close(fd)")

    def test_closing_low_descriptors(self):
        self.survives("import os\nos.closerange(3, 100)")

    def test_closing_the_channel_ends_the_agent_with_a_status(self):
        self.agent.send("execute", code="import os\nos.closerange(3, 1000)")
        self.assertEqual(self.agent.wait(), 70)

    def test_putting_a_file_over_the_channel_ends_the_agent_with_a_status(self):
        code = (
            "import os\nfor fd in range(200, 260):\n    try: os.fstat(fd)\n"
            "    except OSError: continue\n    os.dup2(0, fd)"
        )
        self.agent.send("execute", code=code)
        self.assertEqual(self.agent.wait(), 70)

    def test_a_tiny_recursion_limit(self):
        code = (
            "import sys\nfor n in range(5, 1000):\n"
            "    try: sys.setrecursionlimit(n)\n    except RecursionError: continue\n    break"
        )
        self.survives(code)

    def test_endless_recursion(self):
        outcome = self.agent.run("def f(): f()\nf()")
        self.assertEqual(outcome.error["name"], "RecursionError")
        self.survives("")

    def test_a_trace_function_that_raises(self):
        self.survives("import sys\ndef t(*a): raise ValueError\nsys.settrace(t)", "42")

    def test_a_trace_function_lives_on_in_the_next_cell(self):
        self.agent.run(
            "import sys\nseen = []\ndef f(): pass\n"
            "def t(frame, *a): seen.append(frame.f_code.co_name)\nsys.settrace(t)"
        )
        self.agent.run("f()")
        self.assertEqual(self.agent.run("sys.settrace(None)\n'f' in seen").plain, "True")

    def test_an_exception_that_can_not_be_shown(self):
        code = (
            "class E(Exception):\n    def __str__(self): raise SystemExit\n"
            "    __repr__ = __str__\nraise E"
        )
        self.assertEqual(self.agent.run(code).status, "error")
        self.survives("")

    def test_an_exception_with_a_gigantic_message_is_cut(self):
        outcome = self.agent.run("raise ValueError('x' * (80 << 20))")
        self.assertLess(len(outcome.error["value"]), 2 << 20)

    def test_ignoring_interrupts(self):
        self.survives("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")

    def test_breaking_the_garbage_collector_and_time(self):
        self.survives("import gc, time\ngc.disable()\ntime.monotonic = time.sleep = None\nprint(1)")

    def test_breaking_os_and_json(self):
        code = "import os, json, struct, socket\nos.write = json.dumps = struct.pack = None"
        self.survives(code, "print('p')\n42")

    def test_a_display_that_is_no_json(self):
        outcome = self.agent.run(
            "a = []; a.append(a)\nfrom IPython.display import publish_display_data\n"
            "publish_display_data({'application/json': {'a': a}})"
        )
        self.assertEqual(outcome.status, "error")
        self.survives("")

    def test_the_frames_of_a_thread_that_never_ends(self):
        self.survives(
            "import threading\ndef w():\n    while True: pass\n"
            "threading.Thread(target=w, daemon=True).start()"
        )


if __name__ == "__main__":
    unittest.main()
