"""The contract of every ContactStore (H2): stored once, delivered by one, nothing lost."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from kefu.sessions.store.contacts import Before, ContactRequest
from kefu.sessions.store.model import Retention
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.migrations import MIGRATIONS, most_in_tree
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import DAY, ONE, TWO
from tests.contract.engines import HandClock


def asked(clock: HandClock, name: str = "request-1") -> ContactRequest:
    return ContactRequest(
        name, ONE, "Kari 客", "kari@example.no", "Svalbard?\n🙂", clock.now, due_at=clock.now
    )


async def test_h2_a_request_is_stored_once_whatever_is_sent_again(
    sessions: Sessions, clock: HandClock
) -> None:
    first = asked(clock)
    again = first._replace(message="other", created_at=clock.now + 1)
    await asyncio.gather(*(sessions.add_contact(first) for _ in range(5)))
    await sessions.add_contact(again)
    assert list(await sessions.contacts(10)) == [first]


async def test_h2_one_of_many_claims_gets_a_request(sessions: Sessions, clock: HandClock) -> None:
    await sessions.add_contact(asked(clock))
    claims = (sessions.claim_contact(clock.now, clock.now + 60) for _ in range(8))
    got = [one for one in await asyncio.gather(*claims) if one]
    assert got == [asked(clock)._replace(attempts=1, due_at=clock.now + 60)]


async def test_h2_a_claim_that_never_ends_is_due_again(
    sessions: Sessions, clock: HandClock
) -> None:
    """As of a process that was killed while it delivered."""
    await sessions.add_contact(asked(clock))
    lost = await sessions.claim_contact(clock.now, clock.now + 60)
    assert lost
    clock.now += 59
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None
    clock.now += 2
    again = await sessions.claim_contact(clock.now, clock.now + 60)
    assert again
    assert again.attempts == 2
    # The first process was not killed, only slow: the second one decides.
    await sessions.end_contact(lost, due_at=0.0, delivered_at=None)
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None


async def test_h2_a_failed_delivery_is_due_at_its_time_and_a_delivered_one_never(
    sessions: Sessions, clock: HandClock
) -> None:
    await sessions.add_contact(asked(clock))
    first = await sessions.claim_contact(clock.now, clock.now + 60)
    assert first
    await sessions.end_contact(first, due_at=clock.now + 5, delivered_at=None)
    assert await sessions.claim_contact(clock.now + 4, clock.now + 60) is None
    clock.now += 5
    second = await sessions.claim_contact(clock.now, clock.now + 60)
    assert second
    await sessions.end_contact(second, due_at=second.due_at, delivered_at=clock.now)
    clock.now += DAY
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None
    await sessions.add_contact(asked(clock))  # the client's retry of a delivered request
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None
    [kept] = await sessions.contacts(10)
    assert kept.attempts == 2
    assert kept.delivered_at == pytest.approx(clock.now - DAY)


async def test_h2_every_waiting_request_is_claimed_and_the_newest_are_listed_first(
    sessions: Sessions, clock: HandClock
) -> None:
    names = [f"request-{number}" for number in range(5)]
    for name in names:
        await sessions.add_contact(asked(clock, name))
        clock.now += 1
    claimed = [await sessions.claim_contact(clock.now, clock.now + 60) for _ in names]
    assert sorted(one.id for one in claimed if one) == names
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None
    assert [one.id for one in await sessions.contacts(2)] == names[:2:-1]


async def test_s3_requests_with_a_chat_are_listed_apart_from_those_without(
    sessions: Sessions, clock: HandClock
) -> None:
    for number in range(6):
        chat = ONE if number % 3 == 0 else ""
        await sessions.add_contact(asked(clock, f"request-{number}")._replace(session_id=chat))
        clock.now += 1

    def ends(found: Sequence[ContactRequest]) -> list[str]:
        return [one.id[-1] for one in found]

    assert ends(await sessions.contacts(9)) == list("543210")
    with_chat, without = await sessions.contacts_by_kind(3, None, None)
    assert ends(with_chat) == list("30")
    assert ends(without) == list("542")
    places = [Before(one.created_at, one.id) for one in (with_chat[0], without[-1])]
    with_chat, without = await sessions.contacts_by_kind(3, *places)
    assert ends(with_chat) == ["0"]
    assert ends(without) == ["1"]
    with_chat, without = await sessions.contacts_by_kind(3, Before(0.0, ""), None)
    assert ends(with_chat) == []


async def test_h23_the_requests_of_a_chat_are_those_of_no_other(
    sessions: Sessions, clock: HandClock
) -> None:
    """Oldest first. A request that was sent without a chat belongs to none."""
    for name, chat in (
        ("request-2", ONE),
        ("request-1", ONE),
        ("request-3", TWO),
        ("request-4", ""),
    ):
        await sessions.add_contact(asked(clock, name)._replace(session_id=chat))
        clock.now += 1
    found = await sessions.contacts_of(ONE)
    assert [(one.id, one.email) for one in found] == [
        ("request-2", asked(clock).email),
        ("request-1", asked(clock).email),
    ]
    assert await sessions.contacts_of("") == []
    await sessions.delete_contacts(ONE)
    assert await sessions.contacts_of(ONE) == []
    clock.now += 31 * DAY
    assert await sessions.contacts_of(TWO) == []


async def test_h2_a_request_expires_like_a_chat(sessions: Sessions, clock: HandClock) -> None:
    await sessions.add_contact(asked(clock))
    clock.now += 31 * DAY
    assert await sessions.contacts(10) == []


async def test_m9_the_list_is_paged_to_its_end_also_among_requests_of_one_moment(
    sessions: Sessions, clock: HandClock
) -> None:
    """M9: the list ended after 200 rows, so spam pushed real visitors out of sight."""
    names = [f"request-{number}" for number in range(7)]
    for number, name in enumerate(names):
        await sessions.add_contact(asked(clock, name))
        clock.now += number % 2
    found, before = list[str](), None
    while rows := await sessions.contacts(3, before):
        found += [one.id for one in rows]
        before = Before(rows[-1].created_at, rows[-1].id)
    assert found == names[::-1]


async def test_m9_a_request_is_marked_as_done_and_open_again(
    sessions: Sessions, clock: HandClock
) -> None:
    """While it is done it is not delivered."""
    await sessions.add_contact(asked(clock))
    assert await sessions.mark_contact("request-1", clock.now)
    assert await sessions.mark_contact("request-1", clock.now + 1)
    assert [one.done_at for one in await sessions.contacts(10)] == [pytest.approx(clock.now + 1)]
    assert await sessions.claim_contact(clock.now, clock.now + 60) is None
    assert await sessions.mark_contact("request-1", None)
    assert [one.done_at for one in await sessions.contacts(10)] == [None]
    claimed = await sessions.claim_contact(clock.now, clock.now + 60)
    assert claimed
    await sessions.end_contact(claimed, due_at=clock.now, delivered_at=clock.now)
    for done_at in (clock.now, None):
        assert await sessions.mark_contact("request-1", done_at)
    assert await sessions.claim_contact(clock.now + 99, clock.now + 160) is None
    assert not await sessions.mark_contact("request-2", clock.now)
    clock.now += 31 * DAY
    assert not await sessions.mark_contact("request-1", clock.now)


async def test_h22_a_request_is_delivered_again_if_an_operator_wants_so(
    sessions: Sessions, clock: HandClock
) -> None:
    """A failed one at once, and one that was delivered and is done."""
    await sessions.add_contact(asked(clock))
    failed = await sessions.claim_contact(clock.now, clock.now + 60)
    assert failed
    await sessions.end_contact(failed, due_at=clock.now + 3600, delivered_at=None)
    assert await sessions.redeliver_contact("request-1", clock.now)
    second = await sessions.claim_contact(clock.now, clock.now + 60)
    assert second
    await sessions.end_contact(second, due_at=second.due_at, delivered_at=clock.now)
    await sessions.mark_contact("request-1", clock.now)
    assert await sessions.claim_contact(clock.now + 60, clock.now + 120) is None
    assert await sessions.redeliver_contact("request-1", clock.now)
    [listed] = await sessions.contacts(9)
    assert (listed.delivered_at, listed.done_at) == (None, None)
    third = await sessions.claim_contact(clock.now, clock.now + 60)
    assert third
    assert third.attempts == 3
    await sessions.end_contact(third, due_at=clock.now, delivered_at=None, is_tried=False)
    third = await sessions.claim_contact(clock.now, clock.now + 60)
    assert third
    assert third.attempts == 3
    assert not await sessions.redeliver_contact("request-2", clock.now)
    clock.now += 3600
    assert await sessions.claim_contact(clock.now - 3599, clock.now) is None
    clock.now += 31 * DAY
    assert not await sessions.redeliver_contact("request-1", clock.now)


async def test_s4_a_request_is_deleted_and_delivered_no_more(
    sessions: Sessions, clock: HandClock
) -> None:
    for name in ("request-1", "request-2"):
        await sessions.add_contact(asked(clock, name))
    claimed = await sessions.claim_contact(clock.now, clock.now + 60)
    assert claimed
    for _ in range(2):
        await sessions.delete_contact(claimed.id)
    await sessions.end_contact(claimed, due_at=0.0, delivered_at=None)
    assert [one.id for one in await sessions.contacts(10)] != [claimed.id]
    rest = [await sessions.claim_contact(clock.now, clock.now + 60) for _ in range(2)]
    assert len({one.id for one in rest if one} - {claimed.id}) == 1


async def test_h22_a_mail_to_a_visitor_is_due_once_and_changed_by_one(
    sessions: Sessions, clock: HandClock
) -> None:
    """The line is to be mailed at its time; of two servers one begins, and one saves the end."""
    await sessions.add_contact(asked(clock))
    first = asked(clock)
    assert await sessions.mails_due(clock.now + DAY, 9) == []
    due = first._replace(mail_due_at=clock.now + 180.25, mail_line=4)
    assert await sessions.set_mail(first, due)
    assert not await sessions.set_mail(first, due._replace(mail_line=6))
    assert await sessions.mails_due(clock.now + 180, 9) == []
    clock.now += 181
    [found] = await sessions.mails_due(clock.now, 9)
    assert found == due
    begun = due._replace(mail_due_at=clock.now + 60, mail_attempts=1)
    assert sorted(await asyncio.gather(*(sessions.set_mail(found, begun) for _ in range(4)))) == [
        False,
        False,
        False,
        True,
    ]
    assert await sessions.mails_due(clock.now, 9) == []
    ended = begun._replace(mail_due_at=0.0, mail_attempts=0, mailed_at=clock.now + 1.5)
    assert await sessions.set_mail(begun, ended)
    clock.now += 600
    assert await sessions.mails_due(clock.now, 9) == []
    assert await sessions.contacts_of(ONE) == [ended]
    later = ended._replace(mail_due_at=clock.now + 5, mail_line=8)
    assert await sessions.set_mail(ended, later)
    assert [one.mail_line for one in await sessions.mails_due(clock.now + 5, 9)] == [8]


async def test_h22_a_deleted_request_has_no_mail(sessions: Sessions, clock: HandClock) -> None:
    await sessions.add_contact(asked(clock))
    due = asked(clock)._replace(mail_due_at=clock.now + 5, mail_line=4)
    assert await sessions.set_mail(asked(clock), due)
    await sessions.delete_contacts(ONE)
    assert await sessions.mails_due(clock.now + 5, 9) == []
    assert not await sessions.set_mail(due, due._replace(mail_line=6))
    assert await sessions.contacts(9) == []


async def test_s4_requests_are_found_by_their_address_in_any_case_of_its_letters(
    sessions: Sessions, clock: HandClock
) -> None:
    for name, email in (("a", "Kari@Example.no"), ("b", "kari@example.no.x"), ("c", "")):
        await sessions.add_contact(asked(clock, name)._replace(email=email))
    assert [one.id for one in await sessions.contacts_from(" kari@example.NO")] == ["a"]
    assert await sessions.contacts_from("nobody@example.no") == []


async def test_s4_the_accepted_consent_is_kept_with_the_request(
    sessions: Sessions, clock: HandClock
) -> None:
    agreed = asked(clock)._replace(consent="I agree 同意.")
    await sessions.add_contact(agreed)
    assert list(await sessions.contacts(10)) == [agreed]


async def test_s4_an_older_file_gets_the_new_columns_of_its_requests(
    tmp_path: Path, clock: HandClock
) -> None:
    """The tenth schema is the one before them."""
    file = tmp_path / "kefu.sqlite3"
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        for migration in MIGRATIONS[:10]:
            for statement in migration.split(";"):
                db.execute(statement.replace("{fill}", str(most_in_tree(4096))))
        db.execute("PRAGMA user_version = 10")
        db.execute(
            "INSERT INTO contacts (id, session, created, attempts, due, delivered, name, email,"
            " message) VALUES (?, ?, ?, 0, ?, NULL, ?, ?, ?)",
            (*asked(clock)[:2], clock.now, clock.now, *asked(clock)[2:5]),
        )
    store = SqliteStore(file, clock)
    sessions = store.sessions(Retention())
    assert list(await sessions.contacts(10)) == [asked(clock)]
    assert await sessions.mark_contact("request-1", clock.now)
    await store.aclose()
