# SPDX-License-Identifier: Apache-2.0
"""The agent of SQL (agents/sql) in CPython for WASI: in a fork, on descriptor 0, and without signals."""

import gc
import os
import sys

from beginning import CHANNEL, begin

sys.path.insert(1, os.path.join(os.path.dirname(sys.path[0]), "sql"))

from agent import Agent  # noqa: E402
from database import Database  # noqa: E402


class SeededDatabase(Database):
    """Without /dev/urandom, SQLite takes the second for a seed: others would draw the same numbers."""

    def _connect(self, path):
        connection = super()._connect(path)
        connection.create_function("random", 0, lambda: int.from_bytes(os.urandom(8), "little", signed=True))
        connection.create_function("randomblob", 1, lambda size: os.urandom(max(1, int(size or 1))))
        return connection


if __name__ == "__main__":
    server = Agent(CHANNEL, SeededDatabase)
    server.warm_up()
    gc.collect()
    gc.freeze()  # A collection in a fork would write to every object's page.
    begin()
    server.serve()
    os._exit(0)
