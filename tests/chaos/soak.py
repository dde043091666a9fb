#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mixed load for a long time, with restarts of the daemon: what daemon and keeper hold must end where
it began.

Every few seconds memory, threads, descriptors, the database and the data directory are measured. The
first quarter warms everything up. Over the rest no line through the samples may rise by more than its
allowance. After the first quarter and at the end the clients pause, every sandbox is ended and the pool
fills up: threads and descriptors must then be as many as before.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import http.client
import json
import pathlib
import signal
import statistics
import sys
import threading
import time

from harness import SEED, chance_of
from daemon import Daemon, wait_until
from footprint import descriptors, memory_kb

CLIENTS = 4
SAMPLES = 200
WARM_UP = 0.25
# What a line through the samples may rise by, from the end of the warm-up to the last sample. Of the
# data directory: write-ahead log and keeper's log.
ALLOWANCES = {
    "daemon KB": 8 << 10,
    "keeper KB": 16 << 10,
    "database KB": 4 << 10,
    "data directory KB": 16 << 10,
}
# What may be more at rest than at the rest before. Under load these follow the sandboxes that live and
# wait just then, about 13 descriptors each, so that no line through samples says anything.
ALLOWANCES_AT_REST = {
    "daemon threads": 4,
    "daemon descriptors": 8,
    "keeper threads": 4,
    "keeper descriptors": 16,
}
# What a client may see of a daemon that is being restarted.
LOST = (OSError, http.client.HTTPException, json.JSONDecodeError)


def threads(pid):
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("Threads:"):
                return int(line.split()[1])
    return 0


def size_kb(path):
    """Without the audit journal, which keeps a record of each act until its time."""
    total = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        with contextlib.suppress(OSError):
            if "audit" not in file.relative_to(path).parts:
                total += file.lstat().st_blocks // 2
    return total


def slope_times_span(points):
    """How far the line through (x, y) rises from the first x to the last (least squares)."""
    xs, ys = zip(*points)
    return statistics.linear_regression(xs, ys).slope * (xs[-1] - xs[0])


@dataclasses.dataclass
class Tally:
    """Of all clients."""

    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    answered: int = 0
    lost: int = 0
    refused: int = 0
    wrong: list = dataclasses.field(default_factory=list)


class Turnstile:
    """Lets clients begin sessions, or keeps them out until nobody is inside."""

    def __init__(self):
        self.changed = threading.Condition()
        self.open = True
        self.inside = 0

    @contextlib.contextmanager
    def session(self):
        with self.changed:
            self.changed.wait_for(lambda: self.open)
            self.inside += 1
        try:
            yield
        finally:
            with self.changed:
                self.inside -= 1
                self.changed.notify_all()

    @contextlib.contextmanager
    def closed(self):
        with self.changed:
            self.open = False
            self.changed.wait_for(lambda: self.inside == 0)
        try:
            yield
        finally:
            with self.changed:
                self.open = True
                self.changed.notify_all()


class Client:
    """Does a bit of everything, checks each answer, and takes away what it has made."""

    def __init__(self, daemon, number, tally, turnstile, end):
        self.daemon = daemon
        self.number = number
        self.tally = tally
        self.turnstile = turnstile
        self.end = end
        self.chance = chance_of(f"soak {number}")

    def work(self):
        while time.monotonic() < self.end:
            try:
                with self.turnstile.session():
                    self.session()
            except LOST:
                # The daemon is being restarted: its sandboxes live on, and end by their time-out.
                with self.tally.lock:
                    self.tally.lost += 1
                time.sleep(0.1)
            except AssertionError as failure:
                # A keeper or daemon that cannot just now says so.
                if any(f"got {status} " in str(failure) for status in (429, 503)):
                    with self.tally.lock:
                        self.tally.refused += 1
                    time.sleep(0.1)
                    continue
                with self.tally.lock:
                    self.tally.wrong.append(str(failure)[:500])

    def check(self, holds, what):
        with self.tally.lock:
            self.tally.answered += 1
            if not holds:
                self.tally.wrong.append(f"client {self.number}: {what}")

    def session(self):
        sandbox = self.daemon.create(timeout="60s", metadata={"soak": str(self.number)})
        context = sandbox.context()
        for turn in range(self.chance.randrange(3, 12)):
            self.chance.choice([self.execute, self.files, self.process, self.pause, self.reads])(
                sandbox, context, turn)
        if self.chance.random() < 0.2:
            self.snapshot(sandbox)
        sandbox.kill()

    def execute(self, _, context, turn):
        width = self.chance.choice([10, 1_000, 100_000])
        verdict = context.execute(f"n = {turn}; print('x' * {width})")
        self.check(verdict["stdout"] == "x" * width + "\n", "an execution printed something else")

    def files(self, sandbox, _, turn):
        content = self.chance.randbytes(self.chance.choice([0, 1_000, 300_000]))
        sandbox.write(f"f{turn}", content)
        self.check(sandbox.read(f"f{turn}") == content, "a file has another content")

    def process(self, sandbox, *_):
        started = sandbox.must(201, "POST", "/processes", {"argv": ["sh", "-c", "echo $((6 * 7))"]})
        self.check(started["pid"] > 0, "a process without a number")

    def pause(self, sandbox, *_):
        sandbox.must(204, "POST", "/pause")
        resumed = sandbox.must(200, "POST", "/resume")
        self.check(resumed["state"] == "running", "a sandbox that was resumed does not run")

    def reads(self, sandbox, *_):
        self.daemon.must(200, "GET", "/v1/sandboxes?limit=10")
        self.check(sandbox.info()["id"] == sandbox.id, "another sandbox")

    def snapshot(self, sandbox):
        name = f"soak-{self.number}-{self.chance.randrange(1 << 30)}"
        sandbox.must(201, "POST", "/snapshot", {"name": name})
        self.daemon.create(template=name, timeout="60s").kill()
        self.daemon.must(204, "DELETE", f"/v1/templates/{name}")
        self.check(True, "")


class Soak:
    def __init__(self, minutes, restart_every_s):
        self.seconds = minutes * 60
        self.restart_every_s = restart_every_s
        self.daemon = Daemon()
        # The records of those that have ended go with the next start, so that the database has an end.
        self.daemon.options = ["--leave-sandboxes", "--keep-records", "30s", *self.daemon.options]
        self.turnstile = Turnstile()
        self.samples = []
        self.rests = []
        self.restarts = 0

    def held(self):
        """What daemon and keeper hold at this moment."""
        held = {}
        for name, pid in (("daemon", self.daemon.process.pid), ("keeper", self.daemon.keeper())):
            held |= {f"{name} threads": threads(pid), f"{name} descriptors": descriptors(pid)}
        return held

    def rest(self):
        """Ends every sandbox while no client begins another, and notes what is held then."""
        with self.turnstile.closed():
            for sandbox in self.daemon.must(200, "GET", "/v1/sandboxes?limit=1000")["sandboxes"]:
                self.daemon.ask("DELETE", f"/v1/sandboxes/{sandbox['id']}")
            seen = []

            def steady():
                # The pool takes its time to fill up; meanwhile the keeper holds more each second.
                time.sleep(0.5)
                seen.append(self.held())
                # A handler that has nothing to do ends after 10 s.
                return len(seen) > 24 and all(one == seen[-1] for one in seen[-24:])

            with contextlib.suppress(AssertionError):  # Is judged as it is then.
                wait_until(steady, "threads and descriptors to stay", 60)
            self.rests.append(seen[-1])

    def sample(self, passed):
        keeper, pid = self.daemon.keeper(), self.daemon.process.pid
        database = self.daemon.data / "glovebox.db"
        self.samples.append((passed, {
            "daemon KB": memory_kb(pid),
            "keeper KB": memory_kb(keeper),
            "database KB": size_kb(database),
            "data directory KB": size_kb(self.daemon.data),
        }))

    def restart(self, chance):
        """In turn as an operator does it, and as a crash does."""
        self.restarts += 1
        if chance.random() < 0.5:
            self.daemon.kill()
        else:
            self.daemon.process.send_signal(signal.SIGTERM)
            self.daemon.process.wait(60)
            self.daemon.process.stdout.close()
        self.daemon.start()

    def run(self):
        tally, chance = Tally(), chance_of("restarts")
        self.daemon.start()
        begun = time.monotonic()
        end = begun + self.seconds
        next_restart = begun + self.restart_every_s
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            running = [
                pool.submit(Client(self.daemon, number, tally, self.turnstile, end).work)
                for number in range(CLIENTS)
            ]
            while time.monotonic() < end:
                time.sleep(self.seconds / SAMPLES)
                if not self.rests and time.monotonic() - begun >= self.seconds * WARM_UP:
                    self.rest()
                if time.monotonic() >= next_restart and time.monotonic() < end - 10:
                    self.restart(chance)
                    next_restart += self.restart_every_s
                else:
                    self.sample(time.monotonic() - begun)
            for client in running:
                client.result()
        self.rest()
        return self.judge(tally)

    def judge(self, tally):
        wrong = list(tally.wrong)
        warm = [one for one in self.samples if one[0] > self.seconds * WARM_UP]
        for name, allowance in ALLOWANCES.items():
            values = [(passed, sample[name]) for passed, sample in warm]
            risen = slope_times_span(values)
            print(f"{name:20} first {values[0][1]:8} last {values[-1][1]:8} "
                  f"most {max(value for _, value in values):8} line rises by {risen:10.0f} "
                  f"of {allowance}", flush=True)
            if risen > allowance:
                wrong.append(f"{name} rose by {risen:.0f}, more than {allowance}")
        print(f"{tally.answered} answers checked, {tally.lost} sessions cut off by "
              f"{self.restarts} restarts, {len(tally.wrong)} wrong", flush=True)
        # A daemon that refuses most of what is asked of it leaks nothing either.
        print(f"{tally.refused} sessions refused", flush=True)
        if tally.answered < 100 * tally.refused or tally.answered == 0:
            wrong.append(f"{tally.refused} sessions refused of {tally.answered} answers")
        first, last = self.rests
        for name, allowance in ALLOWANCES_AT_REST.items():
            print(f"{name:20} at rest {first[name]}, at the end {last[name]}", flush=True)
            if last[name] > first[name] + allowance:
                wrong.append(f"{name} at rest rose from {first[name]} to {last[name]}")
        return wrong

    def discard(self):
        self.daemon.options = []
        self.daemon.discard()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--restart-every", type=float, default=60, metavar="SECONDS")
    options = parser.parse_args()
    soak = Soak(options.minutes, options.restart_every)
    try:
        wrong = soak.run()
    finally:
        soak.discard()
    for line in wrong[:50]:
        print(f"wrong: {line}")
    if wrong:
        print(f"seed {SEED}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
