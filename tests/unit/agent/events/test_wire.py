"""Converts events to JSON lines and back."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kefu.agent.events import (
    Action,
    AgentSessionId,
    Assistant,
    BudgetExceeded,
    Estimate,
    EventBody,
    MessageRun,
    Observation,
    SessionEvent,
    SessionStart,
    Tokens,
    Tried,
    TurnEnd,
    event_line,
    new_session_id,
    read_lines,
)

SESSION = AgentSessionId("sess_00000000000000000000000000")

FULL: list[EventBody] = [
    SessionStart("once", {"tools": ["read"]}, "m", "calibrated", "be kind", "abc", "sess_x:2"),
    Assistant(
        "words",
        tokens=Tokens(3, 4, "usage"),
        estimate=Estimate(2, 5),
        usage={"prompt_tokens": 3},
        model="m",
        finish_reason="stop",
        latency_ms=12,
        ttft_ms=3,
        attempts=(Tried("abc", "http_429", 4), Tried("def", "ok", 8)),
    ),
    Observation("text", tool="read", ok=False, duration_ms=2, truncated=True),
    BudgetExceeded(
        "told", "summarize", 9, 8, 2, (MessageRun(1, 3), MessageRun(4, 5)), Tokens(1, 2, "local")
    ),
    TurnEnd("max_steps", 3, 40, "too long", "max_steps", Tokens(1, 2, "mixed")),
]


def event(body: EventBody, seq: int = 1, **more: Any) -> SessionEvent:
    return SessionEvent(1_760_000_000.25, SESSION, seq, body, **more)


@pytest.mark.parametrize("body", [*FULL, *(kind() for kind in get_args(EventBody))])
def test_s21_every_event_comes_back_as_it_was(body: EventBody) -> None:
    written = event(body, turn=2, step=0)
    log = read_lines([event_line(written)])
    assert log.events == (written,)
    assert log.notices == ()


def test_s21_a_line_has_the_fields_of_the_format_and_no_null() -> None:
    line = event_line(event(FULL[1], 7, turn=1, step=0))
    assert json.loads(line) == {
        "v": 1,
        "ts": "2025-10-09T08:53:20.250Z",
        "session_id": SESSION,
        "seq": 7,
        "turn": 1,
        "step": 0,
        "type": "assistant",
        "content": "words",
        "role": "assistant",
        "meta": {
            "tokens": {"prompt": 3, "completion": 4, "total": 7, "source": "usage"},
            "estimate": {"prompt": 2, "completion": 5},
            "usage": {"prompt_tokens": 3},
            "model": "m",
            "finishReason": "stop",
            "latencyMs": 12,
            "ttftMs": 3,
            "attempts": [
                {"key": "abc", "outcome": "http_429", "ms": 4},
                {"key": "def", "outcome": "ok", "ms": 8},
            ],
        },
    }
    assert b"null" not in line


@given(st.text(st.characters(exclude_categories=())))
def test_t21_any_text_is_one_line_of_utf8_that_drives_no_terminal(text: str) -> None:
    line = event_line(event(Action("read", text)))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]", line.decode())
    assert line.count(b"\n") == 1
    body = read_lines([line]).events[0].body
    assert isinstance(body, Action)
    assert body.input == text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(st.binary(max_size=200))
def test_k11_reading_never_raises(noise: bytes) -> None:
    read_lines(noise.split(b"\n"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
NAMES = sorted(
    {f.name for kind in get_args(EventBody) for f in fields(kind)} | {"tokens", "finishReason"}
)


@given(
    st.sampled_from([kind.type for kind in get_args(EventBody)]),
    st.dictionaries(st.sampled_from(NAMES), JSON),
    st.dictionaries(st.sampled_from(["ts", "seq", "turn", "step", "v", "content", "role"]), JSON),
)
@settings(max_examples=60)
def test_k11_wrong_values_are_defaults(kind: str, meta: Any, beside: Any) -> None:
    line = json.dumps({**beside, "type": kind, "meta": meta}).encode()
    for read in read_lines([line]).events:
        again = read_lines([event_line(read)])
        assert again.events[0].body == read.body


def test_k11_newer_versions_and_unknown_types_are_reported_and_skipped() -> None:
    newer = event_line(event(Action("read"))).replace(b'"v":1', b'"v":9,"extra":true')
    odd = event_line(event(Action("read"), 2)).replace(b'"action"', b'"hologram"')
    log = read_lines([newer, odd, b'{"torn', event_line(event(Action("list"), 3))])
    assert [e.body for e in log.events] == [Action("read"), Action("list")]
    assert log.notices == (
        "1 line(s) were written by a newer version",
        "1 line(s) have the unknown type 'hologram'",
        "1 line(s) could not be read",
    )
    assert log.last_seq == 3


def test_k2_missing_lines_are_reported() -> None:
    log = read_lines(event_line(event(Action("read"), seq)) for seq in (1, 2, 5, 6, 9))
    assert log.notices == ("4 line(s) are missing",)


def test_s1_ids_are_ulids_that_sort_by_time() -> None:
    ids = [new_session_id(now, bytes(10)) for now in (0.0, 1.0, 1_760_000_000.0)]
    assert ids == sorted(ids)
    assert ids[0] == SESSION
    assert new_session_id(1_469_918_176.385, b"\xff" * 10) == "sess_01ARYZ6S41" + "Z" * 16


def test_s26_tokens_add_up_and_have_their_source() -> None:
    usage, local = Tokens(3, 4, "usage"), Tokens(1, 1, "local")
    assert usage + usage == Tokens(6, 8, "usage")
    assert usage + local == Tokens(4, 5, "mixed")
    assert Tokens() + local == local
    assert (usage + local).total == 9
