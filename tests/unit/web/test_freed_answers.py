"""No reference cycle keeps an answer: it is freed when it has ended, without the collector.

A cycle keeps its texts and buffers until the garbage collector runs, which under load is late.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import kefu
from kefu.sessions.store.model import SessionId
from kefu.web.request_record import Record
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Connection, Process
from tests.fakes.in_process_upstream import (
    DONE,
    LOST,
    REFUSED,
    SILENT,
    STOP,
    STREAM,
    InProcessUpstream,
    Reply,
    refusal,
    text,
)
from tests.fakes.relaying import CLOCK, Rig, in_virtual_time

PACKAGE = Path(kefu.__file__).parent
ID = "11111111-2222-4333-8444-555555555555"
TWO = STREAM.then(text("one "), text("two "), after=1)
WHOLE, CUT, HANGS = TWO.then(STOP, DONE), TWO.then(LOST), TWO.then_silence()


class Site:
    def __init__(self, reply: Reply, *, kept: bool) -> None:
        store = ChatsInMemory(CLOCK.now)
        self.model = InProcessUpstream({"one key": reply})
        self.process = Process(store, self.model, CLOCK)
        self.kept = kept

    def ask(self, *, stream: bool = True) -> Connection:
        if self.kept:
            return self.process.connect("question", client_message_id=ID)
        return self.process.stateless("question", stream=stream, id=ID)

    async def resumed(self, asked: Connection) -> Connection:
        session = asked.record.answer_headers["X-Session-Id"]
        return await self.process.resume(SessionId(session), ID)


async def read(site: Site, asked: Connection) -> None:
    await asked.ended()


async def leave(site: Site, asked: Connection) -> None:
    await asked.until("one")
    asked.leave()
    await asked.ended()


async def cancel(site: Site, asked: Connection) -> None:
    await asked.until("one")
    assert site.process.cancel(ID)
    await asked.ended()


async def drain(site: Site, asked: Connection) -> None:
    await asked.until("one")
    site.process.close()
    await asked.ended()


async def follow(site: Site, asked: Connection) -> None:
    """Read it from another page, after the first one has gone."""
    await asked.until("one")
    asked.leave()
    other = await site.resumed(asked)
    await other.ended()
    await asked.ended()


async def drop(site: Site, asked: Connection) -> None:
    """Read it from another page, while the first one reads nothing."""
    await asked.until("one")
    asked.reads.clear()
    await (await site.resumed(asked)).ended()
    await asked.ended()


End = Callable[[Site, Connection], Awaitable[None]]


@contextmanager
def by_counts_alone() -> Iterator[None]:
    """Inside the context, the garbage collector does not run, and what was there before is not
    looked at.
    """
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def collected() -> set[str]:
    """The types of Kefu whose objects only the garbage collector frees, and its coroutines and
    generators.
    """
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return {name for one in gc.garbage if (name := name_in_kefu(one))}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def name_in_kefu(one: object) -> str:
    """The name of an object's type or code; empty for another package's."""
    for kind in ("gi_code", "ag_code", "cr_code"):
        code = getattr(one, kind, None)
        if isinstance(code, CodeType) and PACKAGE in Path(code.co_filename).parents:
            return code.co_qualname
    return type(one).__qualname__ if type(one).__module__.startswith("kefu.") else ""


@pytest.mark.parametrize(
    ("kept", "reply", "end"),
    [
        (kept, reply, end)
        for kept in (True, False)
        for reply, end in [
            (WHOLE, read),
            (CUT, read),
            (refusal(500), read),
            (WHOLE, leave),
            (CUT, leave),
            (HANGS, cancel),
            (HANGS, drain),
        ]
    ]
    + [(True, WHOLE, follow), (True, CUT, follow), (True, WHOLE, drop)],
)
@in_virtual_time
async def test_an_answer_that_has_ended_is_freed_at_once(
    kept: bool, reply: Reply, end: End
) -> None:
    """The response, and with it the answer's text, chunks, call and turn."""
    site = Site(reply, kept=kept)
    with by_counts_alone():
        asked = site.ask()
        response = asked.response
        await end(site, asked)
        del asked
        await asyncio.sleep(60)
        assert response() is None
        assert collected() == set()


@pytest.mark.parametrize("reply", [WHOLE, CUT, refusal(500)])
@in_virtual_time
async def test_an_answer_in_one_json_object_is_freed_at_once(reply: Reply) -> None:
    site = Site(reply, kept=False)
    with by_counts_alone():
        asked = site.ask(stream=False)
        response = asked.response
        await asked.ended()
        del asked
        await asyncio.sleep(60)
        assert response() is None
        assert collected() == set()


@pytest.mark.parametrize("first", [refusal(500), refusal(429), STREAM, REFUSED, SILENT])
@in_virtual_time
async def test_the_failed_attempts_of_a_whole_answer_are_freed_at_once(first: Reply) -> None:
    """Of an answer that a second key gives."""
    rig = Rig({"a": first, "b": WHOLE})
    with by_counts_alone():
        assert (await rig.ask()).whole
        await asyncio.sleep(60)
        assert collected() == set()


def test_the_check_finds_a_cycle_of_an_object_and_of_a_generator() -> None:
    with by_counts_alone():
        record: Any = Record("request", "POST", "/", 0.0)
        record.facts["itself"] = record
        names: dict[str, Any] = {}
        exec(compile("def words(record): yield record", str(PACKAGE / "words.py"), "exec"), names)
        record.facts["words"] = names["words"](record)
        del record, names
        assert collected() >= {"Record", "words"}
