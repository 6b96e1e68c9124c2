"""Recorded conversations of four APIs; the README in their folder names the sources."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kefu.context import BYTES4, trim_messages
from tests.unit.context.wire.formats import refused_anthropic, refused_chat

FOLDER = Path(__file__).parents[3] / "golden" / "transcripts"
RECORDED: dict[str, dict[str, list[Any]]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")
}
EACH = [(api, name) for api, talks in RECORDED.items() for name in talks]


def whole(api: str) -> list[Any]:
    """All conversations of an API one after the other, and a question."""
    talks = copy.deepcopy(RECORDED[api])
    joined = [message for talk in talks.values() for message in talk]
    return [*joined, {"role": "user", "content": "Thanks. What was my first question?"}]


def refused(api: str, sent: Sequence[Any], given: Sequence[Any]) -> str:
    if api == "anthropic":
        return refused_anthropic(sent, given)
    if api in ("chat_completions", "groq"):
        return refused_chat(sent, given)
    present = {id(item) for item in sent}
    for item, following in pairwise(given):
        if item.get("type") == "reasoning" and (id(item) in present) != (id(following) in present):
            return "reasoning without its item"
    partners = {"approval_request_id": "id", "call_id": "call_id"}
    for key, of in partners.items():
        for item in sent:
            if key in item and not any(
                other.get(of) == item[key] for other in sent if other is not item
            ):
                return f"no partner of {item}"
    pairs = Counter(item.get("call_id") for item in sent if item.get("call_id"))
    return "a call without its output" if any(count % 2 for count in pairs.values()) else ""


@pytest.mark.parametrize(("api", "name"), EACH)
def test_a_recorded_conversation_that_fits_is_returned_as_it_is(api: str, name: str) -> None:
    talk = copy.deepcopy(RECORDED[api][name])
    sent = trim_messages(talk, max_tokens=100_000, reserve=0)
    assert [id(m) for m in sent] == [id(m) for m in talk]
    assert talk == RECORDED[api][name]


@pytest.mark.parametrize("strategy", ["fifo", "keep_important", "agent", "v1"])
@pytest.mark.parametrize("api", RECORDED)
def test_recorded_conversations_are_valid_at_every_budget(api: str, strategy: str) -> None:
    given = whole(api)
    before = json.dumps(given)
    for room in range(50, 9000, 300):
        sent = trim_messages(given, max_tokens=room, reserve=0, counter=BYTES4, strategy=strategy)
        kept = {id(message) for message in given}
        if strategy != "agent":
            assert all(id(message) in kept for message in sent)
            assert refused(api, sent, given) == ""
        elif api != "responses":
            assert refused(api, sent, given) == ""
        assert sent[-1] is given[-1]
        assert sent.tokens <= room or sent.over_budget
    assert json.dumps(given) == before
