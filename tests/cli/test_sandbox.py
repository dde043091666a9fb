# SPDX-License-Identifier: Apache-2.0
"""The commands that are clients of a daemon, against a real one."""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

import program

sys.path.append(str(program.ROOT / "tests/service"))
from daemon import Daemon  # noqa: E402

PICTURE = """
import matplotlib.pyplot as plt
plt.plot([1, 2, 3])
plt.show()
"""


class Case(program.Case):
    """Tests of one daemon for all, with a sandbox on demand."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.daemon.start()
        cls.env = {"GLOVEBOX_URL": f"unix:{cls.daemon.unix}", "GLOVEBOX_API_KEY": ""}

    def ask(self, *arguments, status=0, **how):
        answer = program.glovebox(*arguments, env=self.env, cwd=self.dir, **how)
        self.assertEqual(answer.status, status, str(answer))
        return answer

    def sandbox(self, *arguments, **how):
        return self.ask("sandbox", *arguments, **how)

    def create(self, *arguments):
        id = self.sandbox("create", *arguments).out.decode().strip()
        self.assertRegex(id, r"^[0-9a-z]+$")
        self.addCleanup(
            program.glovebox, "sandbox", "kill", id, env=self.env
        )
        return id

    def start(self, *arguments, **how):
        process = subprocess.Popen(
            [program.GLOVEBOX, *arguments],
            env={**os.environ, **self.env},
            cwd=self.dir,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **how},
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, program.PATIENCE_S)
        self.addCleanup(process.kill)
        return process

    def until(self, stream, wanted):
        """Reads a pipe or a terminal until it has shown something."""
        seen = b""
        end = time.monotonic() + program.PATIENCE_S
        while wanted not in seen:
            left = end - time.monotonic()
            self.assertTrue(left > 0 and select.select([stream], [], [], left)[0], seen)
            piece = os.read(stream if isinstance(stream, int) else stream.fileno(), 65536)
            self.assertTrue(piece, seen)
            seen += piece
        return seen


class Sandboxes(Case):
    def test_a_sandbox_is_made_listed_described_and_killed(self):
        id = self.create("--timeout", "10m", "--memory", "300M", "--metadata", "task=list")
        listed = self.sandbox("ls", "--metadata", "task=list").out.decode()
        head, row = listed.splitlines()
        self.assertTrue(head.startswith("ID "), listed)
        self.assertEqual(row.split()[:3], [id, "running", "default"], listed)
        self.assertIn("300 MiB", row)
        (found,) = self.sandbox("ls", "--metadata", "task=list", "--json").verdict["sandboxes"]
        self.assertEqual(found["id"], id)
        self.assertEqual(self.sandbox("ls", "-q", "--metadata", "task=list").out.decode(), id + "\n")
        info = self.sandbox("info", id, "--json").verdict
        self.assertEqual(info["usage"]["memory_limit"], 300 << 20)
        self.assertIn("task", self.sandbox("info", id).out.decode())
        self.sandbox("kill", id)
        gone = self.sandbox("info", id, status=2)
        self.assertIn("has ended: it was deleted", gone.message)

    def test_kill_all_ends_those_of_the_own_tenant_and_counts_them(self):
        self.ask("tenant", "create", "killer")
        key = self.ask("key", "create", "--tenant", "killer").out.decode().strip()
        theirs = {"GLOVEBOX_URL": f"http://127.0.0.1:{self.daemon.port}", "GLOVEBOX_API_KEY": key}

        def sandbox(*words, status=0):
            answer = program.glovebox("sandbox", *words, env=theirs)
            self.assertEqual(answer.status, status, str(answer))
            return answer

        own = self.create()
        ids = {sandbox("create").out.decode().strip() for _ in range(3)}
        sandbox("pause", min(ids))
        self.assertEqual(sandbox("kill", "--all").out, b"ended 3 sandboxes\n")
        self.assertEqual(sandbox("ls", "-q").out, b"")
        self.assertEqual(self.sandbox("info", own, "--json").verdict["state"], "running")
        one = sandbox("create").out.decode().strip()
        self.assertEqual(sandbox("kill", "--all", "--json").verdict,
                         {"schema": "glovebox.ids/1", "ids": [one]})
        self.assertEqual(sandbox("kill", "--all").out, b"ended 0 sandboxes\n")
        self.assertIn("cannot be combined", sandbox("kill", "--all", one, status=2).message)
        self.assertIn("ID or --all is required", sandbox("kill", status=2).message)

    def test_pause_resume_extend_fork_and_snapshot(self):
        id = self.create("--metadata", "n=1")
        self.sandbox("exec", id, "-e", "open('kept.txt', 'w').write('kept')")
        self.sandbox("pause", id)
        self.assertEqual(self.sandbox("info", id, "--json").verdict["state"], "paused")
        self.sandbox("resume", id)
        before = self.sandbox("info", id, "--json").verdict["expires"]
        after = self.sandbox("extend", id, "2h").out.decode().strip()
        self.assertGreater(after, before)
        forks = self.sandbox("fork", id, "--count", "2").out.decode().split()
        self.assertEqual(len(set(forks)), 2)
        self.assertEqual(self.sandbox("cp", forks[1] + ":kept.txt", "-").out, b"kept")
        self.sandbox("kill", *forks)
        name = self.sandbox("snapshot", id, "--name", "kept").out.decode().strip()
        other = self.create("--template", name)
        self.assertEqual(self.sandbox("cp", other + ":kept.txt", "-").out, b"kept")

    def test_storage_on_disk_is_what_was_asked_for_or_refused_by_name(self):
        words = ["create", "--storage", "disk", "--disk", "16M", "--inodes", "100"]
        made = program.glovebox("sandbox", *words, env=self.env)
        if made.status == 0:
            id = made.out.decode().strip()
            self.assertEqual(self.sandbox("info", id, "--json").verdict["storage"], "disk")
            self.sandbox("kill", id)
        else:
            self.assertIn("volumes and workspaces on disk", made.message)

    def test_wrong_requests_are_told_with_a_hint(self):
        self.assertIn("no sandbox", self.sandbox("exec", "nobody", "-e", "1", status=2).message)
        self.assertIn("--memory", self.sandbox("create", "--memory", "much", status=2).message)
        self.assertIn("NAME=VALUE", self.sandbox("create", "--env", "x", status=2).message)
        lost = program.glovebox("sandbox", "ls", "--url", f"unix:{self.dir}/none")
        self.assertEqual(lost.status, 125, str(lost))
        self.assertIn("glovebox serve", lost.message)
        self.assertEqual(program.glovebox("sandbox", "ls", "--url", "ftp://x").status, 2)


class Executions(Case):
    def test_variables_live_on_and_the_last_value_is_shown(self):
        id = self.create()
        self.sandbox("exec", id, "-e", "x = 41")
        self.assertEqual(self.sandbox("exec", id, "-e", "x + 1").out, b"42\n")
        self.assertEqual(self.sandbox("exec", id, "-", stdin=b"print(x)").out, b"41\n")
        script = self.file("script.py", "print('of a file', x)")
        self.assertEqual(self.sandbox("exec", id, str(script)).out, b"of a file 41\n")

    def test_an_error_is_shown_and_is_the_exit_status(self):
        id = self.create()
        failed = self.sandbox("exec", id, "-e", "print('before'); 1 / 0", status=1)
        self.assertEqual(failed.out, b"before\n")
        self.assertIn("ZeroDivisionError", failed.message)
        late = self.sandbox("exec", id, "--time", "500ms", "-e", "while True: pass", status=124)
        self.assertIn("timeout", late.message)

    def test_events_and_the_verdict_come_as_json(self):
        id = self.create()
        events = self.sandbox("exec", id, "--events", "-e", "print(1)\n2").events
        self.assertEqual(events[0]["type"], "started")
        self.assertIn({"type": "stdout", "text": "1\n"}, events)
        self.assertEqual(events[-1]["type"], "verdict")
        verdict = self.sandbox("exec", id, "--json", "-e", "3").verdict
        self.assertEqual(verdict["results"][0]["data"]["text/plain"], "3")

    def test_pictures_are_saved_and_named(self):
        id = self.create()
        shown = self.sandbox("exec", id, "--save", "plots", "-e", PICTURE).out.decode()
        self.assertIn("[plots/plot-1.png: image/png", shown)
        self.assertTrue((self.dir / "plots/plot-1.png").read_bytes().startswith(b"\x89PNG"))

    def test_other_languages_have_a_context_of_their_own(self):
        self.need("bash")
        id = self.create()
        self.sandbox("exec", id, "-l", "bash", "-e", "WORD=kept")
        self.assertEqual(self.sandbox("exec", id, "-l", "bash", "-e", "echo $WORD").out, b"kept\n")
        contexts = self.sandbox("info", id, "--json").verdict["contexts"]
        self.assertEqual([c["language"] for c in contexts if c["language"] != "python"], ["bash"])

    def test_an_interrupt_ends_the_execution_and_not_the_context(self):
        id = self.create()
        self.sandbox("exec", id, "-e", "kept = 'still here'")
        running = self.start(
            "sandbox", "exec", id, "-e",
            "import time; print('begun', flush=True)\nwhile True: time.sleep(0.01)",
            stderr=subprocess.DEVNULL,
        )
        self.until(running.stdout, b"begun")
        running.send_signal(signal.SIGINT)
        self.assertNotEqual(running.wait(program.PATIENCE_S), 0)
        self.assertEqual(self.sandbox("exec", id, "-e", "print(kept)").out, b"still here\n")

    def test_run_is_a_fresh_sandbox_at_the_daemon(self):
        answer = self.sandbox("run", "-l", "python", "-e", "print(6*7); exit(3)", status=3)
        self.assertEqual(answer.out, b"42\n")
        verdict = self.sandbox("run", "--json", "-l", "python", "-e", "1").verdict
        self.assertEqual(verdict["status"], "ok")

    def test_logs_are_what_a_process_says_and_a_context_executed(self):
        id = self.create()
        self.sandbox("exec", id, "-e", "for i in range(2):\n    print(i)\n6*7")
        self.sandbox("exec", id, "-e", "print('\x1b]2;title\x07red')\n1/0", status=1)
        text = self.sandbox("logs", id).out.decode()
        self.assertIn("In [1]: for i in range(2):\n            print(i)\n        6*7\n0\n1\n"
                      "Out[1]: 42\n\nIn [2]: ", text)
        self.assertIn("ZeroDivisionError", text)
        self.assertNotIn("\x1b", text)
        events = self.sandbox("logs", id, "--json").events
        self.assertEqual([event["type"] for event in events],
                         ["cell", "stdout", "result", "cell", "stdout", "error"])
        self.assertEqual((events[0]["code"], events[2]["data"]["text/plain"]),
                         ("for i in range(2):\n    print(i)\n6*7", "42"))
        notebook = json.loads(self.sandbox("logs", id, "--notebook").out)
        self.assertEqual(notebook["cells"][0]["execution_count"], 1)
        pid = self.daemon.must(
            201, "POST", f"/v1/sandboxes/{id}/processes", {"argv": ["sh", "-c", "echo said; echo more >&2"]}
        )["pid"]
        said = self.sandbox("logs", id, str(pid))
        self.assertEqual((said.out, said.err), (b"said\n", b"more\n"))


class Processes(Case):
    def test_streams_and_the_exit_status_pass(self):
        id = self.create()
        done = self.sandbox(
            "exec", id, "--", "sh", "-c", "cat; echo err >&2; exit 3", stdin=b"in\n", status=3
        )
        self.assertEqual((done.out, done.err), (b"in\n", b"err\n"))
        self.sandbox("exec", id, "--", "sh", "-c", "kill -TERM $$", status=143)
        done = self.sandbox("exec", id, "--json", "--", "echo", "[a,b]").verdict
        self.assertEqual((done["stdout"], done["exit_code"]), ("[a,b]\n", 0))
        self.assertEqual((done["schema"], done["bytes"]["stdout"]), ("glovebox.command/1", 6))

    def test_any_bytes_pass_both_ways(self):
        id = self.create()
        sent = os.urandom(300_000)
        self.assertEqual(self.sandbox("exec", id, "--", "cat", stdin=sent).out, sent)

    def test_an_interrupt_goes_to_the_process(self):
        id = self.create()
        code = "trap 'exit 7' INT; echo ready; while :; do sleep 0.05; done"
        running = self.start("sandbox", "exec", id, "--", "sh", "-c", code)
        self.until(running.stdout, b"ready")
        running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(program.PATIENCE_S), 7)


class Terminals(Case):
    @contextlib.contextmanager
    def terminal(self, *command, size=(33, 91)):
        """The program in a terminal of its own: the process, our end, and the end that it has."""
        ours, theirs = pty.openpty()
        self.resize(ours, size)
        process = subprocess.Popen(
            [program.GLOVEBOX, *command],
            env={**os.environ, **self.env},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        try:
            yield process, ours, theirs
        finally:
            process.kill()
            process.wait()
            os.close(ours)
            os.close(theirs)

    def resize(self, terminal, size):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def ended(self, process, ours):
        end = time.monotonic() + program.PATIENCE_S
        while time.monotonic() < end:
            if process.poll() is not None:
                return process.returncode
            # What it writes must go somewhere.
            if select.select([ours], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    os.read(ours, 65536)
        self.fail("it does not end")

    def test_a_shell_gets_keys_and_sizes_and_gives_its_status(self):
        id = self.create()
        with self.terminal("sandbox", "exec", "-t", id, "--", "sh") as (process, ours, theirs):
            before = termios.tcgetattr(theirs)
            self.until(ours, b"$ ")
            self.assertNotEqual(termios.tcgetattr(theirs), before)
            os.write(ours, b"stty size\n")
            self.until(ours, b"33 91")
            self.resize(ours, (50, 120))
            # The signal and the keys go two ways; both have come once the shell says so.
            end = time.monotonic() + program.PATIENCE_S
            seen = b""
            while b"50 120" not in seen and time.monotonic() < end:
                os.write(ours, b"stty size; echo asked\n")
                seen = self.until(ours, b"\r\nasked")
            self.assertIn(b"50 120", seen)
            os.write(ours, b"exit 5\n")
            self.assertEqual(self.ended(process, ours), 5)
            self.assertEqual(termios.tcgetattr(theirs), before)

    def test_a_signal_leaves_the_terminal_as_it_was(self):
        id = self.create()
        with self.terminal("sandbox", "exec", "-t", id, "--", "sh") as (process, ours, theirs):
            before = termios.tcgetattr(theirs)
            self.until(ours, b"$ ")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(self.ended(process, ours), 128 + signal.SIGTERM)
            self.assertEqual(termios.tcgetattr(theirs), before)

    def test_what_ends_at_once_is_shown_all_the_same(self):
        id = self.create()
        with self.terminal("sandbox", "exec", "-t", id, "--", "echo", "short") as (process, ours, _):
            self.until(ours, b"short")
            self.assertEqual(self.ended(process, ours), 0)

    def test_without_a_terminal_it_is_refused(self):
        refused = self.sandbox("exec", "-t", self.create(), "--", "sh", status=2)
        self.assertIn("leave out -t", refused.message)


class Copies(Case):
    def test_files_are_copied_both_ways(self):
        id = self.create()
        content = os.urandom(3_000_000)
        self.file("in.bin", content)
        self.sandbox("cp", "in.bin", f"{id}:")
        self.sandbox("cp", f"{id}:in.bin", "out.bin")
        self.assertEqual((self.dir / "out.bin").read_bytes(), content)
        self.sandbox("cp", "-", f"{id}:a/b/typed.txt", stdin=b"typed")
        self.assertEqual(self.sandbox("cp", f"{id}:a/b/typed.txt", "-").out, b"typed")
        listed = self.sandbox("files", id, "a", "--depth", "3", "--json").verdict
        self.assertIn("typed.txt", json.dumps(listed))
        self.sandbox("files", id, "a", "--remove")
        self.sandbox("cp", f"{id}:a/b/typed.txt", "-", status=2)

    def test_directories_are_copied_both_ways(self):
        id = self.create()
        script = self.file("tree/deep/run.sh", "#!/bin/sh\necho ran\n")
        script.chmod(0o755)
        self.file("tree/empty", "")
        self.sandbox("cp", "tree", f"{id}:work/")
        self.assertEqual(self.sandbox("exec", id, "--", "work/tree/deep/run.sh").out, b"ran\n")
        self.sandbox("cp", f"{id}:work/tree", "back")
        self.assertEqual((self.dir / "back/deep/run.sh").read_text(), script.read_text())
        self.assertTrue(os.access(self.dir / "back/deep/run.sh", os.X_OK))
        # Into what is a directory there.
        self.sandbox("cp", f"{id}:work/tree", ".")
        self.assertEqual((self.dir / "tree/empty").read_text(), "")

    def test_links_out_of_a_sandbox_are_refused_unless_asked_for(self):
        id = self.create()
        self.sandbox("exec", id, "--", "sh", "-c", "mkdir d && ln -s /etc/passwd d/link")
        refused = self.sandbox("cp", f"{id}:d", "d", status=2)
        self.assertIn("--links", refused.message)
        self.sandbox("cp", "--links", f"{id}:d", "e")
        self.assertEqual(os.readlink(self.dir / "e/link"), "/etc/passwd")

    def test_more_than_allowed_is_not_taken(self):
        id = self.create()
        self.sandbox("exec", id, "--", "truncate", "-s", "2M", "large")
        refused = self.sandbox("cp", "--max-size", "1M", f"{id}:large", "large", status=125)
        self.assertIn("--max-size", refused.message)
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_two_places_of_one_kind_are_refused(self):
        self.sandbox("cp", "a", "b", status=2)
        self.sandbox("cp", "x:a", "x:b", status=2)


class Administration(Case):
    def test_keys_are_made_listed_rotated_and_revoked(self):
        made = self.ask("key", "create", "--scope", "read", "--expires", "30d", "--json").verdict
        over_tcp = {"GLOVEBOX_URL": f"http://127.0.0.1:{self.daemon.port}"}

        def status(key):
            return program.glovebox("sandbox", "ls", "--key", key, env=over_tcp).status

        self.assertEqual(status(made["key"]), 0)
        row = next(line for line in self.ask("key", "ls").out.decode().splitlines() if made["id"] in line)
        self.assertNotIn(made["key"], row)
        self.assertIn("valid", row)
        refused = program.glovebox("sandbox", "create", "--key", made["key"], env=over_tcp)
        self.assertEqual(refused.status, 126, str(refused))
        new = self.ask("key", "rotate", made["id"], "--overlap", "1h").out.decode().strip()
        self.assertEqual((status(made["key"]), status(new)), (0, 0))
        self.ask("key", "revoke", made["id"])
        self.assertEqual((status(made["key"]), status(new)), (126, 0))
        nobody = program.glovebox("sandbox", "ls", env={**over_tcp, "GLOVEBOX_API_KEY": ""})
        self.assertIn("GLOVEBOX_API_KEY", nobody.message)

    def test_tenants_are_made_bounded_and_removed(self):
        self.ask("tenant", "create", "acme", "--sandboxes", "1", "--memory", "2G")
        key = self.ask("key", "create", "--tenant", "acme").out.decode().strip()
        theirs = {"GLOVEBOX_URL": f"http://127.0.0.1:{self.daemon.port}", "GLOVEBOX_API_KEY": key}
        first = program.glovebox("sandbox", "create", env=theirs)
        self.assertEqual(first.status, 0, str(first))
        second = program.glovebox("sandbox", "create", env=theirs)
        self.assertIn("quota of sandboxes", second.message)
        self.assertRegex(self.ask("tenant", "ls").out.decode(), r"acme +\S+ +1 / 1 ")
        quotas = self.ask("tenant", "quota", "acme", "--sandboxes", "none", "--json").verdict["quotas"]
        self.assertEqual((quotas["sandboxes"], quotas["memory"]), (None, 2 << 30))
        self.ask("tenant", "rm", "acme", status=125)
        program.glovebox("sandbox", "kill", first.out.decode().strip(), env=theirs)
        self.ask("tenant", "rm", "acme")
        self.assertEqual(program.glovebox("sandbox", "ls", env=theirs).status, 126)


class Help(unittest.TestCase):
    GROUPS = {
        "sandbox": "create ls info exec run cp files logs kill pause resume extend snapshot fork",
        "key": "create ls rotate revoke",
        "tenant": "create ls quota rm",
        "template": "build ls info rm",
    }

    def test_every_command_has_help_with_examples_and_json(self):
        for group, names in self.GROUPS.items():
            listed = program.glovebox(group, "--help").out.decode()
            for name in names.split():
                with self.subTest(command=f"{group} {name}"):
                    self.assertRegex(listed, rf"(?m)^ +{name}\b")
                    help = program.glovebox(group, name, "--help").out.decode()
                    self.assertIn(f"glovebox {group} {name}", help.split("Examples:")[1])
                    self.assertIn("--json", help)


class Tls(program.Case):
    def test_a_certificate_is_checked(self):
        certificate, key = self.dir / "cert.pem", self.dir / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-days", "2", "-subj", "/CN=elsewhere", "-addext",
             "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
            check=True, capture_output=True,
        )
        daemon = Daemon()
        self.addCleanup(daemon.discard)
        daemon.options = ["--certificate", str(certificate), "--key", str(key)]
        daemon.start()
        how = ["--url", f"https://127.0.0.1:{daemon.port}", "--key", daemon.key]
        refused = program.glovebox("sandbox", "ls", *how)
        self.assertEqual(refused.status, 126, str(refused))
        self.assertIn("--cacert", refused.message)
        trusted = program.glovebox("sandbox", "ls", *how, "--cacert", str(certificate))
        self.assertEqual(trusted.status, 0, str(trusted))
        other = ["--url", f"https://localhost:{daemon.port}", "--key", daemon.key]
        wrong_name = program.glovebox("sandbox", "ls", *other, "--cacert", str(certificate))
        self.assertEqual(wrong_name.status, 126, str(wrong_name))


if __name__ == "__main__":
    unittest.main()
