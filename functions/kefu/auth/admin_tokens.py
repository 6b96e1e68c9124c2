"""Checks access to the operator's panel: by the operator's token, or by a text signed with it.

A *ticket* is part of a link. Links can end up in a browser history, so a ticket can be used only
once, within minutes. The panel exchanges the ticket for a *pass*, which is valid for hours. Only
the used tickets are stored. A command signs a short pass for each request, so that the server,
which may be a wrong server, never gets the token. `kefu chat` and `kefu test` sign a *check*, which
is good for the bot check alone.

A ticket or pass may be for one operator, for one of several sites, or for reading alone. Its nonce
says so.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from kefu.auth.signing import is_signed, key_for, sign

MIN_LENGTH = 32
"""Minimum length of the operator's token in characters."""

MAX_NAME = 64
"""Maximum length of an operator's name in characters."""

TICKET_LIFE = 600.0
PASS_LIFE = 12 * 3600.0
COMMAND_LIFE = 300.0
"""Lifetimes in seconds."""


Kind = Literal["pass", "check", "state"]
"""`state`: of a sign-in at an OpenID provider, which has begun."""


class Holder(NamedTuple):
    """Who may use a ticket or a pass, and for what."""

    site: str = ""
    """The site to which it is limited; "" for the whole service."""
    operator: str = ""
    """The name of the operator; "" if it is not known."""
    may: str = ""
    """`read`: only that. "": everything."""


def nonce_for(nonce: str, holder: Holder) -> str:
    """The nonce of a ticket or pass for a holder."""
    # Any name can be in a link and in a header so.
    return "@".join((nonce, *(one.encode().hex() for one in holder))).rstrip("@")


def holder_in(nonce: str) -> Holder:
    return Holder(*(bytes.fromhex(one).decode() for one in nonce.split("@")[1:]))


class AdminTokens:
    def __init__(self, secret: str = "") -> None:
        """`secret` is the operator's token. With "", every token and pass is rejected."""
        self._key = self._token_key = b""
        self._token_signature = ""
        if secret:
            self.set_secret(secret)

    def set_secret(self, secret: str) -> None:
        """Replace the operator's token. Tickets and passes of the earlier token become invalid.

        Raises ValueError for a token that is too short.
        """
        if len(secret) < MIN_LENGTH:
            raise ValueError(f"has fewer than {MIN_LENGTH} characters")
        self._key = key_for("kefu admin signature", secret)
        self._token_key = key_for("kefu admin token", secret)
        self._token_signature = sign(self._token_key, secret)

    def ticket(self, nonce: str, now: float, life: float = TICKET_LIFE) -> str:
        """A new ticket. `nonce` are unique letters and digits; `life` is in seconds."""
        return self._signed("ticket", nonce, now + life)

    def redeem(self, ticket: str, now: float) -> str | None:
        """The nonce of a valid ticket, None otherwise. The caller must mark the nonce as used."""
        return self._checked("ticket", ticket, now)

    def issue(
        self,
        nonce: str,
        now: float,
        life: float = PASS_LIFE,
        kind: Kind = "pass",
    ) -> str:
        """A new pass, check or state."""
        return self._signed(kind, nonce, now + life)

    def is_token(self, bearer: str) -> bool:
        """Whether `bearer` is the operator's token."""
        # Signatures have equal lengths, so the time does not depend on the token's length.
        return bool(self._key) and is_signed(self._token_key, bearer, self._token_signature)

    def admits(self, bearer: str, now: float) -> bool:
        """Whether `bearer` is the operator's token or a valid pass."""
        return self.is_token(bearer) or self._checked("pass", bearer, now) is not None

    def holder_of(self, bearer: str, now: float) -> Holder:
        """The holder of a pass that `admits` accepts."""
        return holder_in(self._checked("pass", bearer, now) or "")

    def id_of(self, bearer: str, now: float) -> str:
        """The id of a valid pass; "" for anything else."""
        return (self._checked("pass", bearer, now) or "").partition("@")[0]

    def admits_check(self, bearer: str, now: float) -> bool:
        """Whether `bearer` is a token or pass that `admits` accepts, or a valid check."""
        return self.admits(bearer, now) or self._checked("check", bearer, now) is not None

    def admits_state(self, state: str, now: float) -> bool:
        """Whether `state` is of a sign-in that has begun."""
        return self._checked("state", state, now) is not None

    def derived(self, purpose: str, state: str) -> str:
        """A secret of 43 characters for a state, which is not stored."""
        return sign(self._key, f"{purpose} of {state}")

    def _signed(self, kind: str, nonce: str, expires: float) -> str:
        if not self._key:
            raise ValueError("The operator's token is not set.")
        head = f"{kind}.{int(expires)}.{nonce}"
        return f"{head}.{sign(self._key, head)}"

    def _checked(self, kind: str, text: str, now: float) -> str | None:
        """The nonce of a valid ticket or pass, None otherwise."""
        head, _, signature = text.rpartition(".")
        text_kind, _, rest = head.partition(".")
        if not (self._key and is_signed(self._key, head, signature) and text_kind == kind):
            return None
        expires, _, nonce = rest.partition(".")
        return nonce if now < int(expires) else None
