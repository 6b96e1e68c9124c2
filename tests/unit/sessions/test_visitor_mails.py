"""H22: an operator's lines reach a visitor who has left by mail, and nobody else.

The mails go to a real mail server on loopback.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kefu.sessions.people.visitor_mails import (
    A_DAY,
    LEASE_SECONDS,
    TRIES,
    Terms,
    VisitorMails,
    as_mail,
)
from kefu.sessions.store.attendance import Attendance, OperatorMessage
from kefu.sessions.store.contacts import ContactRequest, mail_state
from kefu.sessions.store.model import SessionId, StoredMessage
from kefu.stores.memory import MemoryStore
from kefu.upstream.mail import SmtpMail
from tests.contract.chats import ONE, turn
from tests.contract.engines import ClockByHand
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.mailbox import PASSWORD, Mailbox

AGREED = "If I have left, the answer may be mailed to me."
SITE = "https://shop.example"
KARI = "kari@example.no"
QUIET, DAY = 180.0, 86400.0


class Talk:
    """A chat that Ingrid has, on a server that mails visitors."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.clock = ClockByHand()
        self.store = ChatsInMemory(self.clock.now)
        self.mailbox = mailbox
        self.log: list[str] = []
        self.mails = self.server()

    def server(self) -> VisitorMails:
        terms = Terms(AGREED, lambda _: SITE, QUIET)
        smtp = SmtpMail(self.mailbox.url(), PASSWORD)
        limits = MemoryStore(self.clock.now)
        return VisitorMails(self.store, self.clock, smtp, limits, terms, self.log.append)

    async def begin(self, email: str = KARI, consent: str = f"I agree. {AGREED}") -> None:
        now = self.clock.now()
        await turn(self.store, self.clock.hand, "a person, please", "One moment.")
        request = ContactRequest("request-1", ONE, "", email, "buy pills", now, consent=consent)
        await self.store.add_contact(request)
        for change in (Attendance("waiting"), Attendance("person", "Ingrid", now)):
            await self.store.set_attendance(ONE, change)

    async def line(self, text: str) -> int:
        self.clock.hand.now += 1
        line = OperatorMessage(text, "Ingrid", text)
        saved = await self.store.add_line(ONE, line, self.clock.now())
        assert saved
        await self.mails.written(ONE, saved)
        return saved

    async def after(self, seconds: float) -> list[str]:
        """The texts of the mails that the server has when so many seconds are over."""
        self.clock.hand.now += seconds
        await self.mails.send_due()
        return [one.get_content().replace("\r\n", "\n") for one in self.mailbox.got]

    async def state(self) -> dict[str, float] | None:
        return mail_state(await self.store.contacts_of(ONE))

    async def page(self) -> list[StoredMessage]:
        return list(await self.store.messages(ONE, now=self.clock.now()))


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as running:
        yield running


@pytest.fixture
def talk(mailbox: Mailbox) -> Talk:
    return Talk(mailbox)


async def test_h22_lines_that_no_page_has_shown_are_one_mail(talk: Talk) -> None:
    await talk.begin()
    await talk.line("Yes, we ship to Svalbard.")
    assert await talk.after(QUIET - 2) == []
    second = await talk.line("From mail server\n.\r\nwith a dot")
    await talk.mails.written(ONE, second)  # the panel's retry
    assert await talk.after(QUIET - 1) == []
    [text] = await talk.after(1)
    [mail] = talk.mailbox.got
    assert talk.mailbox.recipients == [[KARI]]
    assert (mail["To"], mail["From"]) == (KARI, "chat@example.com")
    assert mail["Reply-To"] == "help@example.com"
    assert mail["Subject"] == "Answer from shop.example"
    assert mail.get_content_type() == "text/plain"
    assert text == (
        "Ingrid has answered you in the chat on shop.example:\n\n"
        "> Yes, we ship to Svalbard.\n\n"
        "> From mail server\n> .\n> with a dot\n\n"
        f"To go on, answer this mail, or write in the chat again: {SITE}\n\n"
        f"You agreed to this mail in the form:\n> {AGREED}\n"
    )
    assert await talk.state() == {"due_at": 0, "attempts": 0, "mailed_at": talk.clock.now()}
    assert len(await talk.after(DAY)) == 1
    await talk.line("And to Bear Island.")
    texts = await talk.after(QUIET)
    assert len(texts) == 2
    assert "> And to Bear Island." in texts[1]
    assert "Svalbard" not in texts[1]


async def test_h22_a_line_that_a_page_has_shown_is_not_mailed(talk: Talk) -> None:
    await talk.begin()
    await talk.line("one")
    await talk.mails.shown(ONE, await talk.page())
    assert await talk.state() is None
    assert await talk.after(QUIET) == []
    seen = await talk.page()
    await talk.line("two")
    await talk.mails.shown(ONE, seen)  # it has not shown this one
    assert len(await talk.after(QUIET)) == 1


async def test_h22_a_message_of_the_visitor_ends_what_is_to_be_mailed(talk: Talk) -> None:
    await talk.begin()
    await talk.line("Do you need help?")
    await turn(talk.store, talk.clock.hand, "yes", "Fine.")
    assert await talk.after(QUIET) == []
    assert await talk.state() is None


@pytest.mark.parametrize(
    "email",
    [
        "a,b@example.no",
        "a@example.no,b@example.no",
        "<a@example.no>",
        "a@example.no\nBcc: b@example.no",
        "a:b;@example.no",
        '"a b"@example.no',
        "a@[127.0.0.1]",
        "é@example.no",
        "=?utf-8?q?a=0Ab?=@example.no",  # an encoded word, RFC 2047: a line break
        "=?utf-8?q?b=40b.example=2C?=@example.no",  # two addresses
        "",
    ],
)
async def test_h22_only_one_plain_address_is_mailed(talk: Talk, email: str) -> None:
    await talk.begin(email)
    await talk.line("hello")
    assert await talk.after(DAY) == []
    assert talk.mailbox.recipients == []


async def test_h22_a_visitor_who_agreed_to_something_else_is_not_mailed(talk: Talk) -> None:
    """As before the owner had switched it on, or had another sentence."""
    await talk.begin(consent="I agree.")
    await talk.line("hello")
    assert await talk.after(DAY) == []


async def test_h22_a_chat_gets_a_few_mails_a_day_and_the_rest_the_next(talk: Talk) -> None:
    talk.clock.hand.now = 46_400 * DAY  # a day's start
    await talk.begin()
    for number in range(A_DAY + 2):
        await talk.line(f"line {number}")
        await talk.after(QUIET)
    assert len(talk.mailbox.got) == A_DAY
    assert await talk.state() == {
        "due_at": 46_401 * DAY,
        "attempts": 0,
        "mailed_at": talk.clock.now() - 2 * (QUIET + 1),
    }
    last = (await talk.after(DAY))[A_DAY:]
    assert len(last) == 1
    assert f"> line {A_DAY}\n\n> line {A_DAY + 1}" in last[0]


async def test_h22_a_refused_mail_is_sent_later_also_by_another_process(talk: Talk) -> None:
    talk.mailbox.refusals = 2
    await talk.begin()
    await talk.line("hello")
    assert await talk.after(QUIET) == []
    now = talk.clock.now()
    assert await talk.state() == {"due_at": now + 2, "attempts": 1, "mailed_at": 0}
    talk.mails = talk.server()
    assert await talk.after(2) == []
    assert len(await talk.after(4)) == 1
    assert talk.log == [f"a mail to a visitor failed: SMTP 451 (attempt {n})" for n in (1, 2)]
    state = await talk.state()
    assert state
    assert state["attempts"] == 0
    assert state["mailed_at"] == talk.clock.now()


async def test_h22_a_mail_that_no_server_takes_is_given_up_and_says_so(talk: Talk) -> None:
    talk.mailbox.refusals = 1000
    await talk.begin()
    await talk.line("hello")
    await talk.after(QUIET)
    for _ in range(2 * TRIES):
        await talk.after(3600)
    assert len(talk.log) == TRIES
    assert await talk.state() == {"due_at": 0, "attempts": TRIES, "mailed_at": 0}
    talk.mailbox.refusals = 0
    await talk.line("still there?")
    assert "> hello\n\n> still there?" in (await talk.after(QUIET))[0]


async def test_h22_an_attempt_that_was_killed_is_repeated(talk: Talk) -> None:
    await talk.begin()
    await talk.line("hello")
    talk.clock.hand.now += QUIET
    [due] = await talk.store.mails_due(talk.clock.now(), 9)
    killed = due._replace(mail_due_at=talk.clock.now() + LEASE_SECONDS, mail_attempts=1)
    assert await talk.store.set_mail(due, killed)
    assert await talk.after(LEASE_SECONDS - 1) == []
    assert len(await talk.after(1)) == 1


@pytest.mark.parametrize("operator_deletes", [False, True])
async def test_h22_nothing_is_mailed_from_a_deleted_chat(
    talk: Talk, operator_deletes: bool
) -> None:
    await talk.begin()
    await talk.line("hello")
    await talk.store.delete(SessionId(ONE))
    if operator_deletes:
        await talk.store.delete_contacts(ONE)
    assert await talk.after(DAY) == []
    assert await talk.state() is None


@pytest.mark.parametrize(
    ("line", "agreed", "expected"),
    [
        ("送れます。", "同意する。", "shop.exampleからの回答"),
        ("Das ist unterwegs.", "", "Antwort von shop.example"),
        ("OK", "Ich bin mit der Antwort per E-Mail einverstanden.", "Antwort von shop.example"),
    ],
)
def test_h22_a_mail_is_in_the_language_of_its_lines(line: str, agreed: str, expected: str) -> None:
    stored = StoredMessage(4, ONE, "assistant", line, "ok", 1.0, operator="Ada")
    assert as_mail([stored], SITE, agreed)[0] == expected


def test_h22_a_mail_is_chinese_if_a_line_is_and_names_its_site() -> None:
    line = StoredMessage(4, ONE, "assistant", "可以寄到。", "ok", 1.0, operator="小李\nBcc: a@b.c")
    subject, text = as_mail([line], SITE, "同意。")
    assert subject == "来自 shop.example 的回复"
    assert "小李 Bcc: a@b.c 在 shop.example 的聊天中回复了您:\n\n> 可以寄到。\n" in text
    assert text.endswith("\n> 同意。\n")
