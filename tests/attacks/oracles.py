# SPDX-License-Identifier: Apache-2.0
"""Oracles of single cases: each adds options to the run, and looks at the host afterwards."""

import contextlib
import fcntl
import os
import shutil
import stat
import struct
import tempfile

from accounts import Accounts
from network import RulesForOneServer
from network_names import RulesForOneName


class OutDirectory:
    """What `--out` brings home: plain files below the directory, and nothing of the host."""

    def __init__(self, host, _most):
        self.host = host
        self.folder = os.path.join(host.folder, "out")
        os.mkdir(self.folder, 0o755)
        os.chown(self.folder, host.uid, host.uid)
        self.options = ["--out", self.folder]

    def complaints(self, _verdict):
        found = []
        disk = 0
        for folder, folders, files in os.walk(self.folder):
            for name in folders + files:
                path = os.path.join(folder, name)
                status = os.lstat(path)
                disk += status.st_blocks * 512
                if stat.S_ISLNK(status.st_mode):
                    if os.path.relpath(os.path.realpath(path), self.folder).startswith(".."):
                        found.append(f"{name!r} leads out of the directory")
                elif not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                    found.append(f"{name!r} is no plain file")
                elif status.st_mode & (stat.S_ISUID | stat.S_ISGID):
                    found.append(f"{name!r} is setuid or setgid")
                elif status.st_uid != self.host.uid:
                    found.append(f"{name!r} belongs to {status.st_uid}")
                elif stat.S_ISREG(status.st_mode) and status.st_nlink != 1:
                    found.append(f"{name!r} is a hard link")
                elif stat.S_ISREG(status.st_mode) and status.st_size < 1 << 20:
                    with open(path, "rb") as file:
                        text = file.read()
                    if self.host.secret.encode() in text or b"root:x:0:0:root:/root" in text:
                        found.append(f"{name!r} holds a file of the host")
        if disk > 1 << 30:
            found.append(f"{disk} bytes came out")
        return found

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class CopiedIn:
    """A project copied in by `--file` stays as it was on the host."""

    def __init__(self, host, _most):
        self.folder = os.path.join(host.folder, "project")
        os.makedirs(os.path.join(self.folder, ".git"))
        with open(os.path.join(self.folder, "notes.txt"), "w", encoding="ascii") as file:
            file.write("mine\n")
        with contextlib.suppress(FileExistsError):
            os.symlink(host.canaries["own"], os.path.join(self.folder, "link"))
        for folder, folders, files in os.walk(self.folder):
            for name in [".", *folders, *files]:
                os.chown(os.path.join(folder, name), host.uid, host.uid, follow_symlinks=False)
        self.options = ["--file", self.folder + ":project"]
        self.before = self.describe()

    def describe(self):
        return {path: (os.lstat(path).st_mtime_ns, os.lstat(path).st_mode)
                for folder, folders, files in os.walk(self.folder)
                for path in (os.path.join(folder, name) for name in folders + files)}

    def complaints(self, _verdict):
        return [] if self.describe() == self.before else ["the project on the host changed"]

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class LockOfTheHost:
    """A lock that belongs to no process, which every namespace would show."""

    def __init__(self, _host, _most):
        self.options = []
        self.file = tempfile.TemporaryFile()
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 4242424242, 1, 0)
        fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, lock)

    def complaints(self, _verdict):
        return []

    def remove(self):
        self.file.close()


class ProcessorTime:
    """The verdict says what was used, where a cgroup counts."""

    USED_MS = 900

    def __init__(self, _host, _most):
        self.options = []

    def complaints(self, verdict):
        counted = verdict.get("walls", {}).get("cgroup", "none") != "none"
        told = verdict.get("usage", {}).get("cpu_ms", 0)
        return [f"the verdict says {told} ms"] if counted and told < self.USED_MS * 0.9 else []

    def remove(self):
        pass


class NoOracle:
    def __init__(self, _host, _most):
        self.options = []

    def complaints(self, _verdict):
        return []

    def remove(self):
        pass


ORACLES = {None: NoOracle, "out-directory": OutDirectory, "copied-in": CopiedIn,
           "accounts": Accounts,
           "rules-for-one-server": RulesForOneServer, "rules-for-one-name": RulesForOneName,
           "lock-of-the-host": LockOfTheHost, "processor-time": ProcessorTime}
# Those that give the attacker network rules.
WITH_RULES = {"rules-for-one-server", "rules-for-one-name"}
