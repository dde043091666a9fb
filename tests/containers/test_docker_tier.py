#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tier `docker`: sandboxes that are containers of a real Docker, and of a real Podman, looked at
from inside, through the engine, and by what the verdict says of them.

Starts engines of its own. Exit status 77, with the reasons, where neither starts.

    GLOVEBOX=build/release/bin/glovebox tests/containers/test_docker_tier.py
"""
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from dockerd import IMAGE, PATIENCE_S, Docker
from inside import main
from podman import LOCAL, PodmanService

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLOVEBOX = pathlib.Path(os.environ.get("GLOVEBOX", ROOT / "build/release/bin/glovebox")).resolve()
MIB = 1 << 20


class Engine:
    """What holds with every engine, which is `engine`."""

    engine = None
    image = IMAGE

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="gb-docker-tier.")
        self.addCleanup(place.cleanup)
        self.runtime = pathlib.Path(place.name, "run")
        self.runtime.mkdir(mode=0o700)
        self.env = {**os.environ, "DOCKER_HOST": self.engine.host,
                    "GLOVEBOX_RUNTIME_DIR": str(self.runtime)}

    def glovebox(self, *words, env=None):
        return subprocess.run([GLOVEBOX, *words], env={**self.env, **(env or {})},
                              capture_output=True, check=False, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL)

    def run_sh(self, script, *options, env=None):
        return self.run_code("sh", script, *options, env=env)

    def run_code(self, language, code, *options, env=None):
        done = self.glovebox("run", "--tier", "docker", "--json", *options, "-l", language, "-e", code,
                             env=env)
        self.assertTrue(done.stdout.startswith(b"{"), done)
        return json.loads(done.stdout)

    def start(self, *words):
        """A glovebox that runs on, once its guest has written a line."""
        process = subprocess.Popen([GLOVEBOX, "run", "--tier", "docker", *words], env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)

        def end():
            process.terminate()
            process.communicate()

        self.addCleanup(end)
        self.assertTrue(select.select([process.stdout], [], [], PATIENCE_S)[0], "nothing runs")
        self.assertTrue(process.stdout.readline(), process.stderr.read() if process.poll() else "")
        return process

    def containers(self):
        return self.engine.ask("ps", "-aq", "--no-trunc").stdout.decode().split()

    def eventually(self, holds):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            self.assertLess(time.monotonic(), end, "it never came")
            select.select([], [], [], 0.05)

    def test_docker_sandbox_with_limits_no_network_read_only(self):
        self.start("--memory", "128M", "--pids", "40", "--cpus", "0.5", "--disk", "64M", "-l", "sh",
                   "-e", "echo up; exec sleep 1000")
        container, = self.containers()
        engine = json.loads(self.engine.ask("inspect", container).stdout)[0]
        host = engine["HostConfig"]
        # As the engine holds it. The warden is one process more.
        self.assertEqual((host["Memory"], host["MemorySwap"], host["PidsLimit"], host["NanoCpus"]),
                         (128 * MIB, 128 * MIB, 41, 500_000_000))
        self.assertEqual((host["ReadonlyRootfs"], host["NetworkMode"], host["Privileged"]),
                         (True, "none", False))
        self.assertFalse(host["CapAdd"])
        self.assertIn("no-new-privileges", host["SecurityOpt"])
        # File systems of its own are no part of the host.
        writable = {mount["Destination"] for mount in engine["Mounts"] if mount["RW"]}
        self.assertEqual(writable, self.own_volumes)
        self.assertNotIn(self.engine.host.removeprefix("unix://"), json.dumps(engine["Mounts"]))
        self.assertNotIn(engine["Config"]["User"].split(":")[0], ("", "0"))

        # As a guest finds it.
        verdict = self.run_sh(
            "ls /sys/class/net; cat /proc/net/dev | wc -l; "
            "(: </dev/tcp/192.0.2.1/80) 2>/dev/null && echo reached; "
            "for d in / /usr /etc /var /home /opt /run /dev /sys; do "
            "(: >$d/new) 2>/dev/null && echo wrote $d; done; "
            "for d in /workspace /tmp /dev/shm; do : >$d/new && echo may $d; done; id -u; true")
        lines = verdict["stdout"].split("\n")
        self.assertEqual(lines[0], "3", "only lo, and two lines of a heading")
        self.assertEqual(lines[1:4], ["may /workspace", "may /tmp", "may /dev/shm"], verdict)
        self.assertNotEqual(lines[4], "0")

        # As the verdict tells it.
        self.assertEqual(verdict["tier"], "docker")
        walls = verdict["walls"]
        self.assertTrue(all(walls[name] for name in (
            "mount_ns", "pid_ns", "net_ns", "ipc_ns", "uts_ns", "no_capabilities", "no_new_privs")),
            walls)
        self.assertEqual((walls["seccomp"], walls["network"]), ("default", "none"))
        enforced = {name for name, limit in verdict["limits"].items() if limit["enforced"]}
        self.assertLessEqual({"memory", "pids", "cpus", "disk", "inodes", "time"}, enforced)

    def test_rules_filter_its_network_which_has_no_more_devices(self):
        # What rules allow is in tests/cli/test_network.py, which runs over this tier, too.
        verdict = self.run_code(
            "python", "import socket, urllib.error, urllib.request\n"
                      "print([name for _, name in socket.if_nameindex()])\n"
                      "try: urllib.request.urlopen('http://192.0.2.1/')\n"
                      "except urllib.error.HTTPError as error: print(error.code)\n"
                      "try: socket.create_connection(('192.0.2.1', 25), 60).recv(1)\n"
                      "except OSError as error: print(type(error).__name__)\n",
            "--allow-net", "a.example")
        self.assertEqual(verdict["stdout"], "['lo']\n403\nConnectionResetError\n", verdict)
        self.assertEqual(verdict["walls"]["network"], "rules")
        self.assertEqual([(each["host"], each["port"], each["verdict"])
                          for each in verdict["connections"]],
                         [("192.0.2.1", 80, "denied"), ("192.0.2.1", 25, "denied")])

    def test_each_limit_ends_what_goes_beyond_it(self):
        greedy = self.run_sh("head -c 400000000 /dev/zero | tail -c 300000000 | wc -c; exit 5",
                             "--memory", "64M")
        self.assertEqual(greedy["status"], "out_of_memory", greedy)
        many = self.run_sh("i=0; while [ $i -lt 60 ]; do sleep 100 & i=$((i+1)); done; exit 0",
                           "--pids", "20")
        self.assertEqual(many["status"], "pids_limit", many)
        for place in ("/workspace", "/tmp", "/dev/shm"):
            full = self.run_sh(f"head -c 9000000 /dev/zero >{place}/big", "--disk", "8M")
            self.assertEqual(full["status"], "disk_full", (place, full))
        late = self.run_sh("sleep 100", "--time", "1s")
        self.assertEqual((late["status"], late.get("limit")), ("timeout", "time"), late)

    def test_all_that_a_guest_writes_is_within_the_limit_of_disk(self):
        verdict = self.run_sh(
            "for d in /workspace /tmp /dev/shm; do head -c 20000000 /dev/zero >$d/big; done "
            "2>/dev/null; cat /workspace/big /tmp/big /dev/shm/big | wc -c", "--disk", "16M")
        written = int(verdict["stdout"])
        self.assertLessEqual(written, 16 * MIB)
        self.assertGreater(written, 15 * MIB)

    def test_nothing_is_left_when_it_ends(self):
        self.assertEqual(self.run_sh("echo x >file; (setsid sleep 1000 &)")["status"], "ok")
        self.assertEqual(self.containers(), [])
        self.assertEqual(self.engine.ask("volume", "ls", "-q").stdout, b"")
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_a_killed_glovebox_takes_its_container_along_and_the_next_sweeps_the_rest(self):
        process = self.start("-l", "sh", "-e", "echo up; exec sleep 1000")
        self.assertEqual(len(self.containers()), 1)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
        self.eventually(lambda: self.containers() == [])
        self.assertNotEqual(list(self.runtime.iterdir()), [])
        self.assertEqual(self.run_sh("true")["status"], "ok")
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_a_sweep_removes_containers_of_its_own_and_no_others(self):
        # As a glovebox leaves it that dies between making a container and starting it.
        names = {}
        for owner in (str(self.runtime), "/run/somebody-else"):
            number = f"fff{len(names)}"
            name = names[owner] = f"glovebox-{number}-0123abcd"
            for words in (["create", "--name", name, "--label", f"glovebox.owner={owner}", self.image,
                           "/usr/bin/sh"],
                          ["volume", "create", "--label", f"glovebox.owner={owner}", f"{name}-home"]):
                made = self.engine.ask(*words)
                self.assertEqual(made.returncode, 0, made)
            self.addCleanup(self.engine.ask, "volume", "rm", "-f", f"{name}-home")
            self.addCleanup(self.engine.ask, "rm", "-f", name)
            pathlib.Path(self.runtime, number).write_text(
                f"docker {name} {self.engine.host.removeprefix('unix://')}\n")
        self.assertEqual(self.glovebox("doctor").returncode, 0)
        left = self.engine.ask("ps", "-a", "--format", "{{.Names}}").stdout.decode().split()
        self.assertEqual(left, [names["/run/somebody-else"]])
        if self.makes_volumes:
            left = self.engine.ask("volume", "ls", "-q").stdout.decode().split()
            self.assertEqual(left, [f"{names['/run/somebody-else']}-home"])

    def test_a_named_image_brings_its_own_system(self):
        verdict = self.run_sh("echo /usr/bin/*; pwd", env={"GLOVEBOX_DOCKER_IMAGE": self.image})
        self.assertEqual(verdict["stdout"],
                         "/usr/bin/cat /usr/bin/dash /usr/bin/id /usr/bin/sh\n/workspace\n")

    def test_a_context_keeps_its_variables(self):
        done = subprocess.run(
            [GLOVEBOX, "repl", "--tier", "docker", "-l", "python"], env=self.env,
            input=b"import os\nx = 6 * 7\nprint('x is', x)\nprint(os.getcwd())\n",
            capture_output=True, check=False, timeout=PATIENCE_S)
        self.assertIn(b"x is 42", done.stdout, done)
        self.assertIn(b"/workspace", done.stdout, done)
        self.assertEqual(self.containers(), [])

    def test_doctor_tries_it(self):
        found = {each["what"]: each
                 for each in json.loads(self.glovebox("doctor", "--json").stdout)["findings"]}
        self.assertTrue(found["tier docker"]["ok"], found)

    def test_limits_change_between_compiling_and_running(self):
        # More memory for the compiler than for its program.
        verdict = self.run_code("c", "#include <stdlib.h>\n"
                                     "int main() { volatile char *p = malloc(90 << 20);\n"
                                     "for (int i = 0; i < 90 << 20; i += 4096) p[i] = 1; }",
                                "--memory", "64M")
        self.assertEqual(verdict["status"], "out_of_memory", verdict)


class OfDocker(Engine, unittest.TestCase):
    engine = Docker()
    own_volumes = {"/dev/pts"}
    makes_volumes = False

    def test_what_is_missing_is_said_with_the_way_to_get_it(self):
        for env, message, hint in (
                ({"DOCKER_HOST": f"unix://{self.runtime}/none"}, "connect", "DOCKER_HOST"),
                ({"DOCKER_HOST": "tcp://127.0.0.1:1"}, "no Unix socket", "unix://"),
                ({"GLOVEBOX_DOCKER_IMAGE": "no/such:image"}, "no/such:image", "docker pull"),
                ({"GLOVEBOX_DOCKER_IMAGE": "../../x"}, "not the name of an image", "local image"),
                ({"GLOVEBOX_DOCKER_RUNTIME": "no-such-runtime"}, "no-such-runtime", "docker info")):
            with self.subTest(env=env):
                done = self.glovebox("run", "--tier", "docker", "--json", "-l", "sh", "-e", "true",
                                     env=env)
                said = json.loads(done.stdout)
                self.assertEqual((done.returncode, said["error"]), (125, "unsupported"), said)
                self.assertIn(message, said["message"])
                self.assertIn(hint, said.get("hint", ""))
                self.assertEqual(list(self.runtime.iterdir()), [])

    def test_an_image_with_volumes_is_refused(self):
        made = self.engine.ask("import", "--change", "VOLUME /data", "-", "volumes:test",
                          input=self.engine.root())
        self.assertEqual(made.returncode, 0, made)
        done = self.glovebox("run", "--tier", "docker", "--json", "-l", "sh", "-e", "true",
                             env={"GLOVEBOX_DOCKER_IMAGE": "volumes:test"})
        self.assertIn("declares volumes", json.loads(done.stdout)["message"])

    def test_an_images_health_check_does_not_run(self):
        made = self.engine.ask("import", "--change",
                          "HEALTHCHECK --interval=1s CMD /usr/bin/sh -c ': >/tmp/checked'", "-",
                          "health:test", input=self.engine.root())
        self.assertEqual(made.returncode, 0, made)
        verdict = self.run_sh("echo $$; read -t 3 x </dev/zero; [ ! -e /tmp/checked ] && echo none",
                              env={"GLOVEBOX_DOCKER_IMAGE": "health:test"})
        self.assertIn("none", verdict["stdout"], verdict)

    def test_auto_goes_on_choosing_native_and_takes_docker_only_where_it_may(self):
        done = self.glovebox("run", "--json", "--min-tier", "landlock", "-l", "sh", "-e", "true")
        self.assertEqual(json.loads(done.stdout)["tier"], "native")

    def test_doctor_says_what_is_missing(self):
        done = self.glovebox("doctor", "--json", env={"DOCKER_HOST": "unix:///none"})
        found = {each["what"]: each for each in json.loads(done.stdout)["findings"]}
        self.assertFalse(found["tier docker"]["ok"])
        self.assertIn("apt install docker.io", found["tier docker"]["hint"])


class OfPodman(Engine, unittest.TestCase):
    engine = PodmanService()
    image = LOCAL
    own_volumes = {"/workspace", "/tmp", "/var/tmp", "/dev/shm", "/dev/pts", "/run", "/run/terminals"}
    makes_volumes = True

    def test_a_runtime_that_the_service_does_not_run_is_refused(self):
        done = self.glovebox("run", "--tier", "docker", "--json", "-l", "sh", "-e", "true",
                             env={"GLOVEBOX_DOCKER_RUNTIME": "runsc"})
        said = json.loads(done.stdout)
        self.assertEqual((done.returncode, said["error"]), (125, "unsupported"), said)
        self.assertIn("'runsc'", said["message"])
        self.assertIn("--runtime", said["hint"])

    def test_what_docker_would_cover_of_proc_is_covered(self):
        verdict = self.run_sh("cat /proc/partitions /proc/cgroups /proc/locks /proc/interrupts | wc -c; "
                              "grep -c tmpfs /proc/mounts")
        self.assertEqual(verdict["stdout"].split()[0], "0", verdict)


if __name__ == "__main__":
    sys.exit(main([OfDocker, OfPodman]))
