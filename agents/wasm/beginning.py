# SPDX-License-Identifier: Apache-2.0
"""How an agent that is written in Python begins in a fork (zygote.cc)."""

import os
import sys

CHANNEL = 0


def read_exactly(size):
    data = b""
    while len(data) < size:
        piece = os.read(CHANNEL, size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


def begin():
    """Waits to be forked, and goes to the directory and the environment that the fork is to have."""
    text = read_exactly(int.from_bytes(read_exactly(4), "little"))
    _, directory, *variables = text.decode(errors="surrogateescape").split("\0")
    os.environ.clear()
    os.environ.update(variable.split("=", 1) for variable in variables if "=" in variable)
    os.chdir(directory)
    sys.path[0] = ""  # In place of the agent's own directory.
