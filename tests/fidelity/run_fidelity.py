#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every cell of cells/ in a real ipykernel and in our Python agent and compares what came.

    run_fidelity.py                          all cells; exit 1 when others differ than are expected to
    run_fidelity.py plots errors             only these files of cells
    run_fidelity.py --launcher "COMMAND"     another way to start an agent (agents/README.md)
    run_fidelity.py --subject ipykernel      the reference against itself: are the cells stable?
    run_fidelity.py --self-test              cells that are wrong on purpose: exit 1 when one passes

The interpreter is Debian's, as ipykernel is Debian's package; exit 77 says what is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import shlex
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from agent_side import Agent  # noqa: E402
from compare import RULES, cut, differences  # noqa: E402
from kernel_side import Kernel  # noqa: E402
from transcript import Cell, CellFailure, Transcript, read_cells  # noqa: E402

AGENT = HERE.parent.parent / "agents" / "python" / "agent.py"
SKIPPED = 77
NOT_RUN = "not run, for a cell before it failed"
# ipykernel's debugger would say on stderr what it thinks of this Python.
QUIET = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
NEEDED = ("ipykernel", "jupyter_client", "PIL", "matplotlib", "pandas")


def main() -> int:
    options = arguments()
    os.environ.update(QUIET)
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: {sys.executable} has no {', '.join(missing)}")
        return SKIPPED
    launcher = shlex.split(options.launcher)
    if options.subject == "agent" and not options.launcher:
        launcher = [sys.executable, str(AGENT)]
        if not AGENT.exists():
            print(f"there is no {AGENT}")
            return 1
    files = sorted((HERE / "cells").glob("*.ipy"))
    if options.self_test:
        files = [HERE / "wrong.ipy"]
    elif options.files:
        files = [HERE / "cells" / f"{name}.ipy" for name in options.files]
    begun = time.monotonic()
    counted, failed = 0, {}
    with tempfile.TemporaryDirectory(prefix="fidelity-") as directory:
        for file in files:
            cells = read_cells(file)
            found = compare_file(cells, pathlib.Path(directory), launcher, options)
            for cell, lines in zip(cells, found):
                counted += 1
                if lines:
                    failed[f"{file.stem}.{cell.name}"] = lines
                if options.verbose:
                    print(f"{'DIFFERS' if lines else 'same':8} {file.stem}.{cell.name}", flush=True)
    for name, lines in failed.items():
        if lines != [NOT_RUN]:
            print("\n    ".join([f"\n{name}", *lines]))
    idle = sum(lines == [NOT_RUN] for lines in failed.values())
    print(f"\n{counted} cells, {len(failed)} differ ({idle} of them not run), "
          f"{time.monotonic() - begun:.1f} s; rules: {', '.join(RULES)}")
    if options.self_test:
        passed = counted - len(failed)
        print("the self-test " + ("failed" if passed else "passed: every wrong cell was found"))
        return 1 if passed else 0
    if options.files or options.subject != "agent":
        return 1 if failed else 0
    expected = expected_differences()
    for name in sorted(failed.keys() - expected):
        print(f"differs, and was not expected to: {name}")
    for name in sorted(expected - failed.keys()):
        print(f"is the same now, take it out of expected-differences.txt: {name}")
    print(f"{len(failed.keys() & expected)} of the differences are expected ones")
    return 0 if failed.keys() == expected else 1


def expected_differences() -> set[str]:
    lines = (HERE / "expected-differences.txt").read_text().splitlines()
    return {line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compares our Python agent with ipykernel.")
    parser.add_argument("files", nargs="*", help="names of files in cells/, without suffix")
    parser.add_argument("--launcher", default="", help="command that starts the agent")
    parser.add_argument("--subject", choices=("agent", "ipykernel"), default="agent")
    parser.add_argument("--timeout", type=float, default=120, help="time limit of each cell in seconds")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def compare_file(cells: list[Cell], directory: pathlib.Path, launcher: list[str],
                 options: argparse.Namespace) -> list[list[str]]:
    """The differences of each cell of one file, whose cells share an interpreter."""
    sides = []
    for side in ("reference", "subject"):
        # Both sides get the same path, one after the other, so that paths need no rule.
        workspace, environment = fresh(directory, side)
        try:
            if side == "reference" or options.subject == "ipykernel":
                running = Kernel(workspace, environment)
            else:
                running = Agent(launcher, workspace, environment)
            with running:
                sides.append(run_all(running, cells, options.timeout))
        except (CellFailure, OSError) as failure:
            reason = cut(f"the {side} did not start: {failure}")
            return [[reason], *[[NOT_RUN]] * (len(cells) - 1)]
    return [judge(*pair) for pair in zip(*sides)]


def judge(reference: Transcript | str, subject: Transcript | str) -> list[str]:
    if isinstance(reference, str):
        return [reference if reference is NOT_RUN else f"the reference failed: {reference}"]
    return [subject] if isinstance(subject, str) else differences(reference, subject)


def run_all(running: Kernel | Agent, cells: list[Cell], timeout: float) -> list[Transcript | str]:
    """A transcript of each cell, or why there is none. After a failure the interpreter can't be
    trusted to be in step, so the cells that follow have none either."""
    given: list[Transcript | str] = []
    for cell in cells:
        try:
            given.append(running.run(cell, timeout))
        except (CellFailure, OSError, ValueError, KeyError, RuntimeError) as failure:
            given.append(cut(f"{type(failure).__name__}: {failure}"))
            break
    return given + [NOT_RUN] * (len(cells) - len(given))


def fresh(directory: pathlib.Path, side: str) -> tuple[str, dict[str, str]]:
    """An empty workspace and home, and the environment that both sides get."""
    for name in ("workspace", "home"):
        shutil.rmtree(directory / name, ignore_errors=True)
        (directory / name).mkdir()
    fonts = directory / "fonts"
    fonts.mkdir(exist_ok=True)
    return str(directory / "workspace"), {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(directory / "home"),
        # Building the font cache takes seconds and says so on stderr, once.
        "MPLCONFIGDIR": str(fonts),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "xterm",
        # The order of a set's elements would be another in each process.
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        **QUIET,
        # Only the cells of the self-test look at it.
        "FIDELITY_SIDE": side,
    }


if __name__ == "__main__":
    sys.exit(main())
