#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The promises that every tier keeps, kept by the tier `docker`: tests/conformance over a dockerd
that is started here. Exit status 77, with the reason, where dockerd does not start.

    tests/containers/test_conformance.py build/release/tests/conformance/gb_conformance…
"""
import os
import pathlib
import subprocess
import sys

from dockerd import Docker

SKIPPED = 77
PATIENCE_S = 1500

# Tests that do not hold here, by what they ask for. Everything else must.
DIFFERENCES = {
    "Tiers/Snapshots.ThatFitNoMoreAreRefusedBeforeAnythingChanged/docker":
        "/tmp is a file system of its own, so what is in it takes no room from the workspace",
    "Ways/CheckpointsOfAContext.AreForkedWhileOthersOfTheSandboxRunOutOfMemory/docker":
        "the copy of a workspace goes to /tmp, which has its own part of the limits",
    "Tiers/Lifecycle.LeavesItsOwnerUndumpable/docker":
        "no process inside has ever shared our memory",
}


def main():
    programs = [pathlib.Path(program).resolve() for program in sys.argv[1:]]
    docker = Docker()
    why = docker.start()
    try:
        if why is not None:
            print(f"skipped: {why}")
            return SKIPPED
        environment = {**os.environ, "DOCKER_HOST": docker.host,
                       "GLOVEBOX_CONFORMANCE_TIER": "docker"}
        failed = []
        for program in programs:
            run = subprocess.run(
                [program, "--gtest_brief=1",
                 "--gtest_filter=*/docker" + ("-" + ":".join(DIFFERENCES) if DIFFERENCES else "")],
                env=environment, check=False, stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
            if run.returncode != 0:
                failed.append(program.name)
        print(f"failed: {', '.join(failed)}" if failed else "every promise is kept")
        for name, reason in DIFFERENCES.items():
            print(f"differs: {name}: {reason}")
        return 1 if failed else 0
    finally:
        docker.discard()


if __name__ == "__main__":
    sys.exit(main())
