"""Who may look at the panel: whoever has the operator's token, or something signed with it.

A *ticket* opens the panel once, within minutes: it stands in a link, which may be seen over a
shoulder or kept in a history. The page exchanges it for a *pass*, which is good for hours. Nothing
is stored, but which tickets were used.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

MIN_LENGTH = 32
"""Characters of the operator's token."""

TICKET_LIFE = 600.0
PASS_LIFE = 12 * 3600.0
"""Both in seconds."""


class AdminTokens:
    def __init__(self, secret: str = "") -> None:
        """While there is no secret (""), nothing is good."""
        self._secret = b""
        if secret:
            self.learn(secret)

    @property
    def known(self) -> bool:
        return bool(self._secret)

    def learn(self, secret: str) -> None:
        """This token from now on; what was signed with another is good no longer."""
        if len(secret) < MIN_LENGTH:
            raise ValueError(f"has fewer than {MIN_LENGTH} characters")
        self._secret = secret.encode()

    def ticket(self, nonce: str, now: float, life: float = TICKET_LIFE) -> str:
        """`nonce`: letters and digits that no other ticket has. `life` in seconds."""
        return self._signed("ticket", nonce, now + life)

    def redeem(self, ticket: str, now: float) -> str | None:
        """The nonce of a good ticket, to be used up by the caller; None for any other text."""
        return self._checked("ticket", ticket, now)

    def issue(self, nonce: str, now: float) -> str:
        """A pass."""
        return self._signed("pass", nonce, now + PASS_LIFE)

    def admits(self, bearer: str, now: float) -> bool:
        """The token itself, or a pass."""
        if not self._secret:
            return False
        # Of digests, so that not even the length shows in the time.
        given, own = (
            self._mac("token", text)
            for text in (bearer.encode("utf-8", "surrogatepass"), self._secret)
        )
        same = hmac.compare_digest(given, own)
        return self._checked("pass", bearer, now) is not None or same

    def _signed(self, kind: str, nonce: str, expires: float) -> str:
        head = f"{kind}.{int(expires)}.{nonce}"
        return f"{head}.{_text(self._mac('signature', head.encode()))}"

    def _checked(self, kind: str, text: str, now: float) -> str | None:
        head, _, signature = text.rpartition(".")
        if not self._secret:
            return None
        expected = _text(self._mac("signature", head.encode("utf-8", "surrogatepass")))
        good = hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), expected.encode())
        given, _, rest = head.partition(".")
        if not good or given != kind:
            return None
        expires, _, nonce = rest.partition(".")
        return nonce if now < int(expires) else None

    def _mac(self, purpose: str, text: bytes) -> bytes:
        if not self._secret:
            raise ValueError("There is no token to sign with.")
        key = hmac.digest(self._secret, b"kefu admin " + purpose.encode(), hashlib.sha256)
        return hmac.digest(key, text, hashlib.sha256)


def _text(mac: bytes) -> str:
    return base64.urlsafe_b64encode(mac).decode().rstrip("=")
