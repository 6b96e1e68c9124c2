"""Defines a visitor's request for a person, and the port of its store.

A request is stored before it is delivered. It is no part of its chat: "Delete chat" deletes the
transcript, and the request itself expires like a chat. `kefu erase` deletes both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class FilledForm(NamedTuple):
    """A contact form as a visitor sends it."""

    id: str
    name: str
    email: str
    message: str
    consent: bool


class ContactRequest(NamedTuple):
    id: str
    """The client's id of the request, by which a retry is recognized."""
    session_id: str
    """Empty without a stored chat."""
    name: str
    email: str
    message: str
    created_at: float
    """Unix time in seconds, like all times in this module."""
    attempts: int = 0
    """Number of deliveries that were begun."""
    due_at: float = 0.0
    """When the next delivery may begin. While one is running: when it counts as failed."""
    delivered_at: float | None = None


class ContactStore(Protocol):
    """Stores requests for a person. Every method raises StoreUnavailable on failure."""

    async def add_contact(self, request: ContactRequest) -> None:
        """Save a request. Does nothing if one with this id is stored."""
        ...

    async def claim_contact(self, now: float, until: float) -> ContactRequest | None:
        """Begin the delivery of one request that is due at `now`; None if there is none.

        Atomic: of concurrent calls, one gets the request. It is due again at `until`, unless
        `end_contact` is called before.
        """
        ...

    async def end_contact(
        self, claimed: ContactRequest, *, due_at: float, delivered_at: float | None
    ) -> None:
        """Save the result of a delivery: `delivered_at`, or the time `due_at` of the next one.

        Does nothing for a request that was claimed again since.
        """
        ...

    async def contacts(self, limit: int) -> Sequence[ContactRequest]:
        """The newest requests, delivered ones among them, by descending creation time."""
        ...

    async def delete_contacts(self, session_id: str) -> None:
        """Delete the requests that were sent from a chat. Idempotent."""
        ...
