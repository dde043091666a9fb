# SPDX-License-Identifier: Apache-2.0
"""`!command`: a program's output as the cell's output."""

from __future__ import annotations

import builtins
import codecs
import os
import signal
import subprocess
import sys

__builtins__ = dict(vars(builtins))

READ_SIZE = 65536
# How long a program has to end after Ctrl-C.
GRACE_SECONDS = 2.0


def run_shell_command(command: str) -> int:
    """Runs the command and answers its exit status, or minus the signal that ended it."""
    process = subprocess.Popen(
        command,
        shell=True,
        executable=os.environ.get("SHELL") or None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # A group of its own, so that Ctrl-C reaches all of a pipeline.
        process_group=0,
    )
    try:
        _copy(process.stdout.fileno())
        return process.wait()
    except BaseException:
        _stop(process)
        raise
    finally:
        process.stdout.close()


def _copy(fd: int) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        data = os.read(fd, READ_SIZE)
        text = decoder.decode(data, final=not data)
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
        if not data:
            return


def _stop(process: subprocess.Popen) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except OSError:
            pass
        try:
            process.wait(GRACE_SECONDS)
            return
        except subprocess.TimeoutExpired:
            continue
