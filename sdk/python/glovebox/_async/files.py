# SPDX-License-Identifier: Apache-2.0
"""Files of a sandbox or of a volume."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import (
    IO,
    TYPE_CHECKING,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Union,
)

from .._archives import pack, pieces, unpack
from .._generated.responses import FileEntry, FileEvent
from .._route import Route
from ..errors import NotFound, Unsupported
from ..events import decode, failure_of
from .http import Body
from .net import in_thread

if TYPE_CHECKING:
    from .client import AsyncClient

#: What a file may be written from.
Content = Union[str, bytes, IO[bytes], Iterable[bytes], AsyncIterable[bytes]]
#: Of a downloaded directory, unless the caller allows more.
MOST_DOWNLOAD = 16 * 1024 * 1024 * 1024


class AsyncFiles:
    """Files. Paths are relative to the workspace (of a volume, to its top) unless they begin with
    a slash.
    """

    def __init__(
        self,
        client: "AsyncClient",
        place: Mapping[str, object],
        list: Route,
        change: Route,
        read: Route,
        head: Route,
        write: Route,
        remove: Route,
        watch: Optional[Route],
    ) -> None:
        self._client = client
        self._place = place
        self._list = list
        self._change = change
        self._read = read
        self._head = head
        self._write = write
        self._remove = remove
        self._watch = watch

    def _at(self, path: str) -> Dict[str, object]:
        return {**self._place, "path": path}

    async def read(
        self, path: str, *, start: Optional[int] = None, end: Optional[int] = None
    ) -> bytes:
        """A file's bytes; with `start` or `end`, those from `start` up to but not including `end`."""
        headers: Dict[str, str] = {}
        if start is not None or end is not None:
            if end is not None and end <= (start or 0):
                return b""
            headers["Range"] = f"bytes={start or 0}-{'' if end is None else end - 1}"
        response = await self._client.send(self._read, self._at(path), headers=headers)
        return await response.read()

    async def read_text(self, path: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        return (await self.read(path)).decode(encoding, errors)

    async def stream(self, path: str) -> AsyncIterator[bytes]:
        """A file's bytes in pieces, as they come."""
        response = await self._client.send(self._read, self._at(path))
        async with response:
            async for piece in response.aiter_bytes():
                yield piece

    async def write(
        self,
        path: str,
        content: Content,
        *,
        mode: Optional[int] = None,
        append: bool = False,
        flush: bool = False,
    ) -> FileEntry:
        """Writes a file and creates its parent directories. A file that is there is replaced at
        once, when all of the content has arrived. `content` may be an open file or pieces of bytes.
        """
        query = {
            "mode": None if mode is None else f"{mode:04o}",
            "append": append or None,
            "flush": flush or None,
        }
        response = await self._client.send(
            self._write,
            self._at(path),
            query=query,
            content=body_of(content),
            headers={"Content-Type": "application/octet-stream"},
            repeatable=not append,
        )
        return FileEntry.from_json(decode(await response.read()))

    async def list(self, path: Optional[str] = None, *, depth: int = 1) -> List[FileEntry]:
        """What is in a directory, the workspace by default; deeper with a larger `depth`."""
        found = await self._client.ask(
            self._list, self._place, query={"list": path, "depth": depth}
        )
        entries = [FileEntry.from_json(each) for each in found["entries"]]
        # Of the workspace itself, the daemon's paths begin with "./".
        return [
            replace(each, path=each.path[2:]) if each.path.startswith("./") else each
            for each in entries
        ]

    async def stat(self, path: str) -> FileEntry:
        """Size, mode, owner and times of a file or directory."""
        return FileEntry.from_json(
            await self._client.ask(self._read, self._at(path), query={"stat": True})
        )

    async def exists(self, path: str) -> bool:
        try:
            await (
                await self._client.send(self._head, self._at(path), query={"stat": True})
            ).aclose()
            return True
        except NotFound:
            return False

    async def make_dir(self, path: str) -> FileEntry:
        """Creates a directory with its parents."""
        return FileEntry.from_json(
            await self._client.ask(
                self._change,
                self._place,
                body={"action": "make_directory", "path": path},
            )
        )

    async def move(self, path: str, to: str) -> FileEntry:
        """Moves or renames a file or directory."""
        return FileEntry.from_json(
            await self._client.ask(
                self._change, self._place, body={"action": "move", "path": path, "to": to}
            )
        )

    async def remove(self, path: str) -> None:
        """Removes a file, or a directory with everything in it."""
        await self._client.ask(self._remove, self._at(path))

    async def watch(
        self, path: Optional[str] = None, *, recursive: bool = False
    ) -> AsyncIterator[FileEvent]:
        """Changes below a directory, as they happen. The first event, ``started``, says that from
        now on none is missed.
        """
        if self._watch is None:
            raise Unsupported(
                "files of a volume cannot be watched",
                "watch them in a sandbox that uses the volume",
                status=501,
                code="unsupported",
            )
        query = {"path": path, "recursive": recursive or None}
        async for value in self._client.lines(self._watch, self._place, query=query):
            if value.get("type") == "failed":
                raise failure_of(value)
            if value.get("type") != "keepalive":
                yield FileEvent.from_json(value)

    async def upload(self, local: "Union[str, os.PathLike[str]]", path: str) -> None:
        """Copies a file or a directory from this machine. A directory's contents go into `path`."""
        source = Path(local)
        if source.is_dir():
            archive = await in_thread(pack, source)
            with archive:
                await self.unpack(path, lambda: pieces(archive))
            return
        with source.open("rb") as file:
            mode = 0o755 if os.access(source, os.X_OK) else None
            await self.write(path, file, mode=mode)

    async def unpack(self, path: str, archive: Union[Content, Callable[[], Body]]) -> None:
        """Unpacks an archive (tar, tar.gz, zip) into a directory."""
        content = archive if callable(archive) else body_of(archive)
        await (
            await self._client.send(
                self._write,
                self._at(path),
                query={"unpack": True},
                content=content,
                headers={"Content-Type": "application/octet-stream"},
            )
        ).read()

    async def download(
        self,
        path: str,
        local: "Union[str, os.PathLike[str]]",
        *,
        max_size: int = MOST_DOWNLOAD,
    ) -> int:
        """Copies a file or a directory to this machine, and returns how many files.

        Of a directory, only files and directories are copied: links made by code in the sandbox
        could point at anything here.
        """
        target = Path(local)
        entry = await self.stat(path)
        kind = entry.target_type if entry.type == "symlink" else entry.type
        if kind != "directory":
            if target.is_dir():
                target = target / os.path.basename(path.rstrip("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                async for piece in self.stream(path):
                    file.write(piece)
            return 1
        with tempfile.TemporaryFile(prefix="glovebox-") as archive:
            async for piece in self.archive(path):
                archive.write(piece)
            archive.seek(0)
            return await in_thread(unpack, archive, target, max_size)

    async def archive(self, path: str, format: str = "tar") -> AsyncIterator[bytes]:
        """A directory as one file, ``tar``, ``tar.gz`` or ``zip``, in pieces."""
        response = await self._client.send(self._read, self._at(path), query={"archive": format})
        async with response:
            async for piece in response.aiter_bytes():
                yield piece


def body_of(content: Content) -> Union[Body, Callable[[], Body]]:
    """The body of a request."""
    if isinstance(content, str):
        return content.encode("utf-8")
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    read = getattr(content, "read", None)
    if read is None:
        return content
    return _pieces_of(content)  # type: ignore[arg-type]


def _pieces_of(file: IO[bytes]) -> Iterable[bytes]:
    while True:
        piece = file.read(256 * 1024)
        if not piece:
            return
        if not isinstance(piece, bytes):
            raise TypeError("open the file in binary mode, as in open(path, 'rb')")
        yield piece

