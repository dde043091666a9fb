# SPDX-License-Identifier: Apache-2.0
"""The table of what differs between tiers is one: docs/isolation.md shows that of the conformance
suite."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/conformance"))
import run_conformance  # noqa: E402  pylint: disable=wrong-import-position
from differences import Difference, Expected, FAILED, HELD  # noqa: E402


class Differences(unittest.TestCase):
    def test_the_document_shows_the_table_as_it_is(self):
        text = run_conformance.DOCUMENT.read_text(encoding="utf-8")
        self.assertEqual(run_conformance.with_table(text), text,
                         "run tests/conformance/run_conformance.py --write-docs")

    def test_what_fails_must_be_listed_and_what_is_listed_must_fail(self):
        table = Expected("claims", "gvisor", [Difference("claims", ("gvisor",), "why", ("A.b", "G.*"))])
        self.assertEqual(table.judge({"A.b": FAILED, "A.c": HELD, "G.x": FAILED}, whole=True), [])
        for outcomes in ({"A.b": HELD}, {"A.c": FAILED}, {"G.x": HELD}):
            self.assertEqual(len(table.judge(outcomes, whole=False)), 1, outcomes)
        # What is listed and does not exist.
        self.assertEqual(len(table.judge({"A.b": FAILED}, whole=True)), 1)

    def test_a_claim_has_one_reason_in_a_place(self):
        rows = [Difference("claims", ("gvisor",), why, ("A.b",)) for why in ("one", "two")]
        self.assertRaises(ValueError, Expected, "claims", "gvisor", rows)
