"""Identifies visitors who have signed in to the site that embeds the chat.

The site signs a JSON Web Token for its user, with HS256 and a secret that it shares with Kefu. The
page sends the token. A chat that starts with such a token belongs to that user: other users cannot
read it, even with its session token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kefu.errors import IdentityRejected, UpstreamUnavailable

LEEWAY_SECONDS = 30.0
"""Seconds by which the clocks of the site and of Kefu may differ."""

_REGISTERED_CLAIMS = frozenset({"aud", "exp", "iat", "iss", "jti", "nbf", "sub"})
_MAX_TOKEN = 4096
_MAX_NAME = 256
_MAX_CLAIM = 500


class SiteUser(NamedTuple):
    name: str = ""
    """The `sub` claim of the token; empty for an anonymous visitor."""
    profile: Mapping[str, str] = MappingProxyType({})
    """The token's private claims that have a string as their value."""


class Identities:
    """Checks the user tokens of a site that has secrets for them."""

    def __init__(self, secrets: Sequence[str], audience: str) -> None:
        """A token signed with any of `secrets` is accepted, so that they can be rotated."""
        self._secrets = secrets
        self._audience = audience
        self.ready: Callable[[], Awaitable[None]] | None = None
        """Waits for a short time while the secrets are being loaded."""

    def set_secrets(self, secrets: Sequence[str]) -> None:
        """Replace the secrets."""
        self._secrets = secrets

    @property
    def signing_secret(self) -> str:
        """The first secret, which signs. Raises UpstreamUnavailable if none could be loaded."""
        if not self._secrets:
            raise UpstreamUnavailable("The service cannot name its user.", retry_after=5)
        return self._secrets[0]

    async def visitor(self, token: str) -> SiteUser:
        """The user of a token.

        Raises IdentityRejected for an invalid token, and UpstreamUnavailable when the secrets could
        not be loaded.
        """
        if self.ready:
            await self.ready()
        if not self._secrets:
            raise UpstreamUnavailable("The service cannot check who you are.", retry_after=5)
        claims = self._claims(token)
        name = claims.get("sub")
        if claims.get("exp") is None or not isinstance(name, str):
            raise _rejected()
        if not 0 < len(name) <= _MAX_NAME or not name.isprintable():
            raise _rejected()
        strings = {key: value for key, value in claims.items() if isinstance(value, str)}
        private = [key for key in strings if key not in _REGISTERED_CLAIMS]
        return SiteUser(name, {key: strings[key][:_MAX_CLAIM] for key in private})

    def _claims(self, token: str) -> Mapping[str, object]:
        """The claims of a valid token. Raises IdentityRejected."""
        # Imported here, because the import is slow and few sites use tokens.
        import jwt

        for secret in self._secrets if len(token) <= _MAX_TOKEN else ():
            try:
                claims: Mapping[str, object] = jwt.decode(
                    token,
                    secret,
                    # Fixed, because a forged token could name a weaker algorithm.
                    algorithms=["HS256"],
                    audience=self._audience,
                    leeway=LEEWAY_SECONDS,
                    options={"require": ["aud", "exp", "sub"]},
                )
            except jwt.InvalidSignatureError:
                continue
            except (jwt.InvalidTokenError, ValueError):
                break
            return claims
        raise _rejected()


def _rejected() -> IdentityRejected:
    # All reasons have one message, so that it gives no hint for forging a token.
    return IdentityRejected(
        "The user token is invalid or has expired. Get a new one from the site."
    )
