"""Hands a visitor over to a person: takes the contact form, and delivers it to the site's webhook.

A request is stored first. Its delivery is repeated until the webhook has accepted it. A process
that is killed in between leaves a claim that ends, so that another process delivers the request.
The webhook may receive a request twice; both have the same `Idempotency-Key`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kefu.auth.signing import key_for, sign
from kefu.errors import InvalidRequest
from kefu.relay.completion_stream import Clock
from kefu.sessions.contacts import ContactRequest, FilledForm
from kefu.sessions.hooks.steps import Hooks
from kefu.sessions.model import Session, SessionId, Sessions, StoredMessage
from kefu.sessions.people import Attendance
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


class Webhook(Protocol):
    async def post(self, body: bytes, headers: Mapping[str, str]) -> str:
        """Send a request. Returns "" if it was accepted, else the reason, for the log."""
        ...


class HandOff:
    def __init__(
        self,
        store: Sessions,
        clock: Clock,
        form: ContactForm,
        webhook: Webhook | None,
        *,
        secret: str,
        redact: Callable[[str], str],
        log: Callable[[str], None],
        hooks: Hooks | None = None,
    ) -> None:
        """`secret` signs deliveries if the store has no secret yet. Without a `webhook`, requests
        are only listed in the panel. `log` receives messages without data of visitors.
        """
        self.form = form
        self.has_webhook = webhook is not None
        self._store = store
        self._clock = clock
        self._webhook = webhook
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

    async def newest(self, limit: int) -> Sequence[ContactRequest]:
        """The newest requests, for the panel. Raises StoreUnavailable."""
        return await self._store.contacts(limit)

    async def deliver_due(self) -> None:
        """Deliver the requests that are due. Raises StoreUnavailable."""
        if self._webhook is None:
            return
        for _ in range(AT_ONCE):
            now = self._clock.now()
            request = await self._store.claim_contact(now, now + LEASE)
            if request is None:
                return
            await self._deliver(self._webhook, request)

    async def _deliver(self, webhook: Webhook, request: ContactRequest) -> None:
        body = await self._body(request)
        at = f"{int(self._clock.now())}"
        signature = hmac.digest(
            (await self.signing_key()).encode(), f"{at}.".encode() + body, hashlib.sha256
        )
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": request.id,
            "Kefu-Signature": f"t={at},v1={signature.hex()}",
        }
        failure = await webhook.post(body, headers)
        now = self._clock.now()
        if failure:
            pause = min(FIRST_PAUSE * 2.0 ** min(request.attempts - 1, 20), LONGEST_PAUSE)
            await self._store.end_contact(request, due_at=now + pause, delivered_at=None)
            self._log(f"the contact webhook failed: {failure}; tried again in {pause:.0f} s")
        else:
            await self._store.end_contact(request, due_at=request.due_at, delivered_at=now)

    async def _body(self, request: ContactRequest) -> bytes:
        messages: Sequence[StoredMessage] = ()
        if request.session_id:
            session, now = SessionId(request.session_id), self._clock.now()
            messages = await self._store.messages(session, limit=TRANSCRIPT, now=now)
        content = {
            "type": "contact_request",
            "id": request.id,
            "created_at": request.created_at,
            "session_id": request.session_id or None,
            **{name: getattr(request, name) for name in self.form.fields},
            "transcript": [_line(message) for message in messages],
        }
        return json.dumps(content, ensure_ascii=False).encode()

    async def signing_key(self) -> str:
        """The key with which the webhook checks the signature. Raises StoreUnavailable."""
        secret = await self._store.secret(self._secret)
        return sign(key_for("kefu contact webhook", secret), "v1")


def _line(message: StoredMessage) -> dict[str, object]:
    return {"role": message.role, "content": message.content, "created_at": message.created_at}
