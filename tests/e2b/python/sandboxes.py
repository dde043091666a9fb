# SPDX-License-Identifier: Apache-2.0
"""One sandbox for the tests of a class."""

import time
import unittest

from e2b_code_interpreter import Sandbox


class InSandbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox.create(timeout=300)
        cls.addClassCleanup(cls.sandbox.kill)

    def eventually(self, holds, seconds=20):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end, "did not come true")
            time.sleep(0.05)
