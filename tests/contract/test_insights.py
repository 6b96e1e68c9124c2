"""The contract of the search and of the insights: H6, H7."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from kefu.knowledge import terms
from kefu.messages import APPROVAL
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import (
    LEASE,
    NewMessage,
    Rating,
    Retention,
    Session,
    SessionId,
    TurnOutcome,
)
from kefu.sessions.store.overview import Day, Overview, SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.migrations import MIGRATIONS, most_in_tree
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import ONE, TWO
from tests.contract.engines import ENGINES, HandClock, settled
from tests.parts.plugin import daily

ENGLISH = ("refund", "shipping", "invoice", "password", "opening", "battery", "warranty", "colour")
CHINESE = ("退款", "运费", "发票", "密码", "营业时间", "电池", "保修期", "颜色")
FILLER = ("Thank you for asking, we are glad to help.", "您好，很高兴为您服务，请稍等。")


def ids(number: int) -> SessionId:
    return SessionId(f"{number:032x}")


async def chat(
    store: Sessions,
    clock: HandClock,
    number: int,
    question: str,
    ended: TurnOutcome,
    *,
    rating: Rating | None = None,
    comment: str = "",
    config: str = "default",
    user: str = "",
) -> None:
    clock.now += 1
    now = clock.now
    session = Session(ids(number), question[:40], config, now, now, user=user)
    begun = await store.begin(session, NewMessage(question, f"client {number}"), now)
    await store.finish(session.id, begun.message.id, ended, now)
    if rating:
        assert await store.rate(session.id, f"client {number}", rating, comment)


async def found(
    store: Sessions, wanted: SessionFilter, now: float, limit: int = 50
) -> list[Overview]:
    """All rows, as an operator gets them who asks for the next page until the last one."""
    rows: list[Overview] = []
    cursor: str | None = None
    for _ in range(100):
        page = await store.newest(wanted, cursor, limit, now)
        assert len(page.rows) <= limit
        rows += page.rows
        if (cursor := page.cursor) is None:
            return rows
    raise AssertionError("the search does not end")


def numbers(rows: Sequence[Overview]) -> list[int]:
    return [int(row.session.id, 16) for row in rows]


@pytest.mark.parametrize(
    "sessions",
    daily((*ENGINES, "guarded sqlite"), "sqlite", "guarded sqlite"),
    indirect=True,
)
async def test_h7_a_word_finds_all_its_chats_in_english_and_chinese(
    sessions: Sessions, clock: HandClock
) -> None:
    """In questions and in answers, newest first, over several pages."""
    for number in range(32):
        english, chinese = ENGLISH[number % 8], CHINESE[number // 4]
        question = f"Could you tell me about the {english.upper()}S, number {number}?"
        answer = f"{FILLER[number % 2]}关于{chinese}的问题。"
        await chat(sessions, clock, number, question, TurnOutcome("ok", answer))
    for place, word in enumerate(ENGLISH):
        rows = await found(sessions, SessionFilter(text=word), clock.now, limit=3)
        assert numbers(rows) == [n for n in reversed(range(32)) if n % 8 == place], word
    for word in CHINESE:
        for query in (word, word[-1]):
            rows = await found(sessions, SessionFilter(text=query), clock.now, limit=3)
            expected = [n for n in reversed(range(32)) if query in CHINESE[n // 4]]
            got = numbers(rows)
            assert set(expected) <= set(got), query
            assert got == sorted(got, reverse=True)
            if query == word:
                assert got == expected
    both = await found(sessions, SessionFilter(text="refund 发票"), clock.now)
    assert numbers(both) == [8]
    assert await found(sessions, SessionFilter(text="refund 发票 nowhere"), clock.now) == []
    assert await found(sessions, SessionFilter(text="?!"), clock.now) == []


async def test_h7_a_word_is_found_in_its_other_forms_and_in_other_languages(
    sessions: Sessions, clock: HandClock
) -> None:
    texts = [
        ("How do I return the goods?", "I am returning the chair", "returns"),
        ("Wann kommt die Rechnung?", "Die Rechnungen und die Mahnung sind nicht da", "rechnung"),
        ("Ya están las facturas de los pedidos", "la factura que pedí", "Factura"),
        ("営業時間を教えてください", "営業は何時からですか", "営業"),
        ("환불은 언제 되나요", "환불", "환불"),
        ("Когда придут мои заказы", "где мой заказ", "заказ"),
    ]
    for number, (one, two, _) in enumerate(texts):
        await chat(sessions, clock, 2 * number, one, TurnOutcome("ok", "…"))
        await chat(sessions, clock, 2 * number + 1, two, TurnOutcome("ok", "…"))
    for number, (*_, word) in enumerate(texts):
        rows = await found(sessions, SessionFilter(text=word), clock.now)
        assert numbers(rows) == [2 * number + 1, 2 * number], word


async def test_h7_a_message_that_is_sent_again_is_found_by_its_last_answer_alone(
    sessions: Sessions, clock: HandClock
) -> None:
    await chat(sessions, clock, 1, "Where is it?", TurnOutcome("partial", "in the cellar"))
    assert numbers(await found(sessions, SessionFilter(text="cellar"), clock.now)) == [1]
    session = await sessions.session(ids(1))
    assert session
    begun = await sessions.begin(session, NewMessage("Where is it?", "client 1"), clock.now)
    attic = TurnOutcome("ok", "in the attic")
    await sessions.finish(ids(1), begun.message.id, attic, clock.now, begun.retries)
    assert await found(sessions, SessionFilter(text="cellar"), clock.now) == []
    assert numbers(await found(sessions, SessionFilter(text="attic"), clock.now)) == [1]


async def test_h7_an_interrupted_message_that_is_sent_again_hides_no_later_one(
    sessions: Sessions, clock: HandClock
) -> None:
    """Its first attempt has no end, so it is in no index."""
    session = Session(ONE, "title", "default", clock.now, clock.now)
    first = NewMessage("Where is it?", "client 1")
    await sessions.begin(session, first, clock.now)
    later = await sessions.begin(session, NewMessage("Anybody there?"), clock.now)
    await sessions.finish(ONE, later.message.id, TurnOutcome("ok", "in the attic"), clock.now)
    clock.now += LEASE + 1
    begun = await sessions.begin(session, first, clock.now)
    assert begun.retries == 1
    rows = await found(sessions, SessionFilter(text="attic"), clock.now)
    assert [row.session.id for row in rows] == [ONE]
    asked = await sessions.questions(0, clock.now + 1, 5, clock.now)
    assert [one.text for one in asked.questions] == ["Anybody there?"]


async def test_h7_filters_find_ratings_unanswered_questions_presets_and_users(
    sessions: Sessions, clock: HandClock
) -> None:
    """Alone and together with words."""
    ok, unknown = TurnOutcome("ok", "answer"), TurnOutcome("ok", "I cannot say", unanswered=True)
    await chat(sessions, clock, 1, "plain", ok)
    await chat(sessions, clock, 2, "the chair", ok, rating="down")
    await chat(sessions, clock, 3, "the chair", ok, rating="up", config="sales")
    await chat(sessions, clock, 4, "the table", unknown, rating="down", user="anna@example.org")
    expected = [
        (SessionFilter(rating="down"), [4, 2]),
        (SessionFilter(rating="up"), [3]),
        (SessionFilter(unanswered=True), [4]),
        (SessionFilter(config_id="sales"), [3]),
        (SessionFilter(user="anna@example.org"), [4]),
        (SessionFilter(user="anna"), []),
        (SessionFilter(text="chair", rating="down"), [2]),
        (SessionFilter(text="chair", user="anna@example.org"), []),
        (SessionFilter(rating="down", unanswered=True, until=clock.now + 1), [4]),
    ]
    for wanted, rows in expected:
        assert numbers(await found(sessions, wanted, clock.now)) == rows, wanted
    await sessions.rate(ids(4), "client 4", "up")
    await sessions.rate(ids(2), "client 2", None)
    assert numbers(await found(sessions, SessionFilter(rating="down"), clock.now)) == []
    [row, _] = await found(sessions, SessionFilter(rating="up"), clock.now)
    assert (row.ups, row.downs, row.unanswered) == (1, 0, 1)
    assert row.session.user == "anna@example.org"


async def test_h6_a_day_sums_up_chats_ratings_handoffs_and_times(
    sessions: Sessions, clock: HandClock
) -> None:
    """A rating counts once, also when it is changed or sent twice, on the day of its answer."""
    await chat(sessions, clock, 1, "a", TurnOutcome("ok", "yes", 10, 2, first_word=0.25))
    unknown = TurnOutcome("ok", "no", 20, 3, unanswered=True, first_word=1.5)
    await chat(sessions, clock, 2, "b", unknown, rating="down")
    await chat(sessions, clock, 3, "c", TurnOutcome("failed", ""))
    request = ContactRequest("r", ids(1), "", "a@example.org", "", clock.now, due_at=clock.now)
    await sessions.add_contact(request)
    await sessions.add_contact(request)
    clock.now += 86400
    ratings: tuple[Rating | None, ...] = ("down", "up", "up", None, "up")
    for rating in ratings:
        await sessions.rate(ids(1), "client 1", rating)
    session = await sessions.session(ids(1))
    assert session
    begun = await sessions.begin(session, NewMessage("again"), clock.now)
    await sessions.finish(ids(1), begun.message.id, TurnOutcome("ok", "y", 1, 1), clock.now)
    sums = {"unanswered": 1, "ups": 1, "downs": 1, "handoffs": 1}
    times = {"first_words": 2, "first_word_ms": 1750}
    assert await sessions.days("2096-10-01", "2096-10-31") == [
        Day("2096-10-02", 3, 1, 30, 5, 3, **sums, **times, answers=2),
        Day("2096-10-03", 1, 0, 1, 1, answers=1),
    ]


async def test_h29_a_day_counts_answers_those_with_sources_and_what_was_asked_again(
    sessions: Sessions, clock: HandClock
) -> None:
    """A message a day later is not asked again. One for a person, and a click, are no answers."""
    ok, proved = TurnOutcome("ok", "yes"), TurnOutcome("ok", "yes [1]", proved=True)
    seen = list[tuple[int, int, int]]()

    async def ask(asked: NewMessage, ended: TurnOutcome, wait: float = 60) -> None:
        clock.now += wait
        known = await sessions.session(ONE)
        session = known or Session(ONE, "hats", "default", clock.now, clock.now)
        begun = await sessions.begin(session, asked, clock.now)
        await sessions.finish(ONE, begun.message.id, ended, clock.now, begun.retries)
        days = await sessions.days("2000-01-01", "2999-01-01")
        seen.append(tuple(sum(getattr(day, name) for day in days) for name in counted))

    counted = "answers", "again", "proved"
    await ask(NewMessage("hats?", "a"), proved)
    await ask(NewMessage("Which hats?", "b"), ok, wait=86399)
    await ask(NewMessage("Caps?", "c"), ok, wait=86400)
    await ask(NewMessage("Scarves?", "d"), TurnOutcome("failed"))
    await ask(NewMessage("Scarves?", "d"), proved)
    await ask(NewMessage("Yes", f"{APPROVAL}1"), ok)
    await ask(NewMessage("To a person", "e"), TurnOutcome("ok"))
    await ask(NewMessage("Gloves?", "f"), ok)
    await ask(NewMessage("Gloves?", "f", replaces=True, attempt="1"), proved)
    await ask(NewMessage("Gloves!", "f", replaces=True, attempt="2"), TurnOutcome("failed"))
    assert seen == [
        (1, 0, 1),
        (2, 1, 1),
        (3, 1, 1),
        (3, 2, 1),
        (4, 2, 2),
        (4, 2, 2),
        (4, 2, 2),
        (5, 3, 2),
        (6, 4, 3),
        (6, 5, 3),
    ]


async def test_a23_a_day_counts_the_requests_of_assistants(
    sessions: Sessions, clock: HandClock
) -> None:
    """Also on a day without any chat."""
    await sessions.count_assistant(clock.now)
    await sessions.count_assistant(clock.now)
    await sessions.count_assistant(clock.now + 86400)
    assert await sessions.days("2096-10-01", "2096-10-31") == [
        Day("2096-10-02", assistants=2),
        Day("2096-10-03", assistants=1),
    ]


@pytest.mark.parametrize("first", [TurnOutcome("failed"), TurnOutcome("partial", "So"), None])
async def test_h7_a_chat_whose_first_message_is_retried_counts_once(
    sessions: Sessions, clock: HandClock, first: TurnOutcome | None
) -> None:
    """Also if the first attempt was interrupted, and has no end."""
    session = Session(ids(1), "hats", "default", clock.now, clock.now)
    asked = NewMessage("hats", "client 1")
    begun = await sessions.begin(session, asked, clock.now)
    if first:
        await sessions.finish(session.id, begun.message.id, first, clock.now)
    clock.now += LEASE + 1
    begun = await sessions.begin(session, asked, clock.now)
    ended = TurnOutcome("ok", "Twenty.")
    await sessions.finish(session.id, begun.message.id, ended, clock.now, begun.retries)
    [day] = await sessions.days("2000-01-01", "2999-01-01")
    assert day.chats == 1
    assert day.turns == 1 + (first is not None)


Gaps = tuple[int, list[int], list[tuple[int, int]]]
"""By the chat's row, by the filter, and by the questions: their times and misses."""


async def test_h7_a_new_answer_decides_whether_a_question_is_a_gap(
    sessions: Sessions, clock: HandClock
) -> None:
    """Until there is one, and if it fails, the former answer does."""
    unknown, known = TurnOutcome("ok", "no", unanswered=True), TurnOutcome("ok", "yes")
    began = clock.now
    await chat(sessions, clock, 1, "hats", unknown)

    async def gaps() -> Gaps:
        clock.now += 1
        [row] = await found(sessions, SessionFilter(), clock.now)
        filtered = numbers(await found(sessions, SessionFilter(unanswered=True), clock.now))
        asked = await sessions.questions(began, clock.now, 9, clock.now)
        assert asked.read == 1
        asked = await sessions.questions(began, clock.now, 9, clock.now, gaps=True)
        return row.unanswered, filtered, [(one.times, one.unanswered) for one in asked.questions]

    is_gap: Gaps = (1, [1], [(1, 1)])
    is_none: Gaps = (0, [], [])
    assert await gaps() == is_gap
    for ended, expected, attempt in (
        (TurnOutcome("failed"), is_gap, "a"),
        (known, is_none, "b"),
        (TurnOutcome("failed"), is_none, "c"),
        (unknown, is_gap, "d"),
        (unknown, is_gap, "e"),
    ):
        session = await sessions.session(ids(1))
        assert session
        asked = NewMessage("hats", "client 1", replaces=True, attempt=attempt)
        before = await gaps()
        begun = await sessions.begin(session, asked, clock.now)
        assert await gaps() == before
        clock.now += 1
        await sessions.finish(ids(1), begun.message.id, ended, clock.now, begun.retries)
        assert await gaps() == expected


async def test_h6_a_chat_whose_first_message_is_sent_again_counts_once(
    sessions: Sessions, clock: HandClock
) -> None:
    """M3: its turns are two, one of them an error."""
    await chat(sessions, clock, 1, "a", TurnOutcome("failed"))
    session = await sessions.session(ids(1))
    assert session
    begun = await sessions.begin(session, NewMessage("a", "client 1"), clock.now)
    assert begun.retries == 1
    ok = TurnOutcome("ok", "yes")
    await sessions.finish(ids(1), begun.message.id, ok, clock.now, begun.retries)
    [day] = await sessions.days("2096-10-01", "2096-10-31")
    assert (day.chats, day.turns, day.errors) == (1, 2, 1)


async def test_h6_questions_with_the_same_terms_are_one_and_frequent_ones_come_first(
    sessions: Sessions, clock: HandClock
) -> None:
    """A deleted chat's questions are gone. Gaps alone come on request."""
    ok, unknown = TurnOutcome("ok", "answer"), TurnOutcome("ok", "I cannot say", unanswered=True)
    began = clock.now
    await chat(sessions, clock, 1, "Do you sell hats?", ok, rating="down", comment="first")
    await chat(sessions, clock, 2, "Is there a shop in Oslo?", ok)
    await chat(sessions, clock, 3, "selling hats", unknown)
    await chat(sessions, clock, 4, "你们卖帽子吗", unknown)
    await chat(sessions, clock, 5, "hats: do you sell", ok, rating="down", comment="second")
    await chat(sessions, clock, 6, "hats", unknown)
    await sessions.delete(ids(6))
    end = clock.now + 1

    async def asked(since: float, until: float, **more: bool) -> list[tuple[str, int]]:
        found = await sessions.questions(since, until, 10, clock.now, **more)
        assert found.read == sum(one.times for one in found.questions)
        assert found.is_whole
        return [(one.text, one.times) for one in found.questions]

    hats, oslo = ("hats: do you sell", 3), ("Is there a shop in Oslo?", 1)
    chinese = ("你们卖帽子吗", 1)
    assert await asked(began, end) == [hats, chinese, oslo]
    assert await asked(began + 2, began + 4) == [("selling hats", 1), oslo]
    assert await asked(began, end, gaps=True) == [hats, chinese]
    assert await asked(end, end + 1) == []
    found = await sessions.questions(began, end, 1, clock.now)
    [one] = found.questions
    assert (found.read, one.session_id, one.at) == (5, ids(5), began + 5)
    assert (one.unanswered, one.downs, list(one.comments)) == (1, 2, ["second", "first"])


async def test_h6_expired_chats_are_not_among_the_questions(
    sessions: Sessions, clock: HandClock
) -> None:
    await chat(sessions, clock, 1, "old", TurnOutcome("ok", "answer"))
    clock.now += 31 * 86400
    await chat(sessions, clock, 2, "new", TurnOutcome("ok", "answer"))
    found = await sessions.questions(0, clock.now + 1, 10, clock.now)
    assert [one.text for one in found.questions] == ["new"]


async def test_h6_a_rating_after_the_end_of_a_turn_changes_its_question(
    sessions: Sessions, clock: HandClock
) -> None:
    """Also after the question was grouped, and when a message gets a new answer."""
    await chat(sessions, clock, 1, "hats?", TurnOutcome("ok", "answer"))

    async def gaps() -> list[tuple[int, tuple[str, ...]]]:
        found = await sessions.questions(0, clock.now + 1, 10, clock.now, gaps=True)
        return [(one.downs, tuple(one.comments)) for one in found.questions]

    assert await gaps() == []
    await sessions.rate(ids(1), "client 1", "down", "wrong")
    assert await gaps() == [(1, ("wrong",))]
    await sessions.rate(ids(1), "client 1", None)
    assert await gaps() == []
    session = await sessions.session(ids(1))
    assert session
    again = NewMessage("hats?", "client 1", replaces=True)
    begun = await sessions.begin(session, again, clock.now)
    unknown = TurnOutcome("ok", "I cannot say", unanswered=True)
    await sessions.finish(ids(1), begun.message.id, unknown, clock.now, begun.retries)
    assert await gaps() == [(0, ())]
    found = await sessions.questions(0, clock.now + 1, 10, clock.now)
    assert [(one.times, one.unanswered) for one in found.questions] == [(1, 1)]


def test_h7_the_index_belongs_to_this_version_of_the_terms() -> None:
    """Another version needs a migration that empties `word_index` and `asked.indexed`.

    Version 2 does not: it differs for languages that no message is taken for, and a search looks
    for the stems of all others.
    """
    assert terms.VERSION == 2
    assert terms.CHANGED.isdisjoint(terms.LANGUAGES)


async def test_t29_a_deleted_chat_leaves_no_word_in_the_index(
    tmp_path: Path, clock: HandClock
) -> None:
    """The words of indexed chats; the other chats are still found."""
    file = tmp_path / "kefu.sqlite3"
    store = SqliteStore(file, clock)
    sessions = store.sessions(Retention())
    for number in range(60):
        words = f"zyxwv{number}canary qponm{number % 7}canary 金丝雀{chr(0x4E00 + number)}"
        await chat(sessions, clock, number, words, TurnOutcome("ok", f"stays {number}"))
    assert len(await found(sessions, SessionFilter(text="金丝雀"), clock.now)) == 60
    files = (file, file.with_name(f"{file.name}-wal"))
    for number in range(0, 60, 2):
        await sessions.delete(ids(number))
    content = b"".join(one.read_bytes() for one in files)
    gone = [n for n in range(0, 60, 2) if f"zyxwv{n}canary".encode() in content]
    assert gone == []
    rows = await found(sessions, SessionFilter(text="金丝雀"), clock.now)
    assert numbers(rows) == list(range(59, 0, -2))
    for number in range(1, 60, 2):
        await sessions.delete(ids(number))
    await store.aclose()
    content = file.read_bytes()
    assert b"canary" not in content
    assert "金丝雀".encode() not in content
    with contextlib.closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM asked").fetchone() == (0,)
        index = "SELECT count(*) FROM word_index WHERE word_index MATCH ?"
        db.execute("INSERT INTO word_index (word_index) VALUES ('integrity-check')")
        assert db.execute(index, ("w00000000 OR w1",)).fetchone() == (0,)


async def test_h7_a_quiet_minute_indexes_what_was_asked_before(
    tmp_path: Path, clock: HandClock
) -> None:
    store = SqliteStore(tmp_path / "kefu.sqlite3", clock)
    sessions = store.sessions(Retention())
    for number in range(50):
        await chat(sessions, clock, number, f"question {number}", TurnOutcome("ok", "answer"))
    await settled(store._file)
    clock.now += 61
    await sessions.session(TWO)
    await settled(store._file)
    with contextlib.closing(sqlite3.connect(store._file.path)) as db:
        assert db.execute("SELECT count(*) FROM asked WHERE NOT indexed").fetchone() == (0,)
    await store.aclose()


async def test_h7_a_long_backlog_is_indexed_page_by_page(tmp_path: Path, clock: HandClock) -> None:
    """The pages before the search say how many turns wait."""
    store = SqliteStore(tmp_path / "kefu.sqlite3", clock)
    sessions = store.sessions(Retention())
    session = Session(ONE, "title", "default", clock.now, clock.now)
    for number in range(1100):
        begun = await sessions.begin(session, NewMessage(f"needle {number}"), clock.now)
        await sessions.finish(ONE, begun.message.id, TurnOutcome("ok", "yes"), clock.now)
    waiting = list[int]()
    page = await sessions.newest(SessionFilter(text="needle 1099"), None, 5, clock.now)
    while page.waiting and len(waiting) < 9:
        assert page.rows == []
        assert page.cursor
        waiting.append(page.waiting)
        page = await sessions.newest(SessionFilter(text="needle 1099"), page.cursor, 5, clock.now)
    assert waiting == sorted(waiting, reverse=True)
    assert [row.session.id for row in page.rows] == [ONE]
    await store.aclose()


async def test_h6_an_older_file_gets_its_sums_and_its_search(
    tmp_path: Path, clock: HandClock
) -> None:
    version = next(n for n, step in enumerate(MIGRATIONS) if "word_index" in step)
    file = tmp_path / "kefu.sqlite3"
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        for migration in MIGRATIONS[:version]:
            for statement in migration.split(";"):
                db.execute(statement.replace("{fill}", str(most_in_tree(4096))))
        db.execute(f"PRAGMA user_version = {version}")
        now = clock.now
        db.execute(
            "INSERT INTO sessions (id, config, created, updated, turns, tokens, errors, status,"
            " lease) VALUES (?, 'default', ?, ?, 1, 9, 0, 'ok', 0)",
            (ONE, now, now),
        )
        db.execute("INSERT INTO titles (session, title) VALUES (?, 'old')", (ONE,))
        db.execute(
            "INSERT INTO turns (session, question_id, status, lease, asked, client, answered,"
            " rating, again, question, answer)"
            " VALUES (?, 1, 'ok', 0, ?, 'c', ?, 'down', 0, 'an old question', 'yes')",
            (ONE, now, now),
        )
        db.execute("INSERT INTO days VALUES ('2096-10-02', 1, 0, 4, 5)")
    store = SqliteStore(file, clock)
    sessions = store.sessions(Retention())
    [row] = (await sessions.newest(SessionFilter(text="questions"), None, 5, clock.now)).rows
    assert (row.session.title, row.downs, row.session.user) == ("old", 1, "")
    [gap] = (await sessions.questions(0, now + 1, 5, now, gaps=True)).questions
    assert (gap.text, gap.downs) == ("an old question", 1)
    assert await sessions.days("2096-10-01", "2096-10-09") == [
        Day("2096-10-02", 1, 0, 4, 5, 1, downs=1)
    ]
    await store.aclose()
