#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents say is what the program has: routes, and numbers that stand in its source."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md")) + [
    ROOT / name for name in ("README.md", "SECURITY.md", "ARCHITECTURE.md", "CHANGELOG.md")]
ROUTE = re.compile(r"/v1/[A-Za-z0-9_/{}$.*-]+")
DESCRIBED = re.compile(r"^  (/v1/\S+):$", re.MULTILINE)

# What a page says, and the constant behind it. Both patterns have one group: the number.
NUMBERS = (
    ("docs/daemon.md", r"other (\d+), which serve `/healthz`",
     "src/doors/transport/http.h", r"max_handlers = ([\d']+)"),
    ("docs/daemon.md", r"have ([\d,]+) threads of\s+their own",
     "src/doors/transport/http.h", r"max_long_calls = ([\d']+)"),
    ("docs/daemon.md", r"There can be ([\d,]+), or fewer if the descriptor limit",
     "src/doors/transport/http.h", r"max_followers = ([\d']+)"),
    ("docs/daemon.md", r"A body of JSON may have (\d+) KiB",
     "src/doors/rest/routes.h", r"kSmallBody = (\d+)UL << 10"),
    ("docs/daemon.md", r"network rules take (\d+) MiB",
     "src/doors/rest/routes.h", r"kMiddleBody = (\d+)UL << 20"),
    ("docs/daemon.md", r"run code (\d+) MiB",
     "src/doors/rest/routes.h", r"kCodeBody = (\d+)UL << 20"),
    ("docs/daemon.md", r"recipes of templates (\d+) MiB",
     "src/doors/rest/routes.h", r"kRecipeBody = (\d+)UL << 20"),
    ("SECURITY.md", r"Calls with a number above (\d+) return `ENOSYS`",
     "src/sandbox/policy/tables.h", r"kLastReviewed = (\d+)"),
)


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


def number(page, pattern):
    found = re.search(pattern, text_of(page))
    return int(re.sub(r"[,']", "", found.group(1))) if found else f"not found: {pattern}"


def segments(route):
    return route.strip("/").split("/")


def is_described(route, described):
    """Whether a route of the description begins as this one does; a page may shorten it."""
    def fits(word, place):
        return place.startswith("{") or word == place or word in ("*", "…")
    words = segments(route)
    return any(len(places) >= len(words) and all(map(fits, words, places))
               or places[-1].startswith("{path") and all(map(fits, words, places))
               for places in described)


GUARDED = re.compile(r"^  virtual [^;]*?\b(?P<name>[a-z_]+)\(const Caller& ", re.MULTILINE)


class Claims(unittest.TestCase):
    def test_each_route_that_a_page_names_is_described(self):
        described = [segments(route) for route in DESCRIBED.findall(text_of("api/openapi.yaml"))]
        self.assertGreater(len(described), 40)
        named = {(page.name, route.rstrip(".-"))
                 for page in PAGES for route in ROUTE.findall(page.read_text(encoding="utf-8"))}
        self.assertGreater(len(named), 5)
        unknown = sorted(pair for pair in named if not is_described(pair[1], described))
        self.assertEqual(unknown, [])

    def test_numbers_are_those_of_the_source(self):
        for page, said, source, pattern in NUMBERS:
            with self.subTest(page=page, said=said):
                self.assertEqual(number(page, said), number(source, pattern))

    def test_each_of_the_kernels_accounts_has_an_attack(self):
        cases = {int(path.name.split("-")[0])
                 for path in (ROOT / "tests/attacks/cases").glob("*.toml")}
        table = text_of("SECURITY.md").split("## What the kernel charges to nobody")[1]
        rows = [line.strip("|").split("|") for line in table.split("\n## ")[0].splitlines()
                if line.startswith("| ")][1:]
        self.assertGreater(len(rows), 30)
        untried = []
        for resource, *_, attacks in rows:
            with self.subTest(resource.strip()):
                if attacks.strip() == "none":
                    untried.append(resource.strip())
                else:
                    self.assertLessEqual({int(one) for one in attacks.split(",")}, cases)
        # What nothing limits, and what no attack could show more of than its own load.
        self.assertEqual(untried, ["Load on processor caches, memory and interrupts"])

    def test_each_call_of_the_service_has_a_row_in_the_guards_test(self):
        rows = text_of("src/doors/rest/guard_test.cc")
        calls = {(header.name, name) for header in (ROOT / "src/service/api").glob("*.h")
                 for name in GUARDED.findall(header.read_text(encoding="utf-8"))}
        self.assertGreater(len(calls), 50)
        # What the guard itself asks, and what says nothing instead of refusing.
        calls -= {("access.h", "admit"), ("access.h", "renew"), ("sandboxes.h", "ending")}
        for header, name in sorted(calls):
            with self.subTest(header + " " + name):
                self.assertTrue(re.search(rf"\.{name}\(c\b", rows), "it has no row")


if __name__ == "__main__":
    unittest.main()
