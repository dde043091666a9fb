# SPDX-License-Identifier: Apache-2.0
"""Looks at programs and prints facts about each, without running any of them.

Runs inside walls: what it reads is hostile, and what it prints is trusted no more than that. As a
program it reads units.json; a warm interpreter imports it, and forks for each call of print_facts().
"""
import gc
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import python_code
import shell_code


def facts_of(unit):
    facts = shell_code.Facts()
    try:
        if unit["language"] == "shell":
            place = (unit["line"], unit["column"]) if "line" in unit else None
            shell_code.analyse(unit["code"], facts, python_code.others_of(facts), at=place)
        else:
            python_code.analyse(unit["code"], facts)
    except Exception as problem:  # Whatever a hostile text leads to is a finding, never a pass.
        facts.add("unparsed", f"the analysis failed: {type(problem).__name__}", 1, 1)
    return facts.found


def print_facts(units):
    """One line for each of the units, which are JSON. The process is to end afterwards."""
    sys.setrecursionlimit(5_000)
    gc.disable()  # A tree has no garbage, and takes long to look through.
    sys.stdout.write("".join(f"{json.dumps(facts_of(unit))}\n" for unit in json.loads(units)))


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "units.json"), encoding="utf-8", errors="surrogateescape") as file:
        print_facts(file.read())


if __name__ == "__main__":
    main()
