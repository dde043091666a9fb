# SPDX-License-Identifier: Apache-2.0
"""What of each list is to run: by a pattern, and today's part of what fits it."""
import fnmatch
import math
import os

from parts import part_of_today


class Choice:
    def __init__(self, pattern, parts):
        self.pattern = pattern
        self.parts = 1 if "GLOVEBOX_ALL_PARTS" in os.environ else parts
        self.whole = pattern == "*" and self.parts == 1

    def fits(self, name):
        return fnmatch.fnmatchcase(name, self.pattern)

    def of_names(self, names):
        return part_of_today([name for name in names if self.fits(name)], self.parts)

    def of_repeats(self, number):
        """Of something that is repeated so many times."""
        return math.ceil(number / self.parts)
