"""Hands a visitor over to a person: takes the contact form, and delivers it to the site's owner.

A request is stored first. Its delivery is repeated until the recipient has accepted it. A process
that is killed in between leaves a claim that ends, so that another process delivers the request.
The recipient may receive a request twice; both deliveries have the id of the request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kefu.auth.signing import key_for, sign
from kefu.errors import InvalidRequest
from kefu.relay.completion_stream import Clock
from kefu.sessions.contact_delivery import Delivery, Recipient
from kefu.sessions.contacts import ContactRequest, FilledForm
from kefu.sessions.hooks.steps import Hooks
from kefu.sessions.model import Session, SessionId, StoredMessage
from kefu.sessions.people import Attendance
from kefu.sessions.ports import Sessions
from kefu.sessions.service import in_time

LEASE = 30.0
"""Seconds after which a delivery without a result counts as failed."""

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 3600.0
"""Seconds before a failed delivery is repeated. Each pause is twice the one before."""

AT_ONCE = 20
"""Deliveries of one run."""

TRANSCRIPT = 100
"""Messages of the chat that are delivered with a request, the newest ones."""

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


class ContactForm(NamedTuple):
    """The form that visitors fill in."""

    fields: tuple[str, ...]
    """Of `name`, `email` and `message`. All of them are required."""
    consent: str = ""
    """The text that a visitor must accept; empty: none."""


class HandOff:
    def __init__(
        self,
        store: Sessions,
        clock: Clock,
        form: ContactForm,
        recipient: Recipient | None,
        *,
        secret: str,
        redact: Callable[[str], str],
        log: Callable[[str], None],
        hooks: Hooks | None = None,
    ) -> None:
        """`secret` signs deliveries if the store has no secret yet. Without a `recipient`, requests
        are only listed in the panel. `log` receives messages without data of visitors.
        """
        self.form = form
        self.delivers = recipient is not None
        self.has_panel = False
        """Whether deliveries have a link into the panel."""
        self._own_url = ""
        self._store = store
        self._clock = clock
        self._recipient = recipient
        self._secret = secret
        self._redact = redact
        self._log = log
        self._hooks = hooks or Hooks((), log)

    async def submit(self, session: Session | None, filled: FilledForm) -> None:
        """Store a request, with the stored chat that it belongs to, if there is one.

        That chat waits for a person then. Raises InvalidRequest, UpstreamUnavailable.
        """
        self._check(filled)
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
        )
        await in_time(self._store.add_contact(request))
        if session:  # a chat that a person has stays theirs
            await in_time(self._store.attend(session.id, Attendance("waiting", "", now)))

        async def load() -> ContactRequest:
            return request

        await self._hooks.tell("contact", load)

    def _check(self, filled: FilledForm) -> None:
        for name in self.form.fields:
            if not getattr(filled, name).strip():
                raise InvalidRequest(f"{name}: must not be empty.", param=name)
        if "email" in self.form.fields and not _EMAIL.fullmatch(filled.email.strip()):
            raise InvalidRequest("email: must be an e-mail address.", param="email")
        if self.form.consent and not filled.consent:
            raise InvalidRequest("consent: must be true.", param="consent")

    def note_url(self, url: str) -> None:
        """Note the public address of this service, for links into the panel; "" changes nothing."""
        self._own_url = url or self._own_url

    async def newest(self, limit: int) -> Sequence[ContactRequest]:
        """The newest requests, for the panel. Raises StoreUnavailable."""
        return await self._store.contacts(limit)

    async def deliver_due(self) -> None:
        """Deliver the requests that are due. Raises StoreUnavailable."""
        if self._recipient is None:
            return
        for _ in range(AT_ONCE):
            now = self._clock.now()
            request = await self._store.claim_contact(now, now + LEASE)
            if request is None:
                return
            await self._deliver(self._recipient, request)

    async def _deliver(self, recipient: Recipient, request: ContactRequest) -> None:
        messages: Sequence[StoredMessage] = ()
        if request.session_id:
            session, now = SessionId(request.session_id), self._clock.now()
            messages = await self._store.messages(session, limit=TRANSCRIPT, now=now)
        delivery = Delivery(request, self.form.fields, messages, self._panel_link(request))
        key = await self.signing_key()
        failure = await recipient.deliver(delivery, self._clock.now(), key)
        now = self._clock.now()
        if failure:
            pause = min(FIRST_PAUSE * 2.0 ** min(request.attempts - 1, 20), LONGEST_PAUSE)
            await self._store.end_contact(request, due_at=now + pause, delivered_at=None)
            self._log(f"{recipient.name} failed: {failure}; tried again in {pause:.0f} s")
        else:
            await self._store.end_contact(request, due_at=request.due_at, delivered_at=now)

    def _panel_link(self, request: ContactRequest) -> str:
        if not self.has_panel:
            return ""
        place = f"s={request.session_id}" if request.session_id else "requests"
        return f"{self._own_url}/admin#{place}"

    async def signing_key(self) -> str:
        """The key with which a webhook checks the signature; "" if deliveries have none.

        Raises StoreUnavailable.
        """
        if not (self._recipient and self._recipient.signed):
            return ""
        secret = await self._store.secret(self._secret)
        return sign(key_for("kefu contact webhook", secret), "v1")
