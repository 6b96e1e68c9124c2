"""Defines an operator's sign-in to the panel, and the port of its store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class SignIn(NamedTuple):
    """A pass of the panel: see `kefu.auth.admin_tokens`. The pass itself is not stored."""

    id: str
    opened_at: float
    """Unix time in seconds, like all times in this module."""
    expires_at: int
    operator: str = ""
    """The name of the operator; empty if it is not known."""
    site: str = ""
    """The site to which the pass is limited; empty for the whole service."""
    may: str = ""
    """`read`: only that. Empty: everything."""
    ended_at: float | None = None


class PassStore(Protocol):
    """Stores sign-ins until they expire. Every method raises StoreUnavailable on failure."""

    async def add_sign_in(self, new: SignIn) -> None:
        """Save a sign-in. Does nothing if the id is stored already."""
        ...

    async def sign_ins(self, now: float) -> Sequence[SignIn]:
        """The sign-ins that have neither ended nor expired, the newest first."""
        ...

    async def has_ended(self, id: str) -> bool:
        """Whether a sign-in was ended. False for an id that is not stored."""
        ...

    async def end_sign_in(self, id: str, now: float) -> bool:
        """End a sign-in. Idempotent. False if there is none with this id."""
        ...
