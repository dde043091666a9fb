#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the unittest files of a directory, of a long suite those that are today's turn, and says what took longest."""

import argparse
import pathlib
import sys
import time
import unittest

from parts import part_of_today


LONGEST = 15


class TimedResult(unittest.TextTestResult):
    """Notes how long each test took, without what its class sets up."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.durations = []

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def stopTest(self, test):
        self.durations.append((time.monotonic() - self.started, test.id()))
        super().stopTest(test)

    def printErrors(self):
        super().printErrors()
        for seconds, name in sorted(self.durations, reverse=True)[:LONGEST]:
            self.stream.writeln(f"{seconds:7.1f} s  {name}")


class TimedRunner(unittest.TextTestRunner):
    resultclass = TimedResult


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--pattern", default="test_*.py", help="files of the directory (default: %(default)s)")
    parser.add_argument("--parts", type=int, default=1, metavar="N",
                        help="run one of N parts of the files, every day another one; all of them "
                             "if GLOVEBOX_ALL_PARTS is set")
    options = parser.parse_args()
    files = sorted(options.directory.glob(options.pattern))
    if len(files) < options.parts:
        parser.error(f"{options.directory} has {len(files)} files that match {options.pattern}, "
                     f"too few for {options.parts} parts")
    sys.path.insert(0, str(options.directory.resolve()))
    names = part_of_today([file.stem for file in files], options.parts)
    unittest.main(module=None, argv=[sys.argv[0], "-v", *names], testRunner=TimedRunner)


if __name__ == "__main__":
    main()
