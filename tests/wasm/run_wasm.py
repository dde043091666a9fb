#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tier `wasm`, from outside. Exit status 77, with the reason, where libwasmtime is not installed.

    GLOVEBOX=build/release/bin/glovebox tests/wasm/run_wasm.py [NAME…]
"""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]

from wasm_case import INSTALLED  # noqa: E402

SKIPPED = 77

if __name__ == "__main__":
    if not (INSTALLED / "libwasmtime.so").exists():
        print(f"libwasmtime is not installed: run {INSTALLED / 'install'}")
        sys.exit(SKIPPED)
    loader = unittest.TestLoader()
    tests = (loader.loadTestsFromNames(sys.argv[1:]) if len(sys.argv) > 1
             else loader.discover(str(HERE)))
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful())
