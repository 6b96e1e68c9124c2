"""The `siteverify` API of Turnstile and hCaptcha: a form is sent, and JSON is returned.

Sources: developers.cloudflare.com/turnstile/get-started/server-side-validation and
docs.hcaptcha.com, "Verify the user response server side".
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from kefu.auth.bot_check import TokenVerdict
from kefu.errors import VerifierUnavailable
from kefu.upstream.transport import body_within, failure_of, new_client, request_errors

if TYPE_CHECKING:
    import httpx

TURNSTILE = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
HCAPTCHA = "https://api.hcaptcha.com/siteverify"

TIMEOUT_SECONDS = 3.0
"""Seconds for the whole exchange."""

_MAX_ANSWER_BYTES = 16 * 1024
"""Bytes of an answer; real ones have some hundred."""

_AT_ONCE = 50


class SiteVerify:
    """A `Verifier`. The client imports httpx on first use."""

    def __init__(self, url: str, secret: str) -> None:
        self._url = url
        self._secret = secret
        self._client: httpx.AsyncClient | None = None

    def set_secret(self, secret: str) -> None:
        """Replace the provider's secret."""
        self._secret = secret

    async def verify(self, token: str, address: str) -> TokenVerdict:
        import httpx

        self._client = client = self._client or new_client(proxy_for=self._url, limit=_AT_ONCE)
        form = {"secret": self._secret, "response": token, "remoteip": address}
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            # `client.build_request` is not used, because it would add the header User-Agent.
            request = httpx.Request("POST", self._url, data=form, headers=headers)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                response = await client.send(request, stream=True, follow_redirects=False)
                try:
                    if response.status_code != 200:
                        raise VerifierUnavailable(f"HTTP {response.status_code}")
                    return _verdict(await body_within(response, _MAX_ANSWER_BYTES))
                finally:
                    await response.aclose()
        except request_errors() as error:  # a TimeoutError is an OSError
            raise VerifierUnavailable(failure_of(error).name) from error

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()


def _verdict(body: bytes | None) -> TokenVerdict:
    if body is None:
        raise VerifierUnavailable("an answer that is too long")
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise VerifierUnavailable("an answer that is not JSON") from error
    if not isinstance(said, dict) or not isinstance(said.get("success"), bool):
        raise VerifierUnavailable("an answer without a verdict")
    reasons = said.get("error-codes")
    return TokenVerdict(
        said["success"],
        _text(said.get("hostname")).lower(),
        _text(said.get("action")),
        tuple(map(_text, reasons)) if isinstance(reasons, list) else (),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
