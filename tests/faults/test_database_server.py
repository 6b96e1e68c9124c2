"""One server, and a PostgreSQL that restarts, or is restored from a dump (scale E1, E2)."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.fakes import behaviours as b
from tests.fakes.chatting import Visitor
from tests.fakes.fixtures import Staged
from tests.parts.postgresql import Postgres, until_ready

REFUSED_SECONDS = 5.0
"""The longest time for an answer or a refusal while the database is away."""


@pytest.mark.slow
async def test_e2_a_database_that_restarts_leaves_no_chat_hanging(
    staged: Staged, own_postgresql: Postgres
) -> None:
    """Chats go on, or are refused with Retry-After. The answer of before is saved afterwards."""
    running = staged(2, store=own_postgresql.new_schema(), capture="off")
    running.script(b.answer("Before"))
    visitor = Visitor(running)
    assert (await visitor.say("Hello")).complete
    running.script(b.drip(80, delay=0.05))
    under_way = asyncio.create_task(visitor.say("A long one?"))
    await asyncio.sleep(1.0)
    await asyncio.to_thread(own_postgresql.stop)
    running.script(b.answer("Meanwhile"))
    kinds = Counter[str]()
    for _ in range(10):
        began = time.monotonic()
        answer = await Visitor(running).say("Are you there?")
        assert time.monotonic() - began < REFUSED_SECONDS
        assert answer.complete or "Retry-After" in answer.headers, answer
        kinds["whole" if answer.complete else str(answer.status)] += 1
    await asyncio.to_thread(own_postgresql.start)
    until_ready(own_postgresql.url)
    assert kinds
    assert (await under_way).text.startswith("drop")
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(httpx.HTTPError, KeyError):
                shown = await visitor.shown()
                if len(shown) == 4 and shown[-1][2] == "ok":
                    break
            await asyncio.sleep(0.3)
    assert shown[-1][1] == ("drop " * 80).strip()
    async with asyncio.timeout(20):
        while not (await Visitor(running).say("And now?")).complete:  # noqa: ASYNC110 - a circuit
            await asyncio.sleep(0.5)


@pytest.mark.slow
async def test_e1_a_dump_of_a_running_server_goes_on_in_an_empty_database(
    staged: Staged, own_postgresql: Postgres, tmp_path: Path
) -> None:
    """E1: as docs/server.md says. The visitor's token is good for the restored chat."""

    def run(program: str, *arguments: str) -> None:
        place = ("-h", "127.0.0.1", "-p", str(own_postgresql.port), "-U", "postgres")
        subprocess.run([own_postgresql.bin / program, *place, *arguments], check=True)

    dump, address = str(tmp_path / "dump"), own_postgresql.url.rpartition("/")[0]
    for name in ("before", "after"):
        run("createdb", name)
    first = staged(1, store=f"{address}/before")
    first.script(b.answer("Hello!"))
    visitor = Visitor(first)
    await visitor.say("Hello")
    run("pg_dump", "--format=custom", "-f", dump, "before")
    kept = await visitor.shown()
    first.service.stop()
    run("pg_restore", "-d", "after", dump)
    restored = Visitor(staged(1, store=f"{address}/after"))
    restored.session_id, restored.token = visitor.session_id, visitor.token
    assert await restored.shown() == kept
    restored.stage.script(b.answer("Of course."))
    assert (await restored.say("Do you remember me?")).text == "Of course."
    sent = [one["content"] for one in restored.stage.upstream.journal[-1].body["messages"]]
    assert sent[-3:] == ["Hello", "Hello!", "Do you remember me?"]
