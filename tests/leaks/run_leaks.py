#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts thousands of sandboxes, kills many of their owners, and looks for what stayed behind.

A `glovebox run` that is killed cannot clean up. What it leaves must end by itself, or go when the
next `glovebox run` sweeps. Needs root, to see the processes and namespaces of others.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import traces

DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.closerange(0, 64)
        time.sleep(1000)
    os._exit(0)
"""
GUESTS = {
    "true": ["/bin/true"],
    "python": ["-l", "python", "-e", "print(6*7)"],
    "background": ["-l", "sh", "-e", "sleep 1000 & sleep 1000 & sleep 1000 & echo started"],
    "daemon": ["-l", "python", "-e", DAEMON],
}
# Further ones where guests may make sandboxes.
NESTED_GUESTS = {
    "sandboxes": ["-l", "sh", "-e", "for i in 1 2 3; do bwrap --unshare-all --ro-bind / / --proc /proc "
                  "--dev /dev --tmpfs /tmp sleep 1000 & done; echo started"],
}
# Where guests are modules and Python, and cannot leave anything behind themselves.
MODULE = '(module (func (export "_start")))'
LONGEST_KILL_DELAY_S = 0.010
LONGEST_LIFE_OF_A_POOL_S = 2.0
RUN_PATIENCE_S = 60
# Which engine makes the sandboxes of the tier docker.
ENGINE = ("DOCKER_HOST", "GLOVEBOX_DOCKER_RUNTIME")


class Stress:
    """The runs: which guests, who is killed, and how the others ended."""

    def __init__(self, options, environment):
        self.command = [options.glovebox, "run"]
        if options.tier:
            self.command += ["--tier", options.tier]
        self.command += ["--user", options.user]
        if options.nested:
            self.command.append("--nested")
        if options.network:
            # A proxy, with an authority that signs certificates of its own.
            self.command += ["--allow-net", "leaks.example", "--secret", "TOKEN@leaks.example"]
            environment = {**environment, "TOKEN": "secret of the test"}
        self.guests = GUESTS | (NESTED_GUESTS if options.nested else {})
        if options.tier == "wasm":
            self.guests = {"python": GUESTS["python"], "true": [str(options.module)]}
        self.options = options
        self.environment = environment
        self.random = random.Random(options.seed)
        self.lock = threading.Lock()
        self.started = 0
        self.killed = 0
        self.failures = []

    def start(self, guest, **streams):
        return subprocess.Popen(
            [*self.command, *self.guests[guest]],
            stdin=subprocess.DEVNULL,
            env=self.environment,
            user=self.options.as_user,
            group=self.options.as_user,
            extra_groups=None if self.options.as_user is None else [],
            cwd="/",
            **streams,
        )

    def run(self):
        workers = [threading.Thread(target=self._work) for _ in range(self.options.parallel)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _next(self):
        with self.lock:
            if self.started >= self.options.runs:
                return None
            self.started += 1
            if self.started % 500 == 0:
                print(f"{self.started} started, {self.killed} killed, "
                      f"{len(self.failures)} failed", flush=True)
            guest = self.random.choice(list(self.guests))
            delay = None
            if self.random.random() < self.options.kills:
                delay = self.random.uniform(0, LONGEST_KILL_DELAY_S)
                self.killed += 1
            return guest, delay

    def _work(self):
        while (job := self._next()) is not None:
            guest, delay = job
            if delay is not None:
                with self.start(guest, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL) as owner:
                    time.sleep(delay)
                    owner.kill()
            else:
                self._complete(guest)

    def _complete(self, guest):
        with self.start(guest, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as owner:
            try:
                output, _ = owner.communicate(timeout=RUN_PATIENCE_S)
            except subprocess.TimeoutExpired:
                owner.kill()
                self.failures.append((guest, "did not end", b""))
                return
        if owner.returncode != 0:
            self.failures.append((guest, owner.returncode, output))


class Pools:
    """One `glovebox pool` after the other, each killed, while the runs take sandboxes of it."""

    def __init__(self, stress):
        self.stress = stress
        self.over = threading.Event()
        self.killed = 0
        self.thread = threading.Thread(target=self._work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _work(self):
        options = self.stress.options
        while not self.over.is_set():
            with subprocess.Popen(
                [options.glovebox, "pool"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                env=self.stress.environment, user=options.as_user, group=options.as_user,
                extra_groups=None if options.as_user is None else [], cwd="/",
            ) as pool:
                self.over.wait(self.stress.random.uniform(0, LONGEST_LIFE_OF_A_POOL_S))
                pool.kill()
            self.killed += 1


def scratch_directory(owner):
    """Where this test's sandboxes keep their trees and their slots."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="leaks."))
    # Others may pass through, as guests with uids of their own must.
    for directory, mode in ((path, 0o711), (path / "tmp", 0o711), (path / "run", 0o700),
                            (path / "run" / "glovebox", 0o700)):
        directory.mkdir(exist_ok=True)
        directory.chmod(mode)
        if owner is not None:
            os.chown(directory, owner, owner)
    return path


def report(stress, leaked):
    for guest, status, output in stress.failures[:5]:
        print(f"failed: {guest}: {status}: {output[-500:].decode(errors='replace')}")
    for kind, names in leaked.items():
        print(f"leaked {kind}: {len(names)}")
        for name in sorted(names, key=str)[:10]:
            print(f"  {name}")
    print(f"{stress.started} runs, {stress.killed} killed, {len(stress.failures)} failed, "
          f"{sum(map(len, leaked.values()))} things leaked")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--glovebox", required=True, type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--kills", type=float, default=0.3, help="fraction of runs to kill")
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--tier", default="")
    parser.add_argument("--user", default="user", choices=["user", "root"],
                        help="who guests are inside")
    parser.add_argument("--network", action="store_true", help="with network rules and a secret")
    parser.add_argument("--nested", action="store_true", help="guests make sandboxes of their own")
    parser.add_argument("--as-user", type=int, default=None, metavar="UID")
    parser.add_argument("--pool", action="store_true", help="also run and kill a pool")
    parser.add_argument("--patience", type=float, default=20, help="seconds to wait for resources to be released")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("run it as root: only root sees what others left")
    options.seed = random.randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {options.seed}", flush=True)

    scratch = scratch_directory(options.as_user)
    environment = {
        "PATH": os.environ["PATH"],
        "TMPDIR": str(scratch / "tmp"),
        "XDG_RUNTIME_DIR": str(scratch / "run"),
        "GLOVEBOX_RUNTIME_DIR": str(scratch / "run" / "glovebox"),
        **{name: os.environ[name] for name in ENGINE if name in os.environ},
    }
    options.module = scratch / "module.wat"
    options.module.write_text(MODULE, encoding="ascii")
    places = traces.Places(
        user=options.as_user,
        slots=scratch / "run" / "glovebox",
        trees=scratch / "tmp",
        marker=os.fsencode(f"TMPDIR={environment['TMPDIR']}"),
    )
    # Interrupted, we still want to know what is left.
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    before = traces.look(places)
    files_before = traces.open_files()
    stress = Stress(options, environment)
    if options.pool:
        with Pools(stress) as pools:
            stress.run()
        print(f"{pools.killed} pools killed")
    else:
        stress.run()
    # A sweep leaves alone what still dies; what is there after one more is a leak.
    traces.await_end_of_processes(places, before, options.patience)
    stress._complete("true")
    leaked = traces.remaining(places, before, options.patience)
    # Others on this machine open files as well: only about one in each run is a leak of ours.
    if traces.open_files() - files_before > max(500, options.runs // 2):
        leaked["open files"] = {f"{files_before} before, {traces.open_files()} now"}
    report(stress, leaked)
    shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(1 if leaked or stress.failures else 0)


if __name__ == "__main__":
    main()
