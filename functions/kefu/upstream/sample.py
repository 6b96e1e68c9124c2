"""The default model without an API key, "sample mode": quotes the learnt pages.

The sample model reads the passages from the prompt, as a model does, and quotes the part that has
most terms of the question, with its number. So the first answers that an owner sees are right, and
the same each time. Tools for orders are called, too: see `kefu.upstream.sample_tools`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kefu.knowledge.finding import questions_in
from kefu.knowledge.sources import PASSAGES_HEAD, QUESTION_HEAD
from kefu.knowledge.terms import page_language, question_terms, terms
from kefu.relay import sse
from kefu.upstream.sample_tools import CHINESE, ChosenCall, tool_reply

NAME = "sample"
NOTICE = (
    "Sample mode: no model is connected, so answers are quotations of the learnt pages. Set "
    "KEFU_API_KEYS, or KEFU_UPSTREAM_URL and a key, for a model's own."
)
_ENGLISH = {
    "quote": "*Sample mode: a quotation, chosen by its words. Set `KEFU_API_KEYS` and a model "
    "answers.*",
    "nothing": "The learnt pages say nothing about this.\n\n*Sample mode: answers are quotations "
    "of the learnt pages. Set `KEFU_API_KEYS` and a model answers.*",
    "no pages": "This is sample mode: no model is connected, and no pages are learnt that could "
    "be quoted. Set `KEFU_API_KEYS` and start again, and a model answers here.",
}
_CHINESE = {
    "quote": "*示例模式：按字词挑选的原文引用。设置 `KEFU_API_KEYS` 后由模型回答。*",
    "nothing": "已学习的页面没有提到这一点。\n\n*示例模式：回答只引用已学习的页面。设置 "
    "`KEFU_API_KEYS` 后由模型回答。*",
    "no pages": "这是示例模式：没有连接模型，也没有可以引用的页面。设置 `KEFU_API_KEYS` "
    "并重新启动，就由模型回答。",
}
_QUOTE_CHARS = 500
"""Characters of a quotation."""
_NO_HEADING = re.compile(r"[.!?。！？…:：]\W*$|\d|^- | \| ")
"""Sentences, prices, times, items of lists and rows of tables."""
_PIECE = re.compile(r"\S+\s*|\s+")
_PACE_SECONDS = 0.02
"""Seconds between two pieces of an answer."""


class Part(NamedTuple):
    """A heading of a passage, and the text below it."""

    number: int
    """The passage's number, from 1."""
    title: str
    """The title of the passage's page."""
    heading: str
    text: str


def answer_to(message: str) -> str:
    """The answer to a visitor's message, which may have passages in front of it."""
    head, found, question = message.rpartition(f"\n{QUESTION_HEAD}\n")
    texts = _CHINESE if CHINESE.match(question) else _ENGLISH
    if not found or not head.startswith(PASSAGES_HEAD):
        return texts["no pages"]
    best = best_part(list(_parts(head)), question)
    if best is None:
        return f"[0] {texts['nothing']}"
    quoted = _quotation(best, question).replace("\n", "\n> ")
    return f"> {quoted} [{best.number}]\n\n{texts['quote']}"


def best_part(parts: list[Part], question: str) -> Part | None:
    """The part with most terms of the question, else of a page whose title has some; or None.

    The terms of the sentences and the clause that ask count more than those of a story before.
    """
    asking = " ".join(questions_in(question, [page_language("", question)])) or question
    scored = [
        (_shared(part, asking)[0], *_shared(part, question), -at) for at, part in enumerate(parts)
    ]
    _, own, title, at = max(scored, default=(0, 0, 0, 0))
    return parts[-at] if own or title else None


def _quotation(part: Part, question: str) -> str:
    """The text of the part. A long one begins with the row that has most terms of the question."""
    if len(part.text) <= _QUOTE_CHARS:
        return part.text
    rows = part.text.split("\n")
    first = max(range(len(rows)), key=lambda at: _shared(part._replace(text=rows[at]), question))
    text = "\n".join(rows[first:])
    return text if len(text) <= _QUOTE_CHARS else f"{text[:_QUOTE_CHARS].rstrip()} …"


def _shared(part: Part, question: str) -> tuple[int, int]:
    """The number of the question's terms in the part, and the page's title."""
    text = f"{part.heading}\n{part.text}"
    language = page_language("", text)
    asked = set(question_terms(question, [language]))
    return len(asked & set(terms(text, language))), len(asked & set(terms(part.title, language)))


def _parts(head: str) -> Iterator[Part]:
    for line in head.split("\n"):
        if line.startswith("{"):
            passage = json.loads(line)
            number, title, heading = passage["n"], passage["title"], passage["heading"]
            body = list[str]()
            for row in passage["text"].split("\n"):
                if body and len(row) < 80 and not _NO_HEADING.search(row):
                    yield Part(number, title, heading, "\n".join(body))
                    heading, body = row, []
                else:
                    body.append(row)
            if body:
                yield Part(number, title, heading, "\n".join(body))


class SampleUpstream:
    """An `Upstream` without a network."""

    async def warm(self) -> None:
        """Do nothing: there is nothing to load."""

    async def send(self, body: bytes, secret: str) -> SampleResponse:
        asked = json.loads(body)
        if b'"image_url"' in body:
            from kefu.images import texts_only  # here, because few requests have images

            asked["messages"] = texts_only(asked["messages"])
        if asked.get("tools") and (reply := tool_reply(asked)):
            return SampleResponse(reply)
        said = [one["content"] for one in asked["messages"] if one["role"] == "user"]
        return SampleResponse(answer_to(said[-1] if said and isinstance(said[-1], str) else ""))

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


class SampleResponse:
    status = 200
    headers: Mapping[str, str] = {"content-type": "text/event-stream"}

    def __init__(self, reply: ChosenCall | str) -> None:
        deltas = _text_deltas(reply) if isinstance(reply, str) else _call_deltas(reply)
        reason = "stop" if isinstance(reply, str) else "tool_calls"
        self._events = iter(_events(deltas, reason))

    async def read(self, timeout: float) -> bytes:
        await asyncio.sleep(_PACE_SECONDS)
        return next(self._events, b"")

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def finish(self) -> None:
        """Do nothing: there is no connection."""


def _text_deltas(text: str) -> list[dict[str, object]]:
    return [{"content": piece} for piece in _PIECE.findall(text)]


def _call_deltas(call: ChosenCall) -> list[dict[str, object]]:
    """A call in two pieces, as models stream it: its name, then its arguments."""
    name = {"name": call.tool, "arguments": ""}
    head = {"index": 0, "id": "call_0", "type": "function", "function": name}
    rest = {"index": 0, "function": {"arguments": call.arguments}}
    return [{"tool_calls": [head]}, {"tool_calls": [rest]}]


def _events(deltas: list[dict[str, object]], reason: str) -> list[bytes]:
    choices: list[Mapping[str, object]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": reason})
    events = [sse.encode(json.dumps({"model": NAME, "choices": [one]})) for one in choices]
    return [*events, sse.DONE]
