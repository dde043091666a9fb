# SPDX-License-Identifier: Apache-2.0
"""The table of behavior: each row of `rows/` runs with the asynchronous classes against a real
daemon, and its synchronous twin, which sdk/python/generate makes of it, with the others. Both run
once more in this process, with an engine and no daemon.
"""

import asyncio
import contextlib
import importlib
import inspect
import io
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from served import ROOT, shared_daemon, shared_engine  # noqa: E402

import images  # noqa: E402
from generated import generator  # noqa: E402
from world import AsyncWorld, World  # noqa: E402

PAGES = ["life", "contexts", "files", "commands", "runs"]
if "/contexts/{cid}/tools/" in (ROOT / "api/openapi.yaml").read_text(encoding="utf-8"):
    PAGES.append("tools")
FEWEST = 150
# What another HTTP client than ours needs an address of the daemon for.
NOT_IN_PROCESS = {"commands_a_token_opens_one_port", "commands_any_client_reaches_a_server_inside"}


def rows_of(page):
    """The rows of a page by their names, each as an asynchronous and a synchronous function."""
    module = importlib.import_module(f"rows.{page}")
    source = pathlib.Path(module.__file__).read_text(encoding="utf-8")
    twin = {"__name__": f"rows.{page}"}
    exec(compile(generator().sync_of(source), f"{page}, synchronous", "exec"), twin)
    for name, function in vars(module).items():
        if inspect.iscoroutinefunction(function) and function.__module__ == module.__name__ \
                and list(inspect.signature(function).parameters) == ["world"]:
            yield name, function, twin[name]


class Table(unittest.TestCase):
    """Of one kind. Its tests are added below."""

    world_class = World
    served = staticmethod(shared_daemon)

    @classmethod
    def setUpClass(cls):
        cls.world = cls.world_class(cls.served())
        cls.world.image = image
        cls.addClassCleanup(cls.world.discard)


@contextlib.contextmanager
def image():
    """A root file system as a file."""
    with io.BytesIO(images.tar_of(images.small_root())) as file:
        yield file


def test_of(function):
    def test(self):
        result = function(self.world)
        if inspect.iscoroutine(result):
            asyncio.run(result)

    return test


def kind(name, world_class, which, served=shared_daemon):
    """The class of tests of one kind."""
    tests = {}
    for page in PAGES:
        for row, *functions in rows_of(page):
            if served is shared_engine and f"{page}_{row}" in NOT_IN_PROCESS:
                continue
            test = test_of(functions[which])
            test.__doc__ = None
            tests[f"test_{page}_{row}"] = test
    return type(name, (Table,), {"world_class": world_class, "served": staticmethod(served),
                                 "__module__": __name__, **tests})


Asynchronous = kind("Asynchronous", AsyncWorld, 0)
Synchronous = kind("Synchronous", World, 1)
AsynchronousInProcess = kind("AsynchronousInProcess", AsyncWorld, 0, shared_engine)
SynchronousInProcess = kind("SynchronousInProcess", World, 1, shared_engine)


class Size(unittest.TestCase):
    def test_the_table_has_enough_rows(self):
        for kinds in ((Asynchronous, Synchronous), (AsynchronousInProcess, SynchronousInProcess)):
            rows = [name for each in kinds for name in vars(each) if name.startswith("test_")]
            self.assertGreaterEqual(len(rows), FEWEST)


def load_tests(loader, standard, pattern):
    """All but the class that the kinds share."""
    suite = unittest.TestSuite()
    for each in (Asynchronous, Synchronous, AsynchronousInProcess, SynchronousInProcess, Size):
        suite.addTests(loader.loadTestsFromTestCase(each))
    return suite


if __name__ == "__main__":
    unittest.main()
