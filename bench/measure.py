# SPDX-License-Identifier: Apache-2.0
"""Starting programs with as little around them as Python can, and what the times say together."""

import datetime
import math
import os
import pathlib
import platform
import time

import mounts

NOTHING = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
           (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
           (os.POSIX_SPAWN_DUP2, 1, 2)]


def start_and_wait(argv):
    """Microseconds from before the start until the end was seen, and the exit status."""
    begun = time.perf_counter_ns()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=NOTHING)
    _, status, _ = os.wait4(pid, 0)
    ended = time.perf_counter_ns()
    return (ended - begun) / 1000, os.waitstatus_to_exitcode(status)


def machine():
    """What a table of results says of where and when it was made."""
    info = pathlib.Path("/proc/cpuinfo").read_text()
    models = [line.split(":", 1)[1].strip() for line in info.splitlines()
              if line.startswith("model name")]
    return {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "cpus": len(os.sched_getaffinity(0)), "cpu": models[0] if models else "unknown",
            "kernel": platform.release(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "user": "root" if os.geteuid() == 0 else "not root",
            "load_before": os.getloadavg()}


def percentile(ordered, part):
    """Nearest rank: the smallest sample that `part` of all samples do not exceed."""
    return ordered[max(math.ceil(part * len(ordered)), 1) - 1]


def statistics(samples):
    ordered = sorted(samples)
    return {"p50": percentile(ordered, 0.50), "p95": percentile(ordered, 0.95),
            "p99": percentile(ordered, 0.99), "mean": sum(ordered) / len(ordered)}


class Series:
    """The samples of one contestant. A start that failed is counted and is no sample."""

    def __init__(self, argv, namespace, settle=None):
        self.argv = argv
        self.namespace = namespace
        self.settle = settle
        self.every = 1  # Takes part in each round whose number this divides.
        self.samples = []
        self.failed = 0

    def slow_down_if_over(self, limit_us, every):
        """The better of two starts decides: the first one reads its files from the disk."""
        if min(self.start()[0] for _ in range(2)) > limit_us:
            self.every = every

    def start(self):
        with mounts.inside(self.namespace):
            answer = start_and_wait(self.argv)
        if self.settle:
            self.settle()
        return answer

    def take(self, keep):
        took, status = self.start()
        if status != 0:
            self.failed += 1
        elif keep:
            self.samples.append(took)


def interleave(series, rounds, warmup, random):
    """In each round every series takes a sample, in an order that chance decides, so that what
    else the machine does meets all of them alike."""
    for number in range(warmup + rounds):
        present = [one for one in series if number % one.every == 0]
        random.shuffle(present)
        for one in present:
            one.take(keep=number >= warmup)
