# SPDX-License-Identifier: Apache-2.0
"""The real daemon of tests/service, and the seed of whatever is made up."""

import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))

SEED = int(os.environ.get("GLOVEBOX_TEST_SEED") or random.SystemRandom().randrange(1 << 31))
# How many requests are made up for each operation.
ROUNDS = int(os.environ.get("GLOVEBOX_HOSTILE_ROUNDS", "10"))
print(f"GLOVEBOX_TEST_SEED={SEED}", file=sys.stderr, flush=True)


def chance_of(name):
    return random.Random(f"{SEED} {name}")
