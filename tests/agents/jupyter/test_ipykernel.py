# SPDX-License-Identifier: Apache-2.0
"""ipykernel as a context."""
import base64
import os
import select
import shutil
import unittest
from itertools import groupby

from harness import (CHECKPOINT, CLEAR, COMPLETE, DISPLAY, DONE, END, ERROR, EXECUTE, FETCH, INPUT,
                     INPUT_REQUEST, INSPECT, IS_COMPLETE, NOTE, READY, RESULT, STARTED, STDERR,
                     STDOUT, AgentTest, SharedAgentTest, is_installed, of_type,
                     text, types)

KERNEL = "python3"


class Ipykernel(SharedAgentTest):
    KERNEL = KERNEL

    def test_ready_names_language_and_version(self) -> None:
        ready = self.agent.ready
        self.assertEqual((ready.type, ready.channel), (READY, 0))
        self.assertEqual(ready.payload["language"], "python")
        self.assertRegex(ready.payload["version"], r"^3\.\d+")
        self.assertIn("complete", ready.payload["features"])

    def test_result_is_the_value_of_the_last_expression(self) -> None:
        frames = self.agent.execute("6 * 7", channel=5)
        self.assertEqual(types(frames), [STARTED, RESULT, DONE])
        self.assertEqual({frame.channel for frame in frames}, {5})
        self.assertEqual(frames[1].payload["data"], {"text/plain": "42"})
        self.assertEqual(frames[2].payload["status"], "ok")
        counts = {frame.payload["execution_count"] for frame in frames}
        self.assertEqual(len(counts), 1)

    def test_variables_live_between_executions(self) -> None:
        self.agent.execute("kept = 'x' * 3")
        self.assertEqual(text(self.agent.execute("print(kept)")), "xxx\n")

    def test_streams_are_told_apart_and_keep_their_order(self) -> None:
        frames = self.agent.execute(
            "import sys\nfor i in range(3):\n  print(i, flush=True)\n"
            "  print(-i, file=sys.stderr, flush=True)")
        output = [(frame.type, frame.payload) for frame in frames[1:-1]]
        self.assertEqual(output, [(STDOUT, b"0\n"), (STDERR, b"0\n"), (STDOUT, b"1\n"),
                                  (STDERR, b"-1\n"), (STDOUT, b"2\n"), (STDERR, b"-2\n")])

    def test_no_output_is_lost_when_the_reply_overtakes_it(self) -> None:
        frames = self.agent.execute("for i in range(50_000): print(i)")
        self.assertEqual(text(frames), "".join(f"{i}\n" for i in range(50_000)))

    def test_display_carries_its_id_and_updates(self) -> None:
        frames = self.agent.execute(
            "from IPython.display import display, HTML\n"
            "h = display(HTML('<b>1</b>'), display_id='d')\nh.update(HTML('<b>2</b>'))")
        first, second = of_type(frames, DISPLAY)
        self.assertEqual(first["data"]["text/html"], "<b>1</b>")
        self.assertEqual((first["display_id"], first["update"]), ("d", False))
        self.assertEqual(second["data"]["text/html"], "<b>2</b>")
        self.assertEqual((second["display_id"], second["update"]), ("d", True))

    def test_images_are_base64_without_line_breaks(self) -> None:
        frames = self.agent.execute(
            "from IPython.display import Image\n"
            "Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + bytes(300), format='png')")
        image = of_type(frames, RESULT)[0]["data"]["image/png"]
        self.assertEqual(base64.b64decode(image, validate=True)[:4], b"\x89PNG")

    def test_clear_output_says_whether_it_waits(self) -> None:
        frames = self.agent.execute("from IPython.display import clear_output\nclear_output(True)")
        self.assertEqual(of_type(frames, CLEAR), [{"wait": True}])

    def test_error_has_name_value_and_traceback(self) -> None:
        frames = self.agent.execute("1 / 0")
        error, = of_type(frames, ERROR)
        self.assertEqual(error["name"], "ZeroDivisionError")
        self.assertEqual(error["value"], "division by zero")
        self.assertIn("ZeroDivisionError", "\n".join(error["traceback"]))
        self.assertEqual(frames[-1].payload["status"], "error")

    def test_what_waits_behind_an_error_is_still_executed_in_order(self) -> None:
        codes = ["print('a')", "raise KeyError", "print('b')", "print('c')"]
        for i, code in enumerate(codes):
            self.agent.send(EXECUTE, 10 + i, {"code": code})
        done = []
        seen = {}
        while len(done) < len(codes):
            frame = self.agent.next()
            if frame.type == STDOUT:  # A line may come in pieces.
                seen[frame.channel] = seen.get(frame.channel, b"") + frame.payload
            if frame.type == DONE:
                done.append((frame.channel, frame.payload["status"]))
        self.assertEqual(list(seen.items()), [(10, b"a\n"), (12, b"b\n"), (13, b"c\n")])
        self.assertEqual(done, [(10, "ok"), (11, "error"), (12, "ok"), (13, "ok")])

    def test_input_is_asked_for_and_answered(self) -> None:
        self.agent.send(EXECUTE, 3, {"code": "print('before')\nx = input('name? ')\n"
                                             "print(x[::-1])"})
        before = self.agent.until(INPUT_REQUEST)
        self.assertEqual(text(before), "before\n")
        self.assertEqual(before[-1].payload, {"prompt": "name? ", "password": False})
        self.agent.send(INPUT, 3, {"text": "eva ö"})
        self.assertEqual(text(self.agent.until(DONE)), "ö ave\n")

    def test_password_is_asked_for_as_such(self) -> None:
        self.agent.send(EXECUTE, 3, {"code": "import getpass\nlen(getpass.getpass('key: '))"})
        self.assertEqual(self.agent.until(INPUT_REQUEST)[-1].payload,
                         {"prompt": "key: ", "password": True})
        self.agent.send(INPUT, 3, {"text": "abcd"})
        self.assertEqual(of_type(self.agent.until(DONE), RESULT)[0]["data"]["text/plain"], "4")

    def test_end_of_input_raises_eoferror(self) -> None:
        self.agent.send(EXECUTE, 3, {"code": "input()"})
        self.agent.until(INPUT_REQUEST)
        self.agent.send(INPUT, 3, {"eof": True})
        self.assertEqual(of_type(self.agent.until(DONE), ERROR)[0]["name"], "EOFError")

    def test_input_that_nothing_asked_for_is_dropped_with_a_note(self) -> None:
        self.agent.send(INPUT, 4, {"text": "x"})
        note = self.agent.until(NOTE)[-1]
        self.assertEqual(note.channel, 4)
        self.assertIn("dropped", note.payload["text"])

    def test_interrupt_ends_the_execution_but_not_the_kernel(self) -> None:
        self.agent.execute("survivor = 1")
        self.agent.send(EXECUTE, 6, {"code": "import time\nprint('on', flush=True)\n"
                                             "while True: time.sleep(0.01)"})
        self.agent.until(STDOUT)
        self.agent.interrupt()
        frames = self.agent.until(DONE)
        self.assertEqual(of_type(frames, ERROR)[0]["name"], "KeyboardInterrupt")
        self.assertEqual(frames[-1].payload["status"], "error")
        self.assertEqual(text(self.agent.execute("print(survivor)")), "1\n")

    def test_interrupt_ends_a_wait_for_input(self) -> None:
        self.agent.send(EXECUTE, 6, {"code": "input()"})
        self.agent.until(INPUT_REQUEST)
        self.agent.interrupt()
        self.assertEqual(of_type(self.agent.until(DONE), ERROR)[0]["name"], "KeyboardInterrupt")

    def test_interrupt_right_behind_the_request_is_not_lost(self) -> None:
        self.agent.send(EXECUTE, 6, {"code": "import time\nwhile True: time.sleep(0.01)"})
        self.agent.until(STARTED)
        self.agent.interrupt()
        self.assertEqual(self.agent.until(DONE)[-1].payload["status"], "error")

    def test_interrupt_while_nothing_runs_changes_nothing(self) -> None:
        self.agent.interrupt()
        self.assertEqual(text(self.agent.execute("print('still here')")), "still here\n")

    def test_interrupt_reaches_what_the_code_started(self) -> None:
        self.agent.send(EXECUTE, 6, {"code": "import subprocess\nprint('on', flush=True)\n"
                                             "subprocess.run(['sleep', '1000'])"})
        self.agent.until(STDOUT)
        self.agent.interrupt()
        self.assertEqual(self.agent.until(DONE)[-1].payload["status"], "error")

    def test_completion_counts_code_points(self) -> None:
        self.agent.execute("import collections")
        code = "'ü😀'; collections.Ord"
        answer = self.agent.ask(COMPLETE, code=code, cursor=len(code))
        self.assertIn(code + "eredDict", [code[:answer["start"]] + match + code[answer["end"]:]
                                         for match in answer["matches"]])

    def test_inspection_shows_documentation(self) -> None:
        answer = self.agent.ask(INSPECT, code="len", cursor=3)
        self.assertTrue(answer["found"])
        self.assertIn("number of items", answer["data"]["text/plain"])
        self.assertEqual(self.agent.ask(INSPECT, code="nothing_such", cursor=3),
                         {"found": False, "data": {}})

    def test_is_complete_tells_all_cases_apart(self) -> None:
        ask = lambda code: self.agent.ask(IS_COMPLETE, code=code)
        self.assertEqual(ask("1 + 1")["status"], "complete")
        self.assertEqual(ask("for i in x:"), {"status": "incomplete", "indent": "    "})
        self.assertEqual(ask("1 1")["status"], "invalid")

    def test_pages_are_displayed(self) -> None:
        frames = self.agent.execute("len?")
        self.assertIn("number of items", of_type(frames, DISPLAY)[0]["data"]["text/plain"])

    def test_silent_code_has_no_result_and_leaves_the_count(self) -> None:
        before = self.agent.execute("1")[-1].payload["execution_count"]
        frames = self.agent.execute("print('out'); 5", silent=True)
        # A kernel may send a line in several pieces.
        self.assertEqual([kind for kind, _ in groupby(types(frames))], [STARTED, STDOUT, DONE])
        self.assertEqual(text(frames), "out\n")
        self.assertEqual(self.agent.execute("1")[-1].payload["execution_count"], before + 1)

    def test_output_of_a_thread_carries_the_last_channel(self) -> None:
        self.agent.execute("import threading\ngo = threading.Event()\n"
                           "def late():\n  go.wait()\n  print('late', flush=True)\n"
                           "t = threading.Thread(target=late)\nt.start()", channel=20)
        frames = self.agent.execute("threading.Timer(0.1, go.set).start()", channel=21)
        if not of_type(frames, STDOUT):
            frames = self.agent.until(STDOUT)
        late = next(frame for frame in frames if frame.type == STDOUT)
        self.assertEqual((late.channel, late.payload), (21, b"late\n"))

    def test_a_long_text_comes_whole(self) -> None:
        frames = self.agent.execute("print('x' * 5_000_000)")
        self.assertEqual(len(text(frames)), 5_000_001)
        frames = self.agent.execute("'y' * 3_000_000")
        self.assertEqual(len(of_type(frames, RESULT)[0]["data"]["text/plain"]), 3_000_002)

    def test_long_code_arrives_in_parts(self) -> None:
        frames = self.agent.execute("s = '" + "z" * 3_000_000 + "'\nprint(len(s))")
        self.assertEqual(text(frames), "3000000\n")

    def test_what_a_kernel_cannot_do_is_answered_with_an_error(self) -> None:
        self.assertIn("error", self.agent.ask(CHECKPOINT, id=1))

    def test_environment_for_one_execution_is_refused_by_a_note(self) -> None:
        frames = self.agent.execute("import os; print('GBX' in os.environ)", env={"GBX": "1"})
        self.assertIn("environment", of_type(frames, NOTE)[0]["text"])
        self.assertEqual(text(frames), "False\n")

    def test_widgets_are_shown_as_their_plain_text(self) -> None:
        frames = self.agent.execute(
            "from ipykernel.comm import Comm\nfrom IPython.display import display\n"
            "c = Comm(target_name='jupyter.widget', data={})\n"
            "display({'text/plain': 'Slider(1)',"
            " 'application/vnd.jupyter.widget-view+json': {'model_id': c.comm_id}}, raw=True)")
        self.assertEqual(of_type(frames, DISPLAY)[0]["data"], {"text/plain": "Slider(1)"})
        self.assertEqual(len(of_type(frames, NOTE)), 1)

    def test_the_guest_finds_no_descriptor_of_ours(self) -> None:
        frames = self.agent.execute(
            "import os\nprint([os.readlink(f'/proc/self/fd/{n}') for n in (3,)"
            " if os.path.exists(f'/proc/self/fd/{n}')])")
        mine = os.readlink(f"/proc/{self.agent.process.pid}/fd/3")
        self.assertNotIn(mine, text(frames))


@unittest.skipUnless(is_installed(KERNEL), f"the kernel {KERNEL} is not installed")
class IpykernelLife(AgentTest):
    def test_a_large_value_is_fetched_by_reference(self) -> None:
        agent = self.start("--kernel", KERNEL, env={"GLOVEBOX_INLINE": "1000"}).wait_ready()
        value = of_type(agent.execute("'a' * 998 + 'b'"), RESULT)[0]["data"]["text/plain"]
        self.assertEqual(value["size"], 1001)
        answer = agent.ask(FETCH, ref=value["ref"], offset=998, size=10)
        self.assertEqual(base64.b64decode(answer["base64"]), b"ab'")
        self.assertEqual(answer["size"], 1001)

    def test_death_in_an_execution_is_an_error_and_ends_the_agent(self) -> None:
        agent = self.start("--kernel", KERNEL).wait_ready()
        folder = agent.kernel_folder()
        agent.send(EXECUTE, 1, {"code": "input()\nimport os; os.kill(os.getpid(), 9)"})
        agent.send(EXECUTE, 2, {"code": "1"})
        agent.until(INPUT_REQUEST)
        agent.send(INPUT, 1, {"text": ""})
        frames = agent.rest()
        self.assertEqual(of_type(frames, ERROR), [{
            "name": "KernelDied", "value": "the kernel was killed by SIGKILL", "traceback": []}])
        self.assertEqual([(frame.channel, frame.payload["status"]) for frame in frames
                          if frame.type == DONE], [(1, "error"), (2, "aborted")])
        self.assertNotEqual(agent.wait(), 0)
        self.assertFalse(folder.exists())

    def test_end_shuts_the_kernel_down_and_leaves_nothing(self) -> None:
        agent = self.start("--kernel", KERNEL).wait_ready()
        kernel, folder = agent.kernel_pid(), agent.kernel_folder()
        agent.send(END, 0)
        self.assertEqual(agent.wait(), 0)
        self.assertFalse(os.path.exists(f"/proc/{kernel}"))
        self.assertFalse(folder.exists())

    def test_end_of_descriptor_3_ends_a_kernel_that_never_stops(self) -> None:
        agent = self.start("--kernel", KERNEL).wait_ready()
        kernel = agent.kernel_pid()
        agent.send(EXECUTE, 1, {"code": "while True: pass"})
        agent.until(STARTED)
        agent.socket.close()
        self.assertEqual(agent.wait(), 0)
        self.assertFalse(os.path.exists(f"/proc/{kernel}"))

    def test_the_kernel_does_not_outlive_a_killed_agent(self) -> None:
        agent = self.start("--kernel", KERNEL).wait_ready()
        self.addCleanup(shutil.rmtree, agent.kernel_folder())
        descriptor = os.pidfd_open(agent.kernel_pid())
        self.addCleanup(os.close, descriptor)
        agent.process.kill()
        self.assertTrue(select.select([descriptor], [], [], 30)[0])


if __name__ == "__main__":
    unittest.main()
