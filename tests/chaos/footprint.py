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
LASTING |= {"images", "keys", "templates"}


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


def in_namespaces(ours):
    """pid -> network namespace, of all processes in one of these."""
    processes = (directory.name for directory in pathlib.Path("/proc").glob("[0-9]*"))
    found = {pid: namespace(pid) for pid in processes}
    return {pid: name for pid, name in found.items() if name in ours}


class Footprint(Traces):
    def __init__(self, daemon):
        super().__init__(daemon)
        # name -> descriptor. The kernel gives the number of a namespace that is gone to the next
        # one, which may be another test's: one that is looked for is kept.
        self.namespaces = {}
        self.own = namespace("self")

    def gather(self):
        super().gather()
        gone = set(self.namespaces) - set(in_namespaces(self.namespaces).values())
        for name in gone:
            os.close(self.namespaces.pop(name))
        keeper = self.daemon.keeper()
        for pid in family(keeper) if keeper else ():
            self.keep_namespace(pid)

    def keep_namespace(self, pid):
        with contextlib.suppress(OSError):
            kept = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
            name = f"net:[{os.fstat(kept).st_ino}]"
            if name == self.own or name in self.namespaces:
                os.close(kept)
            else:
                self.namespaces[name] = kept

    def left(self):
        yield from super().left()
        for pid, name in in_namespaces(self.namespaces).items():
            yield f"network namespace {name} of process {pid}"
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
