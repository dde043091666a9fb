# SPDX-License-Identifier: Apache-2.0
"""The examples of README.md and docs/python.md run: the blocks with the comment `<!-- run python -->`
in front of them, as one program for each page.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE)]

from served import GLOVEBOX, shared_daemon, url  # noqa: E402

BLOCK = re.compile(r"^<!-- run python -->\n+```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "<!-- run python -->"
PAGES = {"sdk/python/README.md": 3, "docs/python.md": 12}


class Examples(unittest.TestCase):
    def test_every_marked_example_runs(self):
        for page, fewest in PAGES.items():
            with self.subTest(page), tempfile.TemporaryDirectory(prefix="gb-sdk.") as folder:
                text = (ROOT / page).read_text(encoding="utf-8")
                blocks = BLOCK.findall(text)
                self.assertGreaterEqual(len(blocks), fewest)
                self.assertEqual(len(blocks), text.splitlines().count(MARK))
                environment = {
                    **os.environ, "PYTHONPATH": str(HERE.parent), "GLOVEBOX_BIN": GLOVEBOX,
                    "GLOVEBOX_URL": url(), "GLOVEBOX_API_KEY": shared_daemon().key}
                done = subprocess.run(
                    [sys.executable, "-W", "error::ResourceWarning", "-c", "\n".join(blocks)],
                    cwd=folder, env=environment, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
