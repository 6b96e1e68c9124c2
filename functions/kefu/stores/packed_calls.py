"""Encodes upstream calls to compact bytes and decodes them, for all store engines.

A record is JSON, compressed by itself: changes of other records or of messages do not affect it.
The preset dictionary shrinks a record without bodies from about 1,200 to 400 bytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from kefu.sessions.store.model import CallRecord, SessionId
from kefu.stores.folded_calls import Known, unfold

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

Never edit the dictionary, because stored records can only be decompressed with it."""


class CallPlace(NamedTuple):
    """The place of a record in its store. The place is known even if the record is damaged."""

    session_id: SessionId
    message_id: int
    number: int
    created_at: float


def pack(call: CallRecord) -> bytes:
    fields = {name: value for name, value in call._asdict().items() if value is not None}
    del fields["session_id"]
    if call.request is not None:
        fields["request"] = call.request.decode(errors="surrogateescape")
    whole = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    compressor = zlib.compressobj(zdict=DICTIONARY)
    return compressor.compress(whole.encode(errors="surrogatepass")) + compressor.flush()


def unpack(place: CallPlace, packed: bytes, known: Callable[[], Known]) -> CallRecord:
    """The call. `meta.damaged` names the unreadable parts of a damaged record.

    `known` is called for a record of an earlier version.
    """
    try:
        fields = unfold(_fields_in(packed), known)
        if "request" in fields:
            fields["request"] = fields["request"].encode(errors="surrogateescape")
        if damaged := fields["damaged"]:
            fields["meta"] = _with_damage(fields.get("meta", "{}"), ", ".join(damaged))
    except (zlib.error, ValueError, TypeError, LookupError, AttributeError):
        meta = _with_damage("{}", "it")
        fields = {"attempt": 0, "meta": meta, "stream_complete": False, "duration": 0.0}
    found = {name: fields.get(name) for name in CallRecord._fields}
    return CallRecord(**{**found, **place._asdict()})


def _fields_in(packed: bytes) -> dict[str, Any]:
    """Raises an error for a damaged record. zlib does not raise one for a part of a record."""
    decompressor = zlib.decompressobj(zdict=DICTIONARY)
    whole = decompressor.decompress(packed)
    if not decompressor.eof:
        raise ValueError("the end of the record is missing")
    fields: dict[str, Any] = json.loads(whole.decode(errors="surrogatepass"))
    return fields


def _with_damage(meta: str, what: str) -> str:
    sentence = f"This record is damaged: {what} cannot be read."
    return json.dumps({**json.loads(meta), "damaged": sentence}, ensure_ascii=False)
