# SPDX-License-Identifier: Apache-2.0
"""Kernels, kernelspecs and callers that break the rules."""
import os
import pathlib
import select
import shutil
import tempfile
import time
import unittest

from harness import (COMPLETE, DISPLAY, DONE, END, ERROR, EXECUTE, HEADER, INPUT, INPUT_REQUEST,
                     INSPECT, IS_COMPLETE, NOTE, REPLY, STARTED, STDOUT, TIMEOUT, Agent, AgentTest,
                     of_type, python_with_zmq, text, types)

FAKE = str(pathlib.Path(__file__).with_name("fake_kernel.py"))
PYTHON = python_with_zmq()
SPEC = {"argv": [PYTHON, FAKE, "{connection_file}"]}
needs_zmq = unittest.skipUnless(PYTHON, "pyzmq, of which the fake kernel is made, is not installed")


@needs_zmq
class MisbehavingKernel(AgentTest):
    def setUp(self) -> None:
        self.agent = self.start_spec(SPEC).wait_ready()

    def assert_serves(self) -> None:
        frames = self.agent.execute("plain", channel=99)
        self.assertEqual(types(frames), [STARTED, STDOUT, DONE])

    def test_the_agents_requests_are_signed(self) -> None:
        # The fake kernel ends on a wrong signature.
        self.assert_serves()

    def test_a_wrong_signature_drops_the_message_with_one_note(self) -> None:
        frames = self.agent.execute("forged 300")
        self.assertEqual(text(frames), "genuine")
        note, = of_type(frames, NOTE)
        self.assertIn("invalid signature", note["text"])

    def test_a_forged_reply_does_not_end_an_execution(self) -> None:
        frames = self.agent.execute("forged_reply")
        self.assertEqual(frames[-1].payload, {"status": "ok", "execution_count": 1})

    def test_done_waits_for_output_behind_the_reply(self) -> None:
        self.agent.send(EXECUTE, 1, {"code": "reply_first"})
        self.agent.until(INPUT_REQUEST)
        self.agent.send(INPUT, 1, {"text": ""})
        frames = self.agent.until(DONE)
        self.assertEqual(types(frames), [STDOUT, DONE])
        self.assertEqual(text(frames), "after the reply")

    def test_done_waits_for_the_reply_behind_idle(self) -> None:
        self.agent.send(EXECUTE, 1, {"code": "idle_first"})
        self.agent.until(INPUT_REQUEST)
        self.agent.send(INPUT, 1, {"text": ""})
        self.assertEqual(types(self.agent.until(DONE)), [DONE])

    def test_the_first_input_request_is_not_lost_with_a_channel_that_comes_late(self) -> None:
        agent = self.start_spec({**SPEC, "env": {"LATE_STDIN": "1"}}).wait_ready()
        agent.send(EXECUTE, 1, {"code": "reply_first"})
        agent.until(INPUT_REQUEST)
        agent.send(INPUT, 1, {"text": ""})
        self.assertEqual(text(agent.until(DONE)), "after the reply")

    def test_an_idle_status_that_never_comes_is_noted(self) -> None:
        frames = self.agent.execute("no_idle")
        self.assertEqual(types(frames), [STARTED, NOTE, DONE])
        self.assertEqual(frames[-1].payload["status"], "ok")
        self.assert_serves()

    def test_a_reply_that_never_comes_is_an_error(self) -> None:
        frames = self.agent.execute("no_reply")
        self.assertEqual(types(frames), [STARTED, NOTE, DONE])
        self.assertEqual(frames[-1].payload["status"], "error")
        self.assert_serves()

    def test_started_comes_first_also_when_the_kernel_does_not_say_so(self) -> None:
        frames = self.agent.execute("no_execute_input")
        self.assertEqual(types(frames), [STARTED, STDOUT, DONE])

    def test_a_message_over_the_limit_costs_that_execution_only(self) -> None:
        for code, status in (("huge", "ok"), ("huge_before_idle", "ok"), ("huge_reply", "error")):
            frames = self.agent.execute(code)
            self.assertEqual(types(frames), [STARTED, NOTE, DONE])
            self.assertEqual(frames[-1].payload["status"], status)
            # The request behind it can be lost with the connection, and is an error then.
            following = self.agent.execute("plain")
            if following[-1].payload["status"] == "error":
                self.assertIn(NOTE, types(following))
                following = self.agent.execute("plain")
            self.assertEqual(types(following), [STARTED, STDOUT, DONE])

    def test_garbage_is_dropped_and_what_is_sound_passes(self) -> None:
        frames = self.agent.execute("garbage")
        self.assertEqual(text(frames), "bad \ufffd byte")
        self.assertEqual(of_type(frames, ERROR),
                         [{"name": "", "value": "", "traceback": ["line"]}])
        self.assertEqual([display["data"] for display in of_type(frames, DISPLAY)],
                         [{}, {"text/plain": '{"a":null}'}])
        self.assertEqual(len(of_type(frames, NOTE)), 1)
        self.assertEqual(frames[-1].payload["status"], "ok")
        self.assert_serves()

    def test_replies_and_statuses_of_other_requests_change_nothing(self) -> None:
        frames = self.agent.execute("others")
        self.assertEqual(types(frames), [STARTED, STDOUT, STDOUT, DONE])
        self.assertEqual(text(frames), "of anotherown")

    def test_an_error_only_in_the_reply_is_shown(self) -> None:
        frames = self.agent.execute("error_in_reply")
        self.assertEqual(of_type(frames, ERROR), [{"name": "E", "value": "v", "traceback": ["t"]}])
        self.assertEqual(frames[-1].payload["status"], "error")

    def test_an_aborted_execution_is_told(self) -> None:
        self.assertEqual(self.agent.execute("abort")[-1].payload["status"], "aborted")

    def test_answers_of_wrong_types_read_as_none(self) -> None:
        self.assertEqual(self.agent.ask(COMPLETE, code="x", cursor=1),
                         {"matches": ["one"], "start": 1, "end": 1})
        self.assertEqual(self.agent.ask(IS_COMPLETE, code="x"), {"status": "unknown", "indent": ""})

    def test_the_oldest_of_too_many_unanswered_questions_is_given_up(self) -> None:
        for channel in range(100, 166):
            self.agent.send(INSPECT, channel, {"code": "x", "cursor": 0})
        answers = [self.agent.until(REPLY)[-1] for _ in range(2)]
        self.assertEqual([answer.channel for answer in answers], [100, 101])
        self.assertEqual(answers[0].payload, {"found": False, "data": {}})

    def test_all_output_reaches_an_outside_that_is_slow_to_read(self) -> None:
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = pathlib.Path(folder) / "sent"
        self.agent.send(EXECUTE, 1, {"code": f"large 100 {path}"})
        deadline = time.monotonic() + TIMEOUT
        while not path.exists() and time.monotonic() < deadline:
            select.select([], [], [], 0.01)
        frames = self.agent.until(DONE)
        lines = text(frames).splitlines()
        self.assertEqual(lines[::2], [f"{number:07}" for number in range(100)])
        self.assertEqual(len(text(frames)), 100 << 20)

    def test_a_kernel_that_ignores_the_shutdown_request_is_killed(self) -> None:
        agent = self.start_spec({**SPEC, "env": {"STUBBORN": "1"}}).wait_ready()
        kernel = agent.kernel_pid()
        agent.send(END, 0)
        self.assertEqual(agent.wait(), 0)
        self.assertFalse(os.path.exists(f"/proc/{kernel}"))

    def test_last_words_are_heard_before_the_death(self) -> None:
        self.agent.send(EXECUTE, 1, {"code": "exit 3"})
        frames = self.agent.rest()
        self.assertEqual(types(frames), [STARTED, STDOUT, ERROR, DONE])
        self.assertEqual(frames[2].payload["value"], "the kernel ended with status 3")
        self.assertNotEqual(self.agent.wait(), 0)

    def test_death_between_executions_is_noted(self) -> None:
        for status, expected in ((0, 0), (4, 1)):
            agent = self.start_spec(SPEC).wait_ready()
            agent.execute(f"exit_after {status}")
            self.assertEqual([frame.payload["text"] for frame in agent.rest()],
                             [f"the kernel ended with status {status}"])
            self.assertEqual(agent.wait(), expected)

    def test_interrupt_is_a_message_where_the_kernelspec_says_so(self) -> None:
        agent = self.start_spec({**SPEC, "interrupt_mode": "message"}).wait_ready()
        agent.send(EXECUTE, 1, {"code": "wait_for_message"})
        agent.until(STARTED)
        agent.interrupt()
        self.assertEqual(text(agent.until(DONE)), "interrupt_request")

    def test_environment_of_the_kernelspec_reaches_the_kernel(self) -> None:
        agent = self.start_spec({**SPEC, "env": {"FAKE": "from the spec"}}).wait_ready()
        self.assertEqual(agent.ready.payload["version"], "from the spec")


class BadStart(AgentTest):
    def assert_fails(self, agent: Agent, message: str) -> None:
        self.assertEqual(agent.rest(), [])
        self.assertEqual(agent.wait(), 1)
        self.assertIn(message, agent.process.stderr.read().decode())

    def test_a_program_that_is_missing_is_named(self) -> None:
        self.assert_fails(self.start_spec({"argv": ["no-such-program"]}), "no-such-program")

    def test_a_kernelspec_that_is_none_is_refused(self) -> None:
        self.assert_fails(self.start_spec({"argv": []}), "argv")
        self.assert_fails(self.start_spec({"argv": ["x"], "env": {"A=B": "C"}}), "env")

    def test_an_unknown_kernel_is_refused(self) -> None:
        self.assert_fails(self.start("--kernel", "no-such-kernel"), "no-such-kernel")
        self.assert_fails(self.start("--kernel", "../python3"), "invalid kernel name")

    def test_kernels_are_found_by_jupyter_path(self) -> None:
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "kernels" / "mine").mkdir(parents=True)
        (folder / "kernels" / "mine" / "kernel.json").write_text('{"argv":["found-by-path"]}')
        agent = self.start("--kernel", "mine", env={"JUPYTER_PATH": str(folder)})
        self.assert_fails(agent, "found-by-path")

    def test_a_kernel_that_ends_at_once_is_noted(self) -> None:
        agent = self.start_spec({"argv": ["sh", "-c", "exit 3"]})
        self.assertEqual([frame.payload["text"] for frame in agent.rest()],
                         ["the kernel ended with status 3"])
        self.assertEqual(agent.wait(), 1)

    def test_the_end_of_descriptor_3_ends_a_start_that_hangs(self) -> None:
        agent = self.start_spec({"argv": ["sleep", "1000"]})
        agent.socket.close()
        self.assertEqual(agent.wait(), 0)


@needs_zmq
class BadOutside(AgentTest):
    def setUp(self) -> None:
        self.agent = self.start_spec(SPEC).wait_ready()

    def test_an_execution_that_is_no_json_is_aborted(self) -> None:
        for payload in (b"", b"[]", b"{", b"\xff"):
            self.agent.send(EXECUTE, 1, payload)
            self.assertEqual(self.agent.until(DONE)[-1].payload["status"], "aborted")

    def test_an_unknown_frame_is_noted(self) -> None:
        self.agent.send(60, 8)
        self.assertEqual(self.agent.until(NOTE)[-1].channel, 8)

    def test_a_stream_without_meaning_ends_the_agent(self) -> None:
        self.agent.socket.sendall(HEADER.pack(0xFFFFFFFF, EXECUTE, 1))
        self.assertEqual(of_type(self.agent.rest(), DONE), [])
        self.assertEqual(self.agent.wait(), 1)

    def test_a_joined_message_over_the_limit_ends_the_agent(self) -> None:
        try:
            self.agent.send(EXECUTE, 1, b"x" * (66 << 20))
        except ConnectionError:
            pass  # It did not read to the end.
        self.assertEqual(self.agent.wait(), 1)

    def test_executions_over_the_limit_are_aborted(self) -> None:
        self.agent.send(EXECUTE, 1, {"code": "no_idle"})
        for channel in range(2, 260):
            self.agent.send(EXECUTE, channel, {"code": "plain"})
        first = self.agent.until(DONE)[-1]
        self.assertEqual((first.channel, first.payload["status"]), (258, "aborted"))


if __name__ == "__main__":
    unittest.main()
