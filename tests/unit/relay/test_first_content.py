"""An answer begins with its first content. Until then another key can replace the failed one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, cast

import pytest

from kefu.relay.chunks import Chunk
from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import Rig, in_virtual_time

ROLE = up.STREAM.then(up.ROLE)
EMPTY = up.chunk({"content": ""})
TOOL = up.chunk({"tool_calls": [{"index": 0, "function": {"name": "f"}}]})
WHOLE = up.STREAM.then(up.ROLE, up.text("whole"), up.STOP, up.DONE)


def roles(chunks: Sequence[Chunk]) -> int:
    choices: list[Any] = [choice for one in chunks for choice in cast(Any, one.body)["choices"]]
    return sum("role" in choice["delta"] for choice in choices)


@pytest.mark.parametrize(
    ("name", "reply", "outcome"),
    [
        ("429", ROLE.then(up.in_band(code=429)), "http_429"),
        ("500", ROLE.then(up.in_band(code=500)), "http_500"),
        ("reset", ROLE.then(up.LOST), "reset"),
        ("end", ROLE, "empty"),
        ("done", ROLE.then(up.DONE), "empty"),
        ("silence", ROLE.then_silence(), "no_event"),
        ("stop", ROLE.then(up.STOP, up.DONE), "no_text"),
        ("stop-in-one-chunk", up.STREAM.then(up.chunk({"content": ""}, finish="stop")), "no_text"),
        ("malformed", ROLE.then(b"data: {no\n\n"), "malformed"),
        ("in-one-packet", up.STREAM.then(up.ROLE + up.in_band(code=429)), "http_429"),
        ("empty-chunks", ROLE.then(*[EMPTY] * 30).then(up.LOST), "reset"),
        ("usage", ROLE.then(up.usage(5, 0), up.LOST), "reset"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@in_virtual_time
async def test_role_chunk_commits_nothing(name: str, reply: Reply, outcome: str) -> None:
    """The client gets the whole answer of the next key, with a single role chunk."""
    rig = Rig({"first": reply, "second": WHOLE})
    answer = await rig.relay.start(call := rig.call())
    chunks = [chunk async for batch in answer.batches() for chunk in batch]
    assert [attempt.outcome for attempt in call.attempts] == [outcome, "ok"]
    assert roles(chunks) == 1
    assert call.completion.finish_reason == "stop"
    assert "whole" in "".join(chunk.text for chunk in chunks)
    assert len({chunk.body["id"] for chunk in chunks}) == 1
    assert rig.open == []


@pytest.mark.parametrize(
    "content",
    [
        up.text("a"),
        up.chunk({"reasoning_content": "hm"}),
        up.chunk({"reasoning": "hm"}),
        up.chunk({"refusal": "no"}),
        TOOL,
        up.chunk({}, finish="length"),
        up.chunk({}, finish="content_filter"),
    ],
)
@in_virtual_time
async def test_content_of_any_kind_commits_the_key(content: bytes) -> None:
    """After that no other key is asked, for any kind of failure."""
    rig = Rig({"first": ROLE.then(content, up.in_band(code=500)), "never": WHOLE})
    result = await rig.ask()
    assert result.refused is None
    assert rig.asked == [("first", 0)]


@in_virtual_time
async def test_chunks_before_the_content_are_sent_with_it() -> None:
    rig = Rig({"only": ROLE.then(up.text("a"), after=1).then(up.STOP, up.DONE)})
    answer = await rig.relay.start(rig.call())
    first = await anext(answer.batches())
    deltas = [chunk.body["choices"][0]["delta"] for chunk in first]  # type: ignore[index]
    assert deltas == [{"role": "assistant", "content": ""}, {"content": "a"}]


@in_virtual_time
async def test_endless_empty_chunks_take_no_memory() -> None:
    """They have no content, so the relay stores and passes on only the first ones."""
    empty = ROLE.then(*[EMPTY] * 5000).then(up.text("a"), up.STOP, up.DONE)
    answer = await Rig({"only": empty}).relay.start(Rig({}).call())
    assert len(await anext(answer.batches())) < 20


@in_virtual_time
async def test_empty_answer_of_the_only_key_is_passed_on() -> None:
    """The relay adds nothing, and keeps nothing back."""
    rig = Rig({"only": ROLE.then(up.STOP, up.DONE)})
    result = await rig.ask()
    assert (result.text, result.whole, result.outcomes) == ("", True, ["ok"])
    assert rig.failing == []


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n"])
@in_virtual_time
async def test_the_last_event_needs_no_empty_line(end: bytes) -> None:
    """Some servers end their answer with its last character."""
    last = up.STOP.rstrip() + end
    rig = Rig({"only": up.STREAM.then(up.text("whole"), last)})
    result = await rig.ask()
    assert (result.text, result.whole, result.outcomes) == ("whole", True, ["ok"])
    whole = Rig(
        {"only": up.STREAM.then(up.chunk({"content": "one"}, finish="stop").rstrip() + end)}
    )
    assert (await whole.ask()).text == "one"


@in_virtual_time
async def test_usage_of_a_failed_attempt_is_not_that_of_the_answer() -> None:
    rig = Rig({"first": ROLE.then(up.usage(900, 7), up.LOST), "second": WHOLE})
    call = rig.call(estimate=len)
    assert (await rig.ask(call)).whole
    assert (call.usage(1000), call.spent(1000)) == ((1000, 5), 2005)


@in_virtual_time
async def test_overtaken_attempt_costs_a_prompt_and_its_words_are_not_counted() -> None:
    slow = ROLE.then(up.usage(900, 7)).late(2.9).then_silence()
    rig = Rig({"slow": slow, "fast": WHOLE.late(1)})
    call = rig.call(estimate=len)
    result = await rig.ask(call)
    assert (result.text, result.outcomes) == ("whole", ["no_event", "ok"])
    assert (call.usage(1000), call.spent(1000)) == ((1000, 5), 2005)


@pytest.mark.parametrize("pause", [1.0, 3.0, 9.0])
@in_virtual_time
async def test_headers_wait_for_content_or_2_5_seconds(pause: float) -> None:
    rig = Rig({"only": ROLE.then(up.text("a"), after=pause).then(up.STOP, up.DONE)})
    result = await rig.ask()
    assert result.head_at == pytest.approx(min(pause, 2.5))
    times = [result.head_at, *result.pings, pause]
    assert max(b - a for a, b in itertools.pairwise(times)) <= 2.51
