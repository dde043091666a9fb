# SPDX-License-Identifier: Apache-2.0
"""How `glovebox` behaves as a command: in pipes, at terminals, in scripts and loops."""

import ctypes
import errno
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import time
import unittest

from program import GLOVEBOX, PATIENCE_S, Case, glovebox, run


class Output(Case):
    def test_in_a_pipe_is_whole(self):
        answer = run("-l", "python", "-e", "for i in range(10**6): print(i)")
        self.assertEqual(answer.status, 0, answer)
        self.assertEqual(answer.out, b"".join(b"%d\n" % i for i in range(10**6)))
        self.assertEqual(answer.err, b"")

    def test_in_a_pipe_keeps_control_sequences(self):
        answer = run("-l", "bash", "-e", r"printf '\033]2;title\007\033[2Jtext'")
        self.assertEqual(answer.out, b"\x1b]2;title\x07\x1b[2Jtext")

    def test_that_nobody_reads_any_more_ends_the_program(self):
        for code, options in (("sh", []), ("python", []), ("sh", ["--events"])):
            forever = {"sh": "trap '' TERM INT; while :; do echo x; done", "python": "while True: print('x')"}
            with self.subTest(code=code, options=options):
                with subprocess.Popen([GLOVEBOX, "run", "-q", "-l", code, "-e", forever[code], "--time", "10m",
                                       *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
                    self.assertNotEqual(program.stdout.readline(), b"")
                    program.stdout.close()
                    try:
                        self.assertEqual(program.wait(PATIENCE_S), -signal.SIGPIPE)
                    finally:
                        program.kill()

    def test_that_is_lost_does_not_look_like_success(self):
        for words in (["run", "-l", "sh", "-e", "echo x"], ["run", "-l", "sh", "-e", "echo x", "--json"],
                      ["run", "-l", "sh", "-e", "echo x", "--events"], ["languages", "--no-versions"],
                      ["doctor", "--json"], ["sandbox", "--help"], ["--version"]):
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                done = subprocess.run([GLOVEBOX, *words], stdout=full, stderr=subprocess.PIPE,
                                      timeout=PATIENCE_S, check=False)
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn(b"cannot write to standard output\n  hint: ", done.stderr)

    def test_at_a_terminal_has_colours_and_no_other_control_sequence(self):
        hostile = r"printf '\033]2;title\007\033[2J\033[31mred\033[0m\033]52;c;eA==\007\n'"
        shown = at_terminal("run", "-q", "-l", "bash", "-e", hostile)
        self.assertIn(b"\x1b[31mred\x1b[0m", shown)
        for sequence in (b"\x1b]", b"\x1b[2J"):
            self.assertNotIn(sequence, shown)
        self.assertIn(b"\x1b]2;title", at_terminal("run", "--raw", "-q", "-l", "bash", "-e", hostile))

    def test_at_a_terminal_cannot_hide_what_follows(self):
        shown = at_terminal("run", "--summary", "-l", "bash", "-e", r"printf '\033[8m'")
        self.assertLess(shown.index(b"\x1b[8m"), shown.index(b"\x1b[0m"))
        self.assertLess(shown.index(b"\x1b[0m"), shown.index(b"walls held"))

    def test_of_a_failed_check_is_shown_with_a_status_of_its_own(self):
        answer = run("-l", "bash", "-e", "true", "--verify", "echo missing; exit 4")
        self.assertEqual(answer.status, 123, answer)
        self.assertEqual(answer.out, b"missing\n")
        self.assertIn("verification failed: exit status 4", answer.message)
        self.assertEqual(run("-l", "bash", "-e", "exit 3", "--verify", "exit 4").status, 3)

    def test_says_which_limit_ended_the_program_and_how_to_raise_it(self):
        answer = run("-l", "bash", "-e", "while :; do :; done", "--time", "300ms")
        self.assertIn("out of time (limit 0.3 s; raise it with --time)", answer.message)
        answer = run("-l", "bash", "-e", "kill -SEGV $$")
        self.assertIn("killed by signal 11 (SIGSEGV)", answer.message)
        fill = "head -c 200M /dev/zero > file"
        answer = run("-l", "bash", "-e", fill, "--memory", "64M")
        self.assertRegex(answer.message, r"out of memory: used 6\d(\.\d+)? MiB of 64 MiB \(raise with --memory 128M\)")

    def test_counts_the_walls_that_held_and_names_those_that_are_missing(self):
        answer = run("-l", "bash", "-e", "while :; do :; done", "--time", "300ms")
        self.assertRegex(answer.message, r"walls held: all \d+\n")
        answer = run("-l", "bash", "-e", "true", "--tier", "landlock", "--summary")
        self.assertRegex(answer.message, r"walls missing: .*\bnetwork namespace\b")

    def test_says_how_to_get_a_package_that_is_missing(self):
        answer = run("-l", "python", "-e", "import no_such_package.part")
        self.assertIn("'no_such_package' is not installed in the sandbox", answer.message)
        self.assertIn("--packages pip:no_such_package --package-source DIR", answer.message)
        for quiet in (("-q",), ("--env", "X=1", "-e", "import os; os._exit(0)")):
            code = () if "-e" in quiet else ("-e", "import no_such_package")
            self.assertNotIn("--packages", run("-l", "python", *quiet, *code).message)
        hostile = "import sys; sys.exit('ModuleNotFoundError: No module named \\'x\\x1b[2J\\'')"
        self.assertNotIn("--packages", run("-l", "python", "-e", hostile).message)

    def test_says_that_there_is_no_network_where_a_name_was_not_found(self):
        code = "import socket; socket.getaddrinfo('example.org', 80)"
        self.assertIn("the sandbox has no network", run("-l", "python", "-e", code).message)

    def test_says_that_there_is_no_network_where_certificates_are_missed(self):
        code = "raise OSError('Could not find a suitable TLS CA certificate bundle')"
        self.assertIn("the sandbox has no network", run("-l", "python", "-e", code).message)

    def test_says_what_to_trust_where_the_proxy_is_not_trusted(self):
        code = "import ssl; raise ssl.SSLError('[SSL: CERTIFICATE_VERIFY_FAILED]')"
        answer = run("--allow-net", "absent.example", "-l", "python", "-e", code)
        self.assertIn("SSL_CERT_FILE", answer.message)


def at_terminal(*arguments):
    """What a terminal gets to see."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [GLOVEBOX, *arguments], stdin=subprocess.DEVNULL, stdout=side, stderr=side
    )
    os.close(side)
    shown = b""
    try:
        while piece := os.read(main, 65536):
            shown += piece
    except OSError:  # EIO: nobody has the other side any more.
        pass
    os.close(main)
    process.wait(PATIENCE_S)
    return shown


class Program(Case):
    def test_lies_alone_in_its_directory(self):
        self.assertEqual(os.listdir(os.path.dirname(GLOVEBOX)), ["glovebox"])

    def test_keeps_its_sandboxes_where_the_environment_says(self):
        place = self.dir / "runtime"
        place.mkdir(mode=0o700)
        with subprocess.Popen(
            [GLOVEBOX, "run", "-l", "bash", "-e", "echo runs; read"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "GLOVEBOX_RUNTIME_DIR": str(place)},
        ) as running:
            self.assertEqual(running.stdout.readline(), b"runs\n")
            self.assertEqual(len(os.listdir(place)), 1)
            running.communicate(b"\n", timeout=PATIENCE_S)
        self.assertEqual(os.listdir(place), [])


class Signals(Case):
    CLEANS_UP = """
import signal, time
try:
    print("ready", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    print("cleaned up", flush=True)
"""

    def start(self, language, code, *more):
        process = subprocess.Popen(
            [GLOVEBOX, "run", "-l", language, "-e", code, *more],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_reach_the_program_first_and_then_end_us_too(self):
        process = self.start("python", self.CLEANS_UP)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), -signal.SIGINT)
        self.assertEqual(process.stdout.read(), b"cleaned up\n")

    def test_end_us_when_the_program_ignores_them(self):
        process = self.start("bash", "trap '' TERM INT; echo ready; sleep 600")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), -signal.SIGTERM)

    def test_that_come_twice_do_not_wait_for_the_program(self):
        process = self.start("bash", "trap 'echo caught' INT; echo ready; while :; do sleep 600; done")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), b"caught\n")
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), -signal.SIGINT)
        # Without the second one it would have had 5 s from the first.
        self.assertLess(time.monotonic() - begun, 4.5)

    def test_skip_the_check_of_what_was_interrupted(self):
        process = self.start("python", self.CLEANS_UP, "--verify", "echo checked")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), -signal.SIGINT)
        self.assertNotIn(b"checked", process.stdout.read())


class Files(Case):
    def setUp(self):
        super().setUp()
        project = self.dir / "project"
        (project / "data").mkdir(parents=True)
        (project / "helper.py").write_text("print('helper')\n")
        (project / "data" / "a.txt").write_text("a")
        self.project = project

    def test_of_a_directory_go_into_the_workspace_itself(self):
        listing = ("-l", "bash", "-e", "ls -1R | grep -v '^$'")
        wanted = b".:\ndata\nhelper.py\nmain.bash\n./data:\na.txt\n"
        for file in ("project:.", "project/:.", "project:/workspace", "project:./."):
            with self.subTest(file):
                self.assertEqual(run(*listing, "--file", file, cwd=self.dir).out, wanted)
        self.assertEqual(run(*listing, "--file", ".", cwd=self.project).out, wanted)

    def test_of_the_directory_above_keep_its_name(self):
        answer = run("-l", "bash", "-e", "ls project", "--file", "..", cwd=self.project / "data")
        self.assertEqual(answer.out, b"data\nhelper.py\n")

    def test_alone_go_into_the_workspace_under_their_name(self):
        answer = run("-l", "bash", "-e", "cat helper.py", "--file", "project/helper.py:.", cwd=self.dir)
        self.assertEqual(answer.out, b"print('helper')\n")

    def test_outside_the_workspace_are_refused(self):
        for file in ("project:..", "project:/etc", "project:a/../../b"):
            answer = run("-l", "bash", "-e", "true", "--file", file, cwd=self.dir)
            self.assertEqual(answer.status, 2, answer)
            self.assertIn("outside the workspace", answer.message)


class Words(Case):
    def script(self, name, text):
        path = self.dir / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def test_a_script_keeps_its_name(self):
        path = self.script("fetch-all.py", "import sys; print(sys.argv[0], __file__)\n")
        self.assertEqual(run(path).out, b"fetch-all.py /workspace/fetch-all.py\n")

    def test_a_compiler_names_the_users_file(self):
        # The endings and, in the test, the words of each compiler.
        for language, name in (("c", "sort-v2.c"), ("cpp", "sort-v2.cc"), ("rust", "sort-v2.rs")):
            with self.subTest(language=language):
                self.need(language)
                answer = run(self.script(name, "nonsense here\n"))
                self.assertIn(name + ":1:", answer.message)
                self.assertNotIn("main.", answer.message)

    def test_what_a_compiler_makes_is_called_as_ever(self):
        self.need("c")
        # Here the file's own name is that of a directory.
        path = self.script("tool.c", "#include <stdio.h>\nint main() { puts(__FILE__); }\n")
        self.file("tool/part.txt", "")
        answer = run(path, "--file", self.dir / "tool")
        self.assertEqual((answer.status, answer.out), (0, b"tool.c\n"), str(answer))

    def test_a_file_needs_no_command(self):
        path = self.script("a.py", "import sys; print(sys.argv[1:])\n")
        self.assertEqual(glovebox(path, "x", "--", "-y").out, b"['x', '-y']\n")

    def test_a_script_whose_interpreter_we_are_gets_all_words_behind_it(self):
        shebang = f"#!/usr/bin/env -S {GLOVEBOX} run -q -l python --time 20s\n"
        path = self.script("tool", shebang + "import sys; print(sys.argv)\n")
        done = subprocess.run(
            [path, "-x", "--time", "3", "--", "a"], capture_output=True, check=False, timeout=PATIENCE_S
        )
        self.assertEqual(done.stdout, b"['tool.py', '-x', '--time', '3', '--', 'a']\n", done.stderr)

    def test_options_are_corrected(self):
        for words, hint in (
            (("run", "--memroy", "1G"), "did you mean '--memory'?"),
            (("run", "a.py", "-x"), "to pass it to the program, put '--' before it"),
            (("sandbox", "create", "--timeuot=3"), "did you mean '--timeout'?"),
            (("notbook",), "did you mean 'glovebox notebook'?"),
        ):
            with self.subTest(words):
                answer = glovebox(*words)
                self.assertEqual(answer.status, 2, answer)
                self.assertIn(hint, answer.message)

    def test_help_and_version_are_commands_too(self):
        self.assertEqual(glovebox("help", "run").out, glovebox("run", "--help").out)
        self.assertEqual(
            glovebox("help", "sandbox", "create").out, glovebox("sandbox", "create", "--help").out
        )
        self.assertEqual(glovebox("help").out, glovebox("--help").out)
        self.assertEqual(glovebox("version").out, glovebox("--version").out)

    def test_help_names_values_and_defaults(self):
        text = run("--help").out.decode()
        self.assertIn("--memory <SIZE>", text)
        self.assertIn("[default: 512 MiB]", text)
        self.assertNotIn("TEXT", text)
        self.assertNotIn("\n\n\n", text)
        for words, usual in (
            (("serve",), "--network"), (("audit", "tail"), "-n,--lines"), (("sandbox", "fork"), "--count"),
            (("key", "rotate"), "--overlap"), (("mcp",), "--time"),
        ):
            with self.subTest(words):
                lines = glovebox(*words, "--help").out.decode()
                self.assertRegex(lines, rf"\n  {usual} <[A-Z]+> .*\[default: ")

    def test_several_words_in_a_first_line_take_env(self):
        answer = glovebox("run --time 5s", "tool.py")
        self.assertEqual(answer.status, 2)
        self.assertIn("'#!/usr/bin/env -S'", answer.message)

    def test_options_are_completed(self):
        self.assertEqual(completed("run", "--mem"), ["--memory"])

    def test_values_are_completed(self):
        self.assertEqual(completed("run", "--seccomp", ""), ["default", "strict"])
        self.assertEqual(completed("run", "--tier", "la"), ["landlock"])
        self.assertEqual(completed("run", "--tier", "=", "la"), ["landlock"])  # As bash splits it.
        self.assertEqual(completed("run", "-l", "pyth"), ["python"])
        self.assertEqual(completed("completion", "f"), ["fish"])
        # Where a file is meant, the shell offers files.
        self.assertEqual(completed("run", "--stdin", ""), [])

    def test_dash_is_standard_input(self):
        copied = run("-l", "bash", "-e", "cat d/x; cat", "--file", "-:d/x", stdin=b"copied")
        self.assertEqual((copied.status, copied.out), (0, b"copied"), copied)
        checked = glovebox("policy", "check", "untrusted", "-", "-l", "python", stdin=b"print(1)")
        self.assertEqual(checked.status, 0, checked)
        policy = b'[python.modules]\nrefuse = ["socket"]\n'
        refused = run("-l", "python", "-e", "import socket", "--policy", "-", stdin=policy)
        self.assertEqual(refused.status, 126, refused)
        for words, message in (
            (("-", "--stdin", "-"), "cannot be both the program and --stdin"),
            (("-", "--file", "-:x"), "cannot be both the program and --file"),
            (("-e", "1", "-l", "python", "--file", "-"), "standard input has no name"),
            (("-e", "1", "-l", "python", "--out", "-"), "'-' is not a directory"),
            (("-", "-l", "python", "--watch"), "--watch"),
        ):
            with self.subTest(words):
                answer = run(*words)
                self.assertEqual(answer.status, 2, answer)
                self.assertIn(message, answer.message)

    def test_a_variable_may_come_from_outside(self):
        echo = ("-l", "bash", "-e", "echo $GB_TEST", "--env", "GB_TEST")
        self.assertEqual(run(*echo, env={"GB_TEST": "a=b"}).out, b"a=b\n")
        answer = run(*echo)
        self.assertEqual(answer.status, 2)
        self.assertIn("'GB_TEST' is not set here", answer.message)


def completed(*words):
    return glovebox("--complete", *words).out.decode().split()


def without_clone3():
    """Container engines answer clone3 with ENOSYS, which means "use clone"."""
    refused(435, errno.ENOSYS)


def refused(number, error):
    """Makes a system call fail in this process and in all that it starts."""
    instructions = (
        (0x20, 0, 0, 0),  # the number of the call
        (0x15, 0, 1, number),
        (0x06, 0, 0, 0x00050000 | error),
        (0x06, 0, 0, 0x7FFF0000),
    )
    code = b"".join(struct.pack("=HBBI", *each) for each in instructions)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


class InContainers(Case):
    def test_both_tiers_do_without_clone3(self):
        for tier in ("native", "landlock"):
            done = subprocess.run(
                [GLOVEBOX, "run", "--tier", tier, "-l", "bash", "-e", "echo $((6*7))"],
                capture_output=True,
                check=False,
                preexec_fn=without_clone3,
                timeout=PATIENCE_S,
            )
            self.assertEqual(done.stdout, b"42\n", done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs a mount namespace of its own")
    def test_doctor_knows_one_and_says_what_it_lacks(self):
        runtime = self.dir / "runtime"
        runtime.mkdir(mode=0o700)
        marked = "mount -t tmpfs none /run && touch /run/.containerenv && exec "
        for number, hint in ((None, ""), (165, "--security-opt seccomp=unconfined")):  # mount(2)
            done = subprocess.run(
                ["unshare", "-m", "sh", "-c", f'{marked} "$@"', "sh", sys.executable, "-c",
                 "import os, sys; sys.path.insert(0, sys.argv[1]); import test_command_line as t\n"
                 f"if {number}: t.refused({number}, {errno.EPERM})\n"
                 "os.execv(sys.argv[2], sys.argv[2:])",
                 os.path.dirname(os.path.abspath(__file__)), GLOVEBOX, "doctor", "--json"],
                capture_output=True,
                check=False,
                timeout=PATIENCE_S,
                env={**os.environ, "GLOVEBOX_RUNTIME_DIR": str(runtime)},
            )
            findings = {each["what"]: each for each in json.loads(done.stdout)["findings"]}
            self.assertEqual(findings["tier native"]["ok"], not hint, done)
            self.assertEqual(findings["place"]["ok"], not hint, done)
            self.assertIn("a Podman container", findings["place"]["detail"])
            self.assertIn(hint, findings["place"]["hint"])


if __name__ == "__main__":
    unittest.main()
