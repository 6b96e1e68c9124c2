"""P3, C1 to C12: the outcomes of an answer that is not stored, as its client sees them."""

from __future__ import annotations

import asyncio
import json

import pytest

from kefu.chat.admission import Allowance
from kefu.sessions.store.model import Retention
from kefu.sessions.store.overview import SessionFilter
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.daily_budget import budget_left
from tests.fakes.in_process import Connection, Process
from tests.fakes.in_process_upstream import (
    DONE,
    LOST,
    SILENT,
    STOP,
    STREAM,
    InProcessUpstream,
    Reply,
    answer,
    refusal,
    text,
    usage,
)
from tests.fakes.relaying import CLOCK, in_virtual_time

DAILY = 5000
ID = "11111111-2222-4333-8444-555555555555"
SLOW = STREAM.then(*(text(f"word{number} ") for number in range(20)), after=1).then(STOP, DONE)


class Site:
    """A process that makes one answer at a time."""

    def __init__(self, *replies: Reply) -> None:
        self.model = InProcessUpstream({"one key": replies or [answer()]})
        self.store = ChatsInMemory(CLOCK.now, Retention())
        allowance = Allowance(daily_tokens=DAILY, streams=1)
        self.process = Process(self.store, self.model, CLOCK, allowance=allowance)

    def ask(self, *, stream: bool = True) -> Connection:
        return self.process.stateless("question", stream=stream, id=ID)

    async def spent(self) -> int:
        return DAILY - await budget_left(self.process.admission, DAILY)

    @property
    def closed_at(self) -> list[float | None]:
        """When the connections to the model were cut."""
        return [one.closed_at for one in self.model.exchanges]


@pytest.mark.parametrize("stream", [True, False])
@in_virtual_time
async def test_p3_an_answer_is_paid_for_and_nothing_is_stored(stream: bool) -> None:
    site = Site(STREAM.then(text("hel"), text("lo"), STOP, usage(20, 5), DONE))
    given = await site.ask(stream=stream).answer()
    if stream:
        assert (given.complete, given.text) == (True, "hello")
    else:
        body = json.loads(given.body)
        assert body["choices"][0]["message"]["content"] == "hello"
        assert body["usage"]["total_tokens"] == 25
    assert "x-session-id" not in given.headers
    assert await site.spent() == 25
    assert list((await site.store.newest(SessionFilter(), None, 9, CLOCK.now())).rows) == []


def end(site: Site, asked: Connection, how: str) -> None:
    if how == "leaves":
        asked.leave()
    elif how == "cancels":
        assert site.process.cancel(ID)
    else:
        site.process.close()


@pytest.mark.parametrize("seconds", [0.5, 3.5])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("how", ["leaves", "cancels", "server stops"])
@in_virtual_time
async def test_c2_an_answer_that_is_ended_closes_the_model_pays_and_frees_its_slot(
    how: str, stream: bool, seconds: float
) -> None:
    """Before its first text, and after."""
    site = Site(SLOW)
    asked = site.ask(stream=stream)
    await asyncio.sleep(seconds)
    assert (await site.ask().answer()).code == "upstream_service_unavailable"
    end(site, asked, how)
    await asked.ended()
    assert site.closed_at == pytest.approx([seconds])
    assert await site.spent() < 50, "what was said, not what was reserved"
    if how != "server stops":
        with site.process.admission.slot("1.2.3.4"):
            pass


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("how", "code"),
    [("cancels", "answer_cancelled"), ("server stops", "upstream_service_unavailable")],
)
@pytest.mark.parametrize("seconds", [0.5, 3.5])
@in_virtual_time
async def test_c2_the_reason_is_an_event_after_text_and_else_a_status(
    how: str, code: str, stream: bool, seconds: float
) -> None:
    site = Site(SLOW)
    asked = site.ask(stream=stream)
    await asyncio.sleep(seconds)
    end(site, asked, how)
    given = await asked.answer()
    assert given.code == code
    assert (given.status == 200) is (stream and seconds > 1)
    assert given.text == ("word0 word1 word2 " if stream and seconds > 1 else "")


@in_virtual_time
async def test_c2_a_client_that_left_is_said_in_the_log_and_gets_nothing_more() -> None:
    site = Site(SLOW)
    asked = site.ask()
    await asked.until("word1")
    body = asked.body
    asked.leave()
    await asked.ended()
    assert (asked.body, asked.record.code) == (body, "client_gone")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (refusal(500), "upstream_service_unavailable"),
        (SILENT, "gateway_timeout"),
        (STREAM.then(LOST), "upstream_service_unavailable"),
    ],
)
@in_virtual_time
async def test_u13_an_error_before_any_text_has_a_status_and_costs_nothing(
    reply: Reply, code: str, stream: bool
) -> None:
    site = Site(reply)
    given = await site.ask(stream=stream).answer()
    assert given.code == code
    assert given.status >= 500
    assert await site.spent() <= 20, "at most the prompt"


@pytest.mark.parametrize("stream", [True, False])
@in_virtual_time
async def test_a_model_that_ignores_max_tokens_is_cut_off(stream: bool) -> None:
    """T31: else one request could fill the memory. `max_tokens` is 100."""
    piece = text("x" * 50_000)
    site = Site(STREAM.then(*[piece] * 20).then(STOP, DONE))
    given = await site.ask(stream=stream).answer()
    assert given.code == "upstream_service_unavailable"
    assert given.text.count("x") in (range(400_000, 500_001) if stream else [0])
    assert site.closed_at == [0]
