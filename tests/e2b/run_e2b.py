#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs E2B's own SDKs for JavaScript, from npm, against a daemon of ours.

The SDKs are installed as package-lock.json names them into a directory outside the repository; so
is a Node that is new enough for them, where the machine's own is older (Debian 12 has 18).
Then `glovebox serve` is started, or --url names a daemon that runs already, and each suite runs
in a Node process of its own. Exit status 77 when npm is missing or its registry cannot be reached.
"""
import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

import calls
from served import of_tier, served, variables

HERE = pathlib.Path(__file__).resolve().parent
NEED_ROOT = {"users"}  # Suites for a daemon whose sandboxes have root inside.
sys.path.append(str(HERE.parents[1] / "tools"))
import npm_packages  # noqa: E402  pylint: disable=wrong-import-position


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glovebox", default=os.environ.get("GLOVEBOX", "glovebox"))
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "glovebox-e2b-sdks",
                        help="directory to install the SDKs in (default: %(default)s)")
    parser.add_argument("--url", help="URL of a running daemon to test")
    parser.add_argument("--tier", help="isolation tier of all sandboxes (default: the daemon's)")
    parser.add_argument("--key", help="API key of that daemon")
    parser.add_argument("suites", nargs="*", help="names of suites (default: all)")
    options = parser.parse_args()
    options.returned = None
    try:
        npm_packages.install(HERE, options.build)
        node = npm_packages.new_enough_node(options.build)
    except npm_packages.Unavailable as problem:
        npm_packages.skip(problem)
    # Beside the installed packages, where Node looks for them.
    npm_packages.copy_fresh(HERE / "suites", options.build / "suites")

    names = options.suites or sorted(
        file.name.removesuffix(".test.mjs") for file in (HERE / "suites").glob("*.test.mjs"))
    if options.url:
        return run(node, options, contextlib.nullcontext(variables(options.url, options.key)), names)
    with tempfile.TemporaryDirectory(prefix="glovebox-e2b-calls-") as place:
        options.returned = pathlib.Path(place) / "returned"
        status = run_all(node, options, names)
        # Volumes and several users need root.
        if options.suites or options.tier or os.geteuid() != 0:
            return status
        packages = options.build / "node_modules"
        surface = {name for package in ("e2b", "@e2b/code-interpreter")
                   for name in calls.declared(packages / package / "dist/index.d.ts")}
        return calls.report(surface, options.returned) or status


def run_all(node, options, names):
    status = 0
    with_root = [name for name in names if name in NEED_ROOT]
    if without := [name for name in names if name not in NEED_ROOT]:
        status = run(node, options, served(options.glovebox, *of_tier(options.tier)), without)
    # An ordinary user has no ids for several users.
    if with_root and not options.tier and os.geteuid() == 0:
        status = run(node, options, served(options.glovebox, "--e2b-root"), with_root) or status
    return status


def run(node, options, daemon, names):
    with daemon as environment:
        if options.returned:
            environment["E2B_CALLS"] = options.returned
            environment["NODE_OPTIONS"] = f"--import={options.build}/suites/recorded.mjs"
        # The SDKs leave the timers of calls that failed, for a minute each.
        return subprocess.run(
            [node, "--test", "--test-force-exit", "--test-reporter", "spec",
             "--test-concurrency", "1", *(f"suites/{name}.test.mjs" for name in names)],
            cwd=options.build, env=os.environ | environment).returncode


if __name__ == "__main__":
    sys.exit(main())
