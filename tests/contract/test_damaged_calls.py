"""A damaged record of a call is named in the panel's JSON and in each export (P10, M6)."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import boto3
import pytest

from kefu.sessions.store.model import Retention
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.store import SqliteStore
from kefu.web.admin.markdown import markdown
from kefu.web.admin.view import ChatExport, page_of_session
from tests.contract.chats import ONE, body, call, response, turn
from tests.contract.engines import HandClock, every_item, new_table

DAMAGED = "This record is damaged: it cannot be read."


def noise() -> str:
    return "".join(chr(0x4E00 + (n * n * 7919 + n) % 20000) for n in range(200_000))


async def three_calls(sessions: Sessions, clock: HandClock, text: str = "question") -> None:
    for number in range(3):
        asked, answer = await turn(sessions, clock, "question", "answer")
        sent = body([{"role": "user", "content": f"{text} {number}"}])
        await sessions.record(call(asked.id, clock.now, 1, sent, response(answer.content)))


async def shown(sessions: Sessions, clock: HandClock) -> Sequence[dict[str, Any]]:
    """The calls as the panel gets them; the exports are made, too."""
    session = await sessions.session(ONE)
    assert session is not None
    messages = await sessions.messages(ONE, now=clock.now)
    whole = ChatExport(session, messages, await sessions.calls(ONE))
    assert DAMAGED in "".join(markdown(*whole))
    calls: Sequence[dict[str, Any]] = json.loads("".join(page_of_session(whole, None)))["calls"]
    return calls


async def check(sessions: Sessions, clock: HandClock) -> None:
    """The second call is damaged, and says so; the others are whole."""
    first, second, third = await shown(sessions, clock)
    assert (second["message_id"], second["number"]) == (3, 1)
    assert second["meta"] == {"damaged": DAMAGED}
    assert (second["request"], second["response"]) == (None, None)
    for number, one in ((0, first), (2, third)):
        assert "damaged" not in one["meta"]
        assert f" {number}" in one["request"]
        assert one["response"]["choices"]


@pytest.mark.parametrize(
    "value",
    ["x'00ff'", "x''", "'text'", "7", "substr(record, 1, length(record) - 3)", "zeroblob(4096)"],
)
async def test_m6_sqlite_a_damaged_record_is_named_and_the_others_are_read(
    value: str, tmp_path: Path, clock: HandClock
) -> None:
    store = SqliteStore(tmp_path / "kefu.sqlite3", clock)
    sessions = store.sessions(Retention())
    await three_calls(sessions, clock)
    with contextlib.closing(sqlite3.connect(store._file.path)) as db, db:
        db.execute(f"UPDATE calls SET record = {value} WHERE message = 3")
    await check(sessions, clock)
    await store.aclose()


PARTS = {"cut": b"\x78", "empty": b"", "other": b"no record"}


@pytest.mark.parametrize("how", [*PARTS, "first part missing", "last part missing", "no bytes"])
async def test_m6_dynamodb_a_damaged_record_is_named_and_the_others_are_read(
    how: str, dynamodb_endpoint: str, aws_environment: dict[str, str], clock: HandClock
) -> None:
    store = await new_table(dynamodb_endpoint, clock, with_ttl=False)
    sessions = store.sessions(Retention())
    await three_calls(sessions, clock, noise())
    client = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint)
    found = [one for one in every_item(client, store.table) if "0000000003#" in one["sk"]["S"]]
    first, *_, last = sorted(found, key=lambda one: str(one["sk"]["S"]))
    item = last if how == "last part missing" else first
    if "missing" in how:
        client.delete_item(TableName=store.table, Key={name: item[name] for name in ("pk", "sk")})
    else:
        del item["part"]
        item |= {"part": {"B": PARTS[how]}} if how in PARTS else {}
        client.put_item(TableName=store.table, Item=item)
    client.close()
    await check(sessions, clock)
    await store.aclose()
