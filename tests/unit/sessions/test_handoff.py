"""H2, H3: a request for a person is checked, stored first, and delivered until it is accepted."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from kefu.errors import InvalidRequest, StoreFull
from kefu.sessions.people.delivery import (
    A_DAY,
    DAILY,
    HOURLY,
    LARGEST_MAIL,
    ByMail,
    ByWebhook,
    Delivery,
    Frequency,
    Recipient,
    as_text,
)
from kefu.sessions.people.handoff import ContactForm, HandOff, Outlet
from kefu.sessions.store.capacity import Capacity
from kefu.sessions.store.contacts import ContactRequest, FilledForm
from kefu.sessions.store.model import Session, StoredMessage
from kefu.stores.memory import MemoryStore
from tests.contract.chats import ONE, new, turn
from tests.contract.engines import ClockByHand
from tests.fakes.chats_in_memory import ChatsInMemory

FORM = ContactForm(("email", "message"), "I agree.")
FILLED = FilledForm("request-1", "", " kari@example.no ", "Svalbard? secret-5f3c9a", True)


@dataclass
class Hook:
    """A webhook that fails as often as a test wants."""

    failures: int = 0
    got: list[tuple[bytes, Mapping[str, str]]] = field(default_factory=list)

    async def post(self, body: bytes, headers: Mapping[str, str]) -> str:
        self.got.append((body, headers))
        return "HTTP 500" if len(self.got) <= self.failures else ""


@dataclass
class Topic:
    """A topic of mails that fails as often as a test wants."""

    failures: int = 0
    got: list[tuple[str, str]] = field(default_factory=list)

    async def publish(self, subject: str, text: str) -> str:
        self.got.append((subject, text))
        return "InternalError" if len(self.got) <= self.failures else ""


@dataclass
class Site:
    clock: ClockByHand
    store: ChatsInMemory
    hook: Hook
    handoff: HandOff
    lines: list[str]

    @property
    def session(self) -> Session:
        return new(ONE, self.clock.now())


def site(
    recipient: Hook | Topic | None,
    form: ContactForm = FORM,
    *,
    has_panel: bool = False,
    frequency: Frequency = DAILY,
) -> Site:
    by: Recipient | None = None
    if recipient:
        mails = ByMail(recipient, frequency=frequency) if isinstance(recipient, Topic) else None
        by = mails or (ByWebhook(recipient) if isinstance(recipient, Hook) else None)
    clock, lines = ClockByHand(), list[str]()
    store = ChatsInMemory(clock.now)
    handoff = HandOff(
        store,
        clock,
        form,
        Outlet(by, MemoryStore(clock.now), "x" * 32, has_panel) if by else None,
        redact=lambda text: text.replace("secret-5f3c9a", "[key]"),
        log=lines.append,
    )
    hook = recipient if isinstance(recipient, Hook) else Hook()
    return Site(clock, store, hook, handoff, lines)


async def test_h2_a_request_is_delivered_once_with_the_transcript_and_a_signature() -> None:
    here = site(Hook())
    await turn(here.store, here.clock.hand, "Do you ship to Norway?", "Yes.")
    await here.handoff.submit(here.session, FILLED)
    await here.handoff.deliver_due()
    await here.handoff.deliver_due()
    [(body, headers)] = here.hook.got
    content = json.loads(body)
    assert {name: content[name] for name in ("type", "id", "email", "message", "session_id")} == {
        "type": "contact_request",
        "id": "request-1",
        "email": "kari@example.no",
        "message": "Svalbard? [key]",
        "session_id": ONE,
    }
    assert "name" not in content
    assert content["consent"] == {"text": "I agree.", "accepted_at": here.clock.hand.now}
    assert [(one["role"], one["content"]) for one in content["transcript"]] == [
        ("user", "Do you ship to Norway?"),
        ("assistant", "Yes."),
    ]
    assert headers["Idempotency-Key"] == "request-1"
    at, signature = (part[2:] for part in headers["Kefu-Signature"].replace("v1", "v").split(","))
    key = (await here.handoff.signing_key()).encode()
    assert signature.strip("=") == hmac.new(key, at.encode() + b"." + body, "sha256").hexdigest()
    [stored] = await here.store.contacts(10)
    assert stored.delivered_at == here.clock.hand.now


async def test_h2_the_newest_hundred_messages_are_delivered() -> None:
    here = site(Hook())
    for number in range(60):
        await turn(here.store, here.clock.hand, f"question {number}", f"answer {number}")
    await here.handoff.submit(here.session, FILLED)
    await here.handoff.deliver_due()
    [(body, _)] = here.hook.got
    told = [one["content"] for one in json.loads(body)["transcript"]]
    assert (len(told), told[0], told[-1]) == (100, "question 10", "answer 59")


async def test_h2_a_webhook_that_fails_five_times_gets_the_same_request_later_each_time() -> None:
    here = site(Hook(failures=5))
    await here.handoff.submit(here.session, FILLED)
    begun, times = here.clock.hand.now, list[float]()
    while here.clock.hand.now < begun + 3600:
        before = len(here.hook.got)
        await here.handoff.deliver_due()
        times += [here.clock.hand.now - begun] * (len(here.hook.got) - before)
        here.clock.hand.now += 1
    assert times == pytest.approx([0, 2, 6, 14, 30, 62])
    assert len({body for body, _ in here.hook.got}) == 1
    assert {headers["Idempotency-Key"] for _, headers in here.hook.got} == {"request-1"}
    assert len(here.lines) == 5
    assert not [line for line in here.lines if "kari" in line or "Svalbard" in line]


async def test_h2_a_delivery_that_was_killed_is_repeated_after_thirty_seconds() -> None:
    class Killed(Hook):
        async def post(self, body: bytes, headers: Mapping[str, str]) -> str:
            if not self.got:
                self.got.append((body, headers))
                raise asyncio.CancelledError
            return await super().post(body, headers)

    here = site(Killed())
    await here.handoff.submit(here.session, FILLED)
    with pytest.raises(asyncio.CancelledError):
        await here.handoff.deliver_due()
    for seconds, times in ((29, 1), (2, 2), (60, 2)):
        here.clock.hand.now += seconds
        await here.handoff.deliver_due()
        assert len(here.hook.got) == times


async def test_h2_the_pause_of_a_webhook_that_fails_for_weeks_is_at_most_an_hour() -> None:
    here = site(Hook(failures=10**6))
    await here.handoff.submit(here.session, FILLED)
    for _ in range(100):
        await here.handoff.deliver_due()
        here.clock.hand.now += 3600
    assert len(here.hook.got) == 100


@pytest.mark.parametrize(
    ("changed", "param"),
    [
        ({"email": " "}, "email"),
        ({"email": "kari"}, "email"),
        ({"email": "kari@example"}, "email"),
        ({"message": "\n"}, "message"),
        ({"consent": False}, "consent"),
    ],
)
async def test_h3_a_form_that_is_not_complete_or_without_consent_is_refused(
    changed: dict[str, Any], param: str
) -> None:
    here = site(Hook())
    with pytest.raises(InvalidRequest) as refused:
        here.handoff.check(here.session, FILLED._replace(**changed))
    assert refused.value.param == param


async def test_h2_a_field_that_the_form_has_not_is_not_stored() -> None:
    here = site(None, ContactForm(("email",)))
    await here.handoff.submit(here.session, FILLED._replace(name="Kari", consent=False))
    [stored] = await here.store.contacts(10)
    assert (stored.name, stored.message) == ("", "")


async def test_h2_without_a_webhook_requests_wait_in_the_panel() -> None:
    here = site(None)
    await here.handoff.submit(here.session, FILLED)
    await here.handoff.deliver_due()
    [stored] = await here.store.contacts(10)
    assert (stored.attempts, stored.delivered_at) == (0, None)
    assert not here.handoff.delivers


async def test_h2_a_transcript_that_was_deleted_is_not_delivered() -> None:
    here = site(Hook())
    await turn(here.store, here.clock.hand, "My illness", "I see.")
    await here.handoff.submit(here.session, FILLED)
    await here.store.delete(ONE)
    await here.handoff.deliver_due()
    [(body, _)] = here.hook.got
    assert json.loads(body)["transcript"] == []


async def test_h2_a_mail_has_the_form_the_transcript_and_a_link_into_the_panel() -> None:
    """Lines of the visitor and of the model are quoted: they cannot pretend to be Kefu's."""
    topic = Topic()
    here = site(topic, has_panel=True)
    here.handoff.note_url("https://chat.example.com")
    here.clock.hand.now = 1_764_000_000.0
    await turn(here.store, here.clock.hand, "Norway?\nPanel:    https://evil.example", "Yes.")
    await here.handoff.submit(here.session, FILLED)
    await here.handoff.deliver_due()
    [(subject, text)] = topic.got
    assert subject == "A visitor asks for a person: request-1"
    assert (
        text
        == f"""A visitor of your site asks for a person.

Panel:    https://chat.example.com/admin#s={ONE}
Sent:     2025-11-24 16:00 UTC
Request:  request-1 (a second mail with this id is a repetition)

Email:
> kari@example.no

Message:
> Svalbard? [key]

Accepted:
> I agree.

The conversation:

Visitor, 2025-11-24 16:00 UTC:
> Norway?
> Panel:    https://evil.example

Assistant, 2025-11-24 16:00 UTC:
> Yes.
"""
    )
    assert await here.handoff.signing_key() == ""


async def test_h2_a_topic_that_fails_loses_nothing_and_gets_the_same_text_again() -> None:
    topic = Topic(failures=2)
    here = site(topic)
    await here.handoff.submit(None, FILLED)
    for _ in range(10):
        await here.handoff.deliver_due()
        [listed] = await here.store.contacts(10)
        assert (listed.delivered_at is None) is (len(topic.got) < 3)
        here.clock.hand.now += 1
    assert len(topic.got) == 3
    assert len(set(topic.got)) == 1
    assert here.lines == [
        "the topic of contact mails failed: InternalError; tried again in 2 s",
        "the topic of contact mails failed: InternalError; tried again in 4 s",
    ]


@pytest.mark.parametrize("characters", ["a", "字", "\n"])
def test_h2_a_mail_is_never_larger_than_sns_accepts(characters: str) -> None:
    """The oldest messages are left out."""
    each = characters * 16_000
    messages = [
        StoredMessage(number, ONE, "user", f"no {number} {each}", "ok", 0.0)
        for number in range(1, 101)
    ]
    request = ContactRequest("request-1", ONE, "", "kari@example.no", each, 0.0)
    text = as_text(Delivery(request, ("email", "message"), messages, ""))
    assert len(text.encode()) <= LARGEST_MAIL + 100
    assert "> no 100 " in text
    assert "> no 1 " not in text
    assert "Older messages are not in this mail." in text


async def test_h2_a_webhook_gets_a_link_into_the_panel_if_there_is_one() -> None:
    """Where the address of the service is not known, it is the path alone."""
    links = []
    for has_panel, url in ((False, ""), (True, ""), (True, "https://chat.example.com")):
        here = site(Hook(), has_panel=has_panel)
        here.handoff.note_url(url)
        here.handoff.note_url("")
        await here.handoff.submit(None, FILLED)
        await here.handoff.deliver_due()
        links.append(json.loads(here.hook.got[0][0])["panel"])
    assert links == [None, "/admin#requests", "https://chat.example.com/admin#requests"]


async def test_h2_a_mail_without_the_address_of_the_service_says_how_to_get_a_link() -> None:
    """A Host header does not give the address, because anybody can send another one."""
    topic = Topic()
    here = site(topic, has_panel=True)
    await filled(here, A_DAY + 1)
    for _ in range(20):
        await here.handoff.deliver_due()
    place = "/admin#requests on your server (set KEFU_ADMIN_URL to get a link here)\n"
    assert f"\nPanel:    {place}" in topic.got[0][1]
    assert topic.got[-1][1].endswith(f"\nPanel: {place}")


async def filled(here: Site, count: int) -> None:
    for number in range(count):
        await here.handoff.submit(None, FILLED._replace(id=f"request-{number}"))


def kinds(hook: Hook) -> list[str]:
    return [json.loads(body)["type"] for body, _ in hook.got]


async def test_m8_a_day_has_a_limit_of_deliveries_and_one_notice_and_the_rest_come_tomorrow() -> (
    None
):
    """M8: 43,000 mails a day went into the owner's mailbox, with a text of the sender's choice."""
    here = site(Hook(), has_panel=True)
    await filled(here, A_DAY + 5)
    for _ in range(60):
        await here.handoff.deliver_due()
        here.clock.hand.now += 60
    assert kinds(here.hook) == ["contact_request"] * A_DAY + ["contact_limit"]
    body, headers = here.hook.got[-1]
    day = json.loads(body)["day"]
    assert json.loads(body) == {
        "type": "contact_limit",
        "day": day,
        "deliveries": A_DAY,
        "panel": "/admin#requests",
    }
    assert headers["Idempotency-Key"] == f"limit-{day}"
    assert here.lines == [
        f"{A_DAY} requests for a person were delivered today; more wait in the panel"
    ]
    here.clock.hand.now += 86_400
    for _ in range(3):
        await here.handoff.deliver_due()
    assert kinds(here.hook)[A_DAY + 1 :] == ["contact_request"] * 5
    assert len({headers["Idempotency-Key"] for _, headers in here.hook.got}) == A_DAY + 6


async def test_m8_deliveries_that_fail_do_not_count_and_a_lost_notice_is_sent_again() -> None:
    here = site(Hook(failures=A_DAY))
    await filled(here, A_DAY + 1)
    while not (accepted := [one for one in await here.store.contacts(500) if one.delivered_at]):
        await here.handoff.deliver_due()
        here.clock.hand.now += 1
    while len(accepted) < A_DAY:
        await here.handoff.deliver_due()
        here.clock.hand.now += 1
        accepted = [one for one in await here.store.contacts(500) if one.delivered_at]
    here.hook.failures = 10**6
    here.clock.hand.now += 60
    await here.handoff.deliver_due()
    here.hook.failures = 0
    assert kinds(here.hook)[2 * A_DAY :] == ["contact_limit"]
    assert here.lines[-1] == "the contact webhook failed: HTTP 500"
    here.clock.hand.now += 3600
    await filled(here, A_DAY + 2)
    await here.handoff.deliver_due()
    assert kinds(here.hook)[2 * A_DAY :] == ["contact_limit"] * 2


async def test_h22_the_first_request_is_mailed_at_once_and_the_next_ones_an_hour_later() -> None:
    """Together, and the store has no delivery in between."""
    topic = Topic(failures=1)
    here = site(topic, frequency=HOURLY)
    here.clock.hand.now = 1_764_000_000.0  # a full hour
    await turn(here.store, here.clock.hand, "Do you ship to Norway?", "Yes.")
    await here.handoff.submit(here.session, FILLED)
    await here.handoff.deliver_due()
    assert here.handoff.trouble.endswith("failed: InternalError")
    here.clock.hand.now += 10
    await here.handoff.deliver_due()
    assert here.handoff.trouble == ""
    await filled(here, 4)  # one is the request that was mailed
    for _ in range(50):
        await here.handoff.deliver_due()
        here.clock.hand.now += 60
    assert len(topic.got) == 2
    assert topic.got[1][0] == "A visitor asks for a person: request-1"
    waiting = [one for one in await here.store.contacts(9) if one.delivered_at is None]
    assert [one.attempts for one in waiting] == [0, 0, 0]
    # Another server postpones them, too, which is no failed attempt in the panel.
    other = HandOff(
        here.store, here.clock, FORM, here.handoff._outlet, redact=str, log=here.lines.append
    )
    here.clock.hand.now = 1_764_003_599.0
    await other.deliver_due()
    waiting = [one for one in await here.store.contacts(9) if one.delivered_at is None]
    assert [(one.attempts, one.due_at) for one in waiting] == [(0, 1_764_003_600.0)] * 3
    here.clock.hand.now = 1_764_003_600.0
    await here.handoff.deliver_due()
    await here.handoff.deliver_due()
    [_, _, (subject, text)] = topic.got
    assert subject == "3 visitors ask for a person"
    assert text.count("\nEmail:\n> kari@example.no") == 3
    assert all(one.delivered_at for one in await here.store.contacts(9))


async def test_h22_ten_thousand_forms_are_one_mail_an_hour_and_another_server_sends_none() -> None:
    topic = Topic()
    here = site(topic, frequency=HOURLY, has_panel=True)
    here.clock.hand.now = 1_764_000_000.0
    outlet = here.handoff._outlet
    other = HandOff(here.store, here.clock, FORM, outlet, redact=str, log=here.lines.append)
    await filled(here, 10_000)
    for _ in range(48):
        await here.handoff.deliver_due()
        await other.deliver_due()
        here.clock.hand.now += 1800
    assert len(topic.got) == 24
    assert here.lines == []
    assert {subject for subject, _ in topic.got} == {"20 visitors ask for a person"}
    assert topic.got[0][1].endswith("Others may wait. Look into the panel.\n")
    assert max(len(text.encode()) for _, text in topic.got) < LARGEST_MAIL


async def test_m8_the_notice_of_a_mailbox_names_the_limit_and_the_panel() -> None:
    topic = Topic()
    here = site(topic, has_panel=True)
    here.handoff.note_url("https://chat.example.com")
    here.clock.hand.now = 1_764_000_000.0
    await filled(here, A_DAY + 1)
    for _ in range(20):
        await here.handoff.deliver_due()
    subject, text = topic.got[-1]
    assert subject == "More requests for a person wait"
    assert (
        text
        == f"""Kefu has mailed {A_DAY} requests for a person today, 2025-11-24 (UTC).
More wait in the panel, and are mailed from tomorrow on.

Panel: https://chat.example.com/admin#requests
"""
    )


@pytest.mark.parametrize(
    ("used", "without_chat", "with_chat"),
    [(89, True, True), (95, False, True), (100, False, False)],
)
async def test_s3_requests_count_in_the_space_limit_of_the_store(
    used: int, without_chat: bool, with_chat: bool
) -> None:
    """S3: 16 KB each were stored until the disk was full, past the limit of the chats."""

    async def size() -> int:
        return used

    here = site(None)
    here.handoff.capacity = Capacity(size, 100, here.clock.monotonic, lambda _: None)
    await here.handoff.capacity.room()
    for session, is_stored in ((None, without_chat), (here.session, with_chat)):
        with nullcontext() if is_stored else pytest.raises(StoreFull):
            here.handoff.check(session, FILLED)
    await here.handoff.capacity.aclose()
