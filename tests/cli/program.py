# SPDX-License-Identifier: Apache-2.0
"""The glovebox program under test, as the test files start it."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GLOVEBOX = os.environ.get("GLOVEBOX", str(ROOT / "build/release/bin/glovebox"))

# Far above what any test needs: a program that hangs fails its test and not the whole run.
PATIENCE_S = 120


class Answer:
    """What one glovebox said: exit status and both streams, as bytes."""

    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def message(self):
        return self.err.decode("utf-8", "replace")

    @property
    def verdict(self):
        return json.loads(self.out)

    @property
    def events(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __str__(self):
        streams = f"stdout: {self.out[:2000]!r}\nstderr: {self.err[:2000]!r}"
        return f"exit status {self.status}\n{streams}"


def glovebox(*arguments, stdin=b"", env=None, cwd=None, user=None):
    """Runs glovebox to its end. `env` is added to our environment."""
    return Answer(
        subprocess.run(
            [GLOVEBOX, *map(os.fsencode, arguments)],
            input=stdin,
            capture_output=True,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            user=user,
            timeout=PATIENCE_S,
            check=False,
        )
    )


def run(*arguments, **how):
    return glovebox("run", *arguments, **how)


def languages():
    """Language id -> what `glovebox languages` says of it. Starts no sandbox."""
    if not languages.found:
        listed = glovebox("languages", "--json", "--no-versions").verdict
        languages.found.update((language["id"], language) for language in listed)
    return languages.found


languages.found = {}


class Case(unittest.TestCase):
    """A test with a directory of its own, in `self.dir`."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="glovebox-test."))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def file(self, name, content):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def need(self, language):
        known = languages().get(language)
        if known is None or not known["ready"]:
            self.skipTest(f"{language} is not ready here: {known and known['hint']}")

    def assert_status(self, answer, status):
        self.assertEqual(answer.status, status, str(answer))
