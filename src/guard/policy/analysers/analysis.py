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

# Some of everything, several times: a fork is slow where it uses memory for the first time.
USUAL = "\n".join(f"value{number} = len(str({number})) + {number}" for number in range(40)) + """
import os, subprocess as s
class A:
    def f(self, a, b=2, *c, **d):
        with open('x') as file:
            return [line for line in file if line] + [a, b]
try:
    s.run(['ls', '-l'])
    os.system('ls "$HOME" | wc -l; cat x > y')
except ValueError as error:
    print(f'{error}', error.args)
while len('a') > 2:
    x = {'a': 1}['a'] ** 2
"""
USUAL_SCRIPT = "for x in a b; do\n  if [ -e \"$x\" ]; then sudo env A=1 rm -- \"$x\"; fi\ndone | wc\n" * 4


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


def warm_up():
    """To be called in a fork before it is given what it is for."""
    print_facts(json.dumps([{"language": "python", "code": USUAL},
                            {"language": "shell", "code": USUAL_SCRIPT}]))


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "units.json"), encoding="utf-8", errors="surrogateescape") as file:
        print_facts(file.read())


if __name__ == "__main__":
    main()
