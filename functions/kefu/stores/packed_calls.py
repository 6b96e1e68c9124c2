"""A call as the bytes that a store keeps, and back: one form for every engine.

JSON, so that whoever looks into a store can read it. Bodies are folded: see `kefu.capture`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kefu.capture import Content, Known, Unfoldable, digest, fold, references, unfold
from kefu.sessions import CallRecord, SessionId, StoredMessage

REFERRED = 42
"""How many messages a store looks up by itself: a window of 20, and some that were left out."""

PLAIN = (
    "message_id",
    "number",
    "attempt",
    "created_at",
    "finish_reason",
    "stream_complete",
    "ttft",
    "duration",
    "prompt_tokens",
    "completion_tokens",
)
FOLDED = ("request", "response", "meta", "error")


@dataclass(frozen=True, slots=True)
class Packed:
    record: bytes
    texts: Mapping[str, str]
    """What it refers to besides messages, by digest; to be kept once a session."""


def pack(call: CallRecord, known: Sequence[StoredMessage]) -> Packed:
    messages = Known(known)
    texts: dict[str, str] = {}
    record: dict[str, object] = {name: getattr(call, name) for name in PLAIN}
    for name in FOLDED:
        body = getattr(call, name)
        if isinstance(body, bytes):
            record[name] = fold(body, messages, texts)
            record["sha256"] = digest(body)
        elif body is not None:
            record[name] = _folded_text(body, messages)
    kept = {name: value for name, value in record.items() if value is not None}
    return Packed(_dumped(kept), texts)


class PackedCall:
    """A call as it was kept, until what it refers to has been read."""

    def __init__(self, record: bytes) -> None:
        self._record: dict[str, Any] = json.loads(record.decode(errors="surrogatepass"))
        found = [references(self._record.get(name)) for name in FOLDED]
        self.ids = {number for ids, _ in found for number in ids}
        self.digests = {name for _, digests in found for name in digests}

    def call(
        self, session_id: SessionId, messages: Mapping[int, Content], texts: Mapping[str, str]
    ) -> CallRecord:
        """What cannot be put together any more, or not as it was, is None."""
        record = self._record
        request = self._body("request", messages, texts)
        if request is not None and digest(request) != record["sha256"]:
            request = None
        response, meta, error = (
            _text(self._body(name, messages, texts)) for name in ("response", "meta", "error")
        )
        plain = {name: record.get(name) for name in PLAIN}
        return CallRecord(
            session_id=session_id,
            request=request,
            response=response,
            meta=meta or "{}",
            error=error,
            **plain,  # type: ignore[arg-type]
        )

    def _body(
        self, name: str, messages: Mapping[int, Content], texts: Mapping[str, str]
    ) -> bytes | None:
        folded = self._record.get(name)
        if folded is None:
            return None
        if isinstance(folded, str):
            return folded.encode(errors="surrogatepass")
        try:
            return unfold(folded, messages, texts)
        except Unfoldable:
            return None


def contents(messages: Sequence[StoredMessage]) -> dict[int, Content]:
    return {one.id: Content(one.role, one.content) for one in messages}


def _folded_text(text: str, known: Known) -> object:
    """As `fold`; a text with half a surrogate pair stays as it is."""
    try:
        return fold(text.encode(), known)
    except UnicodeEncodeError:
        return text


def _text(body: bytes | None) -> str | None:
    return None if body is None else body.decode(errors="surrogatepass")


def _dumped(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="surrogatepass")
