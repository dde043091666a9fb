# SPDX-License-Identifier: Apache-2.0
"""`glovebox pool`, and what `glovebox run` takes from it."""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from program import GLOVEBOX, PATIENCE_S, Answer, Case

SIZE = 3
# A user of no other use: nobody's sandboxes are in its runtime directory but the test's.
USER = 64123


def eventually(holds, patience=20):
    end = time.monotonic() + patience
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Pool(Case):
    """A pool in a runtime directory that no other test has, and runs beside it."""

    def setUp(self):
        super().setUp()
        self.children = []
        self.addCleanup(self.end_children)
        self.how = {}
        self.seclude()
        self.pool = None

    def seclude(self):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="glovebox-pool."))
        self.addCleanup(shutil.rmtree, directory)
        self.addCleanup(self.end_children)  # Before that: they write to it.
        self.runtime = directory / "glovebox"
        self.how = {"env": {**os.environ, "GLOVEBOX_RUNTIME_DIR": str(self.runtime),
                            "XDG_RUNTIME_DIR": str(directory)}}

    def popen(self, command, **how):
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, **how)
        self.children.append(child)
        return child

    def end_children(self):
        while self.children:
            child = self.children.pop()
            child.terminate()
            try:
                child.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()

    def start(self, *arguments, **how):
        return self.popen([GLOVEBOX, *arguments], **{**self.how, **how})

    def start_pool(self, size=SIZE):
        self.pool = self.start("pool", "--size", str(size))
        line = self.pool.stdout.readline().decode()
        self.assertRegex(line, rf"^ready: {size} sandboxes", self.explain())
        return self.pool

    def explain(self):
        return "" if self.pool.poll() is None else self.pool.stderr.read().decode()

    def run_guest(self, *arguments, **how):
        done = subprocess.run([GLOVEBOX, "run", *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE_S, check=False,
                              **{**self.how, **how})
        return Answer(done)

    def verdict(self, *arguments, **how):
        answer = self.run_guest("--json", "--timings", *arguments, **how)
        return json.loads(answer.out)

    def sh(self, code, *options, **how):
        return self.verdict("-l", "sh", "-e", code, *options, **how)

    def slots(self):
        return {path.name for path in self.runtime.iterdir() if not path.name.startswith(".")}

    def pooled(self, code):
        """The verdict of the first run that finds a sandbox ready: one that comes while it is being
        made makes its own."""
        for _ in range(50):
            verdict = self.sh(code)
            if "claim_us" in verdict["timings"]:
                break
        self.assert_pooled(verdict)
        return verdict

    def assert_pooled(self, verdict):
        self.assertIn("claim_us", verdict["timings"], verdict)

    def assert_own(self, verdict):
        self.assertNotIn("claim_us", verdict["timings"], verdict)
        self.assertEqual(verdict["status"], "ok", verdict)

    def await_full(self):
        self.assertTrue(eventually(lambda: len(self.slots()) == SIZE), self.slots())


class Claims(Pool):
    def test_a_run_takes_its_sandbox_from_the_pool_and_another_is_made(self):
        self.start_pool()
        for number in range(2 * SIZE):
            self.assertEqual(self.pooled(f"echo {number}")["stdout"], f"{number}\n")

    def test_it_learns_which_sandboxes_are_asked_for(self):
        self.start_pool()
        wanted = ["-l", "sh", "-e", "true", "--disk", "8M", "--memory", "77M", "--cpu-time", "9s",
                  "--io-rate", "50M"]
        first = self.verdict(*wanted)
        self.assert_own(first)
        self.assertTrue(eventually(lambda: len(self.slots()) == 2 * SIZE), self.slots())
        second = self.verdict(*wanted)
        self.assert_pooled(second)
        self.assertEqual(second["limits"], first["limits"])

    def test_a_language_that_shows_pieces_of_the_host_sees_the_same_ones(self):
        self.need("python")
        self.start_pool()
        code = "import os; print(sorted(os.listdir('/etc')), flush=True)"
        first = self.verdict("-l", "python", "-e", code)
        self.assertTrue(eventually(lambda: len(self.slots()) == 2 * SIZE), self.slots())
        second = self.verdict("-l", "python", "-e", code)
        self.assert_pooled(second)
        self.assertEqual(second["stdout"], first["stdout"])

    def test_many_kinds_do_not_make_it_grow(self):
        self.start_pool()
        for memory in range(100, 130):
            self.assert_own(self.sh("true", "--memory", f"{memory}M"))
        self.assertTrue(eventually(
            lambda: "claim_us" in self.sh("true", "--memory", "129M")["timings"]))
        self.assertTrue(eventually(lambda: len(self.slots()) <= 64), self.slots())

    def test_walls_and_limits_are_those_of_a_run_that_makes_its_own(self):
        self.start_pool()
        pooled = self.sh("id; hostname; env | sort; stat -c '%n %A %u %g' /* /dev/*; cat /proc/mounts")
        own = self.sh("id; hostname; env | sort; stat -c '%n %A %u %g' /* /dev/*; cat /proc/mounts", "--no-pool")
        self.assert_pooled(pooled)
        self.assert_own(own)
        for part in ("walls", "limits", "tier", "exit_code", "status", "notes"):
            self.assertEqual(pooled.get(part), own.get(part), part)
        # What differs between any two: who is the guest outside.
        shown = [re.sub(r"[ug]id=\d{5,}", "", verdict["stdout"])
                 for verdict in (pooled, own)]
        self.assertEqual(*shown)

    def test_no_sandbox_is_used_twice(self):
        self.start_pool()
        seen = set()
        for _ in range(2 * SIZE):
            verdict = self.pooled("ls /workspace /tmp; echo x > /tmp/mark; echo x > mark; "
                                  "readlink /proc/self/ns/net")
            self.assertNotIn("mark\n", verdict["stdout"])
            seen.add(verdict["id"])
        self.assertEqual(len(seen), 2 * SIZE)

    def test_an_empty_pool_makes_nobody_wait_for_it(self):
        self.start_pool()
        sleepers = [self.start("run", "-l", "sh", "-e", "echo; exec sleep 100") for _ in range(SIZE)]
        for sleeper in sleepers:
            sleeper.stdout.readline()
        os.kill(self.pool.pid, signal.SIGSTOP)
        try:
            for _ in range(SIZE + 1):  # It may have made others before it stood still.
                verdict = self.sh("echo here")
                if "claim_us" not in verdict["timings"]:
                    break
        finally:
            os.kill(self.pool.pid, signal.SIGCONT)
        self.assert_own(verdict)
        self.assertEqual(verdict["stdout"], "here\n")

    def test_limits_of_the_run_hold(self):
        self.start_pool()
        cases = [
            (["--time", "300ms"], "sleep 100", "timeout"),
            (["--memory", "64M"], "head -c 200000000 /dev/zero | tail -c 200000000 | wc -c; exit 3",
             "out_of_memory"),
            (["--pids", "8"], "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 9 & done; wait; exit 3",
             "pids_limit"),
        ]
        for options, code, status in cases:
            with self.subTest(status=status):
                # Once for the pool to learn of it.
                self.sh("true", *options)
                self.assertTrue(eventually(
                    lambda options=options: "claim_us" in self.sh("true", *options)["timings"]))
                self.assertTrue(eventually(lambda: len(self.slots()) % SIZE == 0))
                verdict = self.sh(code, *options)
                self.assert_pooled(verdict)
                name = options[0].removeprefix("--")
                if status != "timeout" and verdict["walls"]["cgroup"] == "none":
                    continue  # Then an allocation or a fork fails, and the guest decides.
                self.assertEqual(verdict["status"], status, verdict)
                self.assertTrue(verdict["limits"][name]["hit"], verdict)

    def test_a_verification_and_files_go_both_ways(self):
        self.start_pool()
        source = self.file("in.txt", "in")
        target = self.dir / "out"
        if "user" in self.how:
            os.chmod(self.dir, 0o777)
        verdict = self.verdict("-l", "sh", "-e", "cat in.txt > out.txt", "--file", str(source),
                               "--out", str(target), "--verify", "test $(cat out.txt) = in",
                               cwd="/")
        self.assert_pooled(verdict)
        self.assertEqual(verdict["verification"]["status"], "ok", verdict)
        self.assertEqual((target / "out.txt").read_text(), "in")


class OwnSandboxes(Pool):
    """A run makes its sandbox itself where those of the pool would be others."""

    def test_without_a_pool(self):
        self.assert_own(self.sh("true"))

    def test_without_the_pool_on_request(self):
        self.start_pool()
        self.assert_own(self.sh("true", "--no-pool"))

    def test_from_surroundings_that_a_sandbox_takes_over(self):
        self.start_pool()

        def nice():
            os.nice(5)

        def fewer_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))

        def one_processor():
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

        self.assert_pooled(self.sh("true"))
        for change in (nice, fewer_files, one_processor):
            with self.subTest(change=change.__name__):
                if change is one_processor and len(os.sched_getaffinity(0)) < 2:
                    continue
                self.assert_own(self.sh("true", preexec_fn=change))

    def test_from_another_mount_namespace(self):
        self.start_pool()
        elsewhere = ["unshare", "--mount"]
        if "user" in self.how:
            elsewhere = ["unshare", "--user", "--map-root-user", "--mount"]
        answer = Answer(subprocess.run(
            [*elsewhere, GLOVEBOX, "run", "--json", "--timings", "-l", "sh", "-e", "true"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False,
            **self.how))
        self.assert_own(answer.verdict)


class Ends(Pool):
    def guest_pid(self, mark):
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if mark.encode() in path.read_bytes().split(b"\0"):
                    return int(path.parent.name)
            except OSError:
                continue
        return None

    def sleeper(self):
        mark = f"9{os.getpid()}{time.monotonic_ns() % 1000000}"
        run = self.start("run", "-l", "sh", "-e", f"echo; exec sleep {mark}", "--time", "1000s")
        run.stdout.readline()
        pid = None

        def found():
            nonlocal pid
            pid = self.guest_pid(mark)
            return pid is not None

        self.assertTrue(eventually(found))
        return run, pid

    def test_a_run_that_is_killed_takes_its_guest_along(self):
        self.start_pool()
        run, guest = self.sleeper()
        run.kill()
        self.assertTrue(eventually(lambda: not alive(guest)))
        self.await_full()

    def test_a_run_ends_well_when_the_pool_is_killed_and_a_sweep_takes_the_rest(self):
        self.start_pool()
        run, guest = self.sleeper()
        self.pool.kill()
        self.pool.wait()

        def left_after_a_sweep():
            self.assert_own(self.sh("true"))
            return len(self.slots())

        # What is still used is left alone. A sandbox that was being made holds all slots for a moment.
        self.assertTrue(eventually(lambda: left_after_a_sweep() == 1))
        os.kill(guest, signal.SIGTERM)
        self.assertEqual(run.wait(timeout=PATIENCE_S), 128 + signal.SIGTERM)
        self.assertTrue(eventually(lambda: left_after_a_sweep() == 0))
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_at_its_end_the_pool_waits_for_what_it_lent_and_leaves_nothing(self):
        self.start_pool()
        run = self.start("run", "-l", "sh", "-e", "echo a; sleep 1; echo b")
        run.stdout.readline()
        self.pool.terminate()
        self.assertEqual(run.stdout.readline(), b"b\n")
        self.assertEqual(run.wait(), 0)
        self.assertEqual(self.pool.wait(timeout=PATIENCE_S), 0)
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_told_twice_it_ends_what_it_lent_too(self):
        self.start_pool()
        run, guest = self.sleeper()
        self.pool.terminate()
        self.assertTrue(eventually(lambda: not (self.runtime / ".pool").exists()))
        self.pool.terminate()
        self.assertEqual(self.pool.wait(timeout=PATIENCE_S), 0)
        self.assertFalse(alive(guest))
        self.assertEqual(run.wait(timeout=PATIENCE_S), 125)
        self.assertEqual(self.slots(), set())

    def test_a_second_pool_is_refused_and_one_after_a_dead_one_is_not(self):
        self.start_pool()
        second = self.start("pool")
        self.assertEqual(second.wait(timeout=PATIENCE_S), 125)
        self.assertIn(b"already running", second.stderr.read())
        self.pool.kill()
        self.pool.wait()
        self.start_pool()
        self.assert_pooled(self.sh("true"))


@unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
class OfAUser(Claims):
    """The same for a user who is not root."""

    def seclude(self):
        super().seclude()
        os.chown(self.runtime.parent, USER, USER)
        self.how |= {"user": USER, "group": USER, "extra_groups": [], "cwd": "/"}
        self.how["env"]["HOME"] = "/"


if __name__ == "__main__":
    unittest.main()
