"""Controls access to stored chats: by random session ids, and by signed tokens that expire.

Tokens are not stored. The store is read only after the token was checked. An invalid token
therefore gets the same response, in the same time, for existing and for absent sessions.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from kefu.auth.signing import is_signed, key_for, sign
from kefu.sessions.store.model import SessionId

ID_BYTES = 16
"""Length of a session id: 128 bits."""

SECRET_BYTES = 32
"""Length of the store's secret, before it is written as hexadecimal digits."""


def session_id(entropy: bytes) -> SessionId:
    """A session id of 32 hexadecimal digits, from `ID_BYTES` random bytes."""
    return SessionId(entropy.hex())


class SessionTokens:
    """Issues and checks the tokens of sessions."""

    def __init__(self, secrets: Sequence[str], life: float) -> None:
        """The first secret signs new tokens. Tokens signed with any of `secrets` are accepted, so
        that secrets can be rotated. `life` is in seconds.
        """
        self.set_secrets(secrets)
        self._life = life

    @property
    def has_secrets(self) -> bool:
        return bool(self._keys)

    def set_secrets(self, secrets: Sequence[str]) -> None:
        """Replace the secrets."""
        self._keys = [key_for("kefu session token", secret) for secret in secrets]

    def issue(self, session: SessionId, now: float, owner: str = "") -> str:
        """A new token. With `owner`, it is valid only for requests of that user of the site."""
        expires = f"{int(now + self._life)}"
        return f"{expires}.{sign(self._keys[0], _claim(expires, session, owner))}"

    def owns(self, token: str, session: SessionId, now: float, owner: str = "") -> bool:
        """Whether this token was issued for this session and owner, and has not expired."""
        expires, _, signature = token.partition(".")
        claim = _claim(expires, session, owner)
        # All keys are checked, so that the time does not show which key signed the token.
        matches = [is_signed(key, claim, signature) for key in self._keys]
        return any(matches) and now < int(expires)

    def session_for(self, client_message_id: str, address: str, owner: str = "") -> SessionId:
        """The session id for the first message of a chat; a retry of the message gets the same id.

        The id depends on a secret, the IP address and the user. Other visitors with the same
        `client_message_id` therefore get other ids, and cannot guess this one.
        """
        seed = " ".join(filter(None, (address, client_message_id, owner))).encode()
        key = hmac.digest(self._keys[0], b"kefu first message", hashlib.sha256)
        return session_id(hmac.digest(key, seed, hashlib.sha256)[:ID_BYTES])


def _claim(expires: str, session: str, owner: str) -> str:
    return f"{expires} {session} {owner}" if owner else f"{expires} {session}"
