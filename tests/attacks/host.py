# SPDX-License-Identifier: Apache-2.0
"""Bait on the host, and the oracles that see from outside whether an attack got there."""

import contextlib
import glob
import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

SANDBOX_UIDS = range(0x70000000, 0x80000000)
# src/sandbox/slot.h: how many slots there are, and how many a runtime directory has
# that is not /run/glovebox.
SLOTS = 1 << 20
WINDOW = 1 << 12
SETTLE_SECONDS = 10
# src/sandbox/id_range.h: the ranges of guests that are root, and who holds one.
RANGES = range(0x71000000, 0x7F000000, 1 << 16)
RANGE_LOCKS = "/run/glovebox/.ids"
# What a guest with a root of its own may change, and the host's must not.
SYSTEM = ("/usr/bin", "/usr/bin/env", "/usr/bin/id", "/usr/bin/true", "/usr/bin/false", "/usr/bin/yes",
          "/usr/lib", "/usr/local/bin", "/etc/alternatives",
          "/var/lib/dpkg/status")
# These change on their own.
RESTLESS_SYSCTLS = {"ns_last_pid", "perf_event_max_sample_rate", "perf_cpu_time_max_percent"}


class Host:
    """Lays out the bait; `tokens` are what a case's code may name as @token@."""

    def __init__(self, uid):
        self.uid = uid
        # Starts a second sandbox that runs some Python, where the attacks run in sandboxes.
        self.neighbour = None
        self.mark = "gbattack" + os.urandom(8).hex()
        self.secret = "canary" + os.urandom(16).hex()
        self.folder = tempfile.mkdtemp(prefix="glovebox-attack-bait-")
        os.chmod(self.folder, 0o755)
        self.home = os.path.join(self.folder, "home")
        self.runtime = os.path.join(self.folder, "runtime")
        self.slots = os.path.join(self.runtime, "glovebox")
        for folder in (self.home, self.runtime):
            os.mkdir(folder, 0o700)
            os.chown(folder, uid, uid)
        make_slots(self.slots, uid)
        private_folder = "/root" if os.geteuid() == 0 else self.folder
        self.canaries = {
            "private": os.path.join(private_folder, "canary-" + self.mark),
            "public": os.path.join(self.folder, "canary"),
            "own": os.path.join(self.home, "canary"),
        }
        for name, path in self.canaries.items():
            with open(path, "w", encoding="ascii") as file:
                file.write(self.secret + "\n")
            os.chmod(path, 0o644 if name == "public" else 0o600)
        os.chown(self.canaries["own"], uid, uid)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.abstract = unix_socket(socket.SOCK_STREAM, "\0" + self.mark)
        self.abstract_datagrams = unix_socket(socket.SOCK_DGRAM, "\0" + self.mark + "-dgram")
        self.socket_path = os.path.join(self.folder, "service.sock")
        self.path = unix_socket(socket.SOCK_STREAM, self.socket_path)
        os.chmod(self.socket_path, 0o777)
        self.tokens = {
            "private": self.canaries["private"],
            "public": self.canaries["public"],
            "own": self.canaries["own"],
            "port": str(self.tcp.getsockname()[1]),
            "udp_port": str(self.udp.getsockname()[1]),
            "abstract": self.mark,
            "socket": self.socket_path,
            "mark": self.mark,
        }
        # What only the host's root may read, in the part of the system that is an administrator's.
        self.locked = os.path.join("/usr/local/share" if os.geteuid() == 0 else self.folder,
                                   "locked-" + self.mark)
        with open(self.locked, "w", encoding="ascii") as file:
            file.write(self.secret + "\n")
        os.chmod(self.locked, 0o600)
        self.tokens["locked"] = self.locked
        self.start_victim()
        self.begin_case()

    def start_victim(self):
        identity = {}
        if os.geteuid() == 0:
            identity = {"user": self.uid, "group": self.uid, "extra_groups": []}
        self.victim = subprocess.Popen(["sleep", "infinity"], **identity)
        self.tokens["victim"] = str(self.victim.pid)

    def snapshot(self):
        return {
            "canaries": {name: describe_file(path) for name, path in self.canaries.items()},
            "passwd": describe_file("/etc/passwd"),
            "system": {path: describe_file(path) for path in SYSTEM},
            "shadow": describe_file("/etc/shadow"),
            "sysctls": read_sysctls(),
            "mounts": read_or_none("/proc/self/mountinfo"),
            "ipc": read_ipc(),
            "victim's limits and scheduling": describe_process(self.victim.pid),
        }

    def begin_case(self):
        self.before = self.snapshot()
        self.left_before = self.leftovers()

    def complaints(self, output):
        """What the attack did to the host, one sentence each."""
        found = []
        if self.secret in output:
            found.append("a canary's text is in the output")
        # Cleaning may outlive the answer by a moment. One look that finds nothing is enough: another may
        # meet a sandbox of others whose range of ids was given back between two steps of the look.
        deadline = time.monotonic() + SETTLE_SECONDS
        left = self.leftovers() - self.left_before
        while left and time.monotonic() < deadline:
            time.sleep(0.02)
            left = self.leftovers() - self.left_before
        after = self.snapshot()
        for what in ("canaries", "passwd", "shadow", "system", "mounts", "ipc",
                     "victim's limits and scheduling"):
            if after[what] != self.before[what]:
                found.append(f"{what} changed: {difference(self.before[what], after[what])}")
        for name, value in after["sysctls"].items():
            if value != self.before["sysctls"].get(name):
                found.append(f"/proc/sys/kernel/{name} changed")
        if left:
            found.append(f"left behind: {', '.join(sorted(left))}")
        for name in ("tcp", "abstract", "path"):
            if was_connected(getattr(self, name)):
                found.append(f"the {name} socket of the host was connected to")
        for name in ("udp", "abstract_datagrams"):
            if was_written(getattr(self, name)):
                found.append(f"the {name} socket of the host got a datagram")
        state = read_or_none(f"/proc/{self.victim.pid}/stat") or ""
        if self.victim.poll() is not None:
            found.append(f"the victim process ended with {self.victim.returncode}")
            self.start_victim()
        elif state.rsplit(")", 1)[1].split()[0] not in "SR":
            found.append("the victim process was stopped")
            self.victim.kill()
            self.victim.wait()
            self.start_victim()
        return found

    def leftovers(self):
        """What our sandboxes leave, except those that still run.

        Others use this machine, too: of the slots only those of our runtime directory are ours.
        """
        live = live_slots(self.slots)
        first = window_of(self.slots) * WINDOW
        ours = {f"{number:x}" for number in range(first, first + WINDOW)} - live
        found = {f"cgroup {path}" for path in find_cgroups() if slot_in(path) in ours}
        found |= {f"tree {path}" for path in glob.glob("/tmp/glovebox-*") if slot_in(path) in ours}
        found |= {f"slot {name}" for name in list_or_none(self.slots)
                  if name not in live and name != ".machines"}  # Templates stay.
        found |= {f"process {pid}" for pid, slot in find_processes(self.mark)
                  if slot is None or slot in ours}
        return found

    def remove(self):
        self.victim.kill()
        self.victim.wait()
        for listener in (self.tcp, self.udp, self.abstract, self.abstract_datagrams, self.path):
            listener.close()
        os.unlink(self.canaries["private"])
        os.unlink(self.locked)
        shutil.rmtree(self.folder, ignore_errors=True)


def window_of(folder):
    """Which of the slots are those of this runtime directory."""
    return os.stat(folder).st_ino % (SLOTS // WINDOW)


def make_slots(folder, uid):
    """Makes a runtime directory whose slots are no other test's."""
    taken = set()
    for other in glob.glob("/run/glovebox-*/glovebox") + glob.glob(
            "/tmp/glovebox-attack-bait-*/runtime/glovebox"):
        with contextlib.suppress(OSError):
            taken.add(window_of(other))
    for attempt in range(SLOTS // WINDOW):
        os.mkdir(folder, 0o700)
        os.chown(folder, uid, uid)
        if window_of(folder) not in taken:
            return
        # It stays, so that the next one has another number.
        os.rename(folder, f"{folder}-{attempt}")
    raise RuntimeError("the slots of all runtime directories are taken")


def unix_socket(kind, address):
    made = socket.socket(socket.AF_UNIX, kind)
    made.bind(address)
    if kind == socket.SOCK_STREAM:
        made.listen()
    return made


def was_connected(listener):
    listener.setblocking(False)
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def was_written(receiver):
    receiver.setblocking(False)
    written = False
    with contextlib.suppress(BlockingIOError):
        while True:
            receiver.recv(1)
            written = True
    return written


def read_or_none(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return None


def describe_file(path):
    try:
        status = os.stat(path)
    except OSError:
        return "gone"
    text = read_or_none(path) or ""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return (digest, status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns)


def read_sysctls():
    names = (os.path.basename(path) for path in glob.glob("/proc/sys/kernel/*")
             if os.path.isfile(path))
    return {name: read_or_none(f"/proc/sys/kernel/{name}") for name in names
            if name not in RESTLESS_SYSCTLS}


def describe_process(pid):
    try:
        return (read_or_none(f"/proc/{pid}/limits"), os.getpriority(os.PRIO_PROCESS, pid),
                os.sched_getscheduler(pid), sorted(os.sched_getaffinity(pid)))
    except ProcessLookupError:
        return "gone"


def read_ipc():
    # Key and id of each object; the other columns move with honest use.
    return {kind: sorted(line.split()[1] for line in (read_or_none(f"/proc/sysvipc/{kind}") or "")
                         .splitlines()[1:]) for kind in ("shm", "sem", "msg")}


def list_or_none(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def live_slots(folder):
    """Numbers of the sandboxes whose glovebox runs: it holds a lock on the slot's file."""
    lines = (read_or_none("/proc/locks") or "").splitlines()
    # With an arrow are those that wait for a lock.
    locked = {line.split()[5].rsplit(":", 1)[1] for line in lines if "FLOCK" in line and " -> " not in line}
    live = set()
    for name in list_or_none(folder):
        try:
            if str(os.stat(f"{folder}/{name}").st_ino) in locked:
                live.add(name)
        except OSError:
            continue  # Given back while we looked.
    return live


def slot_in(path):
    found = re.search(r"/glovebox-([0-9a-f]{1,6})-[0-9a-f]{8}$", path)
    return found and found[1]


def find_cgroups():
    return {folder for folder, _, _ in os.walk("/sys/fs/cgroup")
            if os.path.basename(folder).startswith("glovebox-")}


def find_processes(mark):
    """(pid, slot) of processes with our mark, where the slot is None, or a sandbox's uid."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            uid = os.stat(f"/proc/{pid}").st_uid
            state = read_or_none(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0]
        except (OSError, AttributeError, IndexError):
            continue  # It ended while we looked.
        if state == "Z":
            continue
        if any(mark in (read_or_none(f"/proc/{pid}/{file}") or "")
               for file in ("environ", "cmdline")):
            found.add((pid, None))
        elif uid >= RANGES.start and uid < RANGES.stop:
            first = uid - (uid - RANGES.start) % RANGES.step
            if str(first) not in live_slots(RANGE_LOCKS):
                found.add((pid, None))
        elif uid in SANDBOX_UIDS:
            found.add((pid, f"{uid - SANDBOX_UIDS.start:x}"))
    return found


def difference(before, after):
    if isinstance(before, str) and isinstance(after, str):
        changed = set(before.splitlines()) ^ set(after.splitlines())
        return "; ".join(sorted(changed))[:300]
    if isinstance(before, tuple) and isinstance(after, tuple):
        return "; ".join(difference(a, b) if isinstance(a, str) else f"{a} -> {b}"
                         for a, b in zip(before, after) if a != b)
    return f"{before} -> {after}"
