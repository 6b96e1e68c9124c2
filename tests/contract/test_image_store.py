"""W21: every store keeps the images of messages as long as their chats, and no longer."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from pathlib import Path

import boto3
import pytest

from kefu.sessions.store.model import NewMessage, Retention, TurnOutcome
from kefu.sessions.store.ports import Sessions
from kefu.stores.sql.moving import LARGE_AT_ONCE, move
from kefu.stores.sqlite.migrations import MIGRATIONS, migrate
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import DAY, ONE, TWO, new
from tests.contract.engines import HandClock, every_item, new_table, settled

TYPES = '[["image/jpeg",40,30],["image/png",7,8]]'
BEFORE = 19
"""The schema of SQLite without images."""
LARGE = random.Random(21).randbytes(900_000)
"""Larger than an item of DynamoDB."""


async def asked(
    store: Sessions, now: float, name: str = "one", images: tuple[bytes, ...] = (LARGE, b"second")
) -> int:
    """A message with images. Returns its id."""
    session = await store.session(ONE) or new(ONE, now)
    begun = await store.begin(session, NewMessage("What is this?", name, images=TYPES), now)
    await store.save_images(ONE, begun.message.id, images)
    return begun.message.id


async def test_w21_an_image_is_what_was_saved(sessions: Sessions, clock: HandClock) -> None:
    first = await asked(sessions, clock.now)
    second = await asked(sessions, clock.now, "two", (b"other",))
    assert await sessions.image(ONE, first, 0) == LARGE
    assert await sessions.image(ONE, first, 1) == b"second"
    assert await sessions.image(ONE, second, 0) == b"other"
    for place in ((ONE, first, 2), (ONE, 99, 0), (TWO, first, 0)):
        assert await sessions.image(*place) is None
    found = await sessions.messages(ONE, now=clock.now)
    assert [one.images for one in found] == [TYPES, TYPES]


async def test_w21_a_message_that_is_sent_again_has_its_images_once(
    sessions: Sessions, clock: HandClock
) -> None:
    first = await asked(sessions, clock.now)
    await sessions.finish(ONE, first, TurnOutcome("failed"), clock.now)
    clock.now += 1
    assert await asked(sessions, clock.now, images=(b"smaller", b"second")) == first
    assert await sessions.image(ONE, first, 0) == b"smaller"
    assert [one.images for one in await sessions.messages(ONE, now=clock.now)] == [TYPES]


async def test_w21_an_answer_and_an_edit_leave_the_images(
    sessions: Sessions, clock: HandClock
) -> None:
    first = await asked(sessions, clock.now)
    await sessions.finish(ONE, first, TurnOutcome("ok", "A hat."), clock.now)
    session = await sessions.session(ONE)
    assert session
    again = NewMessage("And this?", "one", replaces=True, attempt="a")
    begun = await sessions.begin(session, again, clock.now + 1)
    assert begun.message.images == TYPES
    ended = TurnOutcome("ok", "A cat.", question="And this?")
    await sessions.finish(ONE, first, ended, clock.now + 2, begun.retries)
    question, answer = await sessions.messages(ONE, now=clock.now + 2)
    assert (question.images, answer.images) == (TYPES, "")
    assert await sessions.image(ONE, first, 0) == LARGE


async def test_w21_images_are_deleted_with_their_chat_and_not_saved_after_it(
    sessions: Sessions, clock: HandClock
) -> None:
    first = await asked(sessions, clock.now)
    await sessions.begin(new(TWO, clock.now), NewMessage("Hello", images=TYPES), clock.now)
    await sessions.save_images(TWO, 1, [b"stays"])
    await sessions.delete(ONE)
    assert await sessions.image(ONE, first, 0) is None
    await sessions.save_images(ONE, first, [LARGE])
    assert await sessions.image(ONE, first, 0) is None
    await sessions.begin(new(ONE, clock.now), NewMessage("The same id"), clock.now)
    assert await sessions.image(ONE, first, 0) is None
    assert await sessions.image(TWO, 1, 0) == b"stays"


async def test_w21_images_expire_with_their_chat(sessions: Sessions, clock: HandClock) -> None:
    first = await asked(sessions, clock.now)
    clock.now += 20 * DAY
    session = await sessions.session(ONE)
    assert session
    begun = await sessions.begin(session, NewMessage("Still here?"), clock.now)
    await sessions.finish(ONE, begun.message.id, TurnOutcome("ok", "Yes."), clock.now)
    clock.now += 20 * DAY
    assert await sessions.image(ONE, first, 0) == LARGE
    clock.now += 11 * DAY
    assert await sessions.image(ONE, first, 0) is None
    await sessions.save_images(ONE, first, [b"late"])


@pytest.mark.slow
async def test_w21_no_byte_of_an_image_stays_in_the_file_or_its_log(
    tmp_path: Path, clock: HandClock
) -> None:
    """After a deletion, and after an expiry without one."""
    file = tmp_path / "kefu.sqlite3"
    pieces = [LARGE[at : at + 16] for at in range(0, len(LARGE), 500)]

    def left() -> int:
        content = b" ".join(path.read_bytes() for path in tmp_path.iterdir())
        return sum(piece in content for piece in pieces)

    store = SqliteStore(file, clock)
    chats = store.sessions(Retention())
    await asked(chats, clock.now)
    assert left() > 1700, "most pieces are on one page"
    await chats.delete(ONE)
    assert left() == 0
    await asked(chats, clock.now)
    clock.now += 31 * DAY
    await chats.session(TWO)
    await settled(store.database)  # type: ignore[arg-type]
    assert left() == 0
    await store.aclose()


async def test_w21_no_item_of_an_image_stays_in_the_table(
    dynamodb_endpoint: str, clock: HandClock, aws_environment: dict[str, str]
) -> None:
    """Each expires with the messages of its chat, and later if the chat goes on."""
    store = await new_table(dynamodb_endpoint, clock, with_ttl=False)
    chats = store.sessions(Retention())
    await asked(chats, clock.now)
    client = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint)

    def images() -> list[int]:
        items = every_item(client, store.table)
        return [int(one["expires"]["N"]) for one in items if one["pk"]["S"].startswith("images#")]

    assert images() == [int(clock.now + 45 * DAY)] * 4
    clock.now += 20 * DAY
    session = await chats.session(ONE)
    assert session
    begun = await chats.begin(session, NewMessage("Still here?"), clock.now)
    await chats.finish(ONE, begun.message.id, TurnOutcome("ok", "Yes."), clock.now)
    assert images() == [int(clock.now + 45 * DAY)] * 4
    await chats.delete(ONE)
    assert [one for one in every_item(client, store.table) if ONE in str(one)] == []
    await store.aclose()


async def test_w21_images_move_with_their_store(tmp_path: Path, clock: HandClock) -> None:
    first = SqliteStore(tmp_path / "first.sqlite3", clock)
    second = SqliteStore(tmp_path / "second.sqlite3", clock)
    chats = first.sessions(Retention())
    for number in range(LARGE_AT_ONCE + 1):
        await asked(chats, clock.now, f"message-{number}")
    assert await move(first.database, second.database, lambda *_: None) == []
    moved = second.sessions(Retention())
    assert await moved.image(ONE, 1 + 2 * LARGE_AT_ONCE, 0) == LARGE
    assert await moved.messages(ONE, now=clock.now) == await chats.messages(ONE, now=clock.now)
    for store in (first, second):
        await store.aclose()


async def test_w21_a_file_without_images_is_read(tmp_path: Path, clock: HandClock) -> None:
    newer, file = tmp_path / "newer.sqlite3", tmp_path / "kefu.sqlite3"
    store = SqliteStore(newer, clock)
    await store.sessions(Retention()).begin(new(ONE, clock.now), NewMessage("Before"), clock.now)
    await store.aclose()
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        migrate(db, MIGRATIONS[:BEFORE])
        db.execute("ATTACH ? AS newer", (str(newer),))
        for table in ("sessions", "turns"):
            columns = ", ".join(name for _, name, *_ in db.execute(f"PRAGMA table_info({table})"))
            db.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM newer.{table}")
    store = SqliteStore(file, clock)
    chats = store.sessions(Retention())
    assert [one.images for one in await chats.messages(ONE, now=clock.now)] == [""]
    await asked(chats, clock.now)
    assert await chats.image(ONE, 3, 0) == LARGE
    await store.aclose()
