"""The parts of a turn in a stored chat: history, output filter, background writes, records."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.chat.completion import Dialogue, Question, TooLong
from kefu.chat.output_filter import OutputFilter
from kefu.chat.prompt import (
    PromptPolicy,
    Sampling,
    TrimPolicy,
    build_prompt,
    request_body,
)
from kefu.errors import StoreUnavailable
from kefu.knowledge.citations import CitationFilter
from kefu.messages import Message
from kefu.relay.call import Attempt, Call
from kefu.relay.chunks import Chunk, Completion, chunk_of
from kefu.relay.collected import Collected, replayed
from kefu.relay.key_pool import Fingerprint
from kefu.sessions.hooks import Filter
from kefu.sessions.store.model import SessionId, StoredMessage
from kefu.sessions.turn.call_log import Recording, TurnRecord
from kefu.sessions.turn.history import Exchange, alternating, exchanges, from_stable_start
from kefu.sessions.turn.saving import BackgroundWriter

ONE = SessionId("1" * 32)


def stored(number: int, role: str, status: str = "ok", reply_to: int | None = None) -> Any:
    return StoredMessage(
        id=number,
        session_id=ONE,
        role=role,  # type: ignore[arg-type]
        content=f"text {number}",
        status=status,  # type: ignore[arg-type]
        created_at=float(number),
        reply_to=reply_to,
    )


STATUSES = st.sampled_from(["ok", "failed", "partial", "pending", "interrupted"])


@given(st.lists(st.tuples(STATUSES, STATUSES, st.booleans()), max_size=8), st.randoms())
def test_p7_history_is_whole_good_turns_in_the_order_of_the_questions(
    turns: list[tuple[str, str, bool]], shuffle: Any
) -> None:
    """D10, W11: for any order of the answers, and for any failures."""
    messages = []
    for number, (asked, answered, there) in enumerate(turns):
        messages.append(stored(number + 1, "user", asked))
        if there:  # after all questions, in any order
            messages.append(stored(100 + number, "assistant", answered, number + 1))
    shuffle.shuffle(messages)
    current = len(turns)
    found = exchanges(messages, current)
    expected = []
    for number, (asked, answered, there) in enumerate(turns):
        if asked == "ok" and number + 1 < current:
            expected += [number + 1, *([100 + number] if there and answered == "ok" else [])]
    assert [message.id for exchange in found for message in exchange] == expected
    for exchange in found:
        roles = [message.role for message in exchange]
        assert roles == sorted(roles, reverse=True)
        assert roles[0] == "user"


@pytest.mark.parametrize(
    ("numbers", "limit", "step", "first"),
    [
        (range(4, 14), 10, 0.4, 4),
        (range(5, 15), 10, 0.4, 8),
        (range(7, 17), 10, 0.4, 8),
        (range(5, 14), 10, 0.4, 5),
        (range(5, 15), 10, 0.1, 5),
    ],
)
def test_p8_a_long_history_starts_at_the_same_turn_for_some_turns(
    numbers: range, limit: int, step: float, first: int
) -> None:
    """A short history, and one with a step of one turn, is not cut."""
    turns: list[Exchange] = [[stored(2 * number + 1, "user")] for number in numbers]
    kept = from_stable_start(turns, limit, step)
    assert [turn[0].id // 2 for turn in kept] == list(range(first, numbers[-1] + 1))


def line(number: int) -> Any:
    return stored(number, "assistant")._replace(operator="Ingrid")


def test_h4_lines_and_messages_to_a_person_are_history_in_alternating_roles() -> None:
    talk = [
        stored(1, "user"),
        stored(2, "assistant", reply_to=1),
        stored(3, "user"),  # to the person
        line(6),
        line(8),
        stored(9, "user"),
        stored(11, "user"),
        stored(13, "user", "failed"),
        line(16),
    ]
    found = exchanges([line(0), *talk], 17)
    assert [[one.id for one in exchange] for exchange in found] == [[1, 2], [3, 6, 8], [9, 11, 16]]
    told = alternating(one for exchange in found for one in exchange)
    assert [(one.role, last.id) for one, last in told] == [
        ("user", 1),
        ("assistant", 2),
        ("user", 3),
        ("assistant", 8),
        ("user", 11),
        ("assistant", 16),
    ]
    assert told[3][0].content == "text 6\n\ntext 8"


def chunk(delta: dict[str, Any], finish: str | None = None) -> Chunk:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return chunk_of({"id": "x", "object": "o", "choices": [choice]})


def text_of(chunks: Sequence[Chunk], name: str = "content") -> str:
    deltas = [json.loads(one.text)["choices"][0]["delta"] for one in chunks if one.has_choices]
    return "".join(delta.get(name, "") for delta in deltas)


class HoldTwo(Filter):
    """An output filter that holds two characters back, and converts to upper case."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        text = self._held + text
        self._held = text[-2:]
        return text[:-2].upper()

    def close(self) -> str:
        return self._held.upper()


USAGE = chunk_of({"id": "x", "choices": [], "usage": {}})


async def test_p26_without_filters_chunks_pass_as_they_came() -> None:
    visible = OutputFilter()
    visible.use(lambda _: [])
    given_chunks = [chunk({"role": "assistant", "content": ""}), chunk({"content": "hi"}), USAGE]
    assert [one for given in given_chunks for one in await visible.feed(given)] == given_chunks
    assert (visible.text, visible.unfiltered.chunks, await visible.close()) == ("hi", 3, [])


async def test_p26_a_chunk_that_no_filter_changes_is_passed_on_as_it_is() -> None:
    """It keeps its JSON text, which need not be written again."""
    visible = OutputFilter()
    visible.use(lambda _: [CitationFilter(())])
    role = chunk({"role": "assistant", "content": "", "refusal": None})
    end = chunk({"content": None}, finish="stop")
    given_chunks = [role, chunk({"content": " hello"}), chunk({"content": ", you"}), end]
    passed = [one for given in given_chunks for one in await visible.feed(given)]
    assert [one is given for one, given in zip(passed, given_chunks, strict=True)] == [True] * 4


@given(st.lists(st.text(max_size=4), max_size=6), st.integers(1, 3))
async def test_p26_filters_lose_no_text_and_release_held_text_at_the_end(
    pieces: list[str], filters: int
) -> None:
    """P12: the record has the unfiltered answer."""
    visible = OutputFilter()
    visible.use(lambda _: [HoldTwo() for _ in range(filters)])
    out = [one for piece in pieces for one in await visible.feed(chunk({"content": piece}))]
    out += await visible.feed(chunk({}, finish="stop"))
    assert text_of(out) == "".join(pieces).upper()
    assert visible.text == text_of(out)
    assert visible.unfiltered.content == "".join(pieces)
    assert json.loads(out[-1].text)["choices"][0]["finish_reason"] == "stop"
    assert await visible.close() == []


async def test_p26_a_cut_answer_includes_the_text_that_filters_held() -> None:
    visible = OutputFilter()
    visible.use(lambda _: [HoldTwo()])
    out = await visible.feed(chunk({"content": "hello", "reasoning_content": "why"}))
    rest = await visible.close()
    assert text_of(out + rest) == "HELLO"
    assert text_of(out + rest, "reasoning_content") == "WHY"


def test_p17_a_replayed_answer_is_a_whole_stream() -> None:
    collected = Collected()
    chunks = replayed('"你好"\n', "id", "model", 7)
    for one in chunks:
        collected.add(one)
        body = json.loads(one.text)
        assert (body["id"], body["object"]) == ("id", "chat.completion.chunk")
        assert "\n" not in one.text
    assert collected.content == '"你好"\n'
    assert json.loads(chunks[-1].text)["choices"][0]["finish_reason"] == "stop"


async def test_d6_a_failed_write_is_retried_and_then_reported() -> None:
    lost: list[str] = []
    writer = BackgroundWriter(lost.append, wait=5, pauses=(0, 0))
    tries = []

    async def third_time() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise StoreUnavailable("away")

    async def never() -> None:
        raise StoreUnavailable("away")

    async def wrong() -> None:
        tries.append(1)
        raise ValueError("a fault of ours")

    await writer.wait([writer.begin("one", third_time), writer.begin("two", never)])
    assert len(tries) == 3
    assert lost == ["two"]
    await writer.wait([writer.begin("three", wrong)])
    assert len(tries) == 4, "what is wrong stays so"
    assert lost == ["two", "three (ValueError)"]
    await writer.aclose()


async def test_d6_a_response_waits_briefly_for_writes_and_a_disconnect_cancels_none() -> None:
    writer = BackgroundWriter(pytest.fail, wait=0.01)
    may = asyncio.Event()
    written = []

    async def slow() -> None:
        await may.wait()
        written.append(1)

    task = writer.begin("slow", slow)
    await writer.wait([task])
    assert not task.done()
    waiting = asyncio.create_task(writer.wait([task]))
    await asyncio.sleep(0)
    waiting.cancel()
    may.set()
    await task
    assert written == [1]


async def test_closing_gives_up_unfinished_work() -> None:
    writer = BackgroundWriter(pytest.fail, wait=0.01)
    task = writer.begin("for ever", asyncio.Event().wait)
    await writer.aclose()
    assert task.cancelled()


SECRET = "sk-0123456789"


def dialogue() -> Dialogue:
    """A dialogue whose first call was refused as too long, and whose shortened call was
    answered.
    """
    question = Question([Message("user", f"my key: {SECRET}")], Sampling("m"))
    prompt = build_prompt(question.messages, PromptPolicy(trim=TrimPolicy("off")))
    body = request_body(prompt.window.messages, Sampling("m"))
    completion = Completion("x", "m", 1)
    completion.finish_reason = "stop"
    call = Call(body, completion, started=100.0, first_event_at=103.0)
    key = Fingerprint("a" * 12)
    call.attempts += [
        Attempt(key, "http_400", 0.5),
        Attempt(key, "http_429", 0.1, cooled_down=True),
    ]
    call.attempts.append(Attempt(key, "ok", 0.2))
    talk = Dialogue(question, prompt, call)
    talk.too_long.append(TooLong(body, prompt, 1, 101.0))
    return talk


def happened(error: dict[str, object] | None) -> TurnRecord:
    message = stored(7, "user")
    answer = Collected()
    answer.chunks = 3
    return TurnRecord(message, 0, answer, error, 5000.0, ended=104.0, meta={"request_id": "r"})


@pytest.mark.parametrize("error", [None, {"code": "gateway_timeout"}])
def test_p10_every_request_to_a_model_is_a_separate_call(
    error: dict[str, object] | None,
) -> None:
    """U9: the refused one and the shortened one. T18: neither contains a secret."""
    recording = Recording("all", lambda text: text.replace(SECRET, "[key]"), "api.example")
    first, last = recording.calls([dialogue()], happened(error))
    assert [(call.number, call.attempt) for call in (first, last)] == [(1, 1), (2, 2)]
    assert json.loads(first.error or "")["code"] == "context_length_exceeded"
    assert (first.created_at, first.duration) == (5000.0, 1.0)
    assert (last.created_at, last.ttft, last.duration) == (5001.0, 2.0, 3.0)
    assert last.stream_complete is (error is None)
    assert (last.error is None) is (error is None)
    for call in (first, last):
        assert SECRET not in repr(call)
        assert b"[key]" in (call.request or b"")
        meta = json.loads(call.meta)
        assert meta["redacted"] is True
        assert (meta["host"], meta["request_id"]) == ("api.example", "r")
    outcomes = [attempt["outcome"] for attempt in json.loads(last.meta)["attempts"]]
    assert outcomes == ["http_429", "ok"]


@pytest.mark.parametrize(
    ("capture", "error", "bodies"),
    [
        ("off", {"code": "x"}, [False, False]),
        ("errors", None, [True, False]),
        ("errors", {"code": "x"}, [True, True]),
        ("all", None, [True, True]),
    ],
)
def test_p33_raw_bodies_are_kept_as_wanted(
    capture: Any, error: dict[str, object] | None, bodies: list[bool]
) -> None:
    recording = Recording(capture, str, "h")
    calls = list(recording.calls([dialogue()], happened(error)))
    assert [call.request is not None for call in calls] == bodies
    assert (calls[1].response is not None) is bodies[1]
