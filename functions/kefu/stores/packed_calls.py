"""A call as the bytes that a store keeps, and back: one form for every engine.

Bodies are folded (see `kefu.capture`). What is left is JSON in which one call is like the next, so
it is deflated with a dictionary of what all of them say: some 1,200 bytes become 400.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from kefu.capture import Content, Known, Unfoldable, digest, fold, references, unfold
from kefu.lean_typing import NamedTuple
from kefu.sessions import CALL_FACTS, CallRecord, SessionId, StoredMessage

REFERRED = 42
"""How many messages a store looks up by itself: a window of 20, and some that were left out."""

DICTIONARY = (
    b'"system"},{"role":"user","content":"user","assistant","tool_calls":["tools":["timeout"'
    b'"error":[0,{"message":"type":"server_error","param":null,"code":"rate_limit_exceeded"'
    b'"upstream_service_unavailable","gateway_timeout","client_gone","invalid_request",'
    b'"finish_reason":"length","content_filter","tool_calls"'
    b'"outcome":"status","invalid","rate_limited","failing","silent","refused","status":429,'
    b'{"message_id":1,"number":1,"attempt":1,"created_at":17,"finish_reason":"stop",'
    b'"stream_complete":true,"ttft":0.,"duration":1.,"prompt_tokens":1,"completion_tokens":2,'
    b'"request":[0,{"model":"LongCat-2.0","messages":[{"role":"system","content":{"#":"'
    b'{"~":"1-19"}],"temperature":0.5,"max_tokens":2048,"stream":true,'
    b'"stream_options":{"include_usage":true}}],"sha256":"'
    b'"response":[0,{"id":"chatcmpl-","model":"LongCat-2.0","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":{"=":2}},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":,"completion_tokens":,"total_tokens":}}],'
    b'"meta":[0,{"request_id":"","config_id":"default","api_type":"openai",'
    b'"history":{"read":0,"told":0},"host":"api.longcat.chat","sha256":"","attempts":[{"key":"",'
    b'"outcome":"ok","ms":,"rested":false}],"trimmed":{"kept":,"dropped":0,"reasons":{},"tokens":,'
    b'"limit":,"over_budget":false,"fallback":"","left_out":[]},"timings":{"started":17,'
    b'"first_event_ms":,"chunk_count":}}]}'
)
"""What a record says anyway, the most usual last. Never edited: what is stored needs it."""

FOLDED = ("request", "response", "meta", "error")


class Packed(NamedTuple):
    record: bytes
    texts: Mapping[str, bytes]
    """What it refers to besides messages, by digest; to be kept once a session."""


def pack(call: CallRecord, known: Sequence[StoredMessage]) -> Packed:
    messages = Known(known)
    texts: dict[str, str] = {}
    record: dict[str, object] = {name: getattr(call, name) for name in CALL_FACTS}
    for name in FOLDED:
        body = getattr(call, name)
        if isinstance(body, bytes):
            record[name] = fold(body, messages, texts)
            record["sha256"] = digest(body)
        elif body is not None:
            record[name] = _folded_text(body, messages)
    kept = {name: value for name, value in record.items() if value is not None}
    squeezed = {name: zlib.compress(_encoded(text)) for name, text in texts.items()}
    return Packed(_deflated(_encoded(_dumped(kept))), squeezed)


class PackedCall:
    """A call as it was kept, until what it refers to has been read."""

    def __init__(self, record: bytes) -> None:
        self._record: dict[str, Any] = json.loads(_decoded(_inflated(record)))
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
        plain = {name: record.get(name) for name in CALL_FACTS}
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
            return _encoded(folded)
        try:
            return unfold(folded, messages, texts)
        except Unfoldable:
            return None


def text_of(packed: bytes) -> str:
    """One of `Packed.texts` again."""
    return _decoded(zlib.decompress(packed))


def contents(messages: Sequence[StoredMessage]) -> dict[int, Content]:
    return {one.id: Content(one.role, one.content) for one in messages}


def _folded_text(text: str, known: Known) -> object:
    """As `fold`; a text with half a surrogate pair stays as it is."""
    try:
        return fold(text.encode(), known)
    except UnicodeEncodeError:
        return text


def _text(body: bytes | None) -> str | None:
    return None if body is None else _decoded(body)


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _decoded(body: bytes) -> str:
    return body.decode(errors="surrogatepass")


def _deflated(body: bytes) -> bytes:
    squeezing = zlib.compressobj(zdict=DICTIONARY)
    return squeezing.compress(body) + squeezing.flush()


def _inflated(body: bytes) -> bytes:
    return zlib.decompressobj(zdict=DICTIONARY).decompress(body)
