"""The calls for summaries are recorded with the answer for which they were made (P10, P16, P20)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kefu.chat.prompt import PromptPolicy, TrimPolicy
from kefu.context import CALIBRATED, Budget
from kefu.sessions.store.model import CallRecord, SessionId
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Process
from tests.fakes.spoken import HandClock, Say, Spoken

LONG = "I have a question about my parcel, and it is a long one. " * 6
SHORT = "They asked for a parcel."


class Model(Spoken):
    """A model that answers every question, and writes the given summary or fails to."""

    def __init__(self, summary: Say) -> None:
        super().__init__(Say("Yes.", usage=(20, 5)))
        self._summary = summary
        self._answer = self.answers[0]

    async def send(self, body: bytes, secret: str) -> Any:
        self.answers = [self._summary if b"<conversation>" in body else self._answer]
        return await super().send(body, secret)


WAYS: dict[str, dict[str, Any]] = {
    "a hook": {"hooks": {"summary": {"tokens": 120}}},
    "the trim": {
        "policy": PromptPolicy(trim=TrimPolicy("summary", Budget(220, reserve=0), CALIBRATED))
    },
}


async def calls_of(summary: Say, way: dict[str, Any]) -> list[list[CallRecord]]:
    """Run three turns. Returns for each turn the calls for a summary and for the answer.

    With `trim = "summary"`, the summary is written after the third answer has started.
    """
    clock = HandClock()
    store = ChatsInMemory(clock.now)
    model = Model(summary)
    process = Process(store, model, clock, **way)
    answer = None
    for _ in range(3):
        answer = await process.ask(LONG, answer)
        assert answer.complete
        assert answer.text == "Yes."
    assert answer
    id = SessionId(answer.headers["x-session-id"])
    calls = await store.calls(id)
    async with asyncio.timeout(10):
        while len(calls) < 4:
            await asyncio.sleep(0.01)
            calls = await store.calls(id)
    if "hooks" not in way and summary.status == 200:
        fourth = await process.ask(LONG, answer)
        assert fourth.complete
        assert SHORT in json.dumps(model.asked[-1])
    return [[call for call in calls if call.message_id == number] for number in (1, 3, 5)]


@pytest.mark.parametrize("way", WAYS)
async def test_p10_a_summary_is_recorded_as_it_was_asked_for_and_as_it_came(way: str) -> None:
    first, _, last = await calls_of(Say(SHORT, usage=(70, 6)), WAYS[way])
    assert [call.number for call in first] == [1]
    told, made = last
    assert (told.number, made.number) == (1, 51)
    if way == "a hook":
        assert SHORT in (told.request or b"").decode()
    meta = json.loads(made.meta)
    assert (meta["purpose"], meta["request_id"], meta["config_id"]) == (
        "summary",
        "request",
        "default",
    )
    assert "trimmed" not in meta
    assert [attempt["outcome"] for attempt in meta["attempts"]] == ["ok"]
    assert meta["timings"]["chunk_count"] > 1
    assert LONG.strip() in json.loads(made.request or b"")["messages"][1]["content"]
    assert json.loads(made.response or "")["choices"][0]["message"]["content"] == SHORT
    assert (made.prompt_tokens, made.completion_tokens) == (70, 6)
    assert (made.finish_reason, made.stream_complete, made.error) == ("stop", True, None)
    assert made.created_at < told.created_at + told.duration


@pytest.mark.parametrize("way", WAYS)
async def test_p16_a_summary_that_failed_is_recorded_with_why(way: str) -> None:
    """The answer is given without the summary."""
    *_, last = await calls_of(Say("no", status=400), WAYS[way])
    told, made = last
    assert told.error is None
    assert json.loads(made.meta)["purpose"] == "summary"
    assert json.loads(made.error or "")["code"] == "invalid_request"
    assert (made.stream_complete, made.response) == (False, None)
    assert b"<conversation>" in (made.request or b"")
