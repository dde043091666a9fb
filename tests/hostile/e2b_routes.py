# SPDX-License-Identifier: Apache-2.0
"""E2B's control routes, read out of the tables in which the door adds them."""

import re

from daemon import ROOT

ADDED = re.compile(
    r"""routes\.add\(\s*"(?P<method>[A-Z]+)",\s*
        (?P<prefixed>std::string\(prefix\)\s*\+\s*)?"(?P<pattern>[^"]+)\"""",
    re.VERBOSE,
)


def e2b_routes():
    """(method, pattern) of each; "*" stands for an id or a name."""
    found = []
    for source in sorted((ROOT / "src/doors/e2b").glob("*.cc")):
        text = source.read_text()
        added = list(ADDED.finditer(text))
        if len(added) != text.count("routes.add("):
            raise AssertionError(f"a route in {source.name} is written in another way")
        for one in added:
            for prefix in ("", "v2/") if one["prefixed"] else ("",):
                found.append((one["method"], "/" + prefix + one["pattern"]))
    return found
