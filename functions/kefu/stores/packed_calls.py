"""Encodes upstream calls to compact bytes and decodes them, for all store engines.

`kefu.sessions.body_dedup` replaces stored messages in a body by references. The remaining JSON is
similar in all calls. Deflate with a preset dictionary shrinks it from about 1,200 to 400 bytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kefu.sessions.body_dedup import (
    Content,
    MessageIndex,
    Unfoldable,
    digest,
    fold,
    references,
    unfold,
)
from kefu.sessions.model import CALL_FACTS, CallRecord, SessionId, StoredMessage

REFERRED = 42
"""Number of recent messages that a store reads to replace their texts by references.

It covers a context window of 20 messages, and some older ones that were trimmed."""

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
"""The preset dictionary of zlib: frequent strings of a record, the most frequent last.

Never edit it, because stored records can only be decompressed with the same dictionary."""

FOLDED = ("request", "response", "meta", "error")
"""Fields of a call whose texts are replaced by references."""


class Packed(NamedTuple):
    record: bytes
    texts: Mapping[str, bytes]
    """Compressed texts that the record refers to, by digest. A session stores each one once."""


def pack(call: CallRecord, known: Sequence[StoredMessage]) -> Packed:
    """Encode a call. `known`: stored messages that the record may refer to."""
    messages = MessageIndex(known)
    texts: dict[str, str] = {}
    record: dict[str, object] = {name: getattr(call, name) for name in CALL_FACTS}
    for name in FOLDED:
        body = getattr(call, name)
        if isinstance(body, bytes):
            record[name] = fold(body, messages, texts)
            record["sha256"] = digest(body)
        elif body is not None:
            record[name] = _folded_text(body, messages)
            if name == "response" and record[name] != body:
                record["answer"] = _short_digest(body)
    fields = {name: value for name, value in record.items() if value is not None}
    compressed = {name: zlib.compress(_encoded(text)) for name, text in texts.items()}
    return Packed(_deflated(_encoded(_dumped(fields))), compressed)


class PackedCall:
    """A stored call whose references are not yet resolved.

    `ids` are the messages and `digests` the texts that it refers to.
    """

    def __init__(self, record: bytes) -> None:
        self._record: dict[str, Any] = json.loads(_decoded(_inflated(record)))
        referenced = [references(self._record.get(name)) for name in FOLDED]
        self.ids = {number for ids, _ in referenced for number in ids}
        self.digests = {name for _, digests in referenced for name in digests}

    def call(
        self, session_id: SessionId, messages: Mapping[int, Content], texts: Mapping[str, str]
    ) -> CallRecord:
        """Resolve the references and return the call.

        A field is None if a reference is missing. `request` and `response` are also None if their
        digest differs, for example because the visitor asked for another answer.
        """
        record = self._record
        request = self._body("request", messages, texts)
        if request is not None and digest(request) != record["sha256"]:
            request = None
        response, meta, error = (
            _text(self._body(name, messages, texts)) for name in ("response", "meta", "error")
        )
        if response is not None and record.get("answer") not in (None, _short_digest(response)):
            response = None
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
    """Decompress one of `Packed.texts`."""
    return _decoded(zlib.decompress(packed))


def contents(messages: Sequence[StoredMessage]) -> dict[int, Content]:
    return {one.id: Content(one.role, one.content) for one in messages}


def _folded_text(text: str, known: MessageIndex) -> object:
    """Like `fold`, but return a text with an unpaired surrogate unchanged."""
    try:
        return fold(text.encode(), known)
    except UnicodeEncodeError:
        return text


def _short_digest(text: str) -> str:
    return digest(_encoded(text))[:8]


def _text(body: bytes | None) -> str | None:
    return None if body is None else _decoded(body)


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _decoded(body: bytes) -> str:
    return body.decode(errors="surrogatepass")


def _deflated(body: bytes) -> bytes:
    compressor = zlib.compressobj(zdict=DICTIONARY)
    return compressor.compress(body) + compressor.flush()


def _inflated(body: bytes) -> bytes:
    return zlib.decompressobj(zdict=DICTIONARY).decompress(body)
