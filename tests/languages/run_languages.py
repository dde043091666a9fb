#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of this folder through `glovebox run` and checks the verdicts.

README.md says how a case is written. Prints one line a case. Ends with status 1 when a verdict was
wrong, when too few languages really ran, or when one was skipped that CI has installed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
INSTALLED = HERE.parent.parent / "tools" / "apt-languages.txt"

# What a case has unless its table says otherwise, by the name of the case.
DEFAULTS = {
    "hello": {"stdin": "3\n4\n5\n", "status": "ok", "exit_code": 0, "stdout": "Σ = 12 ✓\n"},
    "error": {"status": "error"},
    "compile_error": {"status": "compile_error"},
}
KEYS = {"file", "stdin", "args", "status", "exit_code", "stdout", "stdout_has", "stderr_has"}


class Glovebox:
    """The program under test."""

    def __init__(self, program, options=(), patience=1):
        self.program = program
        self.options = options
        self.patience_s = 300 * patience

    def languages(self):
        """Maps each id to None when it is ready, else to the package that would help."""
        answer = subprocess.run([self.program, "languages", "--json"], capture_output=True,
                                timeout=300, check=True)
        return {each["id"]: None if each["ready"] else (each.get("package") or "no package")
                for each in json.loads(answer.stdout)}

    def run(self, language, file, stdin, args):
        command = [self.program, "run", str(file), "--json", "--stdin", stdin, *self.options]
        # Under another name than its language's ending it would be detected, not asked for.
        command += ["-l", language] + (["--", *args] if args else [])
        answer = subprocess.run(command, capture_output=True, timeout=self.patience_s)
        try:
            return json.loads(answer.stdout)
        except ValueError:
            raise CaseError(f"status {answer.returncode} and no verdict: "
                            f"{(answer.stdout + answer.stderr)[:500]!r}") from None


class CaseError(Exception):
    """The case itself could not be carried out."""


def read_cases(folder):
    """Yields (name, file, expectation) of one language, in the order of its expect.toml."""
    expectations = tomllib.loads((folder / "expect.toml").read_text(encoding="utf-8"))
    for name, said in expectations.items():
        if unknown := said.keys() - KEYS:
            raise CaseError(f"{folder}/expect.toml: unknown keys {sorted(unknown)} in [{name}]")
        expected = DEFAULTS.get(name, {}) | said
        if "file" in expected:
            file = folder / expected["file"]
        else:
            files = [each for each in folder.iterdir() if each.stem == name]
            if len(files) != 1:
                raise CaseError(f"{folder}: [{name}] needs exactly one file {name}.*")
            file = files[0]
        yield name, file, expected


def faults(expected, verdict):
    """What of the verdict is not as expected, one sentence each."""
    for key in ("status", "exit_code", "stdout"):
        if key in expected and verdict.get(key) != expected[key]:
            yield f"{key} is {verdict.get(key)!r}, not {expected[key]!r}"
    for stream in ("stdout", "stderr"):
        part = expected.get(stream + "_has")
        if part is not None and part not in (verdict.get(stream) or ""):
            yield f"{stream} lacks {part!r}"


def installed_languages():
    """The ids that CI has installed: what stands behind the # of a package line."""
    ids = set()
    for line in INSTALLED.read_text(encoding="utf-8").splitlines():
        packages, _, names = line.partition("#")
        if packages.strip():
            ids.update(names.split())
    return ids


def run_case(program, language, file, expected):
    with tempfile.NamedTemporaryFile("w", suffix=".stdin", encoding="utf-8") as stdin:
        stdin.write(expected.get("stdin", ""))
        stdin.flush()
        verdict = program.run(language, file, stdin.name, expected.get("args", []))
    wrong = list(faults(expected, verdict))
    if wrong and verdict.get("stderr"):
        wrong.append("stderr: " + verdict["stderr"][-1500:])
    return wrong


def options_of(options):
    """Those of `glovebox run`."""
    tier = ["--tier", options.tier] if options.tier else []
    return tier + (["--time", f"{60 * options.patience}s"] if options.patience > 1 else [])


def main(program=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--glovebox", default="glovebox", help="program to test")
    parser.add_argument("--tier", help="tier to run them in (default: that of `glovebox run`)")
    parser.add_argument("--patience", type=int, default=1, metavar="N",
                        help="multiply limits of time by N, for slow tiers")
    parser.add_argument("--only", default="", help="comma-separated language ids")
    parser.add_argument("--at-least", type=int, default=20, help="minimum number of languages that must run")
    options = parser.parse_args()
    program = program or Glovebox(options.glovebox, options_of(options), options.patience)
    only = set(filter(None, options.only.split(",")))
    ready = program.languages()
    required = installed_languages()

    passed, failed, skipped = 0, [], []
    ran = set()
    for folder in sorted(each.parent for each in HERE.glob("*/expect.toml")):
        language = folder.name
        if only and language not in only:
            continue
        hint = ready.get(language, "glovebox does not know it")
        if hint is not None:
            skipped.append(language)
            print(f"skip  {language}: {hint}")
            continue
        for name, file, expected in read_cases(folder):
            start = time.monotonic()
            try:
                wrong = run_case(program, language, file, expected)
            except (CaseError, subprocess.TimeoutExpired) as error:
                wrong = [str(error)]
            took = time.monotonic() - start
            print(f"{'FAIL' if wrong else 'ok':5} {language}/{name} ({took:.2f} s)", flush=True)
            for each in wrong:
                print("      " + each.replace("\n", "\n      "))
            if wrong:
                failed.append(f"{language}/{name}")
            else:
                passed += 1
                ran.add(language)

    print(f"{passed} passed, {len(failed)} failed; {len(ran)} languages ran, "
          f"{len(skipped)} skipped: {' '.join(skipped) or 'none'}")
    status = 1 if failed else 0
    if not only:
        if missing := sorted(required - ran):
            print(f"these are in {INSTALLED.name} and did not run: {' '.join(missing)}")
            status = 1
        if len(ran) < options.at_least:
            print(f"fewer than {options.at_least} languages ran")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
