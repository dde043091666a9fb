#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The units of packaging/, as systemd reads them."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
MOST_EXPOSED = 2.0


class Units(unittest.TestCase):
    def setUp(self):
        # By where the package puts them; here the programs are somewhere else.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for unit in PACKAGING.glob("glovebox*.s*"):
            text = unit.read_text()
            (self.folder / unit.name).write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true",
                                                        text))

    def test_the_daemon_is_hardly_exposed(self):
        said = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--no-pager",
             self.folder / "glovebox.service"], capture_output=True, text=True)
        found = re.search(r"Overall exposure level for glovebox.service: ([0-9.]+)", said.stdout)
        self.assertIsNotNone(found, said)
        self.assertLessEqual(float(found[1]), MOST_EXPOSED, said.stdout)

    def test_systemd_knows_every_word_of_them(self):
        for name in ("glovebox.service", "glovebox.socket", "glovebox-keeper.service"):
            said = subprocess.run(["systemd-analyze", "verify", "--man=no", self.folder / name],
                                  capture_output=True, text=True).stderr
            # One that a newer systemd has.
            wrong = [line for line in said.splitlines()
                     if str(self.folder) in line and "DelegateSubgroup" not in line]
            self.assertEqual(wrong, [], name)


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("skipped: systemd-analyze is missing; install the package systemd")
        raise SystemExit(77)
    unittest.main(verbosity=2)
