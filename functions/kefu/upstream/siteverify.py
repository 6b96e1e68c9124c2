"""Turnstile's and hCaptcha's `siteverify`: a form is sent, JSON comes back.

Sources: developers.cloudflare.com/turnstile/get-started/server-side-validation and
docs.hcaptcha.com, "Verify the user response server side".
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from kefu.errors import VerifierUnavailable
from kefu.verification import Verdict

if TYPE_CHECKING:
    import aiohttp

TURNSTILE = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
HCAPTCHA = "https://api.hcaptcha.com/siteverify"

TIMEOUT = 3.0
"""Seconds for the whole exchange."""

_LONGEST = 16 * 1024
"""Bytes of an answer; real ones have some hundred."""

_AT_ONCE = 50


class SiteVerify:
    """A `Verifier`. Loads aiohttp with its first use."""

    def __init__(self, url: str, secret: str) -> None:
        self._url = url
        self._secret = secret
        self._session: aiohttp.ClientSession | None = None

    def learn(self, secret: str) -> None:
        """The provider's secret, from now on."""
        self._secret = secret

    async def verify(self, token: str, address: str) -> Verdict:
        import aiohttp

        form = {"secret": self._secret, "response": token, "remoteip": address}
        try:
            async with (
                asyncio.timeout(TIMEOUT),
                self._opened().post(self._url, data=form, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    raise VerifierUnavailable(f"HTTP {response.status}")
                return _verdict(await _body(response))
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise VerifierUnavailable(type(error).__name__) from error

    async def aclose(self) -> None:
        if self._session:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_AT_ONCE),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                headers={"Accept": "application/json", "Accept-Encoding": "identity"},
                skip_auto_headers=("User-Agent",),
            )
        return self._session


async def _body(response: aiohttp.ClientResponse) -> bytes:
    body = b""
    while part := await response.content.read(_LONGEST):
        body += part
        if len(body) > _LONGEST:
            raise VerifierUnavailable("an answer that is too long")
    return body


def _verdict(body: bytes) -> Verdict:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise VerifierUnavailable("an answer that is not JSON") from error
    if not isinstance(said, dict) or not isinstance(said.get("success"), bool):
        raise VerifierUnavailable("an answer without a verdict")
    reasons = said.get("error-codes")
    return Verdict(
        said["success"],
        _text(said.get("hostname")).lower(),
        _text(said.get("action")),
        tuple(map(_text, reasons)) if isinstance(reasons, list) else (),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
