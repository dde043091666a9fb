# SPDX-License-Identifier: Apache-2.0
"""Prints how long small cells take over a socket pair: p50 and p99, and the agent's CPU time, in
microseconds. Only the CPU time means something on a machine that does other things as well.

Usage: latency.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import sys
import time

from harness import HEADER, Agent

CELLS = ("1+1", "x+1", "print('hello')", "pd.DataFrame({'a':[1,2,3]}).a.sum()")
DONE = 73
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")


def cpu_ticks(agent: Agent) -> int:
    with open(f"/proc/{agent.process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def measure(agent: Agent, code: str, rounds: int) -> list[float]:
    payload = json.dumps({"code": code}).encode()
    message = HEADER.pack(len(payload), 1, 9) + payload
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        agent.socket.sendall(message)
        while agent._read_raw()[0] != DONE:
            pass
        times.append((time.perf_counter() - start) * 1e6)
    return sorted(times)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with Agent() as agent:
        agent.run("x = 1")
        has_pandas = agent.run("import pandas as pd").status == "ok"
        for code in CELLS:
            if "pd." in code and not has_pandas:
                continue
            measure(agent, code, 100)
            before = cpu_ticks(agent)
            times = measure(agent, code, rounds)
            cpu = (cpu_ticks(agent) - before) * TICK_US / rounds
            p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
            print(f"{code:40} p50 {p50:7.0f} us   p99 {p99:7.0f} us   cpu {cpu:5.0f} us")


if __name__ == "__main__":
    main()
