"""Mails the lines of operators to visitors who have left, where the contact form has their address.

A visitor counts as gone if no page has shown a line some minutes after it was written. Only the
lines of operators are mailed, and only to visitors who have agreed to it in the form. No word of a
visitor is in the mail, so an address of somebody else that they enter gets no text of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from kefu.chat.limits import LimitStore
from kefu.errors import StoreUnavailable
from kefu.knowledge.terms import language_told
from kefu.relay.call import Clock
from kefu.sessions.people.delivery import pause_after, quoted
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import SessionId, StoredMessage
from kefu.sessions.store.ports import Sessions
from kefu.visitor_texts import texts_in

A_DAY = 3
"""Mails of a chat in a day (UTC)."""

TRIES = 30
"""Attempts to send a mail, in about a day. Then the panel says that it could not be sent."""

LEASE_SECONDS = 60.0
"""Seconds after which an attempt without a result counts as failed."""

AT_ONCE = 5
"""Mails of one run."""

LINES = 40
"""The newest messages of a chat, among which lines are searched."""

_REMEMBERED = 10_000
"""Chats of which a process knows the newest line that was shown."""

_DAY = 86400.0
# Without "?", so that a header has no encoded word (RFC 2047) with other addresses or a line break.
_ADDRESS = re.compile(r"[\w.!#$%&'*+/=^`{|}~-]{1,64}@[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+", re.ASCII)


class Mailbox(Protocol):
    async def write(self, to: str, subject: str, text: str) -> str:
        """Send a mail to an address. Returns "", or the reason of a failure."""
        ...


class Terms(NamedTuple):
    """What a mail is sent for, and what it says beside the lines."""

    agreed: str
    """The sentence of the form with which visitors agree to these mails."""
    site_of: Callable[[str], str]
    """The address of the site that has this preset, such as `https://www.example.com`."""
    quiet: float
    """Seconds from a line to its mail."""


class VisitorMails:
    def __init__(
        self,
        store: Sessions,
        clock: Clock,
        mailbox: Mailbox,
        limits: LimitStore,
        terms: Terms,
        log: Callable[[str], None],
    ) -> None:
        """`log` receives messages without data of visitors."""
        self._store = store
        self._clock = clock
        self._mailbox = mailbox
        self._limits = limits
        self._terms = terms
        self._log = log
        self._shown: dict[str, int] = {}

    async def written(self, session_id: SessionId, line: int) -> None:
        """Mail a line later, unless a page of the visitor shows it before.

        Does nothing for a chat without a request that allows it. Idempotent. Raises
        StoreUnavailable.
        """
        for request in reversed(await self._store.contacts_of(session_id)):
            if self._allows(request) and request.mail_line < line:
                due = self._clock.now() + self._terms.quiet
                later = request._replace(mail_due_at=due, mail_line=line, mail_attempts=0)
                if not await self._store.set_mail(request, later):
                    await self.written(session_id, line)  # another line or attempt came between
            if self._allows(request):
                return

    async def shown(self, session_id: SessionId, messages: Iterable[StoredMessage]) -> None:
        """A page of the visitor shows these messages: lines among them need no mail."""
        line = max((one.id for one in messages if one.operator), default=0)
        if line <= self._shown.get(session_id, 0):
            return
        try:
            for request in await self._store.contacts_of(session_id):
                if request.mail_due_at and request.mail_line <= line:
                    await self._store.set_mail(request, _ended(request))
        except StoreUnavailable:
            return  # the page asks again
        if len(self._shown) >= _REMEMBERED:
            self._shown.clear()
        self._shown[session_id] = line

    async def send_due(self) -> None:
        """Send the mails that are due. Raises StoreUnavailable."""
        for request in await self._store.mails_due(self._clock.now(), AT_ONCE):
            claimed = request._replace(
                mail_due_at=self._clock.now() + LEASE_SECONDS,
                mail_attempts=request.mail_attempts + 1,
            )
            if await self._store.set_mail(request, claimed):
                await self._store.set_mail(claimed, await self._sent(claimed))

    async def _sent(self, request: ContactRequest) -> ContactRequest:
        """The request after an attempt to send its mail."""
        now, name = self._clock.now(), SessionId(request.session_id)
        session = await self._store.session(name)
        newest = await self._store.messages(name, limit=LINES, now=now) if session else ()
        lines = _unseen(newest, request.mailed_at)
        if not session or not lines:
            return _ended(request)
        day = int(now // _DAY)
        budget = f"visitor mails:{day}:{name}"
        if not await self._limits.reserve(budget, 1, A_DAY):
            return request._replace(mail_due_at=(day + 1) * _DAY, mail_attempts=0)
        subject, text = as_mail(lines, self._terms.site_of(session.config_id), self._terms.agreed)
        failure = await self._mailbox.write(request.email.strip(), subject, text)
        if not failure:
            return _ended(request)._replace(mailed_at=now)
        await self._limits.settle(budget, -1)
        self._log(f"a mail to a visitor failed: {failure} (attempt {request.mail_attempts})")
        if request.mail_attempts >= TRIES:
            return request._replace(mail_due_at=0.0)
        later = self._clock.now() + pause_after(request.mail_attempts)
        return request._replace(mail_due_at=later)

    def _allows(self, request: ContactRequest) -> bool:
        address = request.email.strip()
        return self._terms.agreed in request.consent and bool(_ADDRESS.fullmatch(address))


def as_mail(lines: Sequence[StoredMessage], site: str, agreed: str) -> tuple[str, str]:
    """The subject and the text of a mail, in the language of the lines, else of the sentence."""
    host, who = site.partition("://")[2], " ".join(lines[-1].operator.split())
    written = " ".join(one.content for one in lines)
    texts = texts_in(language_told(written) or language_told(agreed))
    parts = [line for one in lines for line in (*quoted(one.content), "")]
    begin, end = texts.wrote.format(name=who, host=host), texts.go_on.format(site=site)
    text = "\n".join([begin, "", *parts, end, "", texts.agreed, *quoted(agreed), ""])
    return texts.subject.format(host=host), text


def _unseen(newest: Sequence[StoredMessage], after: float) -> Sequence[StoredMessage]:
    """The lines after the visitor's last message that were written after this time."""
    asked = max((one.id for one in newest if one.role == "user"), default=0)
    return [one for one in newest if one.operator and one.id > asked and one.created_at > after]


def _ended(request: ContactRequest) -> ContactRequest:
    return request._replace(mail_due_at=0.0, mail_attempts=0)
