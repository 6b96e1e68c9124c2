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

_RULE = f"\n{'_' * 72}\n\n"
"""Between the requests of a mail. A quoted line begins with `>`, so no visitor can write one."""


FIRST_PAUSE, LONGEST_PAUSE = 2.0, 3600.0
"""Seconds before a failed delivery is repeated. Each pause is twice the previous pause."""


def pause_after(attempts: int) -> float:
    """Seconds to wait after so many failed attempts, at least one."""
    return min(FIRST_PAUSE * 2.0 ** min(attempts - 1, 20), LONGEST_PAUSE)


class Delivery(NamedTuple):
    request: ContactRequest
    fields: tuple[str, ...]
    """The fields of the form."""
    transcript: Sequence[StoredMessage]
    panel: str
    """The link to the chat, or to the list of requests, in the panel; "" without a panel.

    It is the path alone where the address of the service is not known."""


class LimitReached(NamedTuple):
    """A notice that today's further requests are delivered from tomorrow on."""

    day: str
    """The date (UTC), YYYY-MM-DD."""
    deliveries: int
    panel: str
    """The link to the list of requests in the panel; "" without a panel."""


class Frequency(NamedTuple):
    """How often requests are delivered. Requests beyond it wait."""

    seconds: float
    """The length of a period. Periods begin at multiples of it, in Unix time."""
    most: int
    """Deliveries of a period."""
    together: int
    """Requests of one delivery, at most."""


A_DAY = 200
"""Deliveries of a day (UTC) to a webhook or a topic."""

DAILY = Frequency(86400.0, A_DAY, 1)
"""For a program, or a topic on AWS: each request at once, within a limit for the day."""

HOURLY = Frequency(3600.0, 1, 20)
"""For a mailbox that a person reads: one mail at once, the next requests together an hour later."""


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

    @property
    def frequency(self) -> Frequency: ...

    async def deliver(self, deliveries: Sequence[Delivery], now: float, key: str) -> str:
        """Deliver requests, at least one. Returns "", or the reason of a failure, for the log."""
        ...

    async def warn(self, limit: LimitReached, now: float, key: str) -> str:
        """Deliver a notice. The result is like the result of `deliver`."""
        ...


class ByWebhook(NamedTuple):
    webhook: Webhook
    name: str = "the contact webhook"
    signed: bool = True
    frequency: Frequency = DAILY

    async def deliver(self, deliveries: Sequence[Delivery], now: float, key: str) -> str:
        [delivery] = deliveries
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
    frequency: Frequency = DAILY

    async def deliver(self, deliveries: Sequence[Delivery], now: float, key: str) -> str:
        # SNS accepts printable ASCII of less than 100 characters as a subject. An id is 64 long.
        subject = f"A visitor asks for a person: {deliveries[0].request.id}"
        if (count := len(deliveries)) > 1:
            subject = f"{count} visitors ask for a person"
        text = _RULE.join(as_text(one, LARGEST_MAIL // count) for one in deliveries)
        if count == self.frequency.together > 1:
            text += f"{_RULE}Others may wait. Look into the panel.\n"
        return await self.topic.publish(subject, text)

    async def warn(self, limit: LimitReached, now: float, key: str) -> str:
        text = (
            f"Kefu has mailed {limit.deliveries} requests for a person today, {limit.day} (UTC).\n"
            "More wait in the panel, and are mailed from tomorrow on.\n"
        )
        panel = f"\nPanel: {_place(limit.panel)}\n" if limit.panel else ""
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


def as_text(delivery: Delivery, space: int = LARGEST_MAIL) -> str:
    """The text of a mail, with as much of the conversation as `space` bytes have room for.

    Each line of a visitor or of the model is quoted, so that none of them looks like a line of
    Kefu.
    """
    request = delivery.request
    head = [
        "A visitor of your site asks for a person.",
        "",
        *([f"Panel:    {_place(delivery.panel)}"] if delivery.panel else []),
        f"Sent:     {_moment(request.created_at)}",
        f"Request:  {request.id} (a second mail with this id is a repetition)",
    ]
    for name in delivery.fields:
        head += ["", f"{name.capitalize()}:", *quoted(getattr(request, name))]
    if request.consent:
        head += ["", "Accepted:", *quoted(request.consent)]
    text = "\n".join(head)
    return f"{text}\n\n{_conversation(delivery.transcript, space - len(text.encode()))}"


def _place(panel: str) -> str:
    """A link into the panel. Its path alone is no link in a mail."""
    note = " on your server (set KEFU_ADMIN_URL to get a link here)"
    return panel + note if panel.startswith("/") else panel


def _conversation(messages: Sequence[StoredMessage], space: int) -> str:
    """The newest messages that fit into `space` bytes."""
    if not messages:
        return "There is no stored conversation.\n"
    parts: list[str] = []
    for message in reversed(messages):
        who = message.operator or ("Visitor" if message.role == "user" else "Assistant")
        lines = [f"{' '.join(who.split())}, {_moment(message.created_at)}:"]
        part = "\n".join([*lines, *quoted(message.content)]) + "\n"
        space -= len(part.encode()) + 1
        if space < 0:
            parts.append("Older messages are not in this mail.\n")
            break
        parts.append(part)
    return "\n".join(["The conversation:\n", *reversed(parts)])


def quoted(text: str) -> Iterator[str]:
    """The lines of a text as quoted lines of a mail."""
    return (f"> {line}" for line in text.splitlines())


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
