# SPDX-License-Identifier: Apache-2.0
"""What is not the same in every tier: the table differences.toml, and the judgement by it."""
import dataclasses
import fnmatch
import pathlib
import textwrap
import tomllib

from places import PLACES

TABLE = pathlib.Path(__file__).resolve().parent / "differences.toml"
PARTS = {
    "claims": "the promises of tests/conformance",
    "languages": "programs of all languages",
    "network": "network by rule",
    "attacks": "attacks from inside",
    "e2b": "E2B's own SDKs",
    "leaks": "runs that are killed",
    "kills": "a daemon whose parts are killed",
}
KEYS = {"part", "places", "reason", "claims", "tried"}
HELD, FAILED, SKIPPED, ABSENT = "held", "failed", "skipped", "not asked"


@dataclasses.dataclass(frozen=True)
class Difference:
    part: str
    places: tuple
    reason: str
    claims: tuple
    # Whether it is tried all the same: only then can it be found to hold after all. What would take
    # the machine's memory or an hour is not.
    tried: bool = True


def differences():
    """All of the table, in its order."""
    found = []
    for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["differs"]:
        if unknown := row.keys() - KEYS:
            raise ValueError(f"{TABLE.name}: unknown keys {sorted(unknown)}")
        if row["part"] not in PARTS or (unknown := set(row["places"]) - set(PLACES)):
            raise ValueError(f"{TABLE.name}: unknown part or place in {row}")
        found.append(Difference(row["part"], tuple(row["places"]), row["reason"],
                                tuple(row["claims"]), row.get("tried", True)))
    return found


class Expected:
    """What differs of one part in one place. A name that ends with `*` is a group of claims."""

    def __init__(self, part, place, rows=None):
        self.rows = {}
        for row in differences() if rows is None else rows:
            if row.part != part or place not in row.places:
                continue
            for claim in row.claims:
                if claim in self.rows:
                    raise ValueError(f"{part} {claim} differs twice in {place}")
                self.rows[claim] = row

    def of(self, claim):
        """The row that names it, or None."""
        if claim in self.rows:
            return self.rows[claim]
        for pattern, row in self.rows.items():
            if pattern.endswith("*") and fnmatch.fnmatchcase(claim, pattern):
                return row
        return None

    def untried(self, claim):
        row = self.of(claim)
        return row is not None and not row.tried

    def judge(self, outcomes, whole):
        """What is wrong with claim -> outcome, a line each. `whole`: all claims were asked, so that
        a row without a claim is one too many."""
        wrong = []
        for claim, outcome in sorted(outcomes.items()):
            row = self.of(claim)
            if outcome == HELD and row is not None:
                wrong.append(f"{claim} holds, and the table says that it does not: {row.reason}")
            elif outcome != HELD and row is None:
                wrong.append(f"{claim} {outcome}, and the table does not say why")
        if whole:
            for pattern in self.rows:
                if not any(fnmatch.fnmatchcase(claim, pattern) for claim in outcomes):
                    wrong.append(f"the table names {pattern}, and there is no such claim")
        return wrong


def rendered():
    """The table, as docs/isolation.md shows it."""
    lines = []
    for part, about in PARTS.items():
        rows = [row for row in differences() if row.part == part]
        if rows:
            lines += [f"{about[0].upper()}{about[1:]}:", ""]
        for row in rows:
            where = ", ".join(PLACES[place].shown() for place in row.places)
            text = f"* {where}: {row.reason}. {', '.join(f'`{claim}`' for claim in row.claims)}"
            lines += textwrap.wrap(text, 150, subsequent_indent="  ", break_long_words=False,
                                   break_on_hyphens=False)
        lines += [""] if rows else []
    return "\n".join(lines)
