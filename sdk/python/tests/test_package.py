# SPDX-License-Identifier: Apache-2.0
"""The package itself: what is generated is up to date, no route is forgotten, and what it decides
without a daemon.
"""

import copy
import dataclasses
import datetime
import enum
import inspect
import io
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tarfile
import tempfile
import typing
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import glovebox  # noqa: E402
from generated import generator  # noqa: E402
from glovebox import _address, _archives, _program, models, tools  # noqa: E402
from glovebox._generated import routes  # noqa: E402

SOURCE = HERE.parent / "glovebox"


class Generated(unittest.TestCase):
    def test_what_is_generated_is_up_to_date(self):
        done = subprocess.run([sys.executable, HERE.parent / "generate", "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])

    def test_every_operation_of_the_api_is_a_route(self):
        wanted = {operation["operationId"]
                  for item in generator().spec()["paths"].values()
                  for method, operation in item.items() if method != "parameters"}
        self.assertEqual({each.operation for each in routes.ROUTES}, wanted)

    def test_every_route_is_used_by_both_kinds_of_classes(self):
        names = {name for name, value in vars(routes).items() if value in routes.ROUTES}
        self.assertGreater(len(names), 80)
        for package in ("_async", "_sync"):
            text = "".join(path.read_text() for path in (SOURCE / package).glob("*.py"))
            used = set(re.findall(r"\broutes\.([A-Z_]+)\b", text))
            used |= set(re.findall(r'"([A-Z_]+)"', text))
            self.assertEqual(names - used, set())

    def test_each_class_has_a_twin_with_the_same_methods(self):
        for name, kind in vars(glovebox).items():
            if name.startswith("Async"):
                twin = getattr(glovebox, name[len("Async"):])
                self.assertEqual(public(kind), public(twin), name)

    def test_models_have_what_the_schemas_have(self):
        schemas = generator().spec()["components"]["schemas"]
        names = generator().NAMES
        for name in ("Verdict", "Sandbox", "SandboxRequest", "ExecuteRequest", "FileEntry"):
            wanted = set(schemas[name]["properties"]) - {"schema"}
            fields = {each.name for each in dataclasses.fields(
                getattr(models, names.get(name, name)))}
            self.assertEqual(fields, wanted)


def public(kind):
    renamed = {"aclose": "close"}
    return {renamed.get(name, name): list(inspect.signature(value).parameters)
            for name, value in vars(kind).items()
            if inspect.isfunction(value) and not name.startswith("_")}


class Models(unittest.TestCase):
    def test_a_model_writes_what_it_reads(self):
        limits = glovebox.Limits(time=datetime.timedelta(seconds=1.5), memory="1G")
        self.assertEqual(limits.to_json(), {"time": 1.5, "memory": "1G"})
        self.assertEqual(models.Limits.from_json({"pids": 3, "unknown": 1}), glovebox.Limits(pids=3))

    def test_a_field_that_must_be_there_is_missed(self):
        with self.assertRaisesRegex(ValueError, "GuestError without 'value'"):
            models.GuestError.from_json({"name": "x", "traceback": ""})

    def test_points_in_time_have_their_zone(self):
        info = models.VolumeInfo.from_json({
            "id": "v", "name": "n", "size": 1, "inodes": 1, "created": "2026-11-23T13:35:00.250Z"})
        self.assertEqual(info.created, datetime.datetime(
            2026, 11, 23, 13, 35, 0, 250000, datetime.timezone.utc))

    def test_words_compare_with_texts(self):
        self.assertEqual(glovebox.Status.OUT_OF_MEMORY, "out_of_memory")
        self.assertEqual(f"{glovebox.Status('new')}", "new")

    def test_models_can_be_pickled(self):
        limits = glovebox.Limits(pids=3)
        self.assertEqual(pickle.loads(pickle.dumps(limits)), limits)

    def test_what_an_answer_consists_of_is_read_when_somebody_looks_at_it(self):
        data = {"stdout": True, "stderr": 0}
        usage = {name: 0 for name in ("wall_ms", "cpu_ms", "memory_peak", "pids_peak", "disk_bytes")}
        verdict = {
            **{name: "x" for name in ("id", "language", "tier", "stdout", "stderr")},
            "status": "ok", "exit_code": 0, "signal": None, "truncated": data, "bytes": data,
            "results": [], "error": None, "files": [], "walls": {}, "limits": {}, "usage": usage,
            "timings": {}}
        one, other = models.Verdict.from_json(verdict), models.Verdict.from_json(verdict)
        self.assertIs(one.status, glovebox.Status.OK)
        self.assertIs(one.truncated, one.truncated)
        self.assertTrue(one.truncated.stdout)
        self.assertEqual(one, other)
        for copied in (copy.copy(other), copy.deepcopy(other), pickle.loads(pickle.dumps(other)),
                       dataclasses.replace(other)):
            self.assertEqual((copied, repr(copied)), (one, repr(one)))
        self.assertEqual(one.to_json()["usage"], usage)
        self.assertFalse(hasattr(one, "nonesuch"))
        with self.assertRaises(dataclasses.FrozenInstanceError):
            one.usage = None
        wrong = models.Verdict.from_json({**verdict, "usage": 1})
        with self.assertRaisesRegex(ValueError, "expected an object for RunUsage"):
            _ = wrong.usage


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


class Schemas(unittest.TestCase):
    def test_a_schema_follows_from_the_signature(self):
        def search(query: str, limit: int = 10, tags: typing.Optional[typing.List[str]] = None,
                   color: Color = Color.RED, at: typing.Optional[Point] = None,
                   order: typing.Literal["up", "down"] = "up", extra: typing.Any = None):
            """Searches the catalog.

            Slowly.

            Args:
                query: What to look for,
                    in words.
                limit (int): At most so many.

            Returns:
                nothing: of interest
            """

        found = glovebox.tool(search)
        self.assertEqual((found.name, found.description),
                         ("search", "Searches the catalog.\n\nSlowly."))
        properties = found.parameters["properties"]
        self.assertEqual(properties["query"],
                         {"type": "string", "description": "What to look for, in words."})
        self.assertEqual(properties["limit"],
                         {"type": "integer", "description": "At most so many.", "default": 10})
        self.assertEqual(properties["tags"], {"anyOf": [
            {"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
        self.assertEqual(properties["color"], {"enum": ["red"]})
        self.assertEqual(properties["at"]["anyOf"][0]["required"], ["x"])
        self.assertEqual(properties["order"], {"enum": ["up", "down"], "default": "up"})
        self.assertEqual(properties["extra"], {})
        self.assertEqual(found.parameters["required"], ["query"])

    def test_what_has_no_schema_is_refused(self):
        for function in (lambda x: x, print):
            with self.assertRaises(ValueError):
                glovebox.tool(function)

        def many(*values):
            pass

        with self.assertRaises(ValueError):
            glovebox.tool(many)
        with self.assertRaisesRegex(ValueError, "two tools"):
            tools.tools_of([named, named])


def named():
    pass


class Archives(unittest.TestCase):
    """Archives as code in a sandbox may make them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gb-sdk.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def archive(self, *entries):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, kind, content in entries:
                entry = tarfile.TarInfo(name)
                entry.type = kind
                entry.mode = 0o6777
                if kind == tarfile.REGTYPE:
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))
                else:
                    entry.linkname = content
                    tar.addfile(entry)
        out.seek(0)
        return out

    def test_nothing_is_written_elsewhere(self):
        target = self.folder / "target"
        (self.folder / "outside").mkdir()
        archive = self.archive(
            ("../escaped", tarfile.REGTYPE, b"x"),
            ("/absolute", tarfile.REGTYPE, b"x"),
            ("link", tarfile.SYMTYPE, str(self.folder / "outside")),
            ("link/through", tarfile.REGTYPE, b"x"),
            ("hard", tarfile.LNKTYPE, "/etc/passwd"),
            ("pipe", tarfile.FIFOTYPE, ""),
            ("device", tarfile.CHRTYPE, ""))
        self.assertEqual(_archives.unpack(archive, target, 1000), 2)
        self.assertEqual(sorted(str(path.relative_to(self.folder))
                                for path in self.folder.rglob("*")),
                         ["outside", "target", "target/absolute", "target/link",
                          "target/link/through"])

    def test_a_link_that_is_there_is_replaced_and_not_followed(self):
        victim = self.folder / "victim"
        victim.write_text("kept")
        target = self.folder / "target"
        target.mkdir()
        (target / "file").symlink_to(victim)
        _archives.unpack(self.archive(("file", tarfile.REGTYPE, b"new")), target, 1000)
        self.assertEqual((victim.read_text(), (target / "file").read_text()), ("kept", "new"))

    def test_modes_give_nothing_away(self):
        _archives.unpack(self.archive(("f", tarfile.REGTYPE, b"x")), self.folder, 1000)
        self.assertEqual((self.folder / "f").stat().st_mode & 0o7022, 0)

    def test_what_is_too_large_is_refused(self):
        with self.assertRaises(glovebox.GloveboxError):
            _archives.unpack(self.archive(("f", tarfile.REGTYPE, b"x" * 2000)), self.folder, 1000)


class Places(unittest.TestCase):
    def test_addresses_are_read_as_the_command_line_reads_them(self):
        self.assertEqual(_address.parse_address("http://localhost:8440").url, "http://localhost:8440")
        self.assertEqual(_address.parse_address("https://[::1]").url, "https://[::1]")
        self.assertEqual(_address.parse_address("unix:/run/x").path, "/run/x")
        for wrong in ("localhost:8440", "ftp://x", "http://", "unix:", "http://x/y", "http://u@x",
                      "http://x:port"):
            with self.assertRaisesRegex(glovebox.GloveboxError, "write http://HOST:PORT"):
                _address.parse_address(wrong)

    def test_the_environment_names_the_daemon_and_the_key(self):
        environment = {"GLOVEBOX_URL": "http://a:1", "GLOVEBOX_API_KEY": "k"}
        self.assertEqual(_address.find_address(None, environment).url, "http://a:1")
        self.assertEqual(_address.find_address("http://b:2", environment).url, "http://b:2")
        self.assertEqual(_address.find_key(None, environment), "k")
        with mock.patch.object(_address, "find_library", lambda: None):
            self.assertEqual(_address.find_address(None, {}).path, _address.default_socket())

    def test_the_program_is_the_one_that_came_along(self):
        with tempfile.TemporaryDirectory(prefix="gb-sdk.") as folder:
            package = pathlib.Path(folder, "lib/python3.9/site-packages/glovebox")
            package.mkdir(parents=True)
            program = pathlib.Path(folder, "bin/glovebox")
            program.parent.mkdir()
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            environment = {key: value for key, value in os.environ.items() if key != "GLOVEBOX_BIN"}
            with mock.patch.object(_program, "__file__", str(package / "_program.py")), \
                    mock.patch.dict(os.environ, environment, clear=True):
                self.assertEqual(_program.find_program(), str(program))

    def test_rules_that_only_a_daemon_has_are_refused(self):
        with self.assertRaises(ValueError), _program.Arguments() as given:
            given.network(glovebox.Network(default="allow"))


if __name__ == "__main__":
    unittest.main()
