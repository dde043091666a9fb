# SPDX-License-Identifier: Apache-2.0
"""The ABI of libglovebox.so.0: what is recorded stays, so that programs need not be compiled again.

A new function or a new last member of a structure is added to abi.txt; nothing in it ever changes.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GLOVEBOX", ROOT / "build/release/bin/glovebox")).parents[1]
LIBRARY = os.environ.get("GB_LIBRARY", str(BUILD / "lib/libglovebox.so.0"))
ABI = os.environ.get("GB_ABI", str(BUILD / "tests/gb_embed_abi"))
RECORDED = (pathlib.Path(__file__).parent / "abi.txt").read_text().splitlines()
HEADER = ROOT / "src/embed"
# The oldest libc that the wheel's tag promises (packaging/make_dist).
OLDEST_LIBC = (2, 35)


def ask(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Library(unittest.TestCase):
    def test_it_exports_the_recorded_symbols_and_no_others(self):
        wanted = [line for line in RECORDED if "@@" in line]
        found = [line.split()[2] for line in
                 ask("nm", "--dynamic", "--defined-only", "--with-symbol-versions", LIBRARY)
                 .splitlines() if line.split()[1] != "A"]
        self.assertEqual(sorted(found), sorted(wanted))

    def test_its_structures_are_as_they_were_recorded(self):
        wanted = [line for line in RECORDED if "@@" not in line]
        self.assertEqual(ask(ABI).splitlines(), wanted)

    def test_its_name_has_the_version_of_the_abi(self):
        self.assertIn("[libglovebox.so.0]", ask("readelf", "--dynamic", "--wide", LIBRARY))

    def test_it_needs_nothing_but_a_libc_that_is_old_enough(self):
        needed = re.findall(r"NEEDED.*\[(.*)\]", ask("readelf", "--dynamic", "--wide", LIBRARY))
        self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", ask("objdump", "--dynamic-syms", LIBRARY))
        self.assertLessEqual(max((int(a), int(b)) for a, b in versions), OLDEST_LIBC)


class Header(unittest.TestCase):
    def test_it_is_c99_and_cpp_by_itself(self):
        for compiler, suffix, standard in (("gcc", ".c", "c99"), ("g++", ".cc", "c++11")):
            with self.subTest(standard), tempfile.TemporaryDirectory() as folder:
                source = pathlib.Path(folder, "it" + suffix)
                source.write_text('#include <glovebox.h>\nnamespace glovebox {}\n'
                                  if suffix == ".cc" else '#include <glovebox.h>\n')
                ask(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                    "-fsyntax-only", f"-I{HEADER}", str(source))


if __name__ == "__main__":
    unittest.main()
