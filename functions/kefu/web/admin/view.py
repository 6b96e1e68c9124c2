"""Converts sessions, messages, calls, keys and days to the JSON of the panel and its exports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kefu.relay.key_pool import KeyState
from kefu.sessions.store.contacts import ContactRequest, mail_state
from kefu.sessions.store.model import CallRecord, Session, StoredMessage
from kefu.sessions.store.overview import Overview, Page
from kefu.web.admin.markdown import markdown
from kefu.web.json_response import compact

Json = dict[str, object]


class ChatExport(NamedTuple):
    """A session with its messages and its upstream calls."""

    session: Session
    messages: Sequence[StoredMessage]
    calls: Sequence[CallRecord]

    def json(self) -> Json:
        return {
            "session": session_facts(self.session),
            "messages": [message(one) for one in self.messages],
            "calls": [call(one) for one in self.calls],
        }


def session_facts(session: Session) -> Json:
    """Return a session as JSON, without its state of trimming: the calls show the sent messages."""
    fields = session._asdict()
    del fields["trim_state"]
    return {**fields, "attendance": session.attendance._asdict()}


def page_of_session(
    whole: ChatExport, before: int | None, requests: Sequence[ContactRequest] = ()
) -> Iterator[str]:
    """Yield the JSON of a session for the panel. `before` leads to older messages.

    `requests`: what the visitor asked for, with the form.
    """
    yield f'{{"session":{compact(session_facts(whole.session))},"messages":['
    for place, one in enumerate(whole.messages):
        yield "," * (place > 0) + compact(message(one))
    yield '],"calls":['
    for place, made in enumerate(whole.calls):
        yield "," * (place > 0) + compact(call(made))
    shown = [one._asdict() for one in requests]
    mail = mail_state(requests)
    yield f'],"requests":{compact(shown)},"mail":{compact(mail)},"before":{compact(before)}}}'


def message(stored: StoredMessage) -> Json:
    """Return a message as JSON. The calls of tools are at the question: not all have an answer."""
    fields = stored._asdict()
    del fields["session_id"], fields["steps"], fields["images"]
    if stored.images:
        from kefu.images import described  # here, because few messages have images

        fields["images"] = described(stored.id, stored.images)
    if stored.steps and stored.role == "user":
        from kefu.tools.use import stored_uses  # here, because few chats have calls

        fields["steps"] = [use._asdict() for use in stored_uses(stored.steps)]
    return fields


def call(record: CallRecord) -> Json:
    """Return a call as JSON. `request` stays a string, so that it shows the exact text sent."""
    fields = record._asdict()
    del fields["session_id"]
    return {
        **fields,
        "request": None if record.request is None else record.request.decode(errors="replace"),
        "response": _parsed(record.response),
        "meta": _parsed(record.meta),
        "error": _parsed(record.error),
    }


def _parsed(text: str | None) -> object:
    return None if text is None else json.loads(text)


def page(found: Page) -> Json:
    rows = [row(one) for one in found.rows]
    return {"rows": rows, "cursor": found.cursor, "read": found.read, "waiting": found.waiting}


def row(overview: Overview) -> Json:
    fields = overview._asdict()
    session: Session = fields.pop("session")
    return {**session_facts(session), **fields}


def key(state: KeyState) -> Json:
    outcomes = state.outcomes
    return {
        "key": state.key,
        "status": state.status,
        "seconds_left": round(state.seconds_left, 1),
        "rate_limited": outcomes.get("http_429", 0),
        "failing": sum(n for name, n in outcomes.items() if name.startswith("http_5")),
        "outcomes": dict(outcomes),
    }


def _as_json(whole: ChatExport) -> Iterator[str]:
    yield from json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(whole.json())
    yield "\n"


def _as_lines(whole: ChatExport) -> Iterator[str]:
    return (json.dumps(one, ensure_ascii=False) + "\n" for one in _lines(whole))


def _lines(whole: ChatExport) -> Iterator[Json]:
    """Yield the session, then each message followed by the calls made for it."""
    yield {"type": "session", **session_facts(whole.session)}
    for one in whole.messages:
        yield {"type": "message", **message(one)}
        for made in whole.calls:
            if made.message_id == one.id:
                yield {"type": "call", **call(made)}


class Export(NamedTuple):
    media_type: str
    write: Callable[[ChatExport], Iterator[str]]
    """Yields the text in pieces: see `LongResponse`."""


EXPORTS: Mapping[str, Export] = {
    "json": Export("application/json", _as_json),
    "jsonl": Export("application/jsonl; charset=utf-8", _as_lines),
    "md": Export("text/markdown; charset=utf-8", lambda whole: markdown(*whole)),
}
