# SPDX-License-Identifier: Apache-2.0
"""The zygote: a warm interpreter that runs no guest code and forks contexts.

Usage: zygote.py [MODULE...], with a socket to glovebox as descriptor 3.
"""
import os
import sys

import agent
import _glovebox

CHANNEL = 3


def main():
    agent.prepare(sys.argv[1:])
    version = ".".join(map(str, sys.version_info[:3]))
    env = _glovebox.serve_forks(CHANNEL, version)
    if env is None:
        os._exit(0)
    os.environ.clear()
    for entry in env:
        name, _, value = entry.partition("=")
        os.environ[name] = value
    agent.checkpoint = _glovebox.checkpoint
    agent.serve(CHANNEL)


if __name__ == "__main__":
    main()
