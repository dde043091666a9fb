# SPDX-License-Identifier: Apache-2.0
# Written by sdk/python/generate from glovebox/_async/templates.py: change that, and run it again.
"""Templates: what sandboxes are created from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Literal, Mapping, Optional, Sequence, Union

from .._archives import pack
from .._generated import routes
from .._generated.requests import Limits, TemplateFile, TemplateRecipe
from .._generated.responses import TemplateEvent, TemplateInfo
from .._request import Callback
from ..errors import ProtocolError
from ..events import failure_of
from .files import Content, body_of
from .net import call, in_thread

if TYPE_CHECKING:
    from .client import Client


class Templates:
    """The templates of a tenant: ``client.templates``."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def list(self) -> List[TemplateInfo]:
        """The tenant's templates, and those that are built in."""
        found = self._client.ask(routes.LIST_TEMPLATES)
        return [TemplateInfo.from_json(each) for each in found["templates"]]

    def get(self, name: str) -> TemplateInfo:
        return TemplateInfo.from_json(
            self._client.ask(routes.GET_TEMPLATE, {"name": name})
        )

    def remove(self, name: str) -> None:
        """Removes a template; sandboxes that use it go on."""
        self._client.ask(routes.REMOVE_TEMPLATE, {"name": name})

    def build(
        self,
        name: str,
        *,
        base: Union[str, Mapping[str, Any], None] = None,
        packages: Optional[Sequence[str]] = None,
        package_sources: Optional[Sequence[str]] = None,
        files: Optional[Mapping[str, str]] = None,
        commands: Optional[Sequence[str]] = None,
        env: Optional[Mapping[str, str]] = None,
        start: Optional[str] = None,
        ready: Optional[str] = None,
        preload: Optional[Sequence[str]] = None,
        home: Optional[str] = None,
        user: Optional[str] = None,
        limits: Optional[Limits] = None,
        nested: Optional[bool] = None,
        on_event: Callback[TemplateEvent] = None,
    ) -> TemplateInfo:
        """Builds a template and returns it; a build that is the same as an earlier one is reused.

        `files` are texts by their paths. `on_event` gets the progress and the log.
        """
        recipe = TemplateRecipe(
            name=name,
            base=base,
            packages=_list(packages),
            package_sources=_list(package_sources),
            files=[TemplateFile(path, content) for path, content in files.items()]
            if files
            else None,
            commands=_list(commands),
            env=env,
            start=start,
            ready=ready,
            preload=_list(preload),
            home=home,
            user=user,
            limits=limits,
            nested=nested,
        )
        return self._built(
            on_event, self._client.lines(routes.BUILD_TEMPLATE, body=recipe)
        )

    def import_image(
        self,
        name: str,
        archive: Content,
        format: Literal["oci", "docker", "rootfs"],
        *,
        on_event: Callback[TemplateEvent] = None,
    ) -> TemplateInfo:
        """Makes a template of an image: a tar archive of an OCI layout, of ``docker save``, or of a
        root file system.
        """
        lines = self._client.lines(
            routes.IMPORT_TEMPLATE,
            {"name": name},
            query={"format": format},
            content=body_of(archive),
            headers={"Content-Type": "application/octet-stream"},
        )
        return self._built(on_event, lines)

    def build_dockerfile(
        self,
        name: str,
        folder: "Union[str, os.PathLike[str]]",
        *,
        dockerfile: str = "Dockerfile",
        build_args: Optional[Mapping[str, str]] = None,
        on_event: Callback[TemplateEvent] = None,
    ) -> TemplateInfo:
        """Builds the Dockerfile of a directory, with the files of the directory that it copies."""
        archive = in_thread(pack, Path(folder))
        with archive:
            lines = self._client.lines(
                routes.IMPORT_TEMPLATE,
                {"name": name},
                query={
                    "format": "dockerfile",
                    "dockerfile": dockerfile,
                    "build_args": json.dumps(dict(build_args)) if build_args else None,
                },
                content=body_of(archive),
                headers={"Content-Type": "application/octet-stream"},
            )
            return self._built(on_event, lines)

    def export_image(self, name: str) -> bytes:
        """A template with a root of its own as an image in a tar archive: an OCI layout, which
        ``docker load`` reads as well.
        """
        answer = self._client.send(
            routes.EXPORT_TEMPLATE, {"name": name}, query={"format": "oci"}
        )
        return answer.read()

    def _built(self, on_event: Callback[TemplateEvent], lines: Any) -> TemplateInfo:
        made: Optional[TemplateInfo] = None
        for value in lines:
            if value.get("type") == "failed":
                raise failure_of(value)
            if value.get("type") == "keepalive":
                continue
            event = TemplateEvent.from_json(value)
            if on_event is not None:
                call(on_event, event)
            made = event.template or made
        if made is None:
            raise ProtocolError("the stream ended before the template was built")
        return made


def _list(values: Optional[Sequence[str]]) -> Optional[List[str]]:
    return list(values) if values is not None else None
