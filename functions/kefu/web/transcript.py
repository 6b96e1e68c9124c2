"""Exports a stored chat as a file that the visitor downloads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kefu.knowledge.sources import named, parted
from kefu.sessions.store.model import Session, StoredMessage

_SPEAKERS = {"user": "You", "assistant": "Assistant"}


class Format(NamedTuple):
    media_type: str
    write: Callable[[Session, Sequence[StoredMessage]], str]


def _as_json(session: Session, messages: Sequence[StoredMessage]) -> str:
    document = {
        "id": session.id,
        "title": session.title,
        "created_at": moment(session.created_at),
        "messages": [_fields(message) for message in messages],
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _fields(message: StoredMessage) -> Mapping[str, object]:
    text, cited = parted(message.content)
    return {
        "id": message.id,
        "role": message.role,
        "content": text,
        "created_at": moment(message.created_at),
        "status": message.status,
        "rating": message.rating,
        **({"sources": named(cited)} if cited else {}),
        **({"comment": message.comment} if message.comment else {}),
        **({"operator": message.operator} if message.operator else {}),
        **({"images": _images(message)} if message.images else {}),
        **({"original": message.original} if message.original else {}),
        **({"steps": _steps(message)} if message.steps and message.role == "assistant" else {}),
    }


def _images(message: StoredMessage) -> list[dict[str, object]]:
    """Types and sizes: the file has no pictures."""
    from kefu.images import described  # here, because few messages have images

    return described(message.id, message.images)


def _steps(message: StoredMessage) -> list[dict[str, object]]:
    """The calls of tools before an answer, without what only the operator sees."""
    from kefu.tools.use import stored_uses  # here, because few chats have calls

    return [
        {"tool": one.name, "title": one.title, "state": one.state, "card": one.card}
        for one in stored_uses(message.steps)
    ]


def _as_markdown(session: Session, messages: Sequence[StoredMessage]) -> str:
    parts = [f"# {session.title}", f"{moment(session.created_at)}"]
    for message in messages:
        parts.append(f"## {_speaker(message)}")
        # The visitor's text is plain text: a block quote keeps it apart from the headings.
        quoted = message.role == "user"
        text = message.content
        parts.append("\n".join(f"> {line}" for line in text.split("\n")) if quoted else text)
    return "\n\n".join(parts) + "\n"


def _as_text(session: Session, messages: Sequence[StoredMessage]) -> str:
    parts = [f"{session.title}\n{moment(session.created_at)}"]
    parts += [f"{_speaker(message)}:\n{message.content}" for message in messages]
    return "\n\n".join(parts) + "\n"


def _speaker(message: StoredMessage) -> str:
    who = message.operator or _SPEAKERS[message.role]
    at = f"{who}, {moment(message.created_at)}"
    return at if message.status == "ok" else f"{at} ({message.status})"


def moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


FORMATS: Mapping[str, Format] = {
    "json": Format("application/json", _as_json),
    "md": Format("text/markdown; charset=utf-8", _as_markdown),
    "txt": Format("text/plain; charset=utf-8", _as_text),
}
