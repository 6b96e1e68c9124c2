"""The messages that a long conversation sends to the model, by setting: C10 to C12, X4, X8
to X13.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kefu.context.tokens import counter
from tests.fakes import behaviours as b
from tests.fakes.asking import conversation
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage

SYSTEM = "You answer."
TURNS = 12
SUMMARY = "<conversation_summary>"
TASK = "You condense"


def talk(question: str, turns: int = TURNS) -> dict[str, Any]:
    """A body with so many turns before the question. Each turn contains its number."""
    texts: list[str] = []
    for turn in range(turns):
        texts += [
            f"question {turn}: " + "费用多少? " * 6,
            f"answer {turn}: " + "about 40 yuan. " * 6,
        ]
    return conversation(*texts, question)


async def sent(running: Stage, question: str, turns: int = TURNS) -> list[dict[str, str]]:
    """The messages of the prompt that the upstream received."""
    before = len(running.upstream.calls(question))
    answer = await running.ask(talk(question, turns))
    assert answer.complete, answer.raw
    calls = running.upstream.calls(question)[before:]
    return next(c.body["messages"] for c in calls if TASK not in c.body["messages"][0]["content"])


def kept(messages: list[dict[str, str]]) -> list[str]:
    """The kept messages, such as `question 3` and `answer 3`."""
    return [m["content"].partition(":")[0] for m in messages]


@pytest.mark.parametrize("strategy", ["fifo", "sliding_window", "keep_important"])
@pytest.mark.parametrize("name", ["calibrated", "cjk_v1", "tiktoken:o200k_base"])
async def test_x9_c12_prompt_fits_the_budget_in_the_counter_that_was_set(
    staged: Staged, question: str, strategy: str, name: str
) -> None:
    limit = 500
    running = staged(trim=strategy, max_prompt_tokens=limit, counter=name, system_prompt=SYSTEM)
    messages = await sent(running, question)
    assert messages[0] == {"role": "system", "content": SYSTEM}
    assert messages[-1] == {"role": "user", "content": question}
    count = counter(name)
    exact = name.startswith("tiktoken")
    cost = sum(count(m["content"]) + 3 * exact for m in messages) + 3 * exact
    assert cost <= limit
    # The newest messages are kept, without a gap.
    assert kept(messages)[1:-1][-1] == f"answer {TURNS - 1}"
    assert 2 < len(messages) < 2 * TURNS
    record = await running.service.logged(path="/api/chat")
    assert record["trimmed"] == 2 * TURNS + 2 - len(messages)
    assert record["trimmed_because"] == {"budget": record["trimmed"]}


async def test_x8_room_is_the_models_window_less_the_answer(staged: Staged, question: str) -> None:
    running = staged(trim="fifo", model="gpt-4", max_output_tokens=7792, counter="bytes4")
    messages = await sent(running, question)
    count = counter("bytes4")
    assert sum(count(m["content"]) for m in messages) <= 400
    assert len(messages) > 3


async def test_x8_unknown_window_is_said_at_the_start(staged: Staged) -> None:
    running = staged(trim="fifo", model="nobody-knows-1")
    assert "KEFU_MAX_PROMPT_TOKENS" in running.service.stderr
    assert "nobody-knows-1" in running.service.stderr


async def test_x10_prompt_that_cannot_fit_is_sent_and_flagged(
    staged: Staged, question: str
) -> None:
    running = staged(trim="fifo", max_prompt_tokens=1, system_prompt=SYSTEM)
    messages = await sent(running, question)
    assert [m["role"] for m in messages] == ["system", "user"]
    assert (await running.service.logged(path="/api/chat"))["over_budget"] is True


@pytest.mark.slow
async def test_x11_trim_step_keeps_the_start_of_prompts_the_same(
    staged: Staged, question: str
) -> None:
    options: dict[str, Any] = {"trim": "fifo", "max_prompt_tokens": 700, "counter": "bytes4"}

    async def cuts(running: Stage) -> int:
        starts = [(await sent(running, question, turns))[0] for turns in range(14, 26)]
        return len({message["content"] for message in starts})

    assert await cuts(staged(**options)) < await cuts(staged(trim_step=0.0, **options)) == 12


async def summarized(running: Stage, calls: int = 1) -> None:
    """Wait until so many summaries were requested in the background, and stored."""
    async with asyncio.timeout(20):
        while len(running.upstream.calls("<conversation>")) < calls:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    await asyncio.sleep(1.0)


async def test_x9_a_summary_replaces_the_dropped_messages_one_request_later(
    staged: Staged, question: str
) -> None:
    running = staged(trim="summary", max_prompt_tokens=600, system_prompt=SYSTEM)
    running.script(b.answer("They asked ", "for prices.", delay=0.2), asking="<conversation>")
    first = await sent(running, question)
    assert not any(SUMMARY in m["content"] for m in first)
    await summarized(running)
    messages = await sent(running, question)
    assert messages[0]["content"] == SYSTEM
    assert messages[1]["content"].startswith(SUMMARY)
    assert "They asked for prices." in messages[1]["content"]
    assert messages[-1]["content"] == question
    told = running.upstream.calls("<conversation>")[0].body["messages"][-1]["content"]
    assert "question 0" in told
    assert question not in told
    record = await running.service.logged(path="/api/chat")
    assert record["no_summary"] == "not ready"
    assert len(running.upstream.calls("<conversation>")) == 1


@pytest.mark.slow
async def test_x9_a_summary_continues_the_previous_one(staged: Staged, question: str) -> None:
    running = staged(trim="summary", max_prompt_tokens=600)
    running.script(b.answer("first"), b.answer("second"), asking="<conversation>")
    for turns, calls in ((TURNS, 1), (TURNS, 1), (TURNS + 8, 2)):
        await sent(running, question, turns)
        await summarized(running, calls)
    calls_made = running.upstream.calls("<conversation>")
    # The same conversation needs no new summary. A longer one sends only its new messages.
    assert len(calls_made) == 2
    told = calls_made[1].body["messages"][-1]["content"]
    assert "summary so far: first" in told
    assert "question 0" not in told


@pytest.mark.slow
@pytest.mark.parametrize("behaviour", [b.status(500), b.answer(""), b.eof_after(2), b.status(429)])
async def test_x9_without_a_summary_the_chat_continues_with_its_only_key(
    staged: Staged, question: str, behaviour: Any
) -> None:
    running = staged(1, trim="summary", max_prompt_tokens=600)
    running.script(behaviour, asking="<conversation>")
    for turns in (TURNS, TURNS, TURNS + 8):
        messages = await sent(running, question, turns)
        assert not any(SUMMARY in m["content"] for m in messages)
        assert messages[-1]["content"] == question
        await summarized(running)
    assert (await running.service.logged(path="/api/chat"))["no_summary"]
    # After a failure there is a pause, so the next question starts no new attempt.
    assert len(running.upstream.calls("<conversation>")) == 1


async def test_x9_t1_summary_is_paid_from_the_daily_budget(staged: Staged, question: str) -> None:
    usage = {"prompt_tokens": 700, "completion_tokens": 300, "total_tokens": 1000}
    running = staged(trim="summary", max_prompt_tokens=600, daily_tokens=6000)
    running.script(b.answer("short", usage=usage), asking="<conversation>")
    running.script(b.answer("yes", usage=usage), asking=question)
    await sent(running, question)
    await summarized(running)
    # 2,000 of 6,000 tokens are used, so a request for more than the other 4,000 is refused.
    refused = await running.ask(conversation("x" * 8000))
    assert refused.status == 429


async def test_c9_context_too_long_halves_the_token_budget_too(
    staged: Staged, question: str
) -> None:
    running = staged(trim="fifo", max_prompt_tokens=600, counter="bytes4")
    too_long = b.status(400, body={"error": {"code": "context_length_exceeded"}})
    running.script(too_long, b.answer("now"), asking=question)
    answer = await running.ask(talk(question))
    assert answer.text == "now"
    count = counter("bytes4")
    first, second = (
        sum(count(m["content"]) for m in call.body["messages"])
        for call in running.upstream.calls(question)
    )
    assert second <= first / 2
