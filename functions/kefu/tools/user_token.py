"""Signs a short-lived token of the visitor for a tool's own service.

The service checks the token as `kefu.auth.identity` checks the site's: a JSON Web Token, HS256. It
stands in a header of its own, because `Authorization` is the owner's, for the shop's API key. Its
audience is the tool's host, so neither another tool's service nor Kefu accepts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kefu.tools.tool import Visitor

USER_HEADER = "Kefu-User"
TOKEN_SECONDS = 60


def user_token(visitor: Visitor, secret: str, host: str, now: float) -> str:
    """A token with `sub`, the private claims, `aud` (the host), `iat` and `exp`. `now`: Unix time.

    A private claim cannot replace one of these five.
    """
    # Imported here, because the import is slow and few tools use tokens.
    import jwt

    claims = {
        **visitor.claims,
        "sub": visitor.user,
        "aud": host,
        "iat": int(now),
        "exp": int(now) + TOKEN_SECONDS,
    }
    return jwt.encode(claims, secret, algorithm="HS256")


def user_signer(
    secret: Callable[[], str], host: str, now: Callable[[], float]
) -> Callable[[Visitor], Mapping[str, str]]:
    """The header of each request to `host`; none for an anonymous visitor.

    `secret` is called for each token, because secrets are loaded late and rotated. `now` returns
    the Unix time.
    """

    def sign(visitor: Visitor) -> Mapping[str, str]:
        if not visitor.user:
            return {}
        return {USER_HEADER: user_token(visitor, secret(), host, now())}

    return sign
