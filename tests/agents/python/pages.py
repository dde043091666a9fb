# SPDX-License-Identifier: Apache-2.0
"""Prints what a context forked from a zygote adds to the zygote's memory: its private dirty pages
and its minor faults when it is ready, after a first cell and after a cell with pandas.

Usage: pages.py [MODULE...]
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import sys

from harness import HEADER

AGENT_DIRECTORY = pathlib.Path(__file__).resolve().parents[3] / "agents" / "python"
MODULES = ("numpy", "pandas", "matplotlib.pyplot")
CELLS = ("1+1", "import pandas as pd\npd.DataFrame({'a':[1,2,3]}).a.sum()")
READY, DONE = 64, 73


def private_kib(pid: int) -> int:
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if "Private_Dirty" in line)


def minor_faults(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])


def exactly(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = channel.recv(size - len(data))
        if not piece:
            raise EOFError("the context ended")
        data += piece
    return data


def until(channel: socket.socket, wanted: int) -> None:
    kind = None
    while kind != wanted:
        size, kind, _ = HEADER.unpack(exactly(channel, HEADER.size))
        exactly(channel, size)


def fork_context(agent) -> tuple[int, socket.socket]:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        agent.serve(theirs.detach())
    theirs.close()
    return pid, ours


def main() -> None:
    sys.path.insert(0, str(AGENT_DIRECTORY))
    import agent

    agent.prepare(sys.argv[1:] or MODULES)
    pid, channel = fork_context(agent)
    try:
        until(channel, READY)
        print(f"{'ready':60} {private_kib(pid):6} KiB {minor_faults(pid):6} faults")
        for cell in CELLS:
            payload = json.dumps({"code": cell}).encode()
            channel.sendall(HEADER.pack(len(payload), 1, 1) + payload)
            until(channel, DONE)
            print(f"{cell!r:60} {private_kib(pid):6} KiB {minor_faults(pid):6} faults")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
