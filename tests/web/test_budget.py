"""C19, T1: the daily budget counts each token that a provider may bill, at every kind of end."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Any

import pytest

from kefu.context.tokens import estimate_tokens_v1
from tests.fakes import behaviours as b
from tests.fakes.asking import conversation
from tests.fakes.fixtures import Staged
from tests.fakes.raw_client import RawClient, request
from tests.fakes.stage import Stage

BUDGET = 20_000
QUESTION = "How do I return a parcel that I have never received? " * 100
PROMPT = estimate_tokens_v1(QUESTION)
MESSAGES = conversation(QUESTION, max_tokens=500)
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/api/chat", MESSAGES),
    "kept chat": ("/api/chat", {"message": QUESTION, "max_tokens": 500}),
    "whole answer": ("/v1/chat/completions", {**MESSAGES, "stream": False}),
}


class Held:
    """A model that answers after the visitor has left, because a kept chat waits for its answer."""

    def __init__(self) -> None:
        self.left = threading.Event()

    async def __call__(self, exchange: b.Exchange) -> None:
        await asyncio.to_thread(self.left.wait, 20)
        await b.answer()(exchange)


async def leave(running: Stage, form: str, sign: bytes = b"", held: Held | None = None) -> bool:
    """Ask, and disconnect after the model was called and `sign` was received. False for a 429."""
    if held:
        held.left.clear()
    path, body = FORMS[form]
    before = len(running.upstream.journal)
    async with await RawClient.connect(running.url) as visitor:
        await visitor.send(request(path, body))
        head = asyncio.create_task(visitor.until(b"\r\n\r\n"))
        until = running.upstream.until
        assert await until(lambda: len(running.upstream.journal) > before or head.done(), 5)
        if len(running.upstream.journal) == before:
            assert visitor.received.startswith(b"HTTP/1.1 429 ")
            return False
        if sign:
            assert await head
            assert await visitor.until(sign)
        head.cancel()
        await asyncio.wait({head})
    if held:
        held.left.set()
    call = running.upstream.journal[-1]
    # The connection of a call that was answered to its end stays open for a while.
    assert await running.upstream.until(lambda: bool(call.closed_at or call.answered_at))
    return True


async def spend(
    running: Stage, form: str, times: int, sign: bytes = b"", held: Held | None = None
) -> int:
    """The number of attempts that reached the model. After the first refusal all are refused."""
    reached = [await leave(running, form, sign, held) for _ in range(times)]
    count = sum(reached)
    assert reached == [True] * count + [False] * (times - count)
    assert len(running.upstream.journal) == count
    return count


@pytest.mark.parametrize("form", FORMS)
async def test_t1_80_requests_left_before_the_first_word_end_in_429(
    staged: Staged, form: str
) -> None:
    """A provider bills the prompt that it has read, also if the client has disconnected."""
    running = staged(1, daily_tokens=BUDGET)
    held = Held() if form == "kept chat" else None
    running.script(held or b.answer(before=3))
    assert await spend(running, form, 80, held=held) <= math.ceil(BUDGET / PROMPT)
    assert (await running.ask(MESSAGES)).status == 429


@pytest.mark.slow
@pytest.mark.parametrize("form", ["chat", "kept chat"])
async def test_t1_30_requests_left_in_mid_answer_pay_for_its_text(
    staged: Staged, form: str
) -> None:
    """The upstream sends 400 words in one chunk: the budget counts the text, not the chunks."""
    running = staged(1, daily_tokens=BUDGET)
    piece = "word " * 400
    running.script(b.answer(*[piece] * 20, delay=0.1))
    cost = PROMPT + estimate_tokens_v1(piece)
    assert await spend(running, form, 30, sign=b"word ") <= math.ceil(BUDGET / cost)


async def tokens_of_the_last(running: Stage) -> int:
    [*_, last] = [one for one in running.service.logs() if one.get("path", "").startswith("/api/")]
    return int(last["tokens"])


@pytest.mark.slow
async def test_c19_each_try_that_was_sent_and_not_refused_counts(staged: Staged) -> None:
    """The first key is silent until it is given up, the second one answers."""
    running = staged(2, daily_tokens=BUDGET)
    usage = {"prompt_tokens": 900, "completion_tokens": 10, "total_tokens": 910}
    running.script(b.silent, b.answer(usage=usage))
    assert (await running.ask(MESSAGES)).complete
    assert len(running.upstream.journal) == 2
    assert await tokens_of_the_last(running) == 910 + PROMPT


async def test_c19_a_try_refused_by_its_status_costs_nothing(staged: Staged) -> None:
    running = staged(3, daily_tokens=BUDGET)
    usage = {"prompt_tokens": 900, "completion_tokens": 10, "total_tokens": 910}
    running.script(b.status(429), b.status(500), b.answer(usage=usage))
    assert (await running.ask(MESSAGES)).complete
    assert await tokens_of_the_last(running) == 910


async def test_c19_an_unreachable_host_costs_nothing(staged: Staged) -> None:
    running = staged(2, url="http://127.0.0.1:9/v1", daily_tokens=BUDGET)
    assert (await running.ask(MESSAGES)).status == 503
    assert await tokens_of_the_last(running) == 0


async def test_c19_an_answer_without_usage_counts_by_its_text(staged: Staged) -> None:
    running = staged(1, daily_tokens=BUDGET)
    running.script(b.answer("word " * 1000, reasoning=["thought " * 100]))
    assert (await running.ask(MESSAGES)).complete
    written = estimate_tokens_v1("word " * 1000) + estimate_tokens_v1("thought " * 100)
    assert await tokens_of_the_last(running) == PROMPT + written


async def test_c19_usage_reported_before_the_end_is_no_discount(staged: Staged) -> None:
    """Some upstreams report the usage so far with every chunk."""
    running = staged(1, daily_tokens=BUDGET)
    usage = {"prompt_tokens": PROMPT, "completion_tokens": 0, "total_tokens": PROMPT}
    first = b.chunk({"role": "assistant", "content": ""}, usage=usage)
    running.script(
        b.chunks(first, done=False).then(b.chunk({"content": "word " * 400}), ending="cut")
    )
    await running.ask(MESSAGES)
    assert await tokens_of_the_last(running) == PROMPT + estimate_tokens_v1("word " * 400)
