# SPDX-License-Identifier: Apache-2.0
"""Traces, and what else a daemon may leave: namespaces, slots, files of its directory."""

import contextlib
import os
import pathlib
import sqlite3

from traces import Traces, family

SLOTS = pathlib.Path(os.environ.get("GLOVEBOX_RUNTIME_DIR", "/run/glovebox"))
# Files of a data directory that has ended.
LASTING = {
    "glovebox.db",
    "glovebox.db-wal",
    "glovebox.db-shm",
    "api-key",
    "daemon.lock",
    "secrets.key",
    "signing-key",
    "audit",
}
LASTING |= {"keeper.lock", "keeper.log", "keeper.log.1", "snapshots", "workspaces", "volumes"}
LASTING |= {"images", "templates"}


def namespace(pid):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/net")
    return None


def descriptors(pid):
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0


def memory_kb(pid):
    """What it has resident."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


class Footprint(Traces):
    def __init__(self, daemon):
        super().__init__(daemon)
        self.namespaces = set()
        self.own = namespace("self")

    def gather(self):
        super().gather()
        keeper = self.daemon.keeper()
        for pid in family(keeper) if keeper else ():
            self.namespaces.add(namespace(pid))

    def left(self):
        yield from super().left()
        ours = self.namespaces - {self.own, None}
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            if (found := namespace(directory.name)) in ours:
                yield f"network namespace {found} of process {directory.name}"
        for number in self.slots:
            for name in (f"{number:x}", f"{number:04x}"):
                if (SLOTS / name).exists():
                    yield f"slot {SLOTS / name}"
        yield from self.files_left()

    def files_left(self):
        """Of the data directory: what no record names."""
        for path in self.daemon.data.iterdir():
            if path.name not in LASTING:
                yield f"file {path}"
        # Of sandboxes, which have all been ended by their clients.
        yield from (f"workspace {path}" for path in (self.daemon.data / "workspaces").glob("*"))
        snapshots = self.daemon.data / "snapshots"
        if not snapshots.exists():
            return
        database = sqlite3.connect(self.daemon.data / "glovebox.db")
        with contextlib.closing(database):
            rows = database.execute("SELECT content_hash FROM templates").fetchall()
        known = {row[0] for row in rows}
        there = {path.name for path in snapshots.iterdir()}
        yield from (f"snapshot {name} that no template names" for name in there - known)
        yield from (f"snapshot {name} is named, and not there" for name in known - there)
