# SPDX-License-Identifier: Apache-2.0
"""Tenants and API keys, for those with the scope admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, Sequence

from .._generated import routes
from .._generated.requests import ApiKeyRequest, KeyRotation, Quotas, TenantRequest
from .._generated.responses import ApiKey, NewApiKey, TenantInfo
from .._model import Duration

if TYPE_CHECKING:
    from .client import AsyncClient


class AsyncKeys:
    """API keys: ``client.keys``."""

    def __init__(self, client: "AsyncClient") -> None:
        self._client = client

    async def create(
        self,
        scopes: Sequence[Literal["run", "read", "admin", "approve"]],
        *,
        tenant: Optional[str] = None,
        expires_in: Optional[Duration] = None,
    ) -> NewApiKey:
        """Creates a key. ``key`` of the result is the only place where it can ever be read."""
        request = ApiKeyRequest(scopes=list(scopes), tenant=tenant, expires_in=expires_in)
        return NewApiKey.from_json(await self._client.ask(routes.CREATE_KEY, body=request))

    async def list(self, tenant: Optional[str] = None) -> List[ApiKey]:
        """The keys of one tenant, or of all, oldest first."""
        found = await self._client.ask(routes.LIST_KEYS, query={"tenant": tenant})
        return [ApiKey.from_json(each) for each in found["keys"]]

    async def rotate(self, id: str, *, overlap: Optional[Duration] = None) -> NewApiKey:
        """Creates a successor; the old key keeps working for an hour, or for `overlap`."""
        return NewApiKey.from_json(
            await self._client.ask(
                routes.ROTATE_KEY, {"key": id}, body=KeyRotation(overlap=overlap)
            )
        )

    async def revoke(self, id: str) -> None:
        """Ends a key's validity at once."""
        await self._client.ask(routes.REVOKE_KEY, {"key": id})


class AsyncTenants:
    """Tenants: ``client.tenants``."""

    def __init__(self, client: "AsyncClient") -> None:
        self._client = client

    async def create(self, name: str, quotas: Optional[Quotas] = None) -> TenantInfo:
        request = TenantRequest(name=name, quotas=quotas)
        return TenantInfo.from_json(await self._client.ask(routes.CREATE_TENANT, body=request))

    async def get(self, name: str) -> TenantInfo:
        return TenantInfo.from_json(
            await self._client.ask(routes.GET_TENANT, {"tenant": name})
        )

    async def list(self) -> List[TenantInfo]:
        found = await self._client.ask(routes.LIST_TENANTS)
        return [TenantInfo.from_json(each) for each in found["tenants"]]

    async def set_quotas(self, name: str, **quotas: Any) -> TenantInfo:
        """Changes the quotas that are given, such as ``sandboxes=10``; None removes one."""
        body: Dict[str, Any] = {"quotas": quotas}
        return TenantInfo.from_json(
            await self._client.ask(
                routes.CHANGE_TENANT, {"tenant": name}, body=body, repeatable=True
            )
        )

    async def remove(self, name: str) -> None:
        """Removes a tenant and its keys. Raises ``Conflict`` while it has sandboxes or volumes."""
        await self._client.ask(routes.DELETE_TENANT, {"tenant": name})
