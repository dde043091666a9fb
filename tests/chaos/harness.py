# SPDX-License-Identifier: Apache-2.0
"""The real daemon of tests/service, for tests that hurt it; and the seed that they share."""

import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))

# What failed with a seed is seen again with it, as far as the machine's own timing allows.
SEED = int(os.environ.get("GLOVEBOX_TEST_SEED") or random.SystemRandom().randrange(1 << 31))
print(f"GLOVEBOX_TEST_SEED={SEED}", file=sys.stderr, flush=True)


def chance_of(name):
    """A source of chances of its own for each part, so that they do not disturb each other."""
    return random.Random(f"{SEED} {name}")
