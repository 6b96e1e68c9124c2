"""L4: the process is frozen between two requests, as Lambda does, and thawed for the next one."""

from __future__ import annotations

import asyncio
import signal

from tests.fakes import behaviours as b
from tests.fakes.fixtures import Staged


async def test_l4_connections_that_died_while_frozen_are_replaced_and_no_key_rests(
    staged: Staged,
) -> None:
    running = staged(1)
    running.script(b.answer("warm"), asking="<warm>")
    running.script(b.answer("thawed"), asking="<next>")
    pair = await asyncio.gather(running.ask("<warm> 1"), running.ask("<warm> 2"))
    assert all(answer.complete for answer in pair)
    opened = running.upstream.connections

    running.service.process.send_signal(signal.SIGSTOP)
    running.upstream.close_idle()
    asked = asyncio.create_task(running.ask("<next>"))
    await asyncio.sleep(1)
    running.service.process.send_signal(signal.SIGCONT)

    answer = await asked
    assert answer.complete
    assert answer.text == "thawed"
    assert len(running.upstream.calls("<next>")) == 1
    assert running.upstream.connections == opened + 1
    line = [each for each in running.service.logs() if each.get("path") == "/api/chat"][-1]
    assert line["attempts"] == 1
    assert line["keys"][0].endswith(":ok")
    # The only key: had it been cooled, nobody could answer now.
    assert (await running.ask("<next> again")).complete


async def test_l4_freezing_changes_nothing_when_the_connections_survive(staged: Staged) -> None:
    running = staged(1)
    running.script(b.answer("hi"))
    assert (await running.ask("<first>")).complete
    opened = running.upstream.connections
    running.service.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(0.5)
    running.service.process.send_signal(signal.SIGCONT)
    assert (await running.ask("<second>")).complete
    assert running.upstream.connections == opened
