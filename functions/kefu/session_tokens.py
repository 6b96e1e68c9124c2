"""Who owns a kept chat: an id that cannot be guessed, and a signed token for it that expires.

Nothing is stored for it, and no store is asked before a token is good: a chat that is not there and
one that is another's look the same, also by the clock.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

from kefu.sessions import SessionId

ID_BYTES = 16
"""128 bits."""


def session_id(entropy: bytes) -> SessionId:
    """32 hexadecimal digits; `entropy` are `ID_BYTES` random bytes."""
    return SessionId(entropy.hex())


class Tokens:
    def __init__(self, secrets: Sequence[str], life: float) -> None:
        """The first secret signs, all are accepted: so they are rotated. `life` in seconds."""
        self._keys = [
            hmac.digest(s.encode(), b"kefu session token", hashlib.sha256) for s in secrets
        ]
        self._life = life

    def issue(self, session: SessionId, now: float, owner: str = "") -> str:
        """`owner`: the user whose session it is; empty for whoever holds the token."""
        expires = f"{int(now + self._life)}"
        return f"{expires}.{_sign(self._keys[0], expires, session, owner)}"

    def owns(self, token: str, session: SessionId, now: float, owner: str = "") -> bool:
        """Whether this token was issued for this session and owner, and is not too old."""
        expires, _, signature = token.partition(".")
        given = signature.encode()
        # All of them, whichever fits: no time tells.
        good = [
            hmac.compare_digest(given, _sign(k, expires, session, owner).encode())
            for k in self._keys
        ]
        return any(good) and now < int(expires)

    def session_for(self, client_message_id: str, address: str, owner: str = "") -> SessionId:
        """The session that a first message begins: the same one when it is sent again.

        Nobody without the secret can tell which, and nobody at another address gets it, nor
        another user at the same.
        """
        seed = " ".join(filter(None, (address, client_message_id, owner))).encode()
        key = hmac.digest(self._keys[0], b"kefu first message", hashlib.sha256)
        return session_id(hmac.digest(key, seed, hashlib.sha256)[:ID_BYTES])


def _sign(key: bytes, expires: str, session: str, owner: str) -> str:
    text = f"{expires} {session} {owner}" if owner else f"{expires} {session}"
    mac = hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return base64.urlsafe_b64encode(mac).decode().rstrip("=")
