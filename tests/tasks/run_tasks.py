#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Solves tasks of a terminal inside sandboxes: a Dockerfile makes the place, a script solves the
task, a check says whether it is solved.

    run_tasks.py                all tasks
    run_tasks.py git-bisect …   only these

The check must fail before the solution ran, and pass afterwards. A Dockerfile whose second line
begins with "# root:" is solved by root of a sandbox, the others by its guest.
"""

import json
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "service"))
import images  # noqa: E402
from daemon import Case  # noqa: E402

LIMITS = {"memory": "2G", "disk": "1G", "pids": 256}


class Tasks(Case):
    def build(self, name):
        archive = images.tar_of([("Dockerfile", (HERE / name / "Dockerfile").read_bytes())])
        answer = self.daemon.ask("PUT", f"/v1/templates/{name}/archive?format=dockerfile", archive,
                                 {"Content-Type": "application/x-tar"})
        last = json.loads(answer.body.splitlines()[-1])
        self.assertEqual(last.get("type"), "built", answer.body.decode())

    def solve(self, name):
        self.build(name)
        as_root = "\n# root:" in (HERE / name / "Dockerfile").read_text()
        sandbox = self.create(template=name, tier="native", limits=LIMITS,
                              **({"user": "root"} if as_root else {}))

        def script(which):
            text = (HERE / name / which).read_text()
            return sandbox.must(200, "POST", "/commands",
                                {"argv": ["bash", "-c", text], "limits": {"time": "120s"}})

        before = script("check.sh")
        self.assertNotEqual(before["exit_code"], 0, "the check passes before anything is done")
        solved = script("solution.sh")
        self.assertEqual(solved["exit_code"], 0, solved)
        after = script("check.sh")
        self.assertEqual(after["exit_code"], 0, after)


def add(name):
    setattr(Tasks, f"test_{name.replace('-', '_')}", lambda self: self.solve(name))


NAMES = sorted(path.parent.name for path in HERE.glob("*/Dockerfile"))
for each in NAMES:
    add(each)

if __name__ == "__main__":
    asked = [f"Tasks.test_{name.replace('-', '_')}" for name in sys.argv[1:]]
    unittest.main(argv=[sys.argv[0], *asked], verbosity=2)
