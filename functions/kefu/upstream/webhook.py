"""Sends requests to a webhook of the site owner."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kefu.upstream.transport import failure_of, new_client, request_errors

if TYPE_CHECKING:
    import httpx

TIMEOUT_SECONDS = 10.0
"""Seconds for the whole exchange."""


class HttpWebhook:
    """Implements `kefu.sessions.people.delivery.Webhook`. Loads httpx at its first use."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: httpx.AsyncClient | None = None

    async def post(self, body: bytes, headers: Mapping[str, str]) -> str:
        """Send a request. Returns "" for a status of 2xx, else the reason of the failure."""
        import httpx

        self._client = client = self._client or new_client(proxy_for=self._url, limit=4)
        try:
            request = httpx.Request("POST", self._url, content=body, headers=dict(headers))
            async with asyncio.timeout(TIMEOUT_SECONDS):
                # Redirects are not followed: they could send visitors' data to another host.
                response = await client.send(request, stream=True, follow_redirects=False)
                await response.aclose()
        except request_errors() as error:  # a TimeoutError is an OSError
            return failure_of(error).name
        return "" if response.is_success else f"HTTP {response.status_code}"

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()
