"""Who may look at the panel: whoever has the operator's token, or something signed with it.

A *ticket* opens the panel once, within minutes: it stands in a link, which may be seen over a
shoulder or kept in a history. The page exchanges it for a *pass*, which is good for hours. Nothing
is stored, but which tickets were used.
"""

from __future__ import annotations

from kefu.signing import is_signed, key_for, sign

MIN_LENGTH = 32
"""Characters of the operator's token."""

TICKET_LIFE = 600.0
PASS_LIFE = 12 * 3600.0
"""Both in seconds."""


class AdminTokens:
    def __init__(self, secret: str = "") -> None:
        """While there is no secret (""), nothing is good."""
        self._key = self._token_key = b""
        self._own = ""
        if secret:
            self.learn(secret)

    @property
    def known(self) -> bool:
        return bool(self._key)

    def learn(self, secret: str) -> None:
        """This token from now on; what was signed with another is good no longer."""
        if len(secret) < MIN_LENGTH:
            raise ValueError(f"has fewer than {MIN_LENGTH} characters")
        self._key = key_for("kefu admin signature", secret)
        self._token_key = key_for("kefu admin token", secret)
        self._own = sign(self._token_key, secret)

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
        if not self._key:
            return False
        # By its signature, so that not even the length shows in the time.
        same = is_signed(self._token_key, bearer, self._own)
        return self._checked("pass", bearer, now) is not None or same

    def _signed(self, kind: str, nonce: str, expires: float) -> str:
        if not self._key:
            raise ValueError("There is no token to sign with.")
        head = f"{kind}.{int(expires)}.{nonce}"
        return f"{head}.{sign(self._key, head)}"

    def _checked(self, kind: str, text: str, now: float) -> str | None:
        head, _, signature = text.rpartition(".")
        given, _, rest = head.partition(".")
        if not (self._key and is_signed(self._key, head, signature) and given == kind):
            return None
        expires, _, nonce = rest.partition(".")
        return nonce if now < int(expires) else None
