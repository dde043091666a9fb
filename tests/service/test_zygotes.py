# SPDX-License-Identifier: Apache-2.0
"""The warm interpreter that contexts are forked from: one for all sandboxes that may share it."""

import os
import re
import signal
import unittest

from daemon import Daemon, wait_until
from traces import named, parents, start_time

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


class Zygotes(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.discard)
        self.daemon.options = ["--network", "public"]
        self.daemon.start()
        wait_until(lambda: self.daemon.must(200, "GET", "/healthz")["ready"], "the pools")

    def zygote_of(self, name, **wishes):
        """The pid of what the first context of a new sandbox was forked from."""
        context = self.daemon.create(**wishes).context()
        context.execute(f"import ctypes; ctypes.CDLL(None).prctl(15, b'{name}')")
        (child,) = named(self.daemon.keeper(), name)
        return parents()[child]

    def test_every_kind_of_sandbox_without_files_of_a_template_shares_one(self):
        default = self.zygote_of("of-default")
        self.assertEqual(self.zygote_of("of-e2b", template="code-interpreter"), default)
        self.assertEqual(self.zygote_of("of-network", network={"allow": ["example.com"]}), default)

    def test_one_that_dies_is_told_of_and_replaced_for_every_kind(self):
        zygote = self.zygote_of("of-first")
        started = start_time(zygote)
        os.kill(zygote, signal.SIGKILL)
        wait_until(lambda: start_time(zygote) != started, "its end")
        log = self.daemon.data / "keeper.log"
        line = rf"(?m)^{STAMP} warning interpreters of the built-in templates: the zygote died"

        def told():
            self.daemon.ask("POST", "/v1/sandboxes", {})
            return re.search(line, log.read_text())

        wait_until(told, "the line about the zygote")
        for each in log.read_text().splitlines():
            self.assertRegex(each, f"^{STAMP} (info|warning|error) ")
        replaced = self.zygote_of("of-second")
        self.assertEqual(self.zygote_of("of-third", template="code-interpreter"), replaced)


if __name__ == "__main__":
    unittest.main()
