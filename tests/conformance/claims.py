# SPDX-License-Identifier: Apache-2.0
"""The promises that are written in C++: their names, and what becomes of them in a place."""
import os
import re
import select
import subprocess

from differences import ABSENT, FAILED, HELD, SKIPPED

# The places whose claims are instances that the programs have by themselves.
OWN_INSTANCES = {"native": ("native", "fork"), "landlock": ("landlock",)}
SILENCE_S = 180
LINE = re.compile(rb"\[( RUN      |       OK |  FAILED  |  SKIPPED )\] (\S+?),?(?: |$)")
OUTCOMES = {b"       OK ": HELD, b"  FAILED  ": FAILED, b"  SKIPPED ": SKIPPED}
WALLS = re.compile("wall|attack|forge|leaves?no|outside", re.IGNORECASE)
WORST = [HELD, SKIPPED, FAILED]


def environment_of(place):
    own = place.tier in OWN_INSTANCES
    return {} if own else {"GLOVEBOX_CONFORMANCE_TIER": place.name.replace("-", "_")}


def listed(program, environment):
    """The full names of a program's tests that are asked of tiers."""
    text = subprocess.run([program, "--gtest_list_tests"], env=environment, check=True,
                          capture_output=True, text=True).stdout
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if word.startswith("  "):
            names.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return [name for name in names if name.count("/") == 2]


def claim_of(name):
    """`Tiers/Suite.Claim/tier` is the claim `Suite.Claim`."""
    return name.split("/")[1]


def names_in(program, place, environment):
    """Claim -> the tests that ask it in the place; and those that it asks of another place only."""
    instances = OWN_INSTANCES.get(place.tier, (place.name.replace("-", "_"),))
    asked = {}
    for name in listed(program, environment | environment_of(place)):
        if name.split("/")[2] in instances:
            asked.setdefault(claim_of(name), []).append(name)
    every = {claim_of(name) for name in listed(program, environment)} | set(asked)
    return asked, sorted(every - set(asked))


def outcomes_of(program, names, opened, told):
    """Test -> outcome. One that crashes the program, or says nothing for long, has failed; the
    others go on in another process. What is said of a failure goes to `told`."""
    found = {}
    environment = opened.environment | environment_of(opened.place)
    remaining = list(names)
    while remaining:
        running, said = None, []
        with subprocess.Popen(
                [program, "--gtest_color=no", f"--gtest_filter={':'.join(remaining)}"],
                env=environment, cwd=opened.scratch, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **opened.identity) as process:
            for line in lines_of(process, SILENCE_S * opened.place.patience):
                said.append(line)
                match = LINE.match(line)
                if match and match[1] == b" RUN      ":
                    running, said = match[2].decode(), []
                elif match and running == match[2].decode():
                    found[running] = OUTCOMES[match[1]]
                    if found[running] != HELD:
                        told(running, b"".join(said))
                    running = None
        if running is not None:
            found[running] = FAILED
            told(running, b"".join(said[-20:]) + b"the program ended or hung in it\n")
        left = [name for name in remaining if name not in found]
        if len(left) == len(remaining):
            told(program.name, b"".join(said[-20:]))
            found |= dict.fromkeys(left, FAILED)
            break
        remaining = left
    return found


def lines_of(process, silence_s):
    """Lines as they come; a process that is silent for too long is killed."""
    rest = b""
    while select.select([process.stdout], [], [], silence_s)[0]:
        got = os.read(process.stdout.fileno(), 1 << 16)
        if not got:
            return
        *lines, rest = (rest + got).split(b"\n")
        yield from (line + b"\n" for line in lines)
    process.kill()


def may_be_repeated(name, expected):
    """On a machine under load, what waits for something can fail once. What is a wall may not."""
    return expected.of(claim_of(name)) is None and not WALLS.search(name)


def run(programs, opened, expected, choice, told):
    """Claim -> outcome, of those that are chosen."""
    outcomes = {}
    for program in programs:
        asked, absent = names_in(program, opened.place, opened.environment)
        outcomes |= dict.fromkeys(absent, ABSENT)
        claims = choice.of_names([claim for claim in asked if not expected.untried(claim)])
        outcomes |= dict.fromkeys((claim for claim in asked if expected.untried(claim)), ABSENT)
        names = [name for claim in claims for name in asked[claim]]
        found = outcomes_of(program, names, opened, told)
        again = [name for name in names if found[name] == FAILED and may_be_repeated(name, expected)]
        if again:
            print("repeated:", *again, flush=True)
            found |= outcomes_of(program, again, opened, told)
        for claim in claims:
            outcomes[claim] = max((found[name] for name in asked[claim]), key=WORST.index)
    return outcomes
