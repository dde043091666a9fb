# SPDX-License-Identifier: Apache-2.0
"""What a crash takes with it, and what not: of the daemon, the keeper, and what they hold."""

import concurrent.futures
import http.client
import json
import os
import random
import signal
import threading
import time
import unittest

from daemon import Context, Daemon, Sandbox, wait_until
from traces import Traces, name_of, named, outermost, parents, start_time

KILLS = 20
SEED = int(os.environ.get("GLOVEBOX_TEST_SEED", "4"))
# A client that sees its daemon die gets one of these.
GONE = (OSError, http.client.HTTPException, json.JSONDecodeError, AssertionError)


class Survivors(unittest.TestCase):
    """One daemon for the class, which leaves nothing on the host at its end."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.discard)
        cls.traces = Traces(cls.daemon)
        cls.daemon.start()

    @classmethod
    def tearDownClass(cls):
        cls.traces.gather()
        cls.end()

    @classmethod
    def end(cls):
        """Stops it in the regular way, and looks for what is left."""
        assert cls.traces.slots, "no slot of the keeper was seen"
        status = cls.daemon.stop()
        assert status == 0, f"exit status {status}"
        try:
            wait_until(lambda: not list(cls.traces.left()), "the end of everything")
        except AssertionError:
            raise AssertionError("left behind:\n" + "\n".join(cls.traces.left())) from None

    def setUp(self):
        if self.daemon.process.poll() is not None:
            self.daemon.start()
        self.addCleanup(self.traces.gather)

    def crash(self):
        self.traces.gather()
        self.daemon.kill()
        self.daemon.start()

    def create_soon(self):
        def try_it():
            answer = self.daemon.ask("POST", "/v1/sandboxes", {})
            if answer.status != 201:
                self.assertIn(answer.status, (429, 503), str(answer))
            return answer.status == 201 and Sandbox(self.daemon, answer.json["id"])

        return wait_until(try_it, "a new sandbox")

    def name_inside(self, sandbox, name):
        """Starts something in a sandbox that bears `name` on the host. Answers its pid there."""
        code = f"import ctypes, time; ctypes.CDLL(None).prctl(15, b'{name}'); time.sleep(600)"
        sandbox.must(201, "POST", "/processes", {"argv": ["python3", "-c", code]})
        return wait_until(lambda: named(self.daemon.keeper(), name), "its start")[0]


class OfTheDaemon(Survivors):
    def test_variables_files_and_the_execution_under_way_survive_the_daemon(self):
        sandbox = self.daemon.create(metadata={"m": "1"}, timeout="10m", auto_resume=True)
        context = sandbox.context()
        context.execute("state = ['before']")
        sandbox.write("file", b"acknowledged")
        before = sandbox.info()
        code = (
            "import os, time\nprint('begun', flush=True)\n"
            "while not os.path.exists('go'): time.sleep(0.005)\n"
            "state.append('after'); print('done')"
        )
        key = {"Idempotency-Key": "across"}
        context.start(code, key).until("stdout")
        self.crash()
        self.assertEqual(sandbox.info(), before)
        again = context.start(code, key)
        self.assertEqual(again.until("stdout")["text"].strip(), "begun")
        sandbox.write("go", b"")
        verdict = again.until("verdict")
        self.assertEqual((verdict["status"], verdict["stdout"]), ("ok", "begun\ndone\n"))
        self.assertEqual(context.value("state"), "['before', 'after']")
        self.assertEqual(sandbox.read("file"), b"acknowledged")

    def test_executions_without_a_key_run_after_a_restart_too(self):
        context = self.daemon.create().context()
        context.execute("n = 0")
        for _ in range(3):
            context.execute("n += 1")
        self.crash()
        for _ in range(5):
            self.assertEqual(context.execute("n += 1")["status"], "ok")
        self.assertEqual(context.value("n"), "8")

    def test_processes_and_snapshots_survive_the_daemon(self):
        sandbox = self.daemon.create()
        sandbox.write("kept", b"in the snapshot")
        name = sandbox.must(201, "POST", "/snapshot", {"name": "lasting"})["template"]
        pid = sandbox.must(201, "POST", "/processes", {"argv": ["cat"], "stdin": True})["pid"]
        self.crash()
        events = self.daemon.stream("GET", f"{sandbox.path}/processes/{pid}")
        events.until("started")
        sandbox.must(204, "POST", f"/processes/{pid}/stdin", b"still here\n")
        self.assertEqual(events.until("stdout")["text"], "still here\n")
        sandbox.must(204, "DELETE", f"/processes/{pid}/stdin")
        self.assertEqual(events.until("ended")["exit_code"], 0)
        self.assertEqual(self.daemon.create(template=name).read("kept"), b"in the snapshot")

    def test_what_is_over_while_no_daemon_runs_ends_or_pauses(self):
        ends = self.daemon.create(timeout="1s")
        pauses = self.daemon.create(timeout="1s", on_timeout="pause")
        stays = self.daemon.create()
        inside = self.name_inside(ends, "svc-ends")
        self.traces.gather()
        self.daemon.kill()
        wait_until(lambda: name_of(inside) != "svc-ends", "the end without a daemon")
        self.daemon.start()
        wait_until(ends.is_gone, "the end of the sandbox")
        wait_until(lambda: pauses.info()["state"] == "paused", "the pause")
        self.assertEqual(stays.info()["state"], "running")

    def test_nothing_acknowledged_is_lost_over_random_crashes_under_load(self):
        chance = random.Random(SEED)
        load = Load(self.daemon)
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            workers = [threads.submit(load.work, seed) for seed in range(3)]
            try:
                for _ in range(KILLS):
                    # The moment is the test's input; nothing waits for a result here.
                    time.sleep(chance.uniform(0.0, 0.15))
                    with load.restarting:
                        self.crash()
            finally:
                load.over.set()
            for worker in workers:
                worker.result()
        self.assertEqual(load.check(), [], f"seed {SEED}")
        self.assertGreater(load.acknowledged, KILLS, "the load was none")


class OfWhatItHolds(Survivors):
    def test_the_keeper_takes_its_sandboxes_with_it_and_a_new_one_comes(self):
        sandboxes = [self.daemon.create() for _ in range(3)]
        context = sandboxes[0].context()
        running = context.start("import time; print('up', flush=True); time.sleep(600)")
        running.until("stdout")
        self.traces.gather()
        old = self.daemon.keeper()
        os.kill(old, signal.SIGKILL)
        self.assertEqual([*running][-1]["type"], "failed")
        for sandbox in sandboxes:
            wait_until(sandbox.is_gone, "that the daemon knows")
        self.assertEqual(self.daemon.must(200, "GET", "/v1/sandboxes")["sandboxes"], [])
        self.assertEqual(self.create_soon().context().value("1 + 1"), "2")
        self.assertNotEqual(self.daemon.keeper(), old)

    def test_a_killed_interpreter_is_told_and_can_be_begun_anew(self):
        sandbox = self.daemon.create()
        dying, other = sandbox.context(), sandbox.context()
        other.execute("kept = 5")
        verdict = dying.execute("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual((verdict["status"], verdict["signal"]), ("signaled", 9))
        listed = {one["id"]: one for one in sandbox.must(200, "GET", "/contexts")["contexts"]}
        self.assertFalse(listed[dying.id]["alive"])
        self.assertEqual(
            dying.must(409, "POST", "/execute", {"code": "1"})["error"], "conflict"
        )
        dying.must(204, "POST", "/restart")
        self.assertEqual((dying.value("1"), other.value("kept")), ("1", "5"))

    def test_an_interpreter_killed_between_two_executions_is_told(self):
        sandbox = self.daemon.create()
        context = sandbox.context()
        context.execute("import ctypes; ctypes.CDLL(None).prctl(15, b'svc-victim')")
        (victim,) = named(self.daemon.keeper(), "svc-victim")
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: name_of(victim) == "", "its end")
        context.must(409, "POST", "/execute", {"code": "1"})
        context.must(204, "POST", "/restart")
        self.assertEqual(context.value("2"), "2")

    def test_a_sandbox_whose_warden_is_killed_is_gone_and_the_others_are_not(self):
        victim, other = self.daemon.create(), self.daemon.create()
        inside = self.name_inside(victim, "svc-first")
        context = other.context()
        context.execute("kept = 7")
        warden = outermost(inside, self.daemon.keeper())
        self.assertEqual(name_of(warden), "glovebox-warden")
        self.traces.gather()
        os.kill(warden, signal.SIGKILL)
        wait_until(lambda: name_of(inside) != "svc-first", "the end of what was inside")
        wait_until(victim.is_gone, "that the daemon knows")
        self.assertEqual(context.value("kept"), "7")
        self.assertEqual(self.create_soon().context().value("3"), "3")

    def test_interpreters_that_die_with_the_warden_of_their_zygote_are_told(self):
        sandbox = self.daemon.create()
        context = sandbox.context()
        context.execute("import ctypes; ctypes.CDLL(None).prctl(15, b'svc-forked')")
        (inside,) = named(self.daemon.keeper(), "svc-forked")
        self.traces.gather()
        os.kill(outermost(inside, self.daemon.keeper()), signal.SIGKILL)
        wait_until(lambda: name_of(inside) != "svc-forked", "its end")

        # Either all of the sandbox is gone, or a new interpreter can be had in it.
        told = set()

        def is_settled():
            answer = self.daemon.ask("POST", sandbox.path + "/contexts", {})
            told.add(str(answer))
            return answer.status == 410 or (
                answer.status == 201 and Context(sandbox, answer.json["id"]).value("1") == "1"
            )

        try:
            wait_until(is_settled, "that the sandbox is gone or can be used")
        except AssertionError:
            self.fail(f"neither gone nor usable: {told}")
        self.assertEqual(self.create_soon().context().value("3"), "3")

    def test_new_interpreters_can_be_had_after_the_death_of_their_zygote(self):
        sandbox = self.daemon.create()
        context = sandbox.context()
        context.execute("import ctypes; ctypes.CDLL(None).prctl(15, b'svc-child')")
        (inside,) = named(self.daemon.keeper(), "svc-child")
        zygote = parents()[inside]
        started = start_time(zygote)
        os.kill(zygote, signal.SIGKILL)
        wait_until(lambda: start_time(zygote) != started, "its end")
        self.assertEqual(sandbox.context().value("1 + 1"), "2")
        self.assertEqual(self.create_soon().context().value("3"), "3")

    def test_a_sandbox_that_does_nothing_is_gone_too_when_its_warden_is_killed(self):
        before = set(named(self.daemon.keeper(), "glovebox-warden"))
        # Of a size that no waiting one has: made for this call, with a warden of its own.
        sandbox = self.daemon.create(limits={"disk": "20M"})
        inside = self.name_inside(sandbox, "svc-idle")
        warden = outermost(inside, self.daemon.keeper())
        self.assertNotIn(warden, before)
        (listed,) = sandbox.must(200, "GET", "/processes")["processes"]
        sandbox.must(204, "DELETE", f"/processes/{listed['pid']}")
        wait_until(lambda: name_of(inside) != "svc-idle", "its end")
        os.kill(warden, signal.SIGKILL)
        wait_until(sandbox.is_gone, "that the daemon knows")

    def test_the_keeper_may_be_killed_while_the_daemon_is_down(self):
        sandbox = self.daemon.create()
        self.traces.gather()
        keeper = self.daemon.keeper()
        self.daemon.kill()
        os.kill(keeper, signal.SIGKILL)
        self.daemon.start()
        self.assertTrue(sandbox.is_gone())
        self.assertEqual(self.daemon.create().context().value("1"), "1")


class RegularEnd(Survivors):
    @classmethod
    def tearDownClass(cls):
        pass

    def test_it_leaves_nothing_also_after_crashes_and_with_everything_in_use(self):
        for crashed in (None, self.daemon.kill, self.kill_keeper):
            if crashed:
                crashed()
            if self.daemon.process.poll() is not None:
                self.daemon.start()
            sandbox = self.create_soon()
            for language in ("python", "javascript", "bash"):
                sandbox.context(language).execute("1")
            self.name_inside(sandbox, "svc-stays")
            self.create_soon().must(204, "POST", "/pause")
            sandbox.context().start("print(1, flush=True)\nwhile True: pass").until("stdout")
            self.traces.gather()
        self.end()
        self.assertEqual(
            [path.name for path in self.daemon.data.iterdir() if path.is_socket()], []
        )

    def kill_keeper(self):
        os.kill(self.daemon.keeper(), signal.SIGKILL)


class Load:
    """Clients that write down what was acknowledged to them."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.over = threading.Event()
        self.restarting = threading.RLock()
        self.lock = threading.Lock()
        self.acknowledged = 0
        self.sandboxes = []

    def work(self, seed):
        chance = random.Random(seed)
        sandbox = None
        while not self.over.is_set():
            if sandbox is None or chance.random() < 0.1:
                made = self.attempt(lambda: Held(self.daemon))
                sandbox = made or sandbox
                if made:
                    self.sandboxes.append(made)
            elif chance.random() < 0.5:
                self.attempt(sandbox.count)
            elif chance.random() < 0.8:
                self.attempt(sandbox.write)
            else:
                self.attempt(sandbox.rename)

    def attempt(self, step):
        try:
            done = step()
        except GONE:
            # The daemon was killed: wait for the next one.
            with self.restarting:
                return None
        with self.lock:
            self.acknowledged += 1
        return done

    def check(self):
        return [wrong for held in self.sandboxes for wrong in held.check()]


class Held:
    """One sandbox of the load, and what must be true of it."""

    def __init__(self, daemon):
        self.sandbox = daemon.create(timeout="10m")
        self.context = self.sandbox.context()
        self.context.execute("seen = []")
        self.tried = 0
        self.pending = None
        self.counted = []
        self.files = {}
        self.attempted = {}
        self.name = None
        self.names = set()

    def count(self):
        # One whose answer was lost is asked for again: by its key it happens once.
        if self.pending is None:
            self.tried += 1
            self.pending = self.tried
        number = self.pending
        code = f"seen.append({number}); print({number})"
        key = {"Idempotency-Key": f"count-{number}"}
        verdict = self.context.execute(code, key)
        if verdict["stdout"] != f"{number}\n":
            raise ValueError(f"an execution answered for another one: {verdict}")
        self.pending = None
        self.counted.append(number)
        return verdict

    def write(self):
        number = len(self.files)
        content = os.urandom(random.Random(number).randrange(1, 20_000))
        self.attempted.setdefault(f"f{number}", []).append(content)
        entry = self.sandbox.write(f"f{number}", content)
        self.files[f"f{number}"] = content
        return entry

    def rename(self):
        name = str(len(self.names))
        self.names.add(name)
        changed = self.sandbox.must(200, "PATCH", "", {"metadata": {"name": name}})
        self.name = name
        return changed

    def check(self):
        answer = self.sandbox.daemon.ask("GET", self.sandbox.path)
        if answer.status != 200:
            yield f"{self.sandbox.id} is lost: {answer}"
            return
        name = answer.json["metadata"].get("name")
        # One that was asked for and not acknowledged may have happened.
        newest = str(len(self.names) - 1)
        if self.name is not None and name not in (self.name, newest):
            yield f"{self.sandbox.id} is named {name}, not {self.name}"
        for path, content in self.files.items():
            found = self.sandbox.read(path)
            if found != content:
                yield (
                    f"{self.sandbox.id}: {path} is not what was acknowledged: {len(found)} "
                    f"of {len(content)} bytes; of {len(self.attempted[path])} attempts it is "
                    f"{[found == one for one in self.attempted[path]]}"
                )
        seen = json.loads(self.context.value("seen"))
        if len(set(seen)) != len(seen):
            yield f"{self.sandbox.id}: executed twice: {seen}"
        lost = set(self.counted) - set(seen)
        if lost:
            yield f"{self.sandbox.id}: acknowledged, and not there: {sorted(lost)}"


if __name__ == "__main__":
    unittest.main()
