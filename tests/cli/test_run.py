# SPDX-License-Identifier: Apache-2.0
"""`glovebox run`: what it answers when all is right with the command line."""

import base64
import json
import os
import resource
import subprocess
import unittest

from program import GLOVEBOX, PATIENCE_S, Case, run


def python(code, *options, **how):
    return run("-l", "python", "-e", code, *options, **how)


def shell(code, *options, **how):
    return run("-l", "sh", "-e", code, *options, **how)


class InheritedLimits(Case):
    def test_fewer_open_files_than_we_would_give_are_what_the_guest_gets(self):
        done = subprocess.run([GLOVEBOX, "run", "--json", "-l", "sh", "-e", "ulimit -n"],
                              capture_output=True, timeout=PATIENCE_S, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                    (512, 512)))
        verdict = json.loads(done.stdout)
        self.assertEqual(verdict["stdout"], "512\n", verdict)
        self.assertEqual(verdict["limits"]["open_files"]["value"], 512)


class ExitStatus(Case):
    def test_is_zero_when_the_guest_succeeds(self):
        self.assert_status(shell("true"), 0)

    def test_is_the_guests_own(self):
        for status in (1, 3, 42, 255):
            with self.subTest(status=status):
                self.assert_status(shell(f"exit {status}"), status)

    def test_is_128_plus_the_signal_that_ended_the_guest(self):
        for name, number in (("KILL", 9), ("SEGV", 11), ("TERM", 15), ("USR1", 10)):
            with self.subTest(signal=name):
                code = f"import os, signal; os.kill(os.getpid(), signal.SIG{name})"
                answer = python(code, "--json")
                self.assert_status(answer, 128 + number)
                self.assertEqual(answer.verdict["signal"], number)
                self.assertEqual(answer.verdict["status"], "signaled")

    def test_is_124_when_wall_time_is_over(self):
        answer = shell("sleep 100", "--time", "200ms", "--json")
        self.assert_status(answer, 124)
        self.assertEqual(answer.verdict["status"], "timeout")
        self.assertTrue(answer.verdict["limits"]["time"]["hit"])

    def test_is_124_when_cpu_time_is_over(self):
        answer = shell("while :; do :; done", "--cpu-time", "200ms", "--time", "60s", "--json")
        self.assert_status(answer, 124)
        self.assertEqual(answer.verdict["status"], "timeout")

    def test_is_137_when_memory_is_over(self):
        answer = python("a = bytearray(1 << 29)\nprint(len(a))", "--memory", "64M", "--json")
        verdict = answer.verdict
        if verdict["walls"]["cgroup"] == "none":
            self.skipTest("without a cgroup an allocation fails, and the guest may live on")
        self.assert_status(answer, 137)
        self.assertEqual(verdict["status"], "out_of_memory")
        self.assertTrue(verdict["limits"]["memory"]["hit"])

    def test_is_125_when_the_sandbox_cannot_be_built(self):
        answer = shell("true", env={"GLOVEBOX_WARDEN": "/nonexistent/warden"})
        self.assert_status(answer, 125)
        self.assertIn("hint:", answer.message)

    def test_is_2_for_wrong_usage(self):
        self.assert_status(run(), 2)


class TierLandlock(Case):
    def test_languages_that_read_settings_of_the_host_start(self):
        for language, code in (("javascript", "console.log(6*7)"), ("python", "import ssl; print(6*7)"),
                               ("ruby", "require 'openssl'; puts 6*7"), ("perl", "print 6*7, qq(\\n)")):
            with self.subTest(language):
                answer = run("-q", "-l", language, "-e", code, "--tier", "landlock")
                self.assertEqual((answer.out, answer.status), (b"42\n", 0), answer.message)


class Input(Case):
    def test_a_dash_is_that_of_glovebox(self):
        done = subprocess.run([GLOVEBOX, "run", "-q", "-l", "bash", "-e", "cat", "--stdin", "-"],
                              input=b"through", capture_output=True, timeout=PATIENCE_S, check=False)
        self.assertEqual((done.stdout, done.returncode), (b"through", 0), done.stderr)
        answer = run("-", "-l", "bash", "--stdin", "-", stdin=b"cat")
        self.assert_status(answer, 2)
        self.assertIn("cannot be both", answer.message)

    def test_standard_input_reaches_the_guest_byte_by_byte(self):
        data = bytes(range(256)) * 1000
        answer = run("-l", "sh", "-e", "cat", stdin=data)
        self.assert_status(answer, 0)
        self.assertEqual(answer.out, data)

    def test_standard_input_comes_from_a_file(self):
        source = self.file("input.txt", "from a file")
        answer = shell("cat", "--stdin", str(source), stdin=b"from us")
        self.assertEqual(answer.out, b"from a file", str(answer))

    def test_a_guest_that_leaves_its_input_unread_succeeds(self):
        self.assert_status(shell("true", stdin=b"x" * (4 << 20)), 0)

    def test_variables_are_set(self):
        answer = shell('printf "%s|%s" "$MODE" "$EMPTY"', "--env", "MODE=a=b c", "--env", "EMPTY=")
        self.assertEqual(answer.out, b"a=b c|", str(answer))

    def test_our_own_variables_stay_outside(self):
        answer = shell("env", env={"SECRET_TOKEN": "hunter2"})
        self.assert_status(answer, 0)
        self.assertNotIn(b"hunter2", answer.out)

    def test_options_take_one_value_and_leave_the_program_its_name(self):
        script = self.file("show.py", "import sys; print(sys.argv[1:])")
        for option, value in (("--env", "A=1"), ("--file", f"{script}:copy.py")):
            with self.subTest(option=option):
                answer = run(option, value, str(script), "word")
                self.assertEqual(answer.out, b"['word']\n", str(answer))

    def test_program_may_follow_two_dashes(self):
        script = self.file("show.py", "import sys; print(sys.argv[1:])")
        self.assertEqual(run("--", str(script), "-x").out, b"['-x']\n")

    def test_arguments_follow_two_dashes(self):
        script = self.file("show.py", "import sys; print(sys.argv[1:])")
        answer = run(str(script), "--", "-x", "two words", "--json")
        self.assertEqual(answer.out, b"['-x', 'two words', '--json']\n", str(answer))


class Program(Case):
    def test_may_be_given_as_code(self):
        self.assertEqual(python("print(6*7)").out, b"42\n")

    def test_may_be_a_file(self):
        script = self.file("answer.py", "print(6*7)")
        self.assertEqual(run(str(script)).out, b"42\n")

    def test_may_come_from_standard_input(self):
        answer = run("-l", "python", "-", stdin=b"print(6*7)")
        self.assertEqual(answer.out, b"42\n", str(answer))

    def test_on_standard_input_is_known_by_its_shebang(self):
        answer = run("-", stdin=b"#!/usr/bin/env python3\nprint(6*7)")
        self.assertEqual(answer.out, b"42\n", str(answer))

    def test_is_known_by_its_ending(self):
        self.need("c")
        source = self.file("answer.c", '#include <stdio.h>\nint main(void) { puts("42"); }')
        answer = run(str(source), "--json")
        self.assertEqual(answer.verdict["language"], "c", str(answer))
        self.assertEqual(answer.verdict["stdout"], "42\n")

    def test_is_known_by_its_shebang(self):
        for line, language in (("#!/bin/sh", "sh"), ("#!/usr/bin/env python3", "python")):
            with self.subTest(shebang=line):
                script = self.file("script", f"{line}\nexit\n" if language == "sh" else line)
                answer = run(str(script), "--json")
                self.assert_status(answer, 0)
                self.assertEqual(answer.verdict["language"], language)

    def test_has_the_language_that_is_named_whatever_its_ending(self):
        script = self.file("script.txt", "print(6*7)")
        self.assertEqual(run("-l", "py", str(script)).out, b"42\n")

    def test_may_be_a_program_of_the_system(self):
        answer = run("/bin/echo", "hello")
        self.assertEqual(answer.out, b"hello\n", str(answer))

    def test_that_does_not_compile_says_why(self):
        self.need("c")
        answer = run("-l", "c", "-e", "int main( {}", "--json")
        verdict = answer.verdict
        self.assertEqual(verdict["status"], "compile_error", str(answer))
        self.assertIn("error", verdict["stderr"])
        self.assertEqual(answer.status, verdict["exit_code"])
        self.assertNotEqual(answer.status, 0)

    def test_that_does_not_compile_says_why_to_people(self):
        self.need("c")
        answer = run("-l", "c", "-e", "int main( {}")
        self.assertIn("error", answer.message)
        self.assertNotEqual(answer.status, 0)


class Files(Case):
    def test_are_copied_in(self):
        source = self.file("data.csv", "1,2\n")
        answer = shell("cat data.csv sub/other.csv", "--file", str(source), "--file",
                       f"{source}:sub/other.csv")
        self.assertEqual(answer.out, b"1,2\n1,2\n", str(answer))

    def test_come_in_as_a_whole_directory(self):
        self.file("project/src/a.txt", "a")
        big = b"b" * (1 << 20)
        self.file("project/b.txt", big)
        answer = shell("cat project/src/a.txt project/b.txt", "--output", "4M", "--file",
                       str(self.dir / "project"))
        self.assertEqual(answer.out, b"a" + big, f"exit status {answer.status}")

    def test_that_changed_are_copied_out_and_no_others(self):
        kept = self.file("kept.txt", "kept")
        edited = self.file("edited.txt", "before")
        out = self.dir / "results"
        answer = shell("echo after > edited.txt; mkdir d; printf new > d/new.txt", "--file",
                       str(kept), "--file", str(edited), "--out", str(out), "--json")
        self.assert_status(answer, 0)
        changes = {file["path"]: (file["change"], file["size"]) for file in
                   answer.verdict["files"]}
        self.assertEqual(changes, {"edited.txt": ("modified", 6), "d/new.txt": ("created", 3)})
        found = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
        self.assertEqual(found, {"edited.txt", "d/new.txt"})
        self.assertEqual((out / "edited.txt").read_text(), "after\n")
        self.assertEqual(edited.read_text(), "before")

    def test_with_unusual_names_are_copied_out(self):
        out = self.dir / "results"
        names = {b"two words", b"-x", b"\xff\xfe", b"a\nb", b"\\", b".hidden", "grün".encode(),
                 b"n" * 255, b"hard"}
        code = f"""import os
for name in {names!r}:
    if name != b"hard":
        open(name, "w").close()
os.link(".hidden", "hard")"""
        answer = python(code, "--out", str(out))
        self.assert_status(answer, 0)
        self.assertEqual(set(os.listdir(os.fsencode(out))), names)

    def test_that_are_links_do_not_lead_out(self):
        secret = self.file("secret.txt", "secret")
        out = self.dir / "results"
        answer = shell(f"ln -s {secret} link; ln -s .. up; echo x > real", "--out", str(out))
        self.assert_status(answer, 0)
        self.assertEqual([path.name for path in out.rglob("*")], ["real"])


class Output(Case):
    def test_that_is_no_utf8_is_passed_on_as_it_is(self):
        answer = shell(r"printf 'a\377b'")
        self.assertEqual(answer.out, b"a\xffb")

    def test_that_is_no_utf8_is_in_base64_too(self):
        verdict = shell(r"printf 'a\377b'; printf 'c\200' >&2", "--json").verdict
        self.assertEqual(verdict["stdout"], "a\ufffdb")
        self.assertEqual(base64.b64decode(verdict["stdout_base64"]), b"a\xffb")
        self.assertEqual(verdict["stderr"], "c\ufffd")
        self.assertEqual(base64.b64decode(verdict["stderr_base64"]), b"c\x80")

    def test_that_is_utf8_has_no_base64(self):
        verdict = shell("echo grün", "--json").verdict
        self.assertEqual(verdict["stdout"], "grün\n")
        self.assertNotIn("stdout_base64", verdict)

    def test_keeps_terminal_sequences_unless_told_otherwise(self):
        code = r"printf '\033[31mred\033[0m \033]0;title\007end'"
        self.assertIn(b"\x1b[31m", shell(code).out)
        self.assertEqual(shell(code, "--strip-ansi").out, b"red end")
        self.assertEqual(shell(code, "--strip-ansi", "--json").verdict["stdout"], "red end")
        texts = [event["text"] for event in shell(code, "--strip-ansi", "--events").events
                 if event["type"] == "stdout"]
        self.assertEqual("".join(texts), "red end")

    def test_over_the_limit_keeps_head_and_tail_and_the_count_between(self):
        code = "print('HEAD' + 'x' * 100000 + 'TAIL', end='')"
        total = 100008
        verdict = python(code, "--output", "1K", "--json").verdict
        self.assertTrue(verdict["truncated"]["stdout"])
        self.assertFalse(verdict["truncated"]["stderr"])
        self.assertEqual(verdict["bytes"]["stdout"], total)
        text = verdict["stdout"]
        self.assertTrue(text.startswith("HEADx"), text)
        self.assertTrue(text.endswith("xTAIL"), text)
        self.assertIn(str(total - 1024), text)
        self.assertEqual(text.count("x") + len("HEADTAIL"), 1024 + 1, "x of glovebox")

    def test_at_the_limit_is_whole(self):
        verdict = python("print('x' * 1024, end='')", "--output", "1K", "--json").verdict
        self.assertEqual(verdict["stdout"], "x" * 1024)
        self.assertFalse(verdict["truncated"]["stdout"])

    def test_may_be_dropped_altogether(self):
        verdict = python("print('x' * 1000)", "--output", "0", "--json").verdict
        self.assertEqual(verdict["bytes"]["stdout"], 1001)
        self.assertEqual(verdict["status"], "ok")
        self.assertNotIn("xx", verdict["stdout"])


class Json(Case):
    def test_has_every_field_of_the_contract(self):
        answer = python("import sys; print('out'); print('err', file=sys.stderr)", "--json")
        self.assert_status(answer, 0)
        self.assertEqual(answer.out.count(b"\n"), 1, "one object on one line")
        verdict = answer.verdict
        expected = {"id": str, "language": str, "tier": str, "status": str, "exit_code": int,
                    "stdout": str, "stderr": str, "truncated": dict, "bytes": dict,
                    "results": list, "files": list, "walls": dict, "limits": dict,
                    "usage": dict, "timings": dict}
        for name, kind in expected.items():
            with self.subTest(field=name):
                self.assertIsInstance(verdict.get(name), kind)
        self.assertIsNone(verdict["signal"])
        self.assertIsNone(verdict["error"])
        self.assertEqual(verdict["language"], "python")
        self.assertEqual((verdict["stdout"], verdict["stderr"]), ("out\n", "err\n"))
        self.assertEqual(verdict["bytes"], {"stdout": 4, "stderr": 4})
        for wall in ("user_ns", "mount_ns", "pid_ns", "net_ns", "ipc_ns", "uts_ns", "cgroup_ns",
                     "seccomp", "landlock", "cgroup", "uid"):
            self.assertIn(wall, verdict["walls"])
        for usage in ("wall_ms", "cpu_ms", "memory_peak", "pids_peak", "disk_bytes"):
            self.assertIn(usage, verdict["usage"])
        for limit in ("time", "memory", "cpus", "pids", "disk", "inodes", "open_files", "output"):
            self.assertIn("enforced", verdict["limits"][limit])

    def test_tells_the_limits_that_were_given(self):
        limits = shell("true", "--json", "--memory", "128M", "--pids", "33", "--time", "7s",
                       "--open-files", "99").verdict["limits"]
        values = {name: limits[name]["value"] for name in ("memory", "pids", "time", "open_files")}
        self.assertEqual(values, {"memory": 128 << 20, "pids": 33, "time": 7, "open_files": 99})

    def test_is_written_for_our_own_failures_too(self):
        answer = run("-l", "no-such-language", "-e", "x", "--json")
        self.assert_status(answer, 2)
        self.assertEqual(answer.verdict["error"], "not_found")
        self.assertTrue(answer.verdict["hint"])


class Events(Case):
    def test_begin_with_started_and_end_with_the_verdict(self):
        answer = shell("echo one; echo two >&2", "--events")
        self.assert_status(answer, 0)
        types = [event["type"] for event in answer.events]
        self.assertEqual((types[0], types[-1]), ("started", "verdict"))
        self.assertEqual((types.count("started"), types.count("verdict")), (1, 1))
        verdict = answer.events[-1]
        self.assertEqual((verdict["status"], verdict["stdout"], verdict["stderr"]),
                         ("ok", "one\n", "two\n"))
        self.assertEqual(answer.events[0]["id"], verdict["id"])

    def test_carry_all_output_in_order(self):
        events = python("for n in range(2000): print(n, flush=True)", "--events").events
        text = "".join(event["text"] for event in events if event["type"] == "stdout")
        self.assertEqual(text, "".join(f"{n}\n" for n in range(2000)))

    def test_never_split_a_character(self):
        code = "import os\nfor byte in 'grün €'.encode(): os.write(1, bytes([byte]))"
        events = python(code, "--events").events
        text = "".join(event["text"] for event in events if event["type"] == "stdout")
        self.assertEqual(text, "grün €")

    def test_begin_with_started_when_the_program_does_not_compile(self):
        self.need("c")
        events = run("-l", "c", "-e", "int main( {}", "--events").events
        self.assertEqual(events[0]["type"], "started", json.dumps(events)[:500])
        self.assertEqual(events[-1]["type"], "verdict")
        self.assertEqual(events[-1]["status"], "compile_error")

    def test_begin_with_started_for_each_phase(self):
        self.need("c")
        events = run("-l", "c", "-e", "int main(void) { return 0; }", "--events").events
        phases = [event["phase"] for event in events if event["type"] == "started"]
        self.assertEqual(phases, ["compile", "run"])

    def test_begin_with_started_when_the_program_cannot_start(self):
        events = python("", "--env", "PATH=/nonexistent", "--events").events
        self.assertEqual((events[0]["type"], events[-1]["type"]), ("started", "verdict"))


class Verify(Case):
    def test_runs_in_the_same_sandbox_after_the_program(self):
        answer = shell("echo made > file", "--verify", "cat file", "--json")
        self.assert_status(answer, 0)
        self.assertEqual(answer.verdict["verification"]["stdout"], "made\n")
        self.assertEqual(answer.verdict["verification"]["status"], "ok")

    def test_tells_its_own_status(self):
        verdict = shell("true", "--verify", "exit 7", "--json").verdict
        self.assertEqual(verdict["status"], "ok")
        self.assertEqual(verdict["verification"]["exit_code"], 7)
        self.assertEqual(verdict["verification"]["status"], "error")

    def test_happens_when_the_program_failed_too(self):
        verdict = shell("exit 3", "--verify", "echo looked", "--json").verdict
        self.assertEqual(verdict["exit_code"], 3)
        self.assertEqual(verdict["verification"]["stdout"], "looked\n")

    def test_checks_files_and_output_and_tells_which_does_not_hold(self):
        schema = self.dir / "schema.json"
        schema.write_text('{"type": "object"}')
        wishes = ("--expect-file", "made", "--output-schema", str(schema))
        answer = shell("echo {} | tee made", *wishes, "--json")
        self.assert_status(answer, 0)
        self.assertEqual([each["passed"] for each in answer.verdict["checks"]], [True, True])
        answer = shell("echo {}; echo x > other", *wishes)
        self.assert_status(answer, 123)
        self.assertIn("check failed: file 'made': the program has not made it", answer.message)
        answer = shell("echo []; echo x > made", *wishes)
        self.assert_status(answer, 123)
        self.assertIn("check failed: output_schema:", answer.message)


if __name__ == "__main__":
    unittest.main()
