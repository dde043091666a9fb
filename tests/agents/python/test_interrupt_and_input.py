# SPDX-License-Identifier: Apache-2.0
import unittest

from harness import Agent, Outcome


class Shared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = Agent()
        cls.addClassCleanup(cls.agent.close)

    def interrupted(self, code: str) -> Outcome:
        """Runs code that prints 'ready', and interrupts it then."""
        channel = self.agent.send("execute", code=code)
        frames = self.agent.until("stdout", channel)
        self.agent.interrupt()
        return Outcome(frames + self.agent.until("done", channel))


class Interrupt(Shared):
    def check(self, code: str) -> None:
        outcome = self.interrupted(code)
        self.assertEqual(outcome.status, "error")
        self.assertEqual(outcome.error["name"], "KeyboardInterrupt")
        self.assertEqual(self.agent.run("40 + 2").plain, "42")

    def test_a_busy_loop_ends(self):
        self.check("print('ready')\nwhile True: pass")

    def test_a_sleep_ends(self):
        self.check("import time\nprint('ready')\ntime.sleep(100)")

    def test_an_await_ends(self):
        self.check("import asyncio\nprint('ready')\nawait asyncio.sleep(100)")
        self.assertEqual(self.agent.run("await asyncio.sleep(0, 1)").plain, "1")

    # Said by the event loop, so while the cell waits.
    READY = "asyncio.get_running_loop().call_soon(lambda: print('ready', flush=True))\n"

    def test_a_cell_that_awaits_does_not_live_on_in_the_next_one(self):
        code = (
            f"import asyncio\nlog = []\n{self.READY}"
            "try:\n    await asyncio.sleep(1)\n    log.append('went on')\n"
            "finally:\n    log.append('cleaned up')"
        )
        self.check(code)
        self.assertEqual(self.agent.run("await asyncio.sleep(1.2)\nlog").plain, "['cleaned up']")

    def test_an_interrupted_await_is_shown_where_it_waited(self):
        code = f"import asyncio\nasync def wait():\n    {self.READY}    await asyncio.sleep(9)\nawait wait()"
        trace = "\n".join(self.interrupted(code).error["traceback"])
        self.assertIn("wait", trace)
        self.assertNotIn("Cancelled", trace)
        self.assertNotIn("agents/python", trace)

    def test_what_the_guest_cancels_itself_is_no_interrupt(self):
        code = "task = asyncio.ensure_future(asyncio.sleep(9))\ntask.cancel()\nawait task"
        self.check("import asyncio\nprint('ready')\nawait asyncio.sleep(100)")
        for each in (code, "raise asyncio.CancelledError"):
            self.assertEqual(self.agent.run(each).error["name"], "CancelledError")

    def test_a_shell_command_ends_with_its_pipeline(self):
        self.check("!echo ready; sleep 100 | cat")

    def test_a_lock_ends(self):
        self.check("import threading\nl = threading.Lock()\nl.acquire()\nprint('on')\nl.acquire()")

    def test_a_flood_of_output_ends(self):
        self.check("while True: print('flood')")

    def test_the_guest_can_catch_it(self):
        code = (
            "import time\ntry:\n    print('ready')\n    time.sleep(100)\n"
            "except KeyboardInterrupt:\n    print('caught')"
        )
        outcome = self.interrupted(code)
        self.assertEqual((outcome.status, outcome.text()), ("ok", "ready\ncaught\n"))

    def test_between_cells_it_means_nothing(self):
        self.agent.run("1")
        self.agent.interrupt()
        self.assertEqual(self.agent.run("2").plain, "2")

    def test_many_interrupts_break_no_frame(self):
        for _ in range(50):
            channel = self.agent.send("execute", code="while True: print('x' * 100)")
            frames = self.agent.until("stdout", channel)
            self.agent.interrupt()
            frames += self.agent.until("done", channel)
            self.assertEqual(frames[-1].json["status"], "error")
        self.assertEqual(self.agent.run("'fine'").plain, "'fine'")


class Input(Shared):
    def asked(self, code: str) -> tuple[int, dict]:
        channel = self.agent.send("execute", code=code)
        return channel, self.agent.until("input_request", channel)[-1].json

    def answered(self, channel: int, **answer) -> Outcome:
        self.agent.send("input", **answer)
        return Outcome(self.agent.until("done", channel))

    def test_input_asks_and_gets_a_line(self):
        channel, request = self.asked("input('name? ')")
        self.assertEqual(request, {"prompt": "name? ", "password": False})
        self.assertEqual(self.answered(channel, text="Zoë").plain, "'Zoë'")

    def test_getpass_asks_for_a_password(self):
        channel, request = self.asked("from getpass import getpass\ngetpass('secret: ')")
        self.assertEqual(request, {"prompt": "secret: ", "password": True})
        self.assertEqual(self.answered(channel, text="s").plain, "'s'")

    def test_the_end_of_input_is_an_eof_error(self):
        channel, _ = self.asked("input()")
        self.assertEqual(self.answered(channel, eof=True).error["name"], "EOFError")

    def test_output_before_the_question_comes_before_it(self):
        channel = self.agent.send("execute", code="print('first', end=' ')\ninput()")
        names = [f.name for f in self.agent.until("input_request", channel)]
        self.assertEqual(names, ["started", "stdout", "input_request"])
        self.answered(channel, text="")

    def test_an_interrupt_ends_the_question(self):
        channel, _ = self.asked("input()")
        self.agent.interrupt()
        outcome = Outcome(self.agent.until("done", channel))
        self.assertEqual(outcome.error["name"], "KeyboardInterrupt")
        self.assertEqual(self.agent.run("1").plain, "1")

    def test_requests_that_come_meanwhile_wait(self):
        channel, _ = self.asked("input()")
        second = self.agent.send("execute", code="'second'")
        self.assertEqual(self.answered(channel, text="a").plain, "'a'")
        self.assertEqual(Outcome(self.agent.until("done", second)).plain, "'second'")

    def test_an_answer_that_nobody_asked_for_is_dropped(self):
        self.agent.send("input", text="stray")
        channel, _ = self.asked("input()")
        self.assertEqual(self.answered(channel, text="right").plain, "'right'")

    def test_a_thread_gets_an_error_instead_of_a_line(self):
        code = (
            "import threading\ngot = []\n"
            "def ask():\n    try: input()\n    except RuntimeError as e: got.append(str(e))\n"
            "t = threading.Thread(target=ask); t.start(); t.join()\ngot"
        )
        self.assertIn("main thread", self.agent.run(code).plain)


if __name__ == "__main__":
    unittest.main()
