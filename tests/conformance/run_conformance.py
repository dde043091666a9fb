#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One list of claims over every tier: the promises of this directory, the languages, the attacks, the E2B suites,
the searches for leaks and the kills. Each claim holds in a place, or differences.toml names it with
the reason; what differs and is not named fails the run, and so does what is named and holds after
all. docs/isolation.md shows the table: --write-docs renews it there.

    ./dev conformance                                     # everything, everywhere: hours
    ./dev conformance --place wasm --place gvisor --part claims
    ./dev conformance --part claims --claim 'Lifecycle.*'

A place is a tier, by who starts its sandboxes and by what builds them. Exit status 77, with the
reasons, where none of the places is on this machine.
"""
import argparse
import os
import pathlib
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(TESTS))
import claims  # noqa: E402
import suites  # noqa: E402
from choice import Choice  # noqa: E402
from differences import ABSENT, HELD, PARTS, Expected, rendered  # noqa: E402
from places import PLACES, Missing, opened  # noqa: E402

SKIPPED_STATUS = 77
BUILD = TESTS.parent / "build/release"
PROGRAMS = ("gb_conformance", "gb_file_server", "gb_held_processes", "gb_contexts")


DOCUMENT = TESTS.parent / "docs/isolation.md"
BEGIN, END = "<!-- what differs -->\n\n", "<!-- end of what differs -->"


def main():
    options = parse()
    if options.write_docs:
        DOCUMENT.write_text(with_table(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    places = [PLACES[name] for name in options.place or PLACES]
    missing, wrong = [], []
    for place in places:
        try:
            with opened(place, options.glovebox) as here:
                for part in options.part or PARTS:
                    wrong += run_part(part, here, options)
        except Missing as reason:
            missing.append(f"{place.name}: {reason}")
    print("\n".join(f"missing: {one}" for one in missing))
    if len(missing) == len(places):
        return SKIPPED_STATUS
    print("\n".join(wrong) or "every claim holds, or the table says why it does not")
    return 1 if wrong or (missing and options.all_places) else 0


def with_table(text):
    """The document with the table as it is now."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{rendered()}\n{END}{rest.split(END)[1]}"


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", choices=PLACES, action="append", help="only there; repeatable")
    parser.add_argument("--tier", action="append", metavar="TIER",
                        help="only in the places of this tier; repeatable")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; repeatable")
    parser.add_argument("--claim", metavar="PATTERN", help="only what has such a name")
    parser.add_argument("--parts", type=int, default=1, metavar="N",
                        help="run one of N parts of each list, every day another one, and an Nth of "
                             "the leaks' runs and of the kills; all of them "
                             "if GLOVEBOX_ALL_PARTS is set")
    parser.add_argument("--write-docs", action="store_true",
                        help="write the table of differences into docs/isolation.md, and run nothing")
    parser.add_argument("--all-places", action="store_true",
                        help="fail where a place is missing on this machine")
    parser.add_argument("--programs", type=pathlib.Path, default=BUILD / "tests",
                        help="directory of the programs that hold the claims (default: %(default)s)")
    parser.add_argument("--glovebox", type=pathlib.Path,
                        default=os.environ.get("GLOVEBOX", BUILD / "bin/glovebox"))
    options = parser.parse_args()
    if options.tier:
        options.place = (options.place or []) + [
            place.name for place in PLACES.values() if place.tier in options.tier]
        if unknown := set(options.tier) - {place.tier for place in PLACES.values()}:
            parser.error(f"no such tier: {' '.join(sorted(unknown))}")
    options.glovebox = options.glovebox.resolve()
    return options


def run_part(part, here, options):
    """What is wrong with it in a place, a line each."""
    expected = Expected(part, here.place.name)
    choice = Choice(options.claim or "*", options.parts)
    begun = time.monotonic()

    def told(name, text):
        if expected.of(name.split("/")[1] if name.count("/") == 2 else name) is None:
            sys.stdout.write(f"{text.decode(errors='replace')}\n")

    if part == "claims":
        programs = [options.programs.resolve() / name for name in PROGRAMS]
        outcomes = claims.run(programs, here, expected, choice, told)
    else:
        outcomes = suites.SUITES[part](here, expected, choice, told)
    count = {outcome: list(outcomes.values()).count(outcome) for outcome in set(outcomes.values())}
    said = ", ".join(f"{number} {outcome}" for outcome, number in sorted(count.items()))
    print(f"{here.place.name}: {PARTS[part]}: {said or 'nothing'} "
          f"({time.monotonic() - begun:.0f} s)", flush=True)
    # Not every language is installed on every machine.
    wrong = expected.judge(outcomes, choice.whole and part != "languages")
    if choice.whole and HELD not in outcomes.values() and set(outcomes.values()) != {ABSENT}:
        wrong.append(f"none of {PARTS[part]} holds, so that nothing proves that any was tried")
    return [f"{here.place.name}: {one}" for one in wrong]


if __name__ == "__main__":
    sys.exit(main())
