"""Trimmed prompts beside a count that is made apart from the library, by OpenAI's formula."""

from __future__ import annotations

from random import Random
from typing import Any

from kefu.context import trim_messages
from kefu.context.tokens.bpe import Tokenizer, loaded_encoding
from tests.unit.context.wire.formats import FORMATS, conversation

IMAGE_LOW = 85


def billed(message: dict[str, Any], encoder: Tokenizer) -> int:
    """The cookbook's `num_tokens_from_messages`, and the names and arguments of tool calls."""
    tokens = 3
    for key, value in message.items():
        if key == "name":
            tokens += 1
        if isinstance(value, str) and key not in ("tool_call_id", "x_unknown"):
            tokens += len(encoder.encode_ordinary(value))
    for part in message["content"] if isinstance(message["content"], list) else ():
        tokens += IMAGE_LOW if "image_url" in part else len(encoder.encode_ordinary(part["text"]))
    for call in message.get("tool_calls") or ():
        for text in call["function"].values():
            tokens += len(encoder.encode_ordinary(text))
    return tokens


def test_x7_no_prompt_has_more_tokens_than_the_provider_bills_or_than_fit() -> None:
    encoder = loaded_encoding("o200k_base").tokenizer
    api = FORMATS["chat completions"]
    for seed in range(400):
        dice = Random(seed)
        whole, room = conversation(api.writer, dice), dice.randrange(20, 900)
        sent = trim_messages(whole, model="gpt-4o", max_tokens=room, reserve=0)
        counted = 3 + sum(billed(message, encoder) for message in sent)
        assert sent.over_budget or counted <= room
        if any(run.reason == "budget" for run in sent.left_out):  # else it may be an estimate
            assert sent.tokens == counted
