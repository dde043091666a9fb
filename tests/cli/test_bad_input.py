# SPDX-License-Identifier: Apache-2.0
"""What people get wrong: each mistake gets one clear message with a hint, and leaves nothing."""

import ctypes
import os
import stat
import time
import unittest

from program import Case, glovebox, languages, run

PR_SET_CHILD_SUBREAPER = 36
CRASHES = ("terminate called", "Sanitizer", "Assertion", "core dumped", "what():")


def setUpModule():
    # Whatever a glovebox leaves running becomes our child, and can be found.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def orphans_remain(patience_s=5):
    """True when a process of an ended glovebox lives on."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.01)
        except ChildProcessError:
            return False
    return True


class Mistake(Case):
    def setUp(self):
        super().setUp()
        self.empty = self.dir / "empty"
        self.empty.mkdir(mode=0o777)

    def refused(self, answer, *words, statuses=(2, 125)):
        """Checks the form that each complaint has, and that it says `words`."""
        self.assertIn(answer.status, statuses, str(answer))
        self.assertEqual(answer.out, b"", str(answer))
        lines = answer.message.splitlines()
        self.assertIn(len(lines), (1, 2), f"one message and its hint, not {answer}")
        self.assertRegex(lines[-1], r"hint: \S|--help", str(answer))
        for word in words:
            self.assertIn(word, answer.message)
        for crash in CRASHES:
            self.assertNotIn(crash, answer.message)
        self.assertFalse(orphans_remain(), "a process lives on")
        self.assertEqual(list(self.empty.iterdir()), [], "files left in the directory or TMPDIR")

    def shell(self, *options, **how):
        env = {"TMPDIR": str(self.empty), **how.pop("env", {})}
        return run("-l", "sh", "-e", "true", *options, env=env, cwd=self.empty, **how)

    def run_here(self, *arguments, **how):
        env = {"TMPDIR": str(self.empty), **how.pop("env", {})}
        return run(*arguments, env=env, cwd=self.empty, **how)


class Language(Mistake):
    def test_unknown_gets_a_suggestion(self):
        for typed, meant in (("pyton", "python"), ("javascrpt", "javascript"), ("rsut", "rust")):
            with self.subTest(language=typed):
                self.refused(self.run_here("-l", typed, "-e", "x"), typed, f"'{meant}'")

    def test_far_from_all_names_where_they_are_listed(self):
        self.refused(self.run_here("-l", "qqqqqqqqqqqq", "-e", "x"), "glovebox languages")

    def test_named_by_control_characters_does_not_reach_the_terminal(self):
        answer = self.run_here("-l", "\x1b[31mred\x07", "-e", "x")
        self.refused(answer)
        self.assertNotIn(b"\x1b", answer.err)
        self.assertNotIn(b"\x07", answer.err)

    def test_that_is_absent_names_what_to_install(self):
        absent = [known for known in languages().values() if not known["ready"]]
        if not absent:
            self.skipTest("every language is installed here")
        for language in absent[:5]:
            with self.subTest(language=language["id"]):
                answer = self.run_here("-l", language["id"], "-e", "x")
                self.refused(answer, language["missing"], language["hint"].split()[0],
                             statuses=(125,))

    def test_that_nothing_tells_is_asked_for(self):
        unknown = self.file("data.unknown", "no shebang here")
        self.refused(self.run_here(str(unknown)), "-l")
        self.refused(self.run_here("-e", "print(1)"), "-l")
        self.refused(self.run_here("-", stdin=b"print(1)"), "-l")

    def test_file_of_a_user_that_is_broken_names_line_and_column(self):
        directory = self.dir / "languages"
        for name, text, place in (
            ("bad1", 'id = "bad1"\nname = \n', "bad1.toml:2:"),
            ("bad2", 'id = "bad2"\n\n[run\ncommand = 1\n', "bad2.toml:3:"),
            ("bad3", 'id = "bad3"\nno_such_key = 1\n', "bad3.toml:2:"),
            ("bad4", "\xff\xfe\x00", "bad4.toml:1:"),
        ):
            with self.subTest(language=name):
                self.file(f"languages/{name}.toml", text.encode("latin-1"))
                answer = self.run_here("-l", name, "-e", "x",
                                       env={"GLOVEBOX_LANGUAGES": str(directory)})
                self.refused(answer, place)
                self.assertRegex(answer.message, r"\.toml:\d+:\d+: ")

    def test_file_of_a_user_that_is_broken_leaves_the_other_languages(self):
        self.file("languages/bad.toml", 'id = "bad"\nname = \n')
        answer = self.shell(env={"GLOVEBOX_LANGUAGES": str(self.dir / "languages")})
        self.assert_status(answer, 0)


class Program(Mistake):
    def test_absent(self):
        self.refused(self.run_here())

    def test_given_twice(self):
        script = self.file("a.py", "")
        self.refused(self.run_here(str(script), "-l", "python", "-e", "x"), "-e")

    def test_that_does_not_exist(self):
        self.refused(self.run_here("/nonexistent/x.py"), "/nonexistent/x.py", "No such file")

    def test_that_is_a_directory(self):
        self.refused(self.run_here(str(self.dir)), "is a directory")

    def test_below_a_file(self):
        below = self.file("a.py", "") / "b.py"
        self.refused(self.run_here(str(below)), "Not a directory")

    def test_that_may_not_be_read(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give up its rights for the test")
        script = self.file("secret.py", "print(1)")
        script.chmod(0)
        self.dir.chmod(0o755)
        self.refused(run(str(script), cwd=self.empty, user=65534), "Permission denied")

    def test_with_a_name_longer_than_any(self):
        self.refused(self.run_here("/" + "x" * 5000 + ".py"), "name too long")

    def test_whose_name_has_line_breaks_is_reported_in_one_line(self):
        self.refused(self.run_here("/nonexistent/a\nb\x1b[1m.py"))

    def test_over_64_mib(self):
        huge = self.dir / "huge.py"
        with huge.open("wb") as file:
            file.truncate((64 << 20) + 1)
        self.refused(self.run_here(str(huge)), "64 MiB", "--file")


class Options(Mistake):
    def test_unknown_is_named(self):
        self.refused(self.shell("--bogus"), "--bogus", statuses=(2,))
        self.refused(self.shell("-Z"), "-Z", statuses=(2,))

    def test_without_its_value_is_named(self):
        for option in ("--time", "--memory", "--env", "--file", "--out", "--stdin", "--verify",
                       "--tier", "--language", "--code"):
            with self.subTest(option=option):
                self.refused(self.run_here("a.py", option), option, statuses=(2,))

    def test_unknown_command_is_named(self):
        self.refused(glovebox("bogus", cwd=self.empty), "bogus", statuses=(2,))

    def test_unknown_command_near_a_known_one_gets_a_suggestion(self):
        for typed, meant in (("rum", "run"), ("language", "languages"), ("docter", "doctor")):
            with self.subTest(command=typed):
                self.refused(glovebox(typed, cwd=self.empty), typed, f"'glovebox {meant}'",
                             statuses=(2,))

    def test_unknown_by_control_characters_do_not_reach_the_terminal(self):
        for words in (("\x1b[31m",), ("run", "--\x1b[31m"), ("run", "--tier=\x1b[31m", "-e", "x"),
                      ("run", "--seccomp", "\x1b[31m"), ("languages", "\x07")):
            with self.subTest(words=words):
                answer = glovebox(*words, cwd=self.empty)
                self.refused(answer)
                self.assertNotRegex(answer.err, rb"[\x00-\x09\x0b-\x1f]")

    def test_empty_as_from_an_unset_variable_are_refused(self):
        for option in ("--tier", "--min-tier", "--seccomp", "--template", "--allow-net", "--deny-net",
                       "--packages", "--policy", "--time", "--cpus", "--pids", "--memory", "--env",
                       "--file", "--out", "--stdin", "--verify", "--language"):
            with self.subTest(option=option):
                self.refused(self.run_here("-e", "true", option, ""), option, statuses=(2,))

    def test_words_after_two_dashes_are_only_for_run(self):
        self.refused(glovebox("languages", "--", "word", cwd=self.empty), "word", statuses=(2,))

    def test_no_command_at_all(self):
        self.refused(glovebox(cwd=self.empty), statuses=(2,))

    def test_that_exclude_each_other(self):
        self.refused(self.shell("--json", "--events"), "--json", "--events", statuses=(2,))

    def test_a_tier_below_the_minimum_is_refused_and_one_above_it_is_not(self):
        answer = self.shell("--tier", "landlock", "--min-tier", "native")
        self.assert_status(answer, 2)
        self.assertIn("tier 'landlock' is weaker than the minimum tier 'native'", answer.message)
        answer = self.shell("--tier", "native", "--min-tier", "landlock", "--json")
        self.assert_status(answer, 0)
        self.assertEqual(answer.verdict["tier"], "native")

    def test_tier_unknown_names_those_that_are(self):
        for option in ("--tier", "--min-tier"):
            self.refused(self.shell(option, "bogus"), "bogus", "native", statuses=(2,))

    def test_host_with_a_space_is_not_taken_for_an_international_name(self):
        for host, hint in (("a b.example", "leave out spaces"), ("bücher.example", "punycode")):
            with self.subTest(host=host):
                answer = run("-l", "sh", "-e", "true", "--allow-net", host)
                self.assert_status(answer, 2)
                self.assertIn("hint: ", answer.message)
                self.assertIn(hint, answer.message)

    def test_policy_unknown_names_those_that_are(self):
        self.refused(self.shell("--seccomp", "bogus"), "bogus", "strict", statuses=(2,))


class WallsOfLaterVersions(Mistake):
    """What this version cannot build is refused: a guest never gets less or more than was asked."""

    def test_template_unknown_names_the_one_that_is(self):
        self.refused(self.shell("--template", "bogus"), "bogus", "'default'", statuses=(2,))

    def test_template_default_is_accepted(self):
        self.assert_status(self.shell("--template", "default"), 0)

    def test_packages_are_refused(self):
        self.refused(self.shell("--packages", "pip:numpy,npm:left-pad"), "--packages",
                     statuses=(126,))

    def test_a_policy_that_does_not_exist_is_wrong_usage(self):
        for policy in ("/nonexistent/policy.toml", "bogus"):
            with self.subTest(policy=policy):
                self.refused(self.shell("--policy", policy), policy, statuses=(2,))

    def test_refusals_are_told_to_programs_too(self):
        for form in ("--json", "--events"):
            with self.subTest(form=form):
                answer = self.shell("--packages", "pip:numpy", form)
                self.assert_status(answer, 126)
                self.assertEqual(answer.events[-1]["error"], "refused")
                self.assertTrue(answer.events[-1]["hint"])


# Option -> the values that it must refuse beside those which all must refuse.
SIZES = ("-1", "1e400", "99999999999999999999", "5x", "512 M", "0x10", "nan", "inf")
COUNTS = ("0", "-1", "1e400", "99999999999999999999", "4294967297", "1.5", "5x", "nan", "inf")
LIMITS = {
    "time": (*SIZES, "0", "0.0001ms", "999999h"),
    "cpu-time": (*SIZES, "0", "0.0001ms", "999999h"),
    "memory": (*SIZES, "0", "1", "4095K", "2048T"),
    "cpus": ("0", "-1", "1e400", "99999999999999999999", "5x", "nan", "inf"),
    "pids": COUNTS,
    "disk": (*SIZES, "0", "1K", "2048T"),
    "inodes": COUNTS,
    "open-files": COUNTS,
    "output": (*SIZES, "2G"),
    "io-rate": SIZES,
    "compile-time": (*SIZES, "0", "999999h"),
    "compile-memory": (*SIZES, "0", "1", "2048T"),
}


class Limits(Mistake):
    def test_out_of_range_or_garbage_name_their_option(self):
        for option, values in LIMITS.items():
            for value in (*values, "abc", "", " ", "\x1b[31m", "9" * 10000):
                with self.subTest(option=option, value=value[:30]):
                    answer = self.shell(f"--{option}={value}")
                    self.refused(answer, option, statuses=(2,))
                    self.assertNotIn(b"\x1b", answer.err)

    def test_as_an_own_word_are_refused_too(self):
        self.refused(self.shell("--time", "-1"), "--time", statuses=(2,))
        self.refused(self.shell("--memory", ""), "--memory", statuses=(2,))

    def test_at_their_bounds_are_accepted(self):
        for option in ("--time=1h", "--output=0", "--cpus=0.5", "--memory=1T", "--pids=64",
                       "--open-files=64", "--inodes=64", "--disk=64K"):
            with self.subTest(option=option):
                self.assert_status(self.shell(option), 0)


class Environment(Mistake):
    def test_without_a_name_or_a_value_shows_how(self):
        for text in ("X", "=x", "", "=", " "):
            with self.subTest(env=text):
                self.refused(self.shell(f"--env={text}"), "--env", statuses=(2,))


class Files(Mistake):
    def test_destination_outside_the_workspace(self):
        source = self.file("a.txt", "a")
        for target in ("../x", "a/../../x", "/etc/passwd", "..", "/workspace/../x", "../"):
            with self.subTest(target=target):
                self.refused(self.shell("--file", f"{source}:{target}"), "workspace")

    def test_source_that_does_not_exist(self):
        self.refused(self.shell("--file", "/nonexistent"), "/nonexistent")
        self.refused(self.shell("--file", "/nonexistent:b/c"), "/nonexistent")

    def test_source_unnamed(self):
        self.refused(self.shell("--file", ":x"), "SRC:DST")

    def test_source_that_is_no_file(self):
        pipe = self.dir / "pipe"
        os.mkfifo(pipe)
        self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))
        self.refused(self.shell("--file", str(pipe)), "pipe")
        self.refused(self.shell("--file", "/dev/zero"), "zero")

    def test_larger_than_the_disk_limit(self):
        big = self.file("big", b"x" * (1 << 20))
        answer = self.shell("--file", str(big), "--disk", "64K")
        self.refused(answer, "big", "--disk")

    def test_small_but_larger_than_the_disk_limit(self):
        small = self.file("small", b"x" * (240 << 10))
        self.refused(self.shell("--file", str(small), "--disk", "64K"), "small", "--disk")

    def test_standard_input_that_does_not_exist_or_is_a_directory(self):
        self.refused(self.shell("--stdin", "/nonexistent"), "/nonexistent")
        self.refused(self.shell("--stdin", str(self.dir)), "directory")

    def test_out_that_cannot_be_a_directory(self):
        plain = self.file("plain", "")
        for place in (str(plain), "/proc/nonexistent", str(self.dir / "no" / "such")):
            with self.subTest(out=place):
                self.refused(self.shell("--out", place), place)
        self.assertEqual(plain.read_bytes(), b"")

    def test_out_with_a_file_in_the_way_is_wrong_usage(self):
        plain = self.file("plain", "")
        for place in (plain, plain / "below"):
            with self.subTest(out=place):
                self.refused(self.shell("--out", str(place)), str(place), statuses=(2,))

    def test_out_that_cannot_be_made_is_told_before_the_program_runs(self):
        answer = self.run_here("-l", "sh", "-e", "echo it ran", "--out", "/proc/nonexistent")
        self.refused(answer, "/proc/nonexistent", statuses=(125,))

    def test_out_where_files_do_not_fit_does_not_look_like_success(self):
        out = self.dir / "results"
        (out / "name" / "is-a-directory").mkdir(parents=True)
        answer = self.run_here("-l", "sh", "-e", "echo lost > name", "--out", str(out))
        self.assert_status(answer, 125)
        self.assertIn("not all files were copied out", answer.message)
        self.assertIn("hint:", answer.message)

    def test_out_too_small_for_a_sparse_file_does_not_look_like_success(self):
        out = self.dir / "results"
        answer = self.run_here("-l", "sh", "-e", "truncate -s 1T sparse; echo 1 > small", "--out",
                               str(out))
        self.assert_status(answer, 125)
        self.assertIn("'sparse'", answer.message)
        self.assertEqual([path.name for path in out.iterdir()], ["small"])


class Arguments(Mistake):
    # The kernel takes up to 128 KiB in one argument, and a quarter of the stack in all.
    LARGEST = (128 << 10) - 1

    def test_as_large_as_the_kernel_takes_are_passed_on(self):
        script = self.file("size.py", "import sys; print(len(sys.argv[1]))")
        answer = self.run_here(str(script), "--", "x" * self.LARGEST)
        self.assertEqual(answer.out, b"%d\n" % self.LARGEST, str(answer))

    def test_many_are_passed_on_or_refused(self):
        script = self.file("count.py", "import sys; print(len(sys.argv) - 1)")
        answer = self.run_here(str(script), "--", *["x"] * 50000)
        if answer.status == 0:
            self.assertEqual(answer.out, b"50000\n", str(answer))
        else:
            self.refused(answer, "arguments", statuses=(2,))

    def test_in_brackets_arrive_as_they_are(self):
        script = self.file("show.py", "import sys; print(sys.argv[1:])")
        answer = self.run_here(str(script), "--", "[a,b]", "[]", "--", "")
        self.assertEqual(answer.out, b"['[a,b]', '[]', '--', '']\n", str(answer))

    def test_larger_together_than_a_message_are_passed_on_or_refused(self):
        script = self.file("sum.py", "import sys; print(sum(map(len, sys.argv[1:])))")
        answer = self.run_here(str(script), "--", *["x" * 100_000] * 12)
        if answer.status == 0:
            self.assertEqual(answer.out, b"1200000\n", str(answer))
        else:
            self.refused(answer)

    def test_as_code_are_run(self):
        code = "x = 1\n" * ((self.LARGEST - 10) // 6) + "print(x)"
        self.assertEqual(self.run_here("-l", "python", "-e", code).out, b"1\n")

    def test_as_variables_are_passed_on_or_refused(self):
        # NAME=VALUE of this size fits our own command line, and the guest's environment.
        value = "x" * (self.LARGEST - 2)
        answer = self.run_here("-l", "sh", "-e", "printf ${#A}", "--env", f"A={value}")
        self.assertEqual(answer.out, b"%d" % len(value), str(answer))

    def test_that_are_no_utf8_arrive_as_they_are(self):
        script = self.file("bytes.py", "import os, sys; print(os.fsencode(sys.argv[1]))")
        answer = self.run_here(str(script), "--", b"\xff\xfe")
        self.assertEqual(answer.out, b"b'\\xff\\xfe'\n", str(answer))


if __name__ == "__main__":
    unittest.main()
