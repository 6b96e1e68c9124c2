"""The requests to an OpenID provider: JSON objects are fetched, and a form is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from kefu.errors import Unauthorized, UpstreamUnavailable
from kefu.upstream.transport import LOCAL_HOSTS, body_within, failure_of, new_client, request_errors

if TYPE_CHECKING:
    import httpx

TIMEOUT_SECONDS = 10.0
"""Seconds for a whole exchange."""

_MAX_ANSWER_BYTES = 256 * 1024


class HttpProvider:
    """A `Provider`. The client imports httpx on first use."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._client: httpx.AsyncClient | None = None

    async def get(self, url: str) -> Mapping[str, Any]:
        return await self._send("GET", url)

    async def post(self, url: str, form: Mapping[str, str], secret: str) -> Mapping[str, Any]:
        # RFC 6749, 2.3.1: id and secret are encoded before they are sent as a user and a password.
        auth = quote(form["client_id"], safe=""), quote(secret, safe="")
        return await self._send("POST", url, data=form, auth=auth)

    async def _send(self, method: str, url: str, **more: Any) -> Mapping[str, Any]:
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in LOCAL_HOSTS:
            raise UpstreamUnavailable("The provider of the sign-in has an address without https.")
        self._client = client = self._client or new_client(proxy_for=self._issuer)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
                async with client.stream(method, url, headers=headers, **more) as response:
                    body = await body_within(response, _MAX_ANSWER_BYTES)
        except request_errors() as error:  # a TimeoutError is an OSError
            name = failure_of(error).name
            raise UpstreamUnavailable(
                f"The provider of the sign-in does not answer: {name}.", retry_after=5
            ) from error
        if body is None:
            raise UpstreamUnavailable("The provider of the sign-in answers too much.")
        return _object(body, response.status_code, is_form=method == "POST")

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()


def _object(body: bytes, status: int, *, is_form: bool) -> Mapping[str, Any]:
    if is_form and status in (400, 401):
        raise Unauthorized(f"The provider of the sign-in refused: HTTP {status}.")
    try:
        found = json.loads(body) if status == 200 else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UpstreamUnavailable(
            f"The provider of the sign-in answers HTTP {status} without JSON."
        )
    return found
