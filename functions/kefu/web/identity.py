"""Who a visitor is, by the word of the site that they have signed in to.

The site signs a JSON Web Token for its user, HS256 with a secret that Kefu knows, too; the page
hands it on. A chat that was begun with one belongs to that user: nobody else can read it, whatever
session token they hold.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

from starlette.requests import Request

from kefu.errors import IdentityRejected, UpstreamUnavailable
from kefu.lean_typing import NamedTuple

HEADER = "X-User-Token"

LEEWAY = 30.0
"""Seconds by which the site's clock may differ from ours."""

_REGISTERED = frozenset({"aud", "exp", "iat", "iss", "jti", "nbf", "sub"})
_LONGEST = 4096
_LONGEST_NAME = 256
_LONGEST_CLAIM = 500


class Visitor(NamedTuple):
    name: str = ""
    """The user's `sub`; empty for somebody whom no token names."""
    profile: Mapping[str, str] = MappingProxyType({})
    """What else the site says of its user: the token's own claims that are texts."""


NOBODY = Visitor()


class Identities:
    def __init__(
        self,
        secrets: Sequence[str],
        audience: str,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """All secrets are accepted, so that they can be rotated. None of them: nobody is asked,
        unless they are still being read; `ready` waits a while for that.
        """
        self._secrets = secrets
        self._audience = audience
        self._ready = ready

    def learn(self, secrets: Sequence[str]) -> None:
        """These from now on."""
        self._secrets = secrets

    async def visitor(self, request: Request) -> Visitor:
        """Raises IdentityRejected for a token that is not good; none at all is no fault."""
        token = request.headers.get(HEADER, "")
        if not token:
            return NOBODY
        if self._ready:
            await self._ready()
            if not self._secrets:
                raise UpstreamUnavailable("The service cannot check who you are.", retry_after=5)
        if not self._secrets:
            return NOBODY
        claims = self._claims(token)
        name = claims.get("sub")
        if claims.get("exp") is None or not isinstance(name, str):
            raise _rejected()
        if not 0 < len(name) <= _LONGEST_NAME:
            raise _rejected()
        texts = {key: value for key, value in claims.items() if isinstance(value, str)}
        own = {key: texts[key][:_LONGEST_CLAIM] for key in texts if key not in _REGISTERED}
        return Visitor(name, own)

    def _claims(self, token: str) -> Mapping[str, object]:
        # Few sites need it, and it is slow to import.
        import jwt

        for secret in self._secrets if len(token) <= _LONGEST else ():
            try:
                claims: Mapping[str, object] = jwt.decode(
                    token,
                    secret,
                    # Pinned: never what the token itself says of how it was signed.
                    algorithms=["HS256"],
                    audience=self._audience,
                    leeway=LEEWAY,
                    options={"require": ["aud", "exp", "sub"]},
                )
            except jwt.InvalidSignatureError:
                continue
            except (jwt.InvalidTokenError, ValueError):
                break
            return claims
        raise _rejected()


def _rejected() -> IdentityRejected:
    # The same words for all that may be wrong: nobody learns how near a forgery is.
    return IdentityRejected("The user token is not good, or no longer. Get another from the site.")
