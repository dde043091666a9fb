# SPDX-License-Identifier: Apache-2.0
"""What a sandbox leaves on a host while it lives, and should not when it is gone."""

import dataclasses
import fcntl
import os
import pathlib
import time

# src/sandbox/slot.h: the uids of guests when root starts them, and how many slots a runtime
# directory other than /run/glovebox has.
FIRST_UID = 0x70000000
SLOTS = 1 << 20
WINDOW = 1 << 12
# src/sandbox/id_range.h: the ids of guests that are root inside, and who holds them.
RANGES = range(0x71000000, 0x7F000000, 1 << 16)
RANGE_LOCKS = pathlib.Path("/run/glovebox/.ids")


@dataclasses.dataclass
class Places:
    """Where the sandboxes of one test can be found."""

    user: int | None  # Who starts them; None is root.
    slots: pathlib.Path
    trees: pathlib.Path
    marker: bytes  # NAME=VALUE in the environment of whoever starts them.

    def numbers(self):
        """The numbers that its slots may have: others' sandboxes on this machine have others."""
        first = self.slots.stat().st_ino % (SLOTS // WINDOW) * WINDOW
        return range(first, first + WINDOW)


def _names(directory):
    try:
        return set(os.listdir(directory))
    except OSError:
        return set()


def _process_ids():
    return [name for name in _names("/proc") if name.isdigit()]


def _id_ranges():
    """Files of ranges that nobody holds."""
    found = set()
    for name in _names(RANGE_LOCKS):
        try:
            with open(RANGE_LOCKS / name, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            found.add(name)
        except OSError:
            continue  # It has a holder, or is gone.
    return found


def _is_of_no_range(uid):
    """Whether a guest has it that is root inside, of a sandbox that nobody holds."""
    first = uid - (uid - RANGES.start) % RANGES.step
    return first in RANGES and not (RANGE_LOCKS / str(first)).exists()


def _processes(places):
    found = set()
    guests = {FIRST_UID + number for number in places.numbers()} if places.user is None else set()
    for pid in _process_ids():
        try:
            process = pathlib.Path("/proc", pid)
            fields = dict(line.split(":", 1) for line in
                          (process / "status").read_text(errors="replace").splitlines()
                          if ":" in line)
            uids = {int(uid) for uid in fields["Uid"].split()}
            ours = any(uid in guests or uid == places.user or _is_of_no_range(uid)
                       for uid in uids)
            if ours or places.marker in (process / "environ").read_bytes().split(b"\0"):
                # The start time tells a process from a later one with the same number.
                began = (process / "stat").read_text().rsplit(")", 1)[1].split()[19]
                found.add(f"{pid} {fields['Name'].strip()} state {fields['State'].strip()} "
                          f"uid {fields['Uid'].split()[0]} since {began}")
        except (OSError, KeyError):
            continue  # It ended while we looked.
    return found


def _namespaces(places):
    """Network namespaces that a process of ours is in."""
    found = set()
    for line in _processes(places):
        try:
            found.add(os.readlink(f"/proc/{line.split()[0]}/ns/net"))
        except OSError:
            continue
    return found


def _mounts():
    return set(pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


def _is_ours(cgroup, places):
    number = os.path.basename(cgroup).removeprefix("glovebox-").partition("-")[0]
    return number.isalnum() and int(number, 16) in places.numbers()


def _cgroups(places):
    return {path for parent, names, _ in os.walk("/sys/fs/cgroup")
            for name in names if name.startswith("glovebox-")
            and _is_ours(path := os.path.join(parent, name), places)}


def _loop_devices():
    found = set()
    for backing in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found.add(f"{backing}: {backing.read_text().strip()}")
        except OSError:
            continue
    return found


def look(places):
    """Kind -> what there is of it now."""
    return {
        "processes": _processes(places),
        "network namespaces": _namespaces(places),
        "mounts": _mounts(),
        "cgroups": _cgroups(places),
        "slots": _names(places.slots) - {".machines"},  # Templates stay.
        "id ranges": _id_ranges(),
        "trees": _names(places.trees),
        "loop devices": _loop_devices(),
    }


def await_end_of_processes(places, before, patience_s):
    """Until those of killed owners are gone, or for that long."""
    end = time.monotonic() + patience_s
    while _processes(places) - before["processes"] and time.monotonic() < end:
        time.sleep(0.1)


def remaining(places, before, patience_s):
    """What is new since `before` and does not go, by kind.

    Others may run sandboxes on this machine at the same time: theirs come and go, so only what is
    there at every look counts.
    """
    left = None
    end = time.monotonic() + patience_s
    while True:
        now = look(places)
        new = {kind: now[kind] - before[kind] for kind in now}
        left = new if left is None else {kind: left[kind] & new[kind] for kind in left}
        left = {kind: names for kind, names in left.items() if names}
        if not left or time.monotonic() > end:
            break
        time.sleep(0.1)
    gone = {f"{line} is gone" for line in before["mounts"] - _mounts()}
    return {**left, **({"lost mounts": gone} if gone else {})}


def open_files():
    """Open files of the whole machine."""
    return int(pathlib.Path("/proc/sys/fs/file-nr").read_text().split()[0])
