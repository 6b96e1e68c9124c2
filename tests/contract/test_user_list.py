"""D2: a user's own list of chats."""

from __future__ import annotations

import pytest

from kefu.sessions.store.model import NewMessage, Retention, SessionId
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb.store import DynamoStore
from tests.contract.chats import DAY, new
from tests.contract.engines import HandClock, every_item, new_table


def ids(number: int) -> SessionId:
    return SessionId(f"{number:032x}")


async def use(
    sessions: Sessions, number: int, now: float, user: str, config_id: str = "default"
) -> None:
    """Send one message in this chat, which is made if it does not exist."""
    session = await sessions.session(ids(number))
    made = new(ids(number), now)._replace(user=user, config_id=config_id)
    await sessions.begin(session or made, NewMessage("question"), now)


async def listed(
    sessions: Sessions, user: str, now: float, limit: int = 3, config_id: str = ""
) -> list[int]:
    """All pages, in their order."""
    found: list[int] = []
    cursor = None
    while True:
        wanted = SessionFilter(user=user, config_id=config_id)
        page = await sessions.newest(wanted, cursor, limit, now)
        assert len(page.rows) <= limit
        found += [int(row.session.id, 16) for row in page.rows]
        cursor = page.cursor
        if cursor is None:
            return found


async def test_d2_chats_of_a_user_come_by_their_last_message_in_pages(
    sessions: Sessions, clock: HandClock
) -> None:
    """Over days, also within the same second; another user's and anonymous ones are not there."""
    for number in range(1, 9):
        clock.now += 0.25 if number in (3, 4) else DAY / 2
        await use(sessions, number, clock.now, "ann")
        await use(sessions, number + 100, clock.now, "bob")
        await use(sessions, number + 200, clock.now, "")
    assert await listed(sessions, "ann", clock.now) == [8, 7, 6, 5, 4, 3, 2, 1]
    clock.now += DAY
    await use(sessions, 2, clock.now, "ann")
    assert await listed(sessions, "ann", clock.now) == [2, 8, 7, 6, 5, 4, 3, 1]
    assert await listed(sessions, "bo", clock.now) == []
    assert await listed(sessions, "bob", clock.now, limit=100) == list(range(108, 100, -1))


async def test_d2_deleted_and_expired_chats_are_not_listed(
    sessions: Sessions, clock: HandClock
) -> None:
    for number in (1, 2, 3):
        await use(sessions, number, clock.now, "ann")
        clock.now += 20 * DAY if number == 1 else 1
    await sessions.delete(ids(3))
    assert await listed(sessions, "ann", clock.now) == [2, 1]
    clock.now += 11 * DAY
    assert await listed(sessions, "ann", clock.now) == [2]


async def test_d2_chats_of_one_preset_are_listed(sessions: Sessions, clock: HandClock) -> None:
    for number, preset in enumerate(("shop", "default", "shop"), 1):
        clock.now += 1
        await use(sessions, number, clock.now, "ann", preset)
    assert await listed(sessions, "ann", clock.now, config_id="shop") == [3, 1]


@pytest.mark.parametrize("user", ["a#b", "研发|x", "x" * 256, "user#2026-01-31"])
async def test_d2_any_name_of_a_user_has_a_list(
    sessions: Sessions, clock: HandClock, user: str
) -> None:
    await use(sessions, 1, clock.now, user)
    await use(sessions, 2, clock.now, f"{user}#"[:256].swapcase())
    assert await listed(sessions, user, clock.now) == [1]


async def test_d2_a_table_lists_a_chat_once_and_nothing_of_a_deleted_one(
    dynamodb_endpoint: str, aws_environment: dict[str, str], clock: HandClock
) -> None:
    """The entry moves with the chat, every ten minutes, and expires with it."""
    table = await new_table(dynamodb_endpoint, clock, with_ttl=False)
    sessions = table.sessions(Retention())
    for _ in range(4):
        await use(sessions, 1, clock.now, "ann")
        clock.now += 400
    found = [item for item in await _items(table) if item["pk"]["S"].startswith("queue#user#")]
    [entry] = found
    assert float(entry["expires"]["N"]) >= clock.now - 1000 + 30 * DAY
    await sessions.delete(ids(1))
    left = [item for item in await _items(table) if "ann" in repr(item) or ids(1) in repr(item)]
    assert left == []
    await table.aclose()


async def _items(table: DynamoStore) -> list[dict[str, dict[str, str]]]:
    return await table._table.run(lambda: every_item(table._table.client, table.table))
