#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/findings.md has a row for every finding, and every test and file that it names exists."""
import collections
import functools
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs/findings.md"
STATES = ("fixed", "bounded", "open", "not a defect")

ROW = re.compile(r"^\| (?P<code>[A-Z0-9][A-Za-z0-9-]*): (?P<finding>[^|]+) \| `(?P<state>[^`|]+)` "
                 r"\| (?P<shown>[^|]+) \|$", re.MULTILINE)
CODE_SPAN = re.compile(r"`([^`\n]+)`")
CPP_TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
NAMED_CPP_TEST = re.compile(r"(?P<suite>[A-Z]\w+)\.(?P<test>[A-Z]\w+)")
NAMED_PATH = re.compile(r"(?P<path>[\w.-]+(?:/[\w.-]+)*)(?:::(?P<test>\w+))?")
ENDING = re.compile(r"\.[a-z]+$")
ATTACK = "tests/attacks/cases/"
AS_ANOTHER = re.compile(r"\bAs ([A-Z][A-Z0-9-]*\d[a-z]?)\b|\bSee ([A-Z][A-Z0-9-]*\d[a-z]?)\b")


def numbered(prefix, last):
    return [f"{prefix}{number}" for number in range(1, last + 1)]


# What the references list, and what they mention without a number of its own.
REVIEW = [*numbered("S", 21), *numbered("SL", 10), *numbered("W", 4), *numbered("A", 3),
          *(f"A4{letter}" for letter in "abcdefghi"), "A5", *numbered("R", 15), *numbered("Q", 8),
          *numbered("T", 5)]
ATTACKED = ["P0",
            *numbered("P1-H", 4), *numbered("P1-M", 7), *numbered("P1-L", 11),
            "P2-C1", *numbered("P2-H", 5), *numbered("P2-M", 11), *numbered("P2-L", 19),
            *numbered("E", 13), *numbered("X", 7)]
TRIED = [f"N{number}{part}" for number, parts in {
    1: "abcdef", 2: "ab", 3: "", 4: "", 5: "abc", 6: "", 7: "", 8: "abcd", 9: "", 10: "", 11: "", 12: "ab",
    13: "abcde", 14: "", 15: "", 16: "", 17: "abc", 18: "", 19: "abcdef", 20: "abc", 21: "abcde", 22: "",
    23: "abcde", 24: "abc", 25: "abcdefg"}.items() for part in parts or [""]]
FINDINGS = [*REVIEW, *ATTACKED, *TRIED, *numbered("D", 10)]


def rows():
    return [found.groupdict() for found in ROW.finditer(TABLE.read_text())]


@functools.cache
def cpp_tests():
    return {f"{suite}.{test}" for folder in ("src", "tests")
            for path in (ROOT / folder).rglob("*.cc")
            for suite, test in CPP_TEST.findall(path.read_text(errors="replace"))}


def has_function(path, name):
    return path.is_file() and re.search(rf"^\s*def {name}\(", path.read_text(), re.MULTILINE)


def is_path(text):
    """Whether a span of code means a file: one in a directory, or a document's name."""
    first, slash, rest = text.partition("/")
    in_directory = bool(slash and first) and ((ROOT / first).is_dir() or bool(ENDING.search(rest)))
    return in_directory or (not slash and text.endswith(".md"))


def missing(span):
    """What a span of code names that is not there; nothing where it names no test and no file."""
    if NAMED_CPP_TEST.fullmatch(span):
        return None if span in cpp_tests() else f"no C++ test {span}"
    path = NAMED_PATH.fullmatch(span)
    if not path or not is_path(path["path"]):
        return None
    file = ROOT / path["path"]
    if path["test"]:
        return None if has_function(file, path["test"]) else f"no Python test {span}"
    return None if file.exists() else f"no file {span}"


def is_test(span):
    """Whether a span of code names something that runs and can fail."""
    return bool(NAMED_CPP_TEST.fullmatch(span) or ".py::" in span or span.startswith(ATTACK))


class Findings(unittest.TestCase):
    def test_every_finding_has_one_row(self):
        counts = collections.Counter(row["code"] for row in rows())
        self.assertEqual(sorted(counts.elements()), sorted(FINDINGS))

    def test_every_line_of_the_tables_is_understood(self):
        lines = [line for line in TABLE.read_text().splitlines()
                 if re.match(r"\| [A-Z0-9-]+[a-z]?: ", line)]
        self.assertEqual(len(lines), len(rows()), "a row is not of the form that is read here")

    def test_states_are_those_that_are_explained(self):
        for row in rows():
            with self.subTest(row["code"]):
                self.assertIn(row["state"], STATES)

    def test_the_counts_are_right(self):
        counts = collections.Counter(row["state"] for row in rows())
        told = ", ".join(f"{counts[state]} {state}" for state in STATES)
        untested = sum(row["state"] == "fixed" and row["shown"].startswith("No test of its own")
                       for row in rows())
        self.assertIn(f"{sum(counts.values())} findings: {told}. Of the fixed ones, {untested} have "
                      "no test of their own.", TABLE.read_text())

    def test_every_test_and_file_that_is_named_exists(self):
        for span in sorted(set(CODE_SPAN.findall(TABLE.read_text()))):
            with self.subTest(span):
                self.assertIsNone(missing(span))

    def test_what_is_fixed_names_its_test_or_admits_that_there_is_none(self):
        shown = {row["code"]: row["shown"] for row in rows()}
        for row in rows():
            if row["state"] not in ("fixed", "bounded"):
                continue
            with self.subTest(row["code"]):
                text = row["shown"] + "".join(
                    shown[code] for match in AS_ANOTHER.findall(row["shown"])
                    for code in match if code)
                spans = CODE_SPAN.findall(text)
                if any(is_test(span) for span in spans):
                    continue
                self.assertRegex(text, r"No test of its own|Documented|documented|`dev`")
                self.assertTrue(any(is_path(span) or span == "dev" for span in spans),
                                "neither a test nor a place in the code")


class Checks(unittest.TestCase):
    """These checks can fail."""

    def test_names_of_nothing_are_noticed(self):
        for span in ("HeadTest.IsNotThere", "NoSuchSuite.AcceptsAnything",
                     "tests/docs/test_findings.py::test_nothing", "tests/no_such.py::test_nothing",
                     "src/no_such_file.cc", "scr/base/error.h", "tests/attacks/cases/999-nothing.toml", "NOTHING.md"):
            with self.subTest(span):
                self.assertIsNotNone(missing(span))

    def test_names_of_something_are_taken(self):
        for span in ("tests/docs/test_findings.py::test_names_of_something_are_taken",
                     "src/base/error.h", "SECURITY.md", "PrintableTest.GivesUtf8WhateverTheBytes"):
            with self.subTest(span):
                self.assertIsNone(missing(span))
                self.assertTrue(is_test(span) or is_path(span))

    def test_other_code_is_left_alone(self):
        for span in ("GET /v1/run", "read", "--to both", "/proc/locks", "argv", "cf1dcbc", "Zygote::alive"):
            with self.subTest(span):
                self.assertIsNone(missing(span))


if __name__ == "__main__":
    unittest.main()
