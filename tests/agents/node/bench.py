# SPDX-License-Identifier: Apache-2.0
"""Measures the Node agent: time to ready, and time of one execution in a live context."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from harness import NODE, Agent


def percentiles(label: str, once: Callable[[], object], count: int) -> None:
    samples = []
    for _ in range(count):
        start = time.perf_counter()
        once()
        samples.append((time.perf_counter() - start) * 1e3)
    samples.sort()
    print(f"{label:40} p50 {samples[count // 2]:8.3f} ms   p99 {samples[int(count * 0.99)]:8.3f} ms")


def start() -> None:
    Agent().process.kill()


def main() -> None:
    percentiles("node -e 0", lambda: subprocess.run([NODE, "-e", "0"], check=True), 20)
    percentiles("start of the agent until ready", start, 20)
    with Agent() as agent:
        first = time.perf_counter()
        agent.execute("1+1")
        print(f"{'first execution':40}     {(time.perf_counter() - first) * 1e3:8.3f} ms")
        for code in ("1+1", "let x = 5; console.log(x)", "await 1", "import fs from 'node:fs'; fs.statSync('/').size"):
            percentiles(code, lambda code=code: agent.execute(code), 2000)
        with open(f"/proc/{agent.process.pid}/statm", encoding="ascii") as statm:
            print(f"{'resident':40}     {int(statm.read().split()[1]) * 4096 / 1e6:8.1f} MB")
    with Agent("typescript") as agent:
        percentiles("let x: number = 1; x", lambda: agent.execute("let x: number = 1; x"), 200)


if __name__ == "__main__":
    sys.exit(main())
