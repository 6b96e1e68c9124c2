"""The contract of every AnswerStore (G31): kept until withdrawn, and each change is noticed."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from kefu.sessions.store.answers import WrittenAnswer, made_from
from kefu.sessions.store.model import Retention
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.migrations import MIGRATIONS, most_in_tree
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import DAY, ONE
from tests.contract.engines import HandClock


def written(clock: HandClock, id: str = "answer-1") -> WrittenAnswer:
    return WrittenAnswer(
        id,
        "Do you deliver to Svalbard? 可以寄吗",
        "Yes, in *ten* days.\n\n- by ship 🙂",
        "Anna Ødegård",
        "https://shop.example/delivery",
        ONE,
        "shop",
        clock.now,
        clock.now + 1.25,
    )


async def test_g31_an_answer_is_kept_with_all_its_fields_and_does_not_expire(
    sessions: Sessions, clock: HandClock
) -> None:
    assert await sessions.answers() == []
    answer, bare = written(clock), WrittenAnswer("answer-2", "Hats?", "No.")
    await sessions.save_answer(answer)
    await sessions.save_answer(bare)
    clock.now += 400 * DAY
    assert list(await sessions.answers()) == [answer, bare]
    assert type((await sessions.answers())[0]) is WrittenAnswer


async def test_g31_an_edited_answer_replaces_the_one_before_and_is_first(
    sessions: Sessions, clock: HandClock
) -> None:
    first = written(clock)
    other = first._replace(id="answer-2", updated_at=first.updated_at + 1)
    for one in (first, other, first):  # the last is a retry
        await sessions.save_answer(one)
    assert list(await sessions.answers()) == [other, first]
    edited = first._replace(text="No.", updated_at=clock.now + 9, author="")
    await sessions.save_answer(edited)
    assert list(await sessions.answers()) == [edited, other]


async def test_g31_a_withdrawn_answer_is_gone(sessions: Sessions, clock: HandClock) -> None:
    for id in ("answer-1", "answer-2"):
        await sessions.save_answer(written(clock, id))
    assert await sessions.withdraw_answer("answer-1")
    assert not await sessions.withdraw_answer("answer-1")
    assert [one.id for one in await sessions.answers()] == ["answer-2"]


async def version(sessions: Sessions, other_than: int) -> int:
    """The version. DynamoDB's reads are eventually consistent, so it may come later."""
    for _ in range(100):
        if (found := await sessions.answers_version()) != other_than:
            return found
        await asyncio.sleep(0.05)
    pytest.fail("the version did not change")


async def test_g31_each_change_changes_the_version(sessions: Sessions, clock: HandClock) -> None:
    assert await sessions.answers_version() == 0
    await sessions.save_answer(written(clock))
    saved = await version(sessions, 0)
    assert await sessions.answers_version() == saved
    await sessions.save_answer(written(clock)._replace(text="No."))
    edited = await version(sessions, saved)
    await sessions.withdraw_answer("answer-1")
    assert await version(sessions, edited) not in (0, saved)


async def test_g31_a_deleted_chat_leaves_its_answer_whose_chat_is_known(
    sessions: Sessions, clock: HandClock
) -> None:
    await sessions.save_answer(written(clock))
    await sessions.save_answer(written(clock, "answer-2")._replace(session_id="0" * 32))
    await sessions.delete_contacts(ONE)
    await sessions.delete(ONE)
    stored = await sessions.answers()
    assert len(stored) == 2
    assert [one.id for one in made_from([ONE], stored)] == ["answer-1"]


def content(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in folder.glob("kefu.sqlite3*"))


@pytest.mark.parametrize("removal", ["withdrawn", "edited"])
async def test_g31_no_text_of_a_removed_answer_stays_in_the_file(
    tmp_path: Path, clock: HandClock, removal: str
) -> None:
    store = SqliteStore(tmp_path / "kefu.sqlite3", clock)
    sessions = store.sessions(Retention())
    secret = "canary-7e1b6d20"
    await sessions.save_answer(written(clock)._replace(text=f"{secret} " * 200, question=secret))
    if removal == "withdrawn":
        await sessions.withdraw_answer("answer-1")
    else:
        await sessions.save_answer(written(clock))
    assert secret.encode() not in content(tmp_path)
    await store.aclose()


async def test_g31_an_older_file_gets_the_table_of_answers(
    tmp_path: Path, clock: HandClock
) -> None:
    """The fifteenth schema is the one before it."""
    file = tmp_path / "kefu.sqlite3"
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.create_function("bucket_of", 1, lambda _: 0, deterministic=True)
        for migration in MIGRATIONS[:15]:
            for statement in migration.split(";"):
                db.execute(statement.replace("{fill}", str(most_in_tree(4096))))
        db.execute("PRAGMA user_version = 15")
    store = SqliteStore(file, clock)
    sessions = store.sessions(Retention())
    await sessions.save_answer(written(clock))
    assert list(await sessions.answers()) == [written(clock)]
    await store.aclose()
