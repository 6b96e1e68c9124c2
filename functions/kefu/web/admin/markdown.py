"""Exports a session and its upstream calls as Markdown, for incident reports.

Texts of visitors and of models are put into code blocks with a fence longer than any inside. So a
Markdown viewer renders no link and loads no image from a quoted text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from kefu.sessions.store.model import CallRecord, Session, StoredMessage
from kefu.web.transcript import moment

_TICKS = re.compile("`+")
_WORD = re.compile("[a-z_]{1,40}")
_NAME = re.compile("[A-Za-z0-9_-]{1,64}")
_WHO = {"user": "Visitor", "assistant": "Assistant"}
_BESIDE = ("trimmed", "attempts")
"""Fields of a call's metadata that `_facts` writes as list items."""


def markdown(
    session: Session, messages: Sequence[StoredMessage], calls: Sequence[CallRecord]
) -> Iterator[str]:
    """Yield the Markdown: each message, followed by the upstream calls made for it."""
    yield f"# Session {session.id}"
    for part in _parts(session, messages, calls):
        yield f"\n\n{part}"
    yield "\n"


def _parts(
    session: Session, messages: Sequence[StoredMessage], calls: Sequence[CallRecord]
) -> Iterator[str]:
    yield _block(session.title, "text")
    yield f"Began {moment(session.created_at)}, last message {moment(session.updated_at)}."
    for one in messages:
        status = "" if one.status == "ok" else f" ({one.status})"
        who = one.operator or _WHO.get(one.role, one.role)
        yield f"## {one.id}. {who}, {moment(one.created_at)}{status}"
        yield _block(one.content, "text")
        if one.original:
            yield "Written as:"
            yield _block(one.original, "text")
        if one.rating:
            yield f"Rated {one.rating}{':' if one.comment else '.'}"
        if one.comment:
            yield _block(one.comment, "text")
        if one.steps and one.role == "user":
            yield from _steps(one.steps)
        made = [call for call in calls if call.message_id == one.id]
        for place, call in enumerate(made, 1):
            yield from _call(place, call)


def _steps(steps: str) -> Iterator[str]:
    """The calls of tools that a question led to."""
    from kefu.tools.use import stored_uses  # here, because few chats have calls

    for use in stored_uses(steps):
        name = use.name if _NAME.fullmatch(use.name) else "a tool that does not exist"
        yield f"### Tool {name}, step {use.step + 1}: {use.state}, {use.ms} ms"
        for title, text in (
            ("Card", use.card),
            ("Arguments", use.arguments),
            ("Result", use.result),
        ):
            if text:
                yield f"{title}:"
                yield _json(text)


def _call(place: int, call: CallRecord) -> Iterator[str]:
    meta = json.loads(call.meta)
    yield f"### Call {place} for message {call.message_id}"
    yield "\n".join(f"- {fact}" for fact in _facts(call, meta))
    request = None if call.request is None else call.request.decode(errors="replace")
    for name, text in (("Sent", request), ("Came back", call.response), ("Error", call.error)):
        if text is None:
            missing = "none" if name == "Error" else "not kept, or there was nothing"
            yield f"{name}: {missing}."
        else:
            yield f"{name}:"
            yield _json(text)
    yield "Beside it:"
    yield _json(json.dumps({name: meta[name] for name in meta if name not in _BESIDE}))


def _facts(call: CallRecord, meta: dict[str, Any]) -> Iterator[str]:
    yield f"{moment(call.created_at)}, {call.duration:.2f} s in all"
    if call.ttft is not None:
        yield f"first word after {call.ttft:.2f} s"
    if meta.get("purpose") == "summary":
        yield "for a summary of older messages"
    if meta.get("purpose") == "search":
        yield "for words to search the site's pages with"
    yield "whole" if call.stream_complete else "not whole"
    if _WORD.fullmatch(call.finish_reason or ""):  # the upstream's value is not trusted
        yield f"finished: {call.finish_reason}"
    if call.prompt_tokens is not None:
        yield f"{call.prompt_tokens} tokens asked, {call.completion_tokens} answered"
    for attempt in meta.get("attempts", ()):
        cooling = ", cooling down since" if attempt["rested"] else ""
        yield f"key {attempt['key']}: {attempt['outcome']} after {attempt['ms']} ms{cooling}"
    if trimmed := meta.get("trimmed"):
        yield from _trimmed(trimmed)


def _trimmed(trimmed: dict[str, Any]) -> Iterator[str]:
    if not trimmed["dropped"]:
        yield "nothing was left out"
    for start, stop, reason in trimmed["left_out"]:
        # The system message has the number 0.
        places = f"no. {start}" if stop - start == 1 else f"no. {start} to {stop - 1}"
        yield f"left out, {places} of the conversation: {reason}"
    yield f"{trimmed['tokens']} of {trimmed['limit']} used"
    if trimmed["over_budget"]:
        yield "what must be sent is longer than that"
    if trimmed["fallback"]:
        yield f"no summary was made: {trimmed['fallback']}"


def _json(text: str) -> str:
    """Return a code block of indented JSON. The JSON export contains the exact text."""
    try:
        return _block(json.dumps(json.loads(text), ensure_ascii=False, indent=2), "json")
    except (ValueError, RecursionError):
        return _block(text, "text")


def _block(text: str, kind: str) -> str:
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return f"{fence}{kind}\n{lines}\n{fence}"
