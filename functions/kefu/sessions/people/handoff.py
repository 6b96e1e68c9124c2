"""Hands a visitor over to a person: takes the contact form, and delivers it to the site's owner.

A request is stored first. The delivery of a request is repeated until the recipient has accepted
it. A process that is killed in between leaves a claim that ends, so that another process delivers
the request. The recipient may receive a request twice; both deliveries have the id of the request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kefu.auth.signing import key_for, sign
from kefu.chat.limits import LimitStore
from kefu.errors import InvalidRequest
from kefu.relay.call import Clock
from kefu.sessions.hooks.steps import Hooks
from kefu.sessions.people.delivery import (
    A_DAY,
    DAILY,
    LONGEST_PAUSE,
    Delivery,
    LimitReached,
    Recipient,
    pause_after,
)
from kefu.sessions.store.attendance import Attendance
from kefu.sessions.store.capacity import UNLIMITED, Capacity
from kefu.sessions.store.contacts import ContactRequest, FilledForm
from kefu.sessions.store.model import Session, SessionId, StoredMessage
from kefu.sessions.store.ports import Sessions
from kefu.sessions.turn.saving import before_model

LEASE_SECONDS = 30.0
"""Seconds after which a delivery without a result counts as failed."""

AT_ONCE = 20
"""Requests of one run."""

TRANSCRIPT_MESSAGES = 100
"""Messages of the chat that are delivered with a request: the newest."""

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class ContactForm(NamedTuple):
    """The form that visitors fill in."""

    fields: tuple[str, ...]
    """Some of `name`, `email` and `message`. All fields in the list are required."""
    consent: str = ""
    """The text that a visitor must accept; empty: none."""


class Outlet(NamedTuple):
    """The outlet to which requests are delivered."""

    recipient: Recipient
    limits: LimitStore
    """Counts the deliveries of a day."""
    secret: str
    """Signs deliveries if the store has no secret yet."""
    has_panel: bool = False
    """Whether deliveries have a link into the panel."""


class HandOff:
    def __init__(
        self,
        store: Sessions,
        clock: Clock,
        form: ContactForm,
        outlet: Outlet | None,
        *,
        redact: Callable[[str], str],
        log: Callable[[str], None],
        capacity: Capacity = UNLIMITED,
        hooks: Hooks | None = None,
    ) -> None:
        """Without an `outlet`, requests are only listed in the panel. `log` receives messages
        without data of visitors.
        """
        self.capacity = capacity
        self.form = form
        self.delivers = outlet is not None
        self._own_url = ""
        self.store = store
        self._clock = clock
        self._outlet = outlet
        self._redact = redact
        self._log = log
        self._hooks = hooks or Hooks((), log)
        self._resumes_at = 0.0
        """Until then nothing is delivered, because the limit of the period is reached."""
        self.trouble = ""
        """Why the last delivery of this process failed, for the operator; "" if it did not."""

    async def submit(self, session: Session | None, filled: FilledForm) -> None:
        """Store a request that `check` accepts, with the stored chat that it belongs to, if any.

        The chat then waits for a person. Raises UpstreamUnavailable.
        """
        now = self._clock.now()
        texts = {name: self._redact(getattr(filled, name).strip()) for name in self.form.fields}
        request = ContactRequest(
            id=filled.id,
            session_id=session.id if session else "",
            name=texts.get("name", ""),
            email=texts.get("email", ""),
            message=texts.get("message", ""),
            created_at=now,
            due_at=now,
            consent=self.form.consent,
        )
        await before_model(self.store.add_contact(request))
        if session:  # a chat that a person has stays theirs
            await before_model(
                self.store.set_attendance(session.id, Attendance("waiting", "", now))
            )
        await self._hooks.tell("contact", request)

    def check(self, session: Session | None, filled: FilledForm) -> None:
        """Raise InvalidRequest for a form that is not complete, and StoreFull if there is no space.

        A chat that is stored may add its request until the store is full.
        """
        for name in self.form.fields:
            if not getattr(filled, name).strip():
                raise InvalidRequest(f"{name}: must not be empty.", param=name)
        if "email" in self.form.fields and not _EMAIL.fullmatch(filled.email.strip()):
            raise InvalidRequest("email: must be an e-mail address.", param="email")
        if self.form.consent and not filled.consent:
            raise InvalidRequest("consent: must be true.", param="consent")
        self.capacity.admit(new=session is None)

    def note_url(self, url: str) -> None:
        """Note the public address of this service, for links into the panel; "" changes nothing."""
        self._own_url = url or self._own_url

    async def deliver_due(self) -> None:
        """Deliver the requests that are due. Raises StoreUnavailable."""
        if self._outlet is None or self._clock.now() < self._resumes_at:
            return
        recipient, limits = self._outlet.recipient, self._outlet.limits
        frequency = recipient.frequency
        for _ in range(AT_ONCE // frequency.together):
            now = self._clock.now()
            requests = await self._claim(now, frequency.together)
            if not requests:
                return
            period = int(now // frequency.seconds)
            ends_at = (period + 1) * frequency.seconds
            budget = f"contacts:{frequency.seconds:.0f}:{period}"
            if not await limits.reserve(budget, 1, frequency.most):
                await self._postpone(self._outlet, requests, now, ends_at)
                return
            if not await self._deliver(recipient, requests):
                await limits.settle(budget, -1)
            elif frequency.most == 1:
                self._resumes_at = ends_at

    async def _claim(self, now: float, most: int) -> Sequence[ContactRequest]:
        """Begin the delivery of some requests that are due."""
        found: list[ContactRequest] = []
        while len(found) < most:
            request = await self.store.claim_contact(now, now + LEASE_SECONDS)
            if request is None:
                break
            found.append(request)
        return found

    async def _postpone(
        self, outlet: Outlet, requests: Sequence[ContactRequest], now: float, until: float
    ) -> None:
        """Deliver nothing until the next period.

        A recipient with a limit for the day is told so, once.
        """
        self._resumes_at = min(until, now + LONGEST_PAUSE)
        for request in requests:
            await self.store.end_contact(request, due_at=until, delivered_at=None, is_tried=False)
        if outlet.recipient.frequency != DAILY:
            return
        day = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
        notice = f"contact notice:{day}"
        if not await outlet.limits.reserve(notice, 1, 1):
            return
        self._log(f"{A_DAY} requests for a person were delivered today; more wait in the panel")
        limit = LimitReached(day, A_DAY, self._panel_link(""))
        if failure := await outlet.recipient.warn(limit, now, await self.signing_key()):
            await outlet.limits.settle(notice, -1)
            self._log(f"{outlet.recipient.name} failed: {failure}")

    async def _deliver(self, recipient: Recipient, requests: Sequence[ContactRequest]) -> bool:
        """Return whether the recipient accepted the requests."""
        deliveries = [await self._delivery(one) for one in requests]
        key = await self.signing_key()
        failure = await recipient.deliver(deliveries, self._clock.now(), key)
        now = self._clock.now()
        self.trouble = failure and f"{recipient.name} failed: {failure}"
        for one in requests:
            if failure:
                pause = pause_after(one.attempts)
                await self.store.end_contact(one, due_at=now + pause, delivered_at=None)
                self._log(f"{self.trouble}; tried again in {pause:.0f} s")
            else:
                await self.store.end_contact(one, due_at=one.due_at, delivered_at=now)
        return not failure

    async def _delivery(self, request: ContactRequest) -> Delivery:
        messages: Sequence[StoredMessage] = ()
        if request.session_id:
            session, now = SessionId(request.session_id), self._clock.now()
            messages = await self.store.messages(session, limit=TRANSCRIPT_MESSAGES, now=now)
        link = self._panel_link(request.session_id)
        return Delivery(request, self.form.fields, messages, link)

    def _panel_link(self, session_id: str) -> str:
        if not (self._outlet and self._outlet.has_panel):
            return ""
        place = f"s={session_id}" if session_id else "requests"
        return f"{self._own_url}/admin#{place}"

    async def signing_key(self) -> str:
        """The key with which a webhook checks the signature; "" if deliveries have none.

        Raises StoreUnavailable.
        """
        if not (self._outlet and self._outlet.recipient.signed):
            return ""
        secret = await self.store.secret(self._outlet.secret)
        return sign(key_for("kefu contact webhook", secret), "v1")
