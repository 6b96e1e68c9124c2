"""Checks that a request came through the CDN, which alone knows a secret and sends it in a header.

Without this check, a client that knows the address behind the CDN could go round its cache and its
firewall, and could name any address as its own.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping

from kefu.errors import DirectRequest, UpstreamUnavailable

ORIGIN_HEADER = "x-kefu-origin"
"""The header in which the CDN sends the secret."""


class OriginSecret:
    def __init__(self, secrets: tuple[str, ...]) -> None:
        """`secrets` has two values during a rotation, else one."""
        self._secrets = secrets
        self.ready: Callable[[], Awaitable[None]] | None = None
        """Waits until the secrets are loaded."""

    def set_secrets(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets

    async def check(self, headers: Mapping[str, str]) -> None:
        """Raises DirectRequest for a wrong secret, UpstreamUnavailable while none is known."""
        if not self._secrets and self.ready:
            await self.ready()
        if not self._secrets:
            raise UpstreamUnavailable("The service cannot check requests yet.", retry_after=1)
        sent = headers.get(ORIGIN_HEADER, "").encode()
        if not any(hmac.compare_digest(sent, one.encode()) for one in self._secrets):
            raise DirectRequest("Please use the public address of this service.")
