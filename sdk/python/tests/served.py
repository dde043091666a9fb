# SPDX-License-Identifier: Apache-2.0
"""One daemon for all tests here. It ends with the program."""

import atexit
import functools
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/service"), str(ROOT / "tests/cli")]

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


def url():
    return f"http://127.0.0.1:{shared_daemon().port}"
