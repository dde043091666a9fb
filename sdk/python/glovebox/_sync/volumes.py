# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/volumes.py: change that, and run it again.
"""Volumes: directories that outlive sandboxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from .._generated import routes
from .._generated.requests import VolumeMount
from .._generated.responses import VolumeInfo
from .._model import Size
from .files import Files

if TYPE_CHECKING:
    from .client import Client


class Volume:
    """A volume, with its files."""

    def __init__(self, client: "Client", info: VolumeInfo) -> None:
        self.info = info
        self.id = info.id
        self.name = info.name
        self._client = client
        self.files = Files(
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
        return f"Volume({self.name!r})"

    def at(self, path: str, *, read_only: bool = False) -> VolumeMount:
        """Where a sandbox shall have it, for ``Sandbox.create(volumes=[…])``."""
        return VolumeMount(self.id, path, read_only or None)

    def remove(self) -> None:
        """Removes it with everything in it. Raises ``Conflict`` while a sandbox uses it."""
        self._client.volumes.remove(self.id)


class Volumes:
    """The volumes of a tenant: ``client.volumes``."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def create(
        self, name: str, *, size: Optional[Size] = None, inodes: Optional[int] = None
    ) -> Volume:
        body: Dict[str, Any] = {"name": name}
        if size is not None:
            body["size"] = size
        if inodes is not None:
            body["inodes"] = inodes
        made = self._client.ask(routes.CREATE_VOLUME, body=body)
        return Volume(self._client, VolumeInfo.from_json(made))

    def get(self, name: str) -> Volume:
        """A volume, by its name or id."""
        found = self._client.ask(routes.GET_VOLUME, {"id": name})
        return Volume(self._client, VolumeInfo.from_json(found))

    def list(self) -> List[Volume]:
        """All of them, by name."""
        found = self._client.ask(routes.LIST_VOLUMES)
        return [Volume(self._client, VolumeInfo.from_json(each)) for each in found["volumes"]]

    def remove(self, name: str) -> None:
        self._client.ask(routes.REMOVE_VOLUME, {"id": name})
