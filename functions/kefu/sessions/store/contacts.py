"""Defines a visitor's request for a person, and the port of its store.

A request is stored before its delivery. A request is no part of its chat: a visitor's "Delete chat"
deletes the transcript, and the request itself expires like a chat. An operator deletes both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """When the next delivery may begin. During a delivery: when it counts as failed."""
    delivered_at: float | None = None
    done_at: float | None = None
    """The time at which an operator marked the request as done: it is delivered no more."""
    consent: str = ""
    """The text that the visitor accepted with the form, at `created_at`; empty: none."""
    mail_due_at: float = 0.0
    """When the lines of operators are mailed to the visitor; 0.0: none are to be mailed."""
    mail_line: int = 0
    """The message id of the newest line that was ever to be mailed."""
    mail_attempts: int = 0
    """Number of mails that were begun since the newest success; 0 after a success."""
    mailed_at: float = 0.0
    """When the newest mail was sent; 0.0: never."""

    def is_from(self, email: str) -> bool:
        return self.email.strip().casefold() == email.strip().casefold()


class Before(NamedTuple):
    """A place in the list of requests: the requests after this request."""

    created_at: float
    id: str


def newest(
    stored: Iterable[ContactRequest],
    limit: int,
    before: Before | None,
) -> Sequence[ContactRequest]:
    """Some requests in the order of `ContactStore.contacts`, for stores that read all of them."""
    places = {Before(one.created_at, one.id): one for one in stored}
    newest = sorted((one for one in places if before is None or one < before), reverse=True)
    return [places[one] for one in newest[:limit]]


def mail_state(requests: Sequence[ContactRequest]) -> dict[str, float] | None:
    """The newest mail of a chat, for its operator; None if there is none.

    `due_at`: when it is sent or tried again; 0 after its end. `attempts`: how often it was tried
    without success. `mailed_at`: when the newest one was sent; 0 for never.
    """
    mails = [one for one in requests if one.mail_due_at or one.mail_attempts or one.mailed_at]
    if not mails:
        return None
    due, attempts, mailed = mails[-1].mail_due_at, mails[-1].mail_attempts, mails[-1].mailed_at
    return {"due_at": due, "attempts": attempts, "mailed_at": mailed}


class ContactStore(Protocol):
    """Stores requests for a person. Every method raises StoreUnavailable on failure."""

    async def add_contact(self, request: ContactRequest) -> None:
        """Save a request. Does nothing if the id is stored already."""
        ...

    async def claim_contact(self, now: float, until: float) -> ContactRequest | None:
        """Begin the delivery of one request that is due at `now` and not done; None: there is none.

        Atomic: of concurrent calls, one gets the request. The request is due again at `until`,
        unless `end_contact` is called before.
        """
        ...

    async def end_contact(
        self,
        claimed: ContactRequest,
        *,
        due_at: float,
        delivered_at: float | None,
        is_tried: bool = True,
    ) -> None:
        """Save the result of a delivery: `delivered_at`, or the next attempt's time `due_at`.

        `is_tried`: False for a delivery that was postponed, which does not count as an attempt.
        Does nothing for a request that was claimed again since.
        """
        ...

    async def contacts(self, limit: int, before: Before | None = None) -> Sequence[ContactRequest]:
        """The newest requests, delivered ones among them, by descending creation time and id."""
        ...

    async def contacts_by_kind(
        self, limit: int, with_chat: Before | None, without: Before | None
    ) -> tuple[Sequence[ContactRequest], Sequence[ContactRequest]]:
        """The newest requests that have a chat, and the newest that have none, as in `contacts`.

        `limit` and the place before which the requests are apply to each kind.
        """
        ...

    async def contacts_of(self, session_id: str) -> Sequence[ContactRequest]:
        """The requests that were sent from a chat, by ascending creation time and id."""
        ...

    async def contacts_from(self, email: str) -> Sequence[ContactRequest]:
        """All requests with this address, in any case of its letters.

        Includes expired requests that are not deleted yet.
        """
        ...

    async def mark_contact(self, id: str, done_at: float | None) -> bool:
        """Save when a request was done, None if it is open. False if there is no such request."""
        ...

    async def redeliver_contact(self, id: str, now: float) -> bool:
        """Let a request be delivered again, from `now` on, also one that is done.

        False if there is no such request.
        """
        ...

    async def mails_due(self, now: float, limit: int) -> Sequence[ContactRequest]:
        """Some requests with `0 < mail_due_at <= now`."""
        ...

    async def set_mail(self, before: ContactRequest, after: ContactRequest) -> bool:
        """Save the fields of the mail of `after`, if `mail_due_at` is still that of `before`.

        Atomic. Returns False without a change, and for a request that is deleted.
        """
        ...

    async def delete_contact(self, id: str) -> None:
        """Delete a request. Idempotent."""
        ...

    async def delete_contacts(self, session_id: str) -> None:
        """Delete the requests that were sent from a chat. Idempotent."""
        ...
