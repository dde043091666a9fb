# SPDX-License-Identifier: Apache-2.0
"""The table of behavior: each row of `rows/` runs with the asynchronous classes against a real
daemon, and its synchronous twin, which sdk/python/generate makes of it, with the others.
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

from served import ROOT, shared_daemon  # noqa: E402

import images  # noqa: E402
from generated import generator  # noqa: E402
from world import AsyncWorld, World  # noqa: E402

PAGES = ["life", "contexts", "files", "commands", "runs"]
if "/contexts/{cid}/tools/" in (ROOT / "api/openapi.yaml").read_text(encoding="utf-8"):
    PAGES.append("tools")
FEWEST = 150


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

    @classmethod
    def setUpClass(cls):
        cls.world = cls.world_class(shared_daemon())
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


def kind(name, world_class, which):
    """The class of tests of one kind."""
    tests = {}
    for page in PAGES:
        for row, *functions in rows_of(page):
            test = test_of(functions[which])
            test.__doc__ = None
            tests[f"test_{page}_{row}"] = test
    return type(name, (Table,), {"world_class": world_class, "__module__": __name__, **tests})


Asynchronous = kind("Asynchronous", AsyncWorld, 0)
Synchronous = kind("Synchronous", World, 1)


class Size(unittest.TestCase):
    def test_the_table_has_enough_rows(self):
        rows = [name for kinds in (Asynchronous, Synchronous) for name in vars(kinds)
                if name.startswith("test_")]
        self.assertGreaterEqual(len(rows), FEWEST)


def load_tests(loader, standard, pattern):
    """All but the class that the two kinds share."""
    suite = unittest.TestSuite()
    for each in (Asynchronous, Synchronous, Size):
        suite.addTests(loader.loadTestsFromTestCase(each))
    return suite


if __name__ == "__main__":
    unittest.main()
