# SPDX-License-Identifier: Apache-2.0
"""Directories as archives. What comes out of a sandbox is hostile, and unpacked accordingly."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import IO, Iterator

from .errors import GloveboxError

PIECE = 256 * 1024
MOST_FILES = 1_000_000


def pack(folder: Path) -> IO[bytes]:
    """The contents of a directory as a tar archive, in an unnamed file."""
    if not folder.is_dir():
        raise NotADirectoryError(f"not a directory: {folder}")
    archive = tempfile.TemporaryFile(prefix="glovebox-")
    try:
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for entry in sorted(folder.iterdir()):
                tar.add(entry, arcname=entry.name, filter=_anonymous)
    except BaseException:
        archive.close()
        raise
    archive.seek(0)
    return archive


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def unpack(archive: IO[bytes], folder: Path, most_bytes: int) -> int:
    """Unpacks files and directories below `folder`, and returns how many files.

    Links, devices and names that lead elsewhere are left out: whoever made the archive could point
    them at any file of this machine.
    """
    count = total = 0
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=archive, mode="r|") as tar:
        for entry in tar:
            parts = [part for part in entry.name.split("/") if part not in ("", ".")]
            if not parts or ".." in parts or "\0" in entry.name:
                continue
            target = folder.joinpath(*parts)
            if entry.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif entry.isreg():
                total += entry.size
                count += 1
                if total > most_bytes or count > MOST_FILES:
                    raise GloveboxError(
                        f"the directory is larger than {most_bytes} bytes or {MOST_FILES} files",
                        "pass a larger max_size",
                    )
                _write(tar, entry, target)
    return count


def _write(tar: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source = tar.extractfile(entry)
    if source is None:
        return
    # A file that is there is replaced, not written through, in case it is a link.
    if target.is_symlink() or target.is_file():
        target.unlink()
    mode = 0o755 if entry.mode & 0o100 else 0o644
    with source, os.fdopen(
        os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb"
    ) as file:
        shutil.copyfileobj(source, file, PIECE)


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """A file in pieces, from its beginning."""
    file.seek(0)
    while True:
        piece = file.read(PIECE)
        if not piece:
            return
        yield piece
