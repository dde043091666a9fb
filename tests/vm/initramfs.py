# SPDX-License-Identifier: Apache-2.0
"""Writes the machine's first file system: a cpio archive in the "newc" format."""

import pathlib
import time

FILE = 0o100000
FOLDER = 0o040000
LINK = 0o120000


def entry(name, mode, content=b""):
    """One member: a header of 13 numbers in hexadecimal, the name, the content, each padded."""
    path = name.encode() + b"\0"
    numbers = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
    header = b"070701" + b"".join(b"%08X" % number for number in numbers) + path
    return header + padding(header) + content + padding(content)


def padding(data):
    return b"\0" * (-len(data) % 4)


def write(target, init, busybox, modules, shares, command):
    members = [entry(folder, FOLDER | 0o755) for folder in ("bin", "dev", "proc", "modules")]
    members += [
        entry("init", FILE | 0o755, pathlib.Path(init).read_bytes()),
        entry("bin/busybox", FILE | 0o755, pathlib.Path(busybox).read_bytes()),
        entry("bin/sh", LINK | 0o777, b"busybox"),
        entry("module-order", FILE | 0o644, lines(module.name for module in modules)),
        entry("shares", FILE | 0o644, lines(shares)),
        entry("command", FILE | 0o644, command.encode() + b"\n"),
        entry("clock", FILE | 0o644, b"%d\n" % time.time()),
    ]
    members += [entry(f"modules/{module.name}", FILE | 0o644, module.read_bytes())
                for module in modules]
    members.append(entry("TRAILER!!!", 0))
    pathlib.Path(target).write_bytes(b"".join(members))


def lines(values):
    return "".join(f"{value}\n" for value in values).encode()
