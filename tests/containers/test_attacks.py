#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The attacks of tests/attacks from containers of a dockerd that is started here. Exit status 77,
with the reason, where dockerd does not start.

    tests/containers/test_attacks.py --glovebox build/release/bin/glovebox [options of run_attacks.py]
"""
import os
import pathlib
import subprocess
import sys

from dockerd import Docker

SKIPPED = 77
ATTACKS = pathlib.Path(__file__).resolve().parent.parent / "attacks"


def main():
    docker = Docker()
    why = docker.start()
    try:
        if why is not None:
            print(f"skipped: {why}")
            return SKIPPED
        return subprocess.run(
            [sys.executable, ATTACKS / "run_attacks.py", "--tier", "docker", *sys.argv[1:]],
            env={**os.environ, "DOCKER_HOST": docker.host}, check=False).returncode
    finally:
        docker.discard()


if __name__ == "__main__":
    sys.exit(main())
