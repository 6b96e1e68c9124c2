"""Signs operators in by OpenID Connect: the authorization code flow with PKCE, state and nonce.

Sources: OpenID Connect Core 1.0, sections 3.1 and 5.1; OpenID Connect Discovery 1.0; RFC 7636.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode

from kefu.auth.admin_tokens import MAX_NAME, Holder
from kefu.errors import NotAnOperator, Unauthorized, UpstreamUnavailable

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Fixed, because a forged token could name a weaker one. None of them has a shared secret."""

LEEWAY_SECONDS = 30.0
"""Seconds by which the clocks of the provider and of Kefu may differ."""

ROLE_CLAIMS = ("roles", "groups", "cognito:groups")

Claims = Mapping[str, Any]


class OidcClient(NamedTuple):
    """What the provider knows about Kefu, and who may do what."""

    issuer: str
    id: str
    secret: str
    writers: Sequence[str]
    readers: Sequence[str]
    """E-mail addresses, and roles, which have no `@`."""


class Provider(Protocol):
    """The HTTP requests to the provider. They raise UpstreamUnavailable."""

    async def get(self, url: str) -> Claims:
        """A JSON object."""
        ...

    async def post(self, url: str, form: Mapping[str, str], secret: str) -> Claims:
        """A JSON object. `secret`: that of the client, whose id is in the form.

        Raises Unauthorized if the provider refuses the form.
        """
        ...


class OidcSignIn:
    def __init__(
        self, client: OidcClient, provider: Provider, derive: Callable[[str, str], str]
    ) -> None:
        """`derive`: a secret for a purpose and a state, which only this service can make."""
        self._client = client
        self._provider = provider
        self._derive = derive

    async def address(self, state: str, redirect: str) -> str:
        """Where the browser goes to sign in. Raises UpstreamUnavailable."""
        digest = hashlib.sha256(self._verifier(state).encode()).digest()
        query = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": redirect,
            "scope": "openid profile email",
            "state": state,
            "nonce": self._nonce(state),
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        url = (await self._metadata())["authorization_endpoint"]
        return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"

    async def holder(self, code: str, state: str, redirect: str) -> Holder:
        """Who has signed in. `state` and `redirect` are those of `address`.

        Raises Unauthorized for a code or an ID token that is not valid, NotAnOperator for somebody
        who has no role here, and UpstreamUnavailable.
        """
        metadata = await self._metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "client_id": self._client.id,
            "code_verifier": self._verifier(state),
        }
        given = await self._provider.post(metadata["token_endpoint"], form, self._client.secret)
        keys = await self._provider.get(metadata["jwks_uri"])
        return self._holder(self._claims(given.get("id_token"), keys, self._nonce(state)))

    async def _metadata(self) -> Claims:
        url = f"{self._client.issuer.rstrip('/')}/.well-known/openid-configuration"
        found = await self._provider.get(url)
        endpoints = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        is_whole = all(isinstance(found.get(one), str) for one in endpoints)
        if found.get("issuer") != self._client.issuer or not is_whole:
            raise UpstreamUnavailable(
                "The provider of the sign-in names another issuer, or not all of its addresses.",
                should_retry=False,
            )
        return found

    def _claims(self, token: object, keys: Claims, nonce: str) -> Claims:
        """The claims of a valid ID token. Raises Unauthorized."""
        import jwt  # here, because the import is slow and few sites use it

        try:
            key = self._key(str(token), keys)
            claims: Claims = jwt.decode(
                str(token),
                key,
                algorithms=ALGORITHMS,
                audience=self._client.id,
                issuer=self._client.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["iss", "sub", "aud", "exp", "iat"]},
            )
        except (jwt.PyJWTError, ValueError) as error:
            # The name tells the owner what is wrong, and a forger nothing that the claims do not.
            raise Unauthorized(f"The sign-in is not valid: {type(error).__name__}.") from error
        is_fresh = hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode())
        if not is_fresh or claims.get("azp", self._client.id) != self._client.id:
            raise Unauthorized("The sign-in is not valid: it belongs to another one.")
        return claims

    def _key(self, token: str, keys: Claims) -> Any:
        import jwt

        name = jwt.get_unverified_header(token).get("kid")
        found = [one for one in jwt.PyJWKSet.from_dict(dict(keys)) if name in (None, one.key_id)]
        if len(found) != 1:
            raise jwt.InvalidKeyError("there is no such key")
        return found[0]

    def _holder(self, claims: Claims) -> Holder:
        named = {one.casefold() for one in _names(claims)}
        for allowed, may in ((self._client.writers, ""), (self._client.readers, "read")):
            if named & {one.casefold() for one in allowed}:
                words = claims.get("name") or claims.get("email") or claims["sub"]
                name = " ".join("".join(filter(str.isprintable, str(words))).split())
                return Holder(operator=name[:MAX_NAME], may=may)
        raise NotAnOperator("You have signed in, but may not use this panel.")

    def _verifier(self, state: str) -> str:
        return self._derive("oidc verifier", state)

    def _nonce(self, state: str) -> str:
        return self._derive("oidc nonce", state)


def _names(claims: Claims) -> Iterator[str]:
    """The e-mail address, if the provider has verified it, and the roles."""
    if claims.get("email_verified") is True and isinstance(claims.get("email"), str):
        yield claims["email"]
    for name in ROLE_CLAIMS:
        roles = claims.get(name)
        found = roles if isinstance(roles, list) else [roles]
        # A role is no address: who names roles must not be able to name a person.
        yield from (one for one in found if isinstance(one, str) and "@" not in one)
