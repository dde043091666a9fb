# SPDX-License-Identifier: Apache-2.0
import time
import unittest

from harness import Agent, Outcome


class Output(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = Agent()
        cls.addClassCleanup(cls.agent.close)

    def test_one_print_is_one_frame(self):
        outcome = self.agent.run("print('hello')")
        self.assertEqual([f.payload for f in outcome.all("stdout")], [b"hello\n"])

    def test_text_without_a_newline_comes_at_the_end(self):
        self.assertEqual(self.agent.run("print('a', end='')").text(), "a")

    def test_output_comes_before_the_result_that_follows_it(self):
        outcome = self.agent.run("import sys\n_n = sys.stdout.write('partial')\n1")
        self.assertEqual(outcome.names, ["started", "stdout", "result", "done"])

    def test_both_streams_keep_their_order(self):
        code = "import sys\nfor i in range(3):\n    print(i)\n    print(i, file=sys.stderr)"
        names = self.agent.run(code).names
        self.assertEqual(names[1:-1], ["stdout", "stderr"] * 3)

    def test_a_million_prints_are_few_frames_and_all_of_the_text(self):
        started = time.monotonic()
        outcome = self.agent.run("for i in range(10**6):\n    print(i)")
        self.assertLess(time.monotonic() - started, 30)
        self.assertEqual(outcome.text(), "".join(f"{i}\n" for i in range(10**6)))
        self.assertLess(len(outcome.frames), 3000)

    def test_text_that_lies_buffered_comes_while_the_cell_runs_on(self):
        self.agent.run("import sys, threading\ngate = threading.Event()")
        self.agent.run("threading.Timer(20, gate.set).start()")
        channel = self.agent.send(
            "execute", code="_ = sys.stdout.write('loading')\ngate.wait(20); None"
        )
        frames = self.agent.until("stdout", channel)
        self.assertEqual(frames[-1].payload, b"loading")
        self.agent.interrupt()
        self.agent.until("done", channel)

    def test_a_print_without_end_comes_at_once(self):
        channel = self.agent.send(
            "execute", code="import time\nprint('.', end='')\ninput('?')"
        )
        self.assertEqual(self.agent.until("stdout", channel)[-1].payload, b".")
        self.agent.send("input", text="")
        self.agent.until("done", channel)

    def test_output_of_a_thread_carries_the_last_channel(self):
        self.agent.run("import threading\ngo = threading.Event()")
        channel = self.agent.send(
            "execute",
            code="threading.Thread(target=lambda: (go.wait(), print('late'))).start()",
        )
        self.agent.until("done", channel)
        self.agent.send("execute", code="go.set()", silent=True)
        frames = self.agent.until("stdout")
        self.assertEqual(frames[-1].payload, b"late\n")
        self.assertEqual(frames[-1].channel, channel + 1)
        if not any(f.name == "done" for f in frames):
            self.agent.until("done")

    def test_threads_that_print_at_once_lose_nothing(self):
        code = (
            "import threading\n"
            "def work(n):\n"
            # One write each: Python lets other threads write between a text and its line end.
            "    for i in range(2000): print(f'{n}:{i}\\n', end='')\n"
            "ts = [threading.Thread(target=work, args=(n,)) for n in range(8)]\n"
            "[t.start() for t in ts]; [t.join() for t in ts]; None"
        )
        words = self.agent.run(code).text().split()
        self.assertEqual(sorted(words), sorted(f"{n}:{i}" for n in range(8) for i in range(2000)))

    def test_a_finalizer_that_prints_in_the_midst_of_a_frame_breaks_nothing(self):
        code = (
            "class Loud:\n"
            "    def __init__(self): self.me = self\n"
            "    def __del__(self): print('freed')\n"
            "for i in range(3000):\n    Loud(); print(i)\n"
            "import gc; _ = gc.collect()"
        )
        text = self.agent.run(code).text()
        self.assertEqual(text.count("freed"), 3000)

    def test_lone_surrogates_are_shown_escaped(self):
        self.assertEqual(self.agent.run(r"print('a\ud800b')").text(), "a\\ud800b\n")

    def test_a_result_with_a_lone_surrogate_is_valid_json(self):
        outcome = self.agent.run("class S:\n    def __repr__(self): return '\\ud800'\nS()")
        self.assertEqual(outcome.plain, "\ufffd")

    def test_bytes_go_through_the_buffer(self):
        outcome = self.agent.run("import sys\n_ = sys.stdout.buffer.write(b'\\xff\\x00')")
        self.assertEqual(outcome.all("stdout")[0].payload, b"\xff\x00")

    def test_what_is_not_text_is_refused(self):
        self.assertEqual(self.agent.run("sys.stdout.write(3)").error["name"], "TypeError")

    def test_a_large_write_is_cut_at_characters(self):
        outcome = self.agent.run("print('\u20ac' * (2 << 20), end='')")
        self.assertEqual(outcome.text(), "\u20ac" * (2 << 20))
        for frame in outcome.all("stdout"):
            frame.payload.decode()

    def test_warnings_and_logging_go_to_stderr(self):
        code = "import warnings, logging\nwarnings.warn('w1')\nlogging.error('l1')"
        outcome = self.agent.run(code)
        self.assertIn("UserWarning: w1", outcome.text("stderr"))
        self.assertIn("ERROR:root:l1", outcome.text("stderr"))

    def test_a_forked_child_prints_to_the_descriptor_and_serves_nothing(self):
        code = (
            "import os\npid = os.fork()\n"
            "if pid == 0: print('from the child')\n"
            "else: print(os.waitpid(pid, 0)[1])"
        )
        outcome = self.agent.run(code)
        self.assertEqual(outcome.text(), "0\n")
        self.assertEqual(self.agent.run("1").plain, "1")
        self.assertIn(b"from the child\n", self.agent.process.stdout.read1(4096))

    def test_a_forked_child_that_fails_ends_with_an_error(self):
        code = (
            "import os\npid = os.fork()\n"
            "if pid == 0: 1/0\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
        )
        self.assertEqual(self.agent.run(code).text(), "1\n")

    def test_multiprocessing_works_with_fork(self):
        code = (
            "import multiprocessing as mp\n"
            "def square(x): return x * x\n"
            "with mp.get_context('fork').Pool(2) as pool:\n"
            "    got = pool.map(square, range(5))\n"
            "got"
        )
        self.assertEqual(self.agent.run(code).plain, "[0, 1, 4, 9, 16]")

    def test_subprocesses_write_to_the_pipes(self):
        self.agent.run("import subprocess\nsubprocess.run(['echo', 'piped']); None")
        self.assertIn(b"piped\n", self.agent.process.stdout.read1(4096))

    def test_the_channel_is_not_inherited(self):
        outcome = self.agent.run("!ls -l /proc/self/fd | grep -c socket")
        self.assertEqual(outcome.text().strip(), "0")


class BackPressure(unittest.TestCase):
    def test_a_flood_waits_for_its_reader_and_can_be_interrupted(self):
        with Agent() as agent:
            channel = agent.send("execute", code="while True: print('x' * 1000)")
            agent.until("stdout", channel)
            # Nobody reads now: the agent must be waiting, not growing.
            rss = _rss(agent)
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                self.assertLess(_rss(agent), rss + (32 << 20))
            agent.interrupt()
            outcome = Outcome(agent.until("done", channel))
            self.assertEqual(outcome.error["name"], "KeyboardInterrupt")
            self.assertEqual(agent.run("1").plain, "1")

    def test_hundreds_of_megabytes_of_output_leave_the_agent_small(self):
        with Agent() as agent:
            rss = _rss(agent)
            channel = agent.send("execute", code="for _ in range(200): print('y' * (1 << 20))")
            total = 0
            while (frame := agent.read()).name != "done":
                total += len(frame.payload) if frame.name == "stdout" else 0
            self.assertEqual(total, 200 * ((1 << 20) + 1))
            self.assertEqual(frame.channel, channel)
            self.assertLess(_rss(agent), rss + (64 << 20))


def _rss(agent: Agent) -> int:
    with open(f"/proc/{agent.process.pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


if __name__ == "__main__":
    unittest.main()
