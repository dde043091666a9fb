# SPDX-License-Identifier: Apache-2.0
"""What a daemon has on this host, so that a test can look whether it is gone. Others may run
sandboxes beside us: only what a keeper of ours holds is looked at."""

import contextlib
import os
import pathlib

# What a slot's number is added to for its host uid (src/sandbox/slot.h).
FIRST_UID = 0x70000000


def start_time(pid):
    """With the pid, the name of a process that nobody else ever has."""
    with contextlib.suppress(OSError, IndexError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    return None


def parents():
    """pid -> pid of its parent, of all processes."""
    found = {}
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            stat = (directory / "stat").read_text().rsplit(")", 1)[1].split()
            found[int(directory.name)] = int(stat[1])
    return found


def family(pid):
    """`pid` and all processes below it."""
    up = parents()
    found = {pid} & set(up)
    while True:
        more = {child for child, parent in up.items() if parent in found} - found
        if not more:
            return found
        found |= more


def outermost(pid, keeper):
    """The child of the keeper that `pid` descends from."""
    above = parents()
    while above[pid] != keeper:
        pid = above[pid]
    return pid


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def has_ended(pid):
    """Whether it is gone, or waits for its parent to ask how it ended."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    return True


def named(root, name):
    """Processes below `root` with this name."""
    return [pid for pid in family(root) if name_of(pid) == name]


def slots(keeper):
    """Numbers of the slots that a keeper holds (files that it keeps open)."""
    numbers = set()
    with contextlib.suppress(OSError):
        for link in pathlib.Path(f"/proc/{keeper}/fd").iterdir():
            with contextlib.suppress(OSError, ValueError):
                target = pathlib.Path(os.readlink(link))
                if target.parent.name == "glovebox":
                    numbers.add(int(target.name, 16))
    return numbers


class Traces:
    """Gathered while a daemon lives; asked for what is left when it should be gone."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.processes = set()
        self.slots = set()

    def gather(self):
        keeper = self.daemon.keeper()
        for pid in family(keeper) if keeper else ():
            self.processes.add((pid, start_time(pid)))
        self.slots |= slots(keeper) if keeper else set()

    def left(self):
        """In words, one by one."""
        yield from (
            f"process {pid} {name_of(pid)}"
            for pid, started in self.processes
            if started is not None and start_time(pid) == started
        )
        names = tuple(f"glovebox-{number:x}-" for number in self.slots)
        # Others make and remove groups meanwhile; os.walk passes over what has gone.
        for directory, below, _ in os.walk("/sys/fs/cgroup"):
            yield from (f"cgroup {directory}/{name}" for name in below if name.startswith(names))
        with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
            for line in mounts:
                if str(self.daemon.dir) in line or any(name in line for name in names):
                    yield "mount " + line.strip()
        with open("/proc/net/unix", encoding="utf-8") as sockets:
            for line in sockets:
                if str(self.daemon.dir) in line:
                    yield "socket " + line.split()[-1]
        uids = {FIRST_UID + number for number in self.slots}
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if directory.stat().st_uid in uids:
                    yield f"process {directory.name} of a slot's user"
