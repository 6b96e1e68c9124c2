"""Delivers a request for a person: as signed JSON to a webhook, or as text to a topic of mails."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import StoredMessage

LARGEST_MAIL = 200_000
"""Bytes of a mail; Amazon SNS refuses more than 262,144."""


class Delivery(NamedTuple):
    request: ContactRequest
    fields: tuple[str, ...]
    """The fields of the form."""
    transcript: Sequence[StoredMessage]
    panel: str
    """The link to the chat, or to the list of requests, in the panel; "" without a panel."""


class LimitReached(NamedTuple):
    """A notice that today's further requests are delivered from tomorrow on."""

    day: str
    """The date (UTC), YYYY-MM-DD."""
    deliveries: int
    panel: str
    """The link to the list of requests in the panel; "" without a panel."""


class Webhook(Protocol):
    async def post(self, body: bytes, headers: Mapping[str, str]) -> str:
        """Send a request. Returns "", or the reason of a failure, for the log."""
        ...


class Topic(Protocol):
    async def publish(self, subject: str, text: str) -> str:
        """Send a text to all subscribers. Returns "", or the reason of a failure."""
        ...


class Recipient(Protocol):
    @property
    def name(self) -> str:
        """The outlet's name in the log."""
        ...

    @property
    def signed(self) -> bool:
        """Whether deliveries need the signing key."""
        ...

    async def deliver(self, delivery: Delivery, now: float, key: str) -> str:
        """Deliver a request. Returns "", or the reason of a failure, for the log."""
        ...

    async def warn(self, limit: LimitReached, now: float, key: str) -> str:
        """Deliver a notice. The result is like the result of `deliver`."""
        ...


class ByWebhook(NamedTuple):
    webhook: Webhook
    name: str = "the contact webhook"
    signed: bool = True

    async def deliver(self, delivery: Delivery, now: float, key: str) -> str:
        return await self._post(as_json(delivery), delivery.request.id, now, key)

    async def warn(self, limit: LimitReached, now: float, key: str) -> str:
        content = {"type": "contact_limit", **limit._asdict(), "panel": limit.panel or None}
        return await self._post(json.dumps(content).encode(), f"limit-{limit.day}", now, key)

    async def _post(self, body: bytes, id: str, now: float, key: str) -> str:
        at = f"{int(now)}"
        signature = hmac.digest(key.encode(), f"{at}.".encode() + body, hashlib.sha256)
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": id,
            "Kefu-Signature": f"t={at},v1={signature.hex()}",
        }
        return await self.webhook.post(body, headers)


class ByMail(NamedTuple):
    topic: Topic
    name: str = "the topic of contact mails"
    signed: bool = False

    async def deliver(self, delivery: Delivery, now: float, key: str) -> str:
        # SNS accepts printable ASCII of less than 100 characters as a subject. An id is 64 long.
        subject = f"A visitor asks for a person: {delivery.request.id}"
        return await self.topic.publish(subject, as_text(delivery))

    async def warn(self, limit: LimitReached, now: float, key: str) -> str:
        text = (
            f"Kefu has mailed {limit.deliveries} requests for a person today, {limit.day} (UTC).\n"
            "More wait in the panel, and are mailed from tomorrow on.\n"
        )
        panel = f"\nPanel: {limit.panel}\n" if limit.panel else ""
        return await self.topic.publish("More requests for a person wait", text + panel)


def as_json(delivery: Delivery) -> bytes:
    request = delivery.request
    content = {
        "type": "contact_request",
        "id": request.id,
        "created_at": request.created_at,
        "session_id": request.session_id or None,
        **{name: getattr(request, name) for name in delivery.fields},
        "consent": _consent(request),
        "panel": delivery.panel or None,
        "transcript": [
            {"role": one.role, "content": one.content, "created_at": one.created_at}
            for one in delivery.transcript
        ],
    }
    return json.dumps(content, ensure_ascii=False).encode()


def _consent(request: ContactRequest) -> dict[str, object] | None:
    accepted = {"text": request.consent, "accepted_at": request.created_at}
    return accepted if request.consent else None


def as_text(delivery: Delivery) -> str:
    """The mail. Each line of a visitor or of the model is quoted, so that none of them looks like
    a line of Kefu.
    """
    request = delivery.request
    head = [
        "A visitor of your site asks for a person.",
        "",
        *([f"Panel:    {delivery.panel}"] if delivery.panel else []),
        f"Sent:     {_moment(request.created_at)}",
        f"Request:  {request.id} (a second mail with this id is a repetition)",
    ]
    for name in delivery.fields:
        head += ["", f"{name.capitalize()}:", *_quoted(getattr(request, name))]
    if request.consent:
        head += ["", "Accepted:", *_quoted(request.consent)]
    text = "\n".join(head)
    return f"{text}\n\n{_conversation(delivery.transcript, LARGEST_MAIL - len(text.encode()))}"


def _conversation(messages: Sequence[StoredMessage], space: int) -> str:
    """The newest messages that fit into `space` bytes."""
    if not messages:
        return "There is no stored conversation.\n"
    parts: list[str] = []
    for message in reversed(messages):
        who = message.operator or ("Visitor" if message.role == "user" else "Assistant")
        lines = [f"{' '.join(who.split())}, {_moment(message.created_at)}:"]
        part = "\n".join([*lines, *_quoted(message.content)]) + "\n"
        space -= len(part.encode()) + 1
        if space < 0:
            parts.append("Older messages are not in this mail.\n")
            break
        parts.append(part)
    return "\n".join(["The conversation:\n", *reversed(parts)])


def _quoted(text: str) -> Iterator[str]:
    return (f"> {line}" for line in text.splitlines())


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
