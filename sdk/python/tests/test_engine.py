# SPDX-License-Identifier: Apache-2.0
"""The engine of this program, apart from what test_table.py shows with one: when it is used, and
what becomes of it.
"""

import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from served import GLOVEBOX  # noqa: E402  Which sets GLOVEBOX_BIN.

import glovebox  # noqa: E402
from glovebox import _address, _engine  # noqa: E402

NOWHERE = "/nonesuch/api.sock"
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(GLOVEBOX)), "lib", _engine.LIBRARY)


def no_daemon():
    return mock.patch.object(_address, "default_socket", lambda: NOWHERE)


class Choice(unittest.TestCase):
    def test_without_a_daemon_a_client_uses_the_engine_of_this_program(self):
        with no_daemon():
            self.assertIs(_address.find_address(None, {}).engine, _engine.shared)
            self.assertEqual(glovebox.Client(api_key="").url, "embedded:")
        self.assertIs(_address.parse_address("embedded:").engine, _engine.shared)

    def test_a_daemon_that_is_there_or_named_comes_first(self):
        with no_daemon():
            found = _address.find_address(None, {"GLOVEBOX_URL": "unix:/x"})
            self.assertEqual((found.engine, found.path), (None, "/x"))
        with tempfile.NamedTemporaryFile() as file, \
                mock.patch.object(_address, "default_socket", lambda: file.name):
            self.assertEqual(_address.find_address(None, {}).path, file.name)

    def test_without_the_library_a_client_misses_the_daemon(self):
        with no_daemon(), mock.patch.object(_address, "find_library", lambda: None), \
                self.assertRaises(glovebox.ConnectionFailed) as caught:
            glovebox.Client(retry=glovebox.Retry(attempts=0)).health()
        self.assertIn(NOWHERE, str(caught.exception))

    def test_the_key_of_a_daemon_is_not_sent_to_an_engine(self):
        with mock.patch.dict(os.environ, GLOVEBOX_API_KEY="gb_of_a_daemon"):
            self.assertIsNone(glovebox.Client("embedded:").api_key)
            self.assertEqual(glovebox.Client("embedded:", "gb_x").api_key, "gb_x")


class Life(unittest.TestCase):
    def test_it_lives_as_long_as_its_block(self):
        with tempfile.TemporaryDirectory() as data, \
                glovebox.Engine("--data", data) as engine, glovebox.Client(engine) as client:
            with client.sandboxes.create() as sandbox:
                self.assertEqual(sandbox.execute("6 * 7").text, "42")
            engine.close()
            self.assertFalse(os.path.exists(data + "/keeper.sock"))

    def test_threads_and_event_loops_share_it(self):
        async def ask():
            async with glovebox.AsyncClient(engine) as client:
                found = await asyncio.gather(*(client.info() for _ in range(5)))
                return {each["name"] for each in found}

        with glovebox.Engine() as engine, glovebox.Client(engine) as client:
            self.assertEqual([asyncio.run(ask()) for _ in range(2)], [{"glovebox"}] * 2)
            self.assertEqual(client.info()["name"], "glovebox")

    def test_after_one_that_was_killed_there_is_another(self):
        with tempfile.TemporaryDirectory() as data, \
                glovebox.Engine("--data", data) as engine, glovebox.Client(engine) as client:
            client.info()
            os.kill(self.process_of(data), signal.SIGKILL)
            self.assertEqual(client.info()["name"], "glovebox")

    @staticmethod
    def process_of(data):
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (directory / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[1:2] == [b"serve"] and os.fsencode(data) in words:
                return int(directory.name)
        raise AssertionError("there is no engine")

    def test_a_process_made_by_fork_gets_its_own(self):
        with glovebox.Engine() as engine:
            with glovebox.Client(engine) as client:
                sandbox = client.sandboxes.create()
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    with glovebox.Client(engine) as client:
                        client.sandboxes.connect(sandbox.id)
                except glovebox.NotFound:
                    status = 0
                engine.close()
                os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            with glovebox.Client(engine) as client:
                self.assertTrue(client.sandboxes.connect(sandbox.id).is_running())

    def test_what_it_cannot_do_is_an_error_at_once(self):
        with self.assertRaises(glovebox.ProgramError):
            glovebox.Engine("--network", "nonesuch").open()

    def test_the_shared_one_ends_with_the_program(self):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c",
             "import glovebox; print(glovebox.Sandbox.create(url='embedded:').execute('6*7').text)"],
            env={**os.environ, "PYTHONPATH": str(HERE.parent)}, capture_output=True, text=True,
            check=False)
        self.assertEqual(done.stdout, "42\n", done.stderr)


class Without(unittest.TestCase):
    def test_a_library_that_cannot_be_loaded_is_an_error_with_a_hint(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("bin", "lib"):
                os.mkdir(os.path.join(folder, name))
            program = os.path.join(folder, "bin/glovebox")
            for path in (program, os.path.join(folder, "lib", _engine.LIBRARY)):
                pathlib.Path(path).write_text("no program")
                os.chmod(path, 0o755)
            with mock.patch.dict(os.environ, GLOVEBOX_BIN=program), \
                    self.assertRaises(glovebox.ProgramError) as caught:
                glovebox.Engine().open()
        self.assertIn("glovebox.Server()", caught.exception.hint)


if __name__ == "__main__":
    unittest.main()
