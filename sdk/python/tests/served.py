# SPDX-License-Identifier: Apache-2.0
"""One daemon and one engine for all tests here. They end with the program."""

import atexit
import functools
import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/service"), str(ROOT / "tests/cli"), str(ROOT / "sdk/python")]

import glovebox  # noqa: E402
import package_files  # noqa: E402
from daemon import GLOVEBOX, Daemon  # noqa: E402

# What runs without a daemon is tested with the same program.
os.environ["GLOVEBOX_BIN"] = GLOVEBOX


class AtExit:
    """What `package_files.offer` takes for a class of tests."""

    addClassCleanup = staticmethod(atexit.register)


@functools.lru_cache(maxsize=None)
def shared_daemon():
    daemon = Daemon()
    atexit.register(daemon.discard)
    offered = package_files.offer(AtExit)
    daemon.options = ["--network", "any", "--package-source", str(offered)]
    return daemon.start()


class Embedded:
    """An engine, as `shared_daemon` has a daemon: a client of it needs no key."""

    key = ""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="gb-sdk.")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.unix = self.folder + "/s"
        offered = package_files.offer(AtExit)
        self.url = glovebox.Engine("--network", "any", "--package-source", str(offered),
                                   "--data", self.folder + "/data", "--unix", self.unix)
        atexit.register(self.url.close)


@functools.lru_cache(maxsize=None)
def shared_engine():
    return Embedded()


def url():
    return f"http://127.0.0.1:{shared_daemon().port}"
