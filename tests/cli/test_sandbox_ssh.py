# SPDX-License-Identifier: Apache-2.0
"""glovebox sandbox ssh: OpenSSH's own programs against a server inside a sandbox, which may be
hostile."""

import contextlib
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess

import program
import test_sandbox
from daemon import wait_until

# A server that is none, in a directory that is the first of the sandbox's PATH.
HOSTILE = ("--env", "PATH=/workspace/bin:/usr/local/bin:/usr/bin:/bin")
EVERYTHING_ON = """
Host *
  ForwardAgent yes
  ForwardX11 yes
  PermitLocalCommand yes
  LocalCommand touch ran
  StrictHostKeyChecking no
  ControlMaster auto
  ControlPath control
"""
# What is left of sessions: directories, processes.
REST = "ls -A /tmp | grep -c glovebox-ssh; cat /proc/[0-9]*/comm 2> /dev/null | grep -c sshd; true"
NOTHING = "0\n0\n"


class Case(test_sandbox.Case):
    """With a home of its own, in which lasting keys and the client's own settings are."""

    def setUp(self):
        super().setUp()
        if not shutil.which("sshd", path="/usr/local/sbin:/usr/sbin:/sbin"):
            self.skipTest("openssh-server is not installed")
        self.home = self.dir / "home"
        self.home.mkdir()
        self.env = {**self.env, "HOME": str(self.home), "XDG_STATE_HOME": ""}

    def ssh(self, id, *words, **how):
        return self.sandbox("ssh", id, "--", *words, **how)

    def inside(self, id, line):
        return self.sandbox("exec", id, "--", "sh", "-c", line).out.decode()

    def hostile(self, *program_lines, name="sshd"):
        """A sandbox that has this script in place of a program."""
        id = self.create(*HOSTILE)
        script = self.file(name, "\n".join(["#!/bin/sh", *program_lines, ""]))
        script.chmod(0o755)
        self.sandbox("cp", name, f"{id}:bin/{name}")
        return id

    def configured(self, id, *options):
        """The file of ssh_config for a sandbox."""
        return self.file("config", self.sandbox("ssh", id, "--config", *options).out)

    def call(self, *command, status=0, **how):
        done = subprocess.run(
            command, capture_output=True, cwd=self.dir, timeout=program.PATIENCE_S,
            env={**os.environ, **self.env}, check=False, **how
        )
        self.assertEqual(done.returncode, status, done)
        return done

    def sessions(self):
        """The directories with keys of sessions that last."""
        runtime = os.environ.get("GLOVEBOX_RUNTIME_DIR", "/run/glovebox")
        if os.geteuid() != 0:
            runtime = os.environ.get("XDG_RUNTIME_DIR", "") + "/glovebox"
        with contextlib.suppress(FileNotFoundError):
            return list((pathlib.Path(runtime) / ".ssh").iterdir())
        return []

    def children(self, id):
        """The processes of ours that this sandbox keeps busy."""
        found = []
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (directory / "cmdline").read_bytes().split(b"\0")
                if b"--proxy" in words and id.encode() in words:
                    found.append(int(directory.name))
        return found

    def assert_nothing_left(self, id):
        wait_until(lambda: not self.children(id), "the end of the proxy")
        self.assertEqual(self.sessions(), [])
        # The server ends when it is told that its client has.
        wait_until(lambda: self.inside(id, REST) == NOTHING, "the end of the server")


class Sessions(Case):
    def test_a_command_has_its_streams_and_its_status(self):
        id = self.create("--env", 'STAGE=a "b" \\c')
        done = self.ssh(id, "cat; echo err >&2; exit 3", stdin=b"in\n", status=3)
        self.assertEqual((done.out, done.err), (b"in\n", b"err\n"))
        self.assertEqual(self.ssh(id, "echo", "$STAGE").out, b'a "b" \\c\n')
        self.assertEqual(self.ssh(id, "pwd; umask; id -un").out, b"/workspace\n0022\nguest\n")
        self.ssh(id, "kill -9 $$", status=255)
        self.assert_nothing_left(id)

    def test_any_bytes_pass_both_ways(self):
        id = self.create()
        sent = os.urandom(5_000_000)
        self.assertEqual(self.ssh(id, "cat", stdin=sent).out, sent)

    def test_a_rate_of_requests_slows_it_down_and_breaks_nothing(self):
        self.ask("tenant", "create", "slow", "--rate", "30")
        key = self.ask("key", "create", "--tenant", "slow").out.decode().strip()
        self.env = {**self.env, "GLOVEBOX_URL": f"http://127.0.0.1:{self.daemon.port}",
                    "GLOVEBOX_API_KEY": key}
        id = self.create()
        sent = os.urandom(2_000_000)
        self.assertEqual(self.ssh(id, "cat", stdin=sent).out, sent)

    def test_root_inside_is_root(self):
        id = self.create("--user", "root")
        self.assertEqual(self.ssh(id, "id -u; pwd").out, b"0\n/root\n")
        self.inside(id, "useradd --create-home --shell /bin/bash --password '*' alice")
        done = self.sandbox("ssh", id, "-o", "User=alice", "--", "id -un; echo ~; cat /tmp/.glovebox*/host_key",
                            status=1)
        self.assertEqual(done.out, b"alice\n/home/alice\n")
        self.assertEqual(done.message.count("Permission denied"), 1, done.message)
        self.assert_nothing_left(id)

    def test_a_terminal_is_one_of_the_sandbox(self):
        id = self.create()
        terminal = test_sandbox.Terminals.terminal
        with terminal(self, "sandbox", "ssh", id) as (process, ours, _):
            self.until(ours, b"$ ")
            os.write(ours, b"stty size; tty\n")
            self.until(ours, b"/dev/pts/0")
            # No child of a shell: one of dash that is interrupted while it starts is not heard.
            os.write(ours, b"python3 -c \"input('run' 'ning')\"\n")
            self.until(ours, b"running")
            self.resize(ours, (50, 120))
            os.write(ours, b"\x03")
            self.until(ours, b"$ ")
            os.write(ours, b"stty size; exit 5\n")
            self.until(ours, b"50 120")
            self.assertEqual(test_sandbox.Terminals.ended(self, process, ours), 5)
        self.assert_nothing_left(id)

    resize = test_sandbox.Terminals.resize

    def test_ports_are_forwarded(self):
        id = self.create()
        self.sandbox("cp", str(self.file("page", "of the sandbox")), f"{id}:page")
        server = "python3 -m http.server 8000 --bind 127.0.0.1 > /dev/null 2>&1 &"
        self.inside(id, server)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = self.start(
            "sandbox", "ssh", id, "-N", "-L", f"127.0.0.1:{port}:localhost:8000",
            stderr=subprocess.DEVNULL
        )
        self.assertEqual(wait_until(lambda: self.page(port), "the page"), b"of the sandbox")
        process.send_signal(signal.SIGTERM)
        process.wait(program.PATIENCE_S)
        self.assert_nothing_left(id)

    def page(self, port):
        done = subprocess.run(
            ["curl", "-sf", f"http://127.0.0.1:{port}/page"], capture_output=True, check=False
        )
        return done.stdout if done.returncode == 0 else None

    def test_a_killed_client_leaves_nothing_for_long(self):
        id = self.create()
        process = self.start("sandbox", "ssh", id, "--", "echo begun; sleep 1000")
        self.until(process.stdout, b"begun")
        process.kill()
        process.wait()
        (proxy,) = self.children(id)
        # ssh is an orphan now, and the session goes on, as with any ssh.
        client = int(pathlib.Path(f"/proc/{proxy}/stat").read_text().rsplit(")", 1)[1].split()[1])
        os.kill(client, signal.SIGKILL)
        wait_until(lambda: not self.children(id), "the end of the proxy")
        wait_until(lambda: self.inside(id, REST) == NOTHING, "the end of the server")
        # What it left is removed by the next one.
        self.assertEqual(len(self.sessions()), 1)
        self.ssh(id, "true")
        self.assertEqual(self.sessions(), [])

    def test_what_is_missing_is_told_with_a_hint(self):
        self.assertIn("no sandbox", self.sandbox("ssh", "nobody", status=2).message)
        self.assertIn("not the id", self.sandbox("ssh", "../x", status=2).message)
        id = self.create()
        refused = self.sandbox("ssh", id, "--config", "-N", status=2)
        self.assertIn("--config", refused.message)
        self.sandbox("ssh", id, "-N", "--", "ls", status=2)
        self.env["PATH"] = str(self.dir)
        self.assertIn("openssh-client", self.ssh(id, "true", status=125).message)
        self.assertEqual(self.sessions(), [])

    def test_a_sandbox_without_a_server_or_a_shell_is_told_with_a_hint(self):
        id = self.create("--user", "root")
        self.inside(id, "sed -i 's,^\\(root:.*:\\)[^:]*$,\\1/bin/none,' /etc/passwd")
        self.assertIn("login shell", self.ssh(id, "true", status=125).message)
        self.inside(id, "rm /usr/sbin/sshd")
        self.assertIn("openssh-server", self.ssh(id, "true", status=125).message)
        self.assertIn("openssh-server", self.sandbox("ssh", id, "--config", status=125).message)


class Names(Case):
    """What --config prints is enough for programs that know ssh."""

    def test_scp_sftp_and_rsync_find_it_by_its_name(self):
        id = self.create()
        config = self.configured(id)
        self.assertEqual(self.configured(id).read_bytes(), config.read_bytes())
        host = f"glovebox-{id}"
        sent = os.urandom(1_000_000)
        self.file("in.bin", sent)
        self.file("tree/deep/file", "content")
        # From another directory, as editors do.
        self.assertEqual(self.call("ssh", "-F", config, host, "pwd").stdout, b"/workspace\n")
        self.call("scp", "-q", "-F", config, "in.bin", f"{host}:")
        self.call("scp", "-q", "-F", config, f"{host}:in.bin", "out.bin")
        self.assertEqual((self.dir / "out.bin").read_bytes(), sent)
        self.call("scp", "-O", "-q", "-F", config, f"{host}:in.bin", "old.bin")
        self.assertEqual((self.dir / "old.bin").read_bytes(), sent)
        listed = self.call("sftp", "-q", "-F", config, "-b", "-", host, input=b"ls -1\n").stdout
        self.assertIn(b"in.bin", listed)
        over = f"ssh -F {shlex.quote(str(config))}"
        self.call("rsync", "-a", "-e", over, "tree", f"{host}:")
        self.call("rsync", "-a", "-e", over, f"{host}:tree/", "back")
        self.assertEqual((self.dir / "back/deep/file").read_text(), "content")
        wait_until(lambda: self.inside(id, REST) == NOTHING, "the end of the servers")

    def test_keys_are_for_their_owner_alone_and_stay(self):
        id = self.create()
        self.env["GLOVEBOX_URL"] = f"http://127.0.0.1:{self.daemon.port}"
        config = self.configured(id, "--key", self.daemon.key)
        self.assertNotIn(self.daemon.key, config.read_text())
        keys = self.home / ".local/state/glovebox/ssh" / id
        self.assertEqual(keys.stat().st_mode & 0o777, 0o700)
        for name in ("id_ed25519", "host_key", "api-key"):
            self.assertEqual((keys / name).stat().st_mode & 0o077, 0, name)
        pinned = (keys / "known_hosts").read_text()
        self.env.pop("GLOVEBOX_URL")  # The block has it.
        self.call("ssh", "-F", config, f"glovebox-{id}", "true")
        self.assertEqual((keys / "known_hosts").read_text(), pinned)

    def test_a_name_that_a_configuration_cannot_hold_is_refused(self):
        id = self.create()
        self.env["HOME"] = str(self.dir / 'a"b')
        self.assertIn("configuration of ssh", self.sandbox("ssh", id, "--config", status=2).message)
        self.assertFalse((self.dir / 'a"b').exists() and list((self.dir / 'a"b').rglob("*key*")))


class HostileServers(Case):
    def test_another_key_is_refused(self):
        id = self.hostile(
            "rm -f /tmp/other; ssh-keygen -q -t ed25519 -N '' -f /tmp/other > /dev/null",
            'sed -i s,^HostKey.*,HostKey\\ /tmp/other, "$4"',
            'exec /usr/sbin/sshd "$@"',
        )
        refused = self.ssh(id, "touch ran", status=255)
        self.assertIn("Host key verification failed", refused.message)
        refused = self.call("ssh", "-F", self.configured(id), f"glovebox-{id}", "touch ran", status=255)
        self.assertIn(b"Host key verification failed", refused.stderr)
        self.assertNotIn("ran", self.inside(id, "ls"))

    def test_nobody_is_asked_for_a_password(self):
        id = self.hostile(
            "sed -i '/^AuthenticationMethods/d' \"$4\"",
            'exec /usr/sbin/sshd "$@" -o PubkeyAuthentication=no -o PasswordAuthentication=yes '
            "-o KbdInteractiveAuthentication=yes",
        )
        terminal = test_sandbox.Terminals.terminal
        with terminal(self, "sandbox", "ssh", id) as (process, ours, _):
            shown = self.until(ours, b"Permission denied")
            self.assertEqual(test_sandbox.Terminals.ended(self, process, ours), 255)
        self.assertNotIn(b"assword:", shown)

    resize = test_sandbox.Terminals.resize

    def test_the_agent_the_display_and_the_environment_stay_outside(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.dir / "agent"))
            listener.listen()
            listener.settimeout(0)
            self.env.update(SSH_AUTH_SOCK=str(self.dir / "agent"), DISPLAY=":7", LC_SECRET="told")
            id = self.hostile('exec /usr/sbin/sshd "$@" -o AcceptEnv="*" -o X11Forwarding=yes')
            seen = self.ssh(id, "env").out.decode()
            # What the client's own settings say of all hosts comes too late.
            config = self.configured(id)
            config.write_text(config.read_text() + EVERYTHING_ON)
            seen += self.call("ssh", "-F", config, f"glovebox-{id}", "env").stdout.decode()
            self.assertFalse((self.dir / "ran").exists())
            with self.assertRaises(BlockingIOError):
                listener.accept()
        for name in ("SSH_AUTH_SOCK", "DISPLAY", "LC_SECRET", "GLOVEBOX"):
            self.assertNotIn(name, seen)

    def test_what_it_complains_of_is_text(self):
        id = self.hostile(r"printf 'red\033[31m\007\n' >&2", "exit 1")
        shown = self.ssh(id, "true", status=255)
        self.assertIn("red", shown.message)
        self.assertNotIn(b"\x1b", shown.err)
        self.assertNotIn(b"\x07", shown.err)

    def test_garbage_ends_the_session(self):
        id = self.hostile("cat /dev/urandom")
        self.ssh(id, "true", status=255)
        wait_until(lambda: not self.children(id), "the end of the proxy")
        wait_until(lambda: self.inside(id, REST).endswith("\n0\n"), "its end")

    def test_one_that_does_not_end_is_killed(self):
        id = self.hostile("trap '' HUP TERM INT", "echo SSH-2.0-none", "while :; do sleep 1; done")
        process = self.start("sandbox", "ssh", id, "--", "true", stderr=subprocess.DEVNULL)
        wait_until(lambda: self.children(id), "the proxy")
        wait_until(lambda: "sleep" in self.inside(id, "cat /proc/[0-9]*/comm 2> /dev/null; true"), "the server")
        process.send_signal(signal.SIGTERM)
        process.wait(program.PATIENCE_S)
        wait_until(lambda: not self.children(id), "the end of the proxy")
        wait_until(lambda: "sleep" not in self.inside(id, "cat /proc/[0-9]*/comm 2> /dev/null; true"), "its end")
        self.assertEqual(self.sessions(), [])

    def test_the_name_of_the_user_is_no_option_and_no_command(self):
        for name in ("-oProxyCommand=touch${IFS}ran", "a;touch ran", "%h", ""):
            with self.subTest(name):
                id = self.hostile(f"echo '{name}'", name="id")
                self.assertIn("a name that ssh cannot use", self.ssh(id, "true", status=2).message)
                self.sandbox("ssh", id, "--config", status=2)
        id = self.hostile("echo a; echo ProxyCommand touch ran", name="id")
        self.ssh(id, "true", status=255)
        self.assertFalse((self.dir / "ran").exists())
