# SPDX-License-Identifier: Apache-2.0
"""Builds of runsc: the installed one, and one that Glovebox does not know and so leaves the start to."""
import os
import pathlib
import shutil

NAME_WITHIN = 4096
NOTE = b"\x04\0\0\0Go\0\0"  # Its type and owner, in front of what Go's linker calls the build.


def installed():
    """The path of runsc, or None."""
    return os.environ.get("GLOVEBOX_RUNSC") or shutil.which("runsc")


def place_of_name(program):
    return program.index(NOTE, 0, NAME_WITHIN) + len(NOTE)


def name_of(path):
    """What Go's linker calls the build."""
    program = pathlib.Path(path).read_bytes()
    at = place_of_name(program)
    return program[at:program.index(b"\0", at)].decode()


def copy_to(directory):
    """The installed one under another name of its build, and not different in anything else."""
    program = bytearray(pathlib.Path(installed()).read_bytes())
    at = place_of_name(program)
    program[at] = ord("A") if program[at] != ord("A") else ord("B")
    copy = pathlib.Path(directory) / "runsc"
    copy.write_bytes(program)
    copy.chmod(0o755)
    return copy
