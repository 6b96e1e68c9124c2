"""What the panel shows, as JSON: sessions, their messages and calls, keys, days, exports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from kefu.keypool import KeyState
from kefu.lean_typing import NamedTuple
from kefu.sessions import CALL_FACTS, CallRecord, Day, Overview, Page, Session, StoredMessage
from kefu.web.panel_markdown import markdown

Json = dict[str, object]


class Whole(NamedTuple):
    """A session with all that is known of it."""

    session: Session
    messages: Sequence[StoredMessage]
    calls: Sequence[CallRecord]

    def json(self) -> Json:
        return {
            "session": self.session._asdict(),
            "messages": [message(one) for one in self.messages],
            "calls": [call(one) for one in self.calls],
        }


def message(stored: StoredMessage) -> Json:
    fields = stored._asdict()
    del fields["session_id"]
    return fields


def call(record: CallRecord) -> Json:
    """`request` is the text as it was sent, so that nothing is lost by reading it."""
    return {
        **{name: getattr(record, name) for name in CALL_FACTS},
        "request": None if record.request is None else record.request.decode(errors="replace"),
        "response": _parsed(record.response),
        "meta": _parsed(record.meta),
        "error": _parsed(record.error),
    }


def _parsed(text: str | None) -> object:
    return None if text is None else json.loads(text)


def page(found: Page) -> Json:
    return {"rows": [row(one) for one in found.rows], "cursor": found.cursor}


def row(overview: Overview) -> Json:
    fields = overview._asdict()
    session: Session = fields.pop("session")
    return {**session._asdict(), **fields}


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


def day(sums: Day) -> Json:
    return sums._asdict()


def _as_json(whole: Whole) -> str:
    return json.dumps(whole.json(), ensure_ascii=False, indent=2) + "\n"


def _as_lines(whole: Whole) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in _lines(whole))


def _lines(whole: Whole) -> Iterator[Json]:
    """Each message with the calls that were made for it behind it."""
    yield {"type": "session", **whole.session._asdict()}
    for one in whole.messages:
        yield {"type": "message", **message(one)}
        for made in whole.calls:
            if made.message_id == one.id:
                yield {"type": "call", **call(made)}


class Export(NamedTuple):
    media_type: str
    write: Callable[[Whole], str]


EXPORTS: Mapping[str, Export] = {
    "json": Export("application/json", _as_json),
    "jsonl": Export("application/jsonl; charset=utf-8", _as_lines),
    "md": Export("text/markdown; charset=utf-8", lambda whole: markdown(*whole)),
}
