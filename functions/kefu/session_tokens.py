"""Who owns a kept chat: an id that cannot be guessed, and a signed token for it that expires.

Nothing is stored for it, and no store is asked before a token is good: a chat that is not there and
one that is another's look the same, also by the clock.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from kefu.sessions import SessionId
from kefu.signing import is_signed, key_for, sign

ID_BYTES = 16
"""128 bits."""


def session_id(entropy: bytes) -> SessionId:
    """32 hexadecimal digits; `entropy` are `ID_BYTES` random bytes."""
    return SessionId(entropy.hex())


class Tokens:
    def __init__(self, secrets: Sequence[str], life: float) -> None:
        """The first secret signs, all are accepted: so they are rotated. `life` in seconds."""
        self._keys = [key_for("kefu session token", secret) for secret in secrets]
        self._life = life

    def issue(self, session: SessionId, now: float, owner: str = "") -> str:
        """`owner`: the user whose session it is; empty for whoever holds the token."""
        expires = f"{int(now + self._life)}"
        return f"{expires}.{sign(self._keys[0], _claim(expires, session, owner))}"

    def owns(self, token: str, session: SessionId, now: float, owner: str = "") -> bool:
        """Whether this token was issued for this session and owner, and is not too old."""
        expires, _, signature = token.partition(".")
        claim = _claim(expires, session, owner)
        # All of them, whichever fits: no time tells.
        good = [is_signed(key, claim, signature) for key in self._keys]
        return any(good) and now < int(expires)

    def session_for(self, client_message_id: str, address: str, owner: str = "") -> SessionId:
        """The session that a first message begins: the same one when it is sent again.

        Nobody without the secret can tell which, and nobody at another address gets it, nor
        another user at the same.
        """
        seed = " ".join(filter(None, (address, client_message_id, owner))).encode()
        key = hmac.digest(self._keys[0], b"kefu first message", hashlib.sha256)
        return session_id(hmac.digest(key, seed, hashlib.sha256)[:ID_BYTES])


def _claim(expires: str, session: str, owner: str) -> str:
    return f"{expires} {session} {owner}" if owner else f"{expires} {session}"
