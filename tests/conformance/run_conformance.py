#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The promises that every tier keeps, over a tier whose sandboxes take long to make: `gvisor`,
`microvm`, and `docker`, for which a dockerd is started here. With --parts only a part of the tests that is today's
turn. Exit status 77, with the reason, where the tier does not work.

    tests/conformance/run_tier.py --tier gvisor build/release/tests/conformance/gb_conformance…
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "containers")]
from dockerd import Docker  # noqa: E402
from parts import part_of_today  # noqa: E402

SKIPPED = 77
CANNOT = 125  # Of `glovebox run`: no such sandbox could be made.
PATIENCE_S = 1500

# Tests that do not hold, or cannot be tried, by what they ask for. Everything else must pass.
DIFFERENCES = {
    "gvisor": {
        "Tiers/LimitsOf.InodesEndInAFullDisk": "its file system has no limit of inodes",
        "Tiers/Snapshots.KeepHolesAsHoles": "its file system does not say where holes are",
        "Tiers/TerminalsInside.AreMountedWithoutProgramsAndSetuid": "it mounts terminals itself",
        "Tiers/TerminalsInside.AreSixtyFourInASandboxWhateverOthersHave":
            "its terminals are memory of its own",
        "Tiers/TerminalsInside.HaveNamesAndControlTheirSessions":
            "its /proc names no terminal of a process",
        "Tiers/WallsOf.AreWhatTheHostSeesOfTheGuest":
            "the host sees no process of a guest with its own kernel",
        "Tiers/WallsOf.GiveTheGuestNoDescriptorsButTheUsual":
            "likewise, none of its descriptors",
        "Tiers/WallsOf.OfNamespacesAreThoseOfTheGuest": "likewise, none of its namespaces",
    },
    "microvm": {
        "Tiers/Lifecycle.OfThirtyAtOnceGivesEachItsOwnAnswer":
            "thirty machines that boot at once on two processors take longer than one may",
        "Tiers/WallsOf.AreWhatTheHostSeesOfTheGuest":
            "the host sees no process of a guest with its own kernel",
        "Tiers/WallsOf.GiveTheGuestNoDescriptorsButTheUsual":
            "likewise, none of its descriptors",
        "Tiers/WallsOf.OfNamespacesAreThoseOfTheGuest": "likewise, none of its namespaces",
    },
    "docker": {
        "Tiers/Snapshots.ThatFitNoMoreAreRefusedBeforeAnythingChanged":
            "/tmp is a file system of its own, so what is in it takes no room from the workspace",
        "Ways/CheckpointsOfAContext.AreForkedWhileOthersOfTheSandboxRunOutOfMemory":
            "the copy of a workspace goes to /tmp, which has its own part of the limits",
        "Tiers/Lifecycle.LeavesItsOwnerUndumpable":
            "no process inside has ever shared our memory",
    },
}


def tests_of(program, tier, environment):
    """The names of the tests of a program over the tier, in its order."""
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter=*/{tier}"],
                            env=environment, check=True, capture_output=True, text=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        word = line.split("#")[0].rstrip()
        if word.startswith("  "):
            names.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return names


def run(programs, tier, parts, environment):
    """What is wrong, a line each."""
    wrong = []
    unknown = {f"{name}/{tier}" for name in DIFFERENCES[tier]}
    for program in programs:
        names = tests_of(program, tier, environment)
        if not names:
            wrong.append(f"{program.name} has no tests over {tier}")
            continue
        differing = unknown.intersection(names)
        unknown -= differing
        today = part_of_today([name for name in names if name not in differing], parts)
        done = subprocess.run([program, "--gtest_brief=1", f"--gtest_filter={':'.join(today)}"],
                              env=environment, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S)
        print(done.stdout, flush=True)
        for name in re.findall(r"^\[  SKIPPED \] ([^ ,]+)", done.stdout, re.MULTILINE):
            wrong.append(f"skipped: {name}")
        passed = re.search(r"^\[  PASSED  \] (\d+) test", done.stdout, re.MULTILINE)
        if done.returncode != 0 or not passed or int(passed[1]) != len(today):
            wrong.append(f"{program.name}: not all of {len(today)} tests passed")
    return wrong + [f"no such test: {name}" for name in sorted(unknown)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tier", choices=DIFFERENCES, required=True)
    parser.add_argument("--parts", type=int, default=1, metavar="N",
                        help="run one of N parts of the tests, every day another one; all of them "
                             "if GLOVEBOX_ALL_PARTS is set")
    parser.add_argument("programs", nargs="+", type=pathlib.Path, metavar="PROGRAM")
    arguments = parser.parse_args()
    environment = {**os.environ, "GLOVEBOX_CONFORMANCE_TIER": arguments.tier}
    docker = Docker() if arguments.tier == "docker" else None
    try:
        why = docker.start() if docker else no_sandbox(arguments.tier)
        if why is not None:
            print(f"skipped: {why}")
            return SKIPPED
        if docker:
            environment["DOCKER_HOST"] = docker.host
        wrong = run([program.resolve() for program in arguments.programs], arguments.tier,
                    arguments.parts, environment)
    finally:
        if docker:
            docker.discard()
    for name, reason in DIFFERENCES[arguments.tier].items():
        print(f"differs: {name}: {reason}")
    print("\n".join(wrong) or "every promise is kept")
    return 1 if wrong else 0


def no_sandbox(tier):
    """None, or why the tier makes no sandbox here."""
    tried = subprocess.run([os.environ["GLOVEBOX"], "run", "--tier", tier, "-l", "bash", "-e", "true"],
                           check=False, capture_output=True, text=True)
    # However else the guest has ended: there was a sandbox, and the tests are to say what is wrong.
    return tried.stderr.strip() if tried.returncode == CANNOT else None


if __name__ == "__main__":
    sys.exit(main())
