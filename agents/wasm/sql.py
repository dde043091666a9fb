# SPDX-License-Identifier: Apache-2.0
"""The agent of SQL (agents/sql) in CPython for WASI: in a fork, on descriptor 0, and without signals."""

import gc
import os
import sys

from beginning import CHANNEL, begin

sys.path.insert(1, os.path.join(os.path.dirname(sys.path[0]), "sql"))

from agent import Agent  # noqa: E402

if __name__ == "__main__":
    server = Agent(CHANNEL)
    server.warm_up()
    gc.collect()
    gc.freeze()  # A collection in a fork would write to every object's page.
    begin()
    server.serve()
    os._exit(0)
