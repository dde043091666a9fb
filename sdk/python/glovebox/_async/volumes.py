# SPDX-License-Identifier: Apache-2.0
"""Volumes: directories that outlive sandboxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from .._generated import routes
from .._generated.requests import VolumeMount
from .._generated.responses import VolumeInfo
from .._model import Size
from .files import AsyncFiles

if TYPE_CHECKING:
    from .client import AsyncClient


class AsyncVolume:
    """A volume, with its files."""

    def __init__(self, client: "AsyncClient", info: VolumeInfo) -> None:
        self.info = info
        self.id = info.id
        self.name = info.name
        self._client = client
        self.files = AsyncFiles(
            client,
            {"id": info.id},
            routes.LIST_VOLUME_FILES,
            routes.CHANGE_VOLUME_FILES,
            routes.READ_VOLUME_FILE,
            routes.HEAD_VOLUME_FILE,
            routes.WRITE_VOLUME_FILE,
            routes.REMOVE_VOLUME_FILE,
            None,
        )

    def __repr__(self) -> str:
        return f"AsyncVolume({self.name!r})"

    def at(self, path: str, *, read_only: bool = False) -> VolumeMount:
        """Where a sandbox shall have it, for ``Sandbox.create(volumes=[…])``."""
        return VolumeMount(self.id, path, read_only or None)

    async def remove(self) -> None:
        """Removes it with everything in it. Raises ``Conflict`` while a sandbox uses it."""
        await self._client.volumes.remove(self.id)


class AsyncVolumes:
    """The volumes of a tenant: ``client.volumes``."""

    def __init__(self, client: "AsyncClient") -> None:
        self._client = client

    async def create(
        self, name: str, *, size: Optional[Size] = None, inodes: Optional[int] = None
    ) -> AsyncVolume:
        body: Dict[str, Any] = {"name": name}
        if size is not None:
            body["size"] = size
        if inodes is not None:
            body["inodes"] = inodes
        made = await self._client.ask(routes.CREATE_VOLUME, body=body)
        return AsyncVolume(self._client, VolumeInfo.from_json(made))

    async def get(self, name: str) -> AsyncVolume:
        """A volume, by its name or id."""
        found = await self._client.ask(routes.GET_VOLUME, {"id": name})
        return AsyncVolume(self._client, VolumeInfo.from_json(found))

    async def list(self) -> List[AsyncVolume]:
        """All of them, by name."""
        found = await self._client.ask(routes.LIST_VOLUMES)
        return [AsyncVolume(self._client, VolumeInfo.from_json(each)) for each in found["volumes"]]

    async def remove(self, name: str) -> None:
        await self._client.ask(routes.REMOVE_VOLUME, {"id": name})
