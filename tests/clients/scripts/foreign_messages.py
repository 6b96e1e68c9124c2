"""Trims objects of LangChain, pydantic-ai, google-genai and Ollama, and prints what went wrong.

Bedrock's messages are dicts; botocore checks them against the API's description. It runs in the
clients' environment, with Kefu's sources on the path: `... foreign_messages [CONVERSATIONS]`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

import botocore.session
from botocore.validate import ParamValidator
from langchain_core.messages import convert_to_messages
from ollama import Message as OllamaMessage  # type: ignore[import-not-found]
from pydantic_ai.messages import ModelMessagesTypeAdapter  # type: ignore[import-not-found]

from kefu.context import BYTES4, TrimState, trim_messages
from tests.unit.context.wire.formats import conversation, least_tokens
from tests.unit.context.wire.other_formats import OTHER_FORMATS

STRATEGIES = ("fifo", "keep_important", "agent", "summary", "agent_summary")
types = import_module("google.genai.types")
CONVERSE: Any = (
    botocore.session.get_session()
    .get_service_model("bedrock-runtime")
    .operation_model("Converse")
    .input_shape
)


def langchain(dicts: list[Any]) -> list[Any]:
    made = [{"role": d["type"], **{k: v for k, v in d.items() if k != "type"}} for d in dicts]
    return list(convert_to_messages(made))


def of_langchain(message: Any) -> Any:
    fields = ("type", "content", "tool_calls", "tool_call_id")
    return {name: getattr(message, name, None) for name in fields}


def with_images(message: Any) -> Any:
    """The client takes images as objects."""
    images = message.get("images")
    return {**message, "images": [{"value": image} for image in images]} if images else message


def of_bedrock(message: Any) -> Any:
    report = ParamValidator().validate({"modelId": "m", "messages": [message]}, CONVERSE)
    if report.has_errors():
        raise ValueError(report.generate_report())
    return message


FORMS: dict[str, tuple[Callable[[list[Any]], list[Any]], Callable[[Any], Any]]] = {
    "langchain": (langchain, of_langchain),
    "pydantic-ai": (
        lambda dicts: list(ModelMessagesTypeAdapter.validate_python(dicts)),
        lambda message: ModelMessagesTypeAdapter.dump_python([message])[0],
    ),
    "bedrock": (list, of_bedrock),
    "gemini": (
        lambda dicts: [types.Content.model_validate(one) for one in dicts],
        lambda message: message.model_dump(by_alias=True, exclude_none=True),
    ),
    "ollama": (
        lambda dicts: [OllamaMessage.model_validate(with_images(one)) for one in dicts],
        lambda message: (
            message if isinstance(message, dict) else message.model_dump(exclude_none=True)
        ),
    ),
}


def wrong(name: str, seed: int) -> str:
    """The error in one conversation, trimmed twice; empty if there is none."""
    api, dice = OTHER_FORMATS[name], Random(seed)
    make, back = FORMS[name]
    whole = make(conversation(api.writer, dice))
    before = [back(message) for message in whole]
    room, strategy = dice.randrange(1, 400), dice.choice(STRATEGIES)
    state = TrimState()
    for _ in range(2):
        sent = trim_messages(
            whole,
            max_tokens=room,
            reserve=0,
            strategy=strategy,
            counter=BYTES4,
            state=state,
            alternate=name == "bedrock",
        )
        state = sent.state
        if sent.to_summarize:
            state = sent.to_summarize.with_summary("They asked for a refund.", state)
        dicts = [back(message) for message in sent]
        if problem := api.refused(dicts, before):
            return f"{strategy}: {problem}"
        if sum(map(least_tokens, dicts)) > sent.tokens:
            return f"{strategy}: texts that are not counted"
        given = {id(message) for message in whole}
        plain = strategy in ("fifo", "keep_important") and name != "bedrock"
        if plain and not all(id(message) in given for message in sent):
            return f"{strategy}: not an object that was given"
    return "" if [back(message) for message in whole] == before else "a message was changed"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    found = {name: Counter(wrong(name, seed) for seed in range(count)) for name in FORMS}
    json.dump({name: dict(reasons) for name, reasons in found.items()}, sys.stdout)


main()
