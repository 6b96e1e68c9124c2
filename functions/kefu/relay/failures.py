"""Decides how the relay reacts to a failed attempt. Does no I/O.

| Failure before the first content | Reaction |
|---|---|
| 429, 456, 5xx, an error event, status 200 without an event stream | the key cools down |
| 401, 402, 403, 400 about the key, 429 with `insufficient_quota` | the key is invalid for an hour |
| 400 or 422 that names a parameter which can be left out | the same key is asked without it |
| 413, or a text about a prompt that is too long | shorter prompts are asked for |
| other 400, 422 and other errors of the request | no other key is asked |
| redirect, bad certificate, 404 | no other key of this upstream is asked |
| refused, reset, silent, and everything else | the key is asked last for a while |
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from kefu.errors import (
    ContextTooLong,
    GatewayTimeout,
    InvalidRequest,
    KefuError,
    RateLimited,
    UpstreamUnavailable,
)
from kefu.relay.key_pool import MAX_COOLDOWN, Cooldown, Reason

SILENT_MESSAGE = "The AI service did not answer in time."
UNAVAILABLE_MESSAGE = "The AI service is unavailable. Please try again later."

INVALID_FOR: Final = 3600.0
"""Seconds for which the relay does not use a key that the upstream rejected as invalid."""

_REQUEST_AT_FAULT = frozenset({400, 405, 406, 413, 414, 415, 422})
_KEY_INVALID = frozenset({401, 402, 403})
_WRONG_BODY = frozenset({"not_sse", "malformed", "empty"})
_TIMED_OUT = frozenset({"silent", "no_event"})
_OPERATORS_MISTAKES: Final = {
    "http_401": "the upstream refuses an API key",
    "http_402": "the upstream wants a payment for an API key",
    "http_403": "the upstream refuses an API key",
    "http_404": "the upstream does not know this model, or its URL is wrong",
    "certificate": "the upstream's certificate is not trusted",
}
"""By outcome."""
_REFUSED_PARAMETER: Final = re.compile(
    r"unsupported_(parameter|value)|unknown_parameter"
    r"|(un(supported|known|recogni[sz]ed|expected)|extra(neous)?)[\w ]*"
    r" (parameter|field|argument|property|key|input)",
    re.IGNORECASE,
)
"""In the text of a refusal."""
_REFUSED_FIELD: Final = re.compile(
    r"\b(?P<tools>tools|tool_choice|parallel_tool_calls)\b|response_(format|schema)|json.?schema",
    re.IGNORECASE,
)
"""In the text of a refusal: a field of the client that the model does not take."""
_REFUSED_KEY: Final = re.compile(
    r'"(?:error|message)": ?"(?:Incorrect API key|API key (?:not valid|expired))', re.IGNORECASE
)
"""In the text of a refusal. Not in a message that the text quotes, whose quotes are escaped."""
_TOO_LONG: Final = re.compile(
    # OpenAI, Azure, Groq, Cerebras, DeepSeek, Mistral, OpenRouter, xAI, Cloudflare, vLLM
    "context_length|maximum context|maximum prompt length|reduce the length of the messages"
    # OpenAI, Anthropic, MiniMax, SGLang, llama.cpp, LM Studio
    r"|(exceed(s|ed)?|longer than|greater than) [\w' ]{0,30}context (length|window|size|limit)"
    "|context (window|size) [a-z ]{0,10}exceed|exceed_context_size|when context the overflows"
    # Anthropic, Bedrock, Ollama, Zhipu
    "|(prompt|input) (is )?too long|prompt exceeds max"
    # Gemini, Moonshot, Qwen, SiliconFlow, Cohere
    "|exceeds the maximum number of tokens|exceeded model token limit|range of input length"
    "|less than (or equal to )?max_seq_len|too many tokens: total"
    # vLLM, SGLang, TGI
    "|context length is only|longer than the maximum model length|too long to fit"
    "|max_tokens must be at least 1, got -|exceeds the maximum allowed length"
    r"|`inputs` (tokens \+|must have less)"
    # OpenAI: more tokens than an account may send in a minute
    "|request too large for",
    re.IGNORECASE,
)
"""In the text of a refusal of a prompt that is too long. Not if only `max_tokens` is too large."""
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_NO_BODY: Mapping[str, object] = MappingProxyType({})


class Failed(Exception):
    """An attempt ended without content. The outcome is a word for logs: `reset`, `not_sse`, …"""

    def __init__(
        self,
        outcome: str,
        *,
        status: int = 0,
        headers: Mapping[str, str] = _NO_HEADERS,
        body: Mapping[str, object] = _NO_BODY,
        said: str = "",
        billed: bool = True,
    ) -> None:
        """`status`: of the response, or of an error event; 0 without a status.

        `said` is the text of the response, unredacted. `billed`: whether the upstream may bill the
        prompt.
        """
        super().__init__(outcome)
        self.outcome = outcome
        self.status = status
        self.headers = headers
        self.body = body
        self.said = said
        self.billed = billed


class Reaction(NamedTuple):
    """The reaction of the relay to a failed attempt."""

    error: KefuError
    """The error for the client if no other attempt follows."""
    cooldown: Cooldown | None = None
    """The cooldown of the key; None when the key did not cause the failure."""
    failing: bool = False
    """The key, or the connection, may fail again soon: other keys are asked first."""
    is_final: bool = False
    """The same request would fail with every key."""
    misconfigured: bool = False
    """The URL or the model is wrong: no further key is sent there."""


def reaction_to(failed: Failed, *, now: float, cooldown: float, sent: bytes = b"") -> Reaction:
    """Classify a failed attempt. `cooldown` is the default in seconds, `sent` the request's body.

    The upstream can make the cooldown longer (`Retry-After`), not shorter.
    """
    if failed.outcome in _WRONG_BODY:
        return Reaction(_unavailable(), Cooldown(now + cooldown, Reason.FAILING))
    status = failed.status
    if error := _request_error(failed, sent):
        return Reaction(error, is_final=True)
    if failed.outcome == "certificate" or status == 404 or 300 <= status < 400:
        return Reaction(UpstreamUnavailable(UNAVAILABLE_MESSAGE), misconfigured=True)
    if status in _KEY_INVALID or (status == 429 and _is_quota_spent(failed.body)):
        return Reaction(_unavailable(), Cooldown(now + INVALID_FOR, Reason.INVALID))
    if status in (429, 456) or status >= 500:
        wait = max(cooldown, min(_asked_wait(failed.headers, failed.body, now), MAX_COOLDOWN))
        limited = status < 500
        reason = Reason.RATE_LIMITED if limited else Reason.FAILING
        return Reaction(_limited() if limited else _unavailable(), Cooldown(now + wait, reason))
    timed_out = failed.outcome in _TIMED_OUT
    return Reaction(GatewayTimeout(SILENT_MESSAGE) if timed_out else _unavailable(), failing=True)


def status_said(status: int, said: str) -> int:
    """The status of a refusal; 401 for a 400 that refuses the key, as Gemini and xAI send.

    `said` is the text of the refusal.
    """
    return 401 if status == 400 and _REFUSED_KEY.search(said) else status


def operator_error(outcome: str, said: str = "") -> str:
    """The mistake in the settings, for an outcome that only the operator can mend; else empty.

    `said` is the text of the refusal.
    """
    if outcome in ("http_400", "http_422") and _REFUSED_PARAMETER.search(said):
        return "the upstream refuses a parameter of the request"
    if outcome.startswith("http_3"):
        return "the upstream redirects to another URL, which is not followed"
    return _OPERATORS_MISTAKES.get(outcome, "")


def silence(seconds: Sequence[float]) -> str:
    """The decision for a request without an answer from any key.

    `seconds`: for how long each was waited for.
    """
    return (
        f"no headers in {max(seconds):.1f} s: for a model that needs longer, "
        'set patience = "slow" under [model]'
    )


def _limited() -> RateLimited:
    message = "Too many requests right now. Please wait a moment."
    return RateLimited(message, limit="keys", retry_after=1)


def _unavailable() -> UpstreamUnavailable:
    return UpstreamUnavailable(UNAVAILABLE_MESSAGE, retry_after=1)


def _request_error(failed: Failed, sent: bytes) -> InvalidRequest | None:
    """The error of a request that would fail with every key; None for other failures."""
    status, at_fault = failed.status, failed.status in _REQUEST_AT_FAULT
    if status == 413 or ((at_fault or status >= 429) and _TOO_LONG.search(failed.said)):
        return ContextTooLong("The conversation is too long for the model.")
    for named in _REFUSED_FIELD.finditer(failed.said if at_fault else ""):
        param = "tools" if named["tools"] else "response_format"
        if f'"{param}":'.encode() in sent:
            return InvalidRequest(f"{param}: not accepted by the AI service.", param=param)
    return InvalidRequest("The AI service did not accept the request.") if at_fault else None


def _is_quota_spent(body: Mapping[str, object]) -> bool:
    error = body.get("error")
    fields = error if isinstance(error, dict) else body
    return "insufficient_quota" in (fields.get("code"), fields.get("type"))


def _asked_wait(headers: Mapping[str, str], body: Mapping[str, object], now: float) -> float:
    """Seconds the upstream asks to wait: `retry-after-ms`, `Retry-After`, `error.retry_after`."""
    error = body.get("error")
    waits = [
        _number(headers.get("retry-after-ms")) / 1000,
        _retry_after(headers.get("retry-after"), now),
        _number(error.get("retry_after")) if isinstance(error, dict) else 0.0,
    ]
    return max(waits)


def _retry_after(value: str | None, now: float) -> float:
    """Seconds to wait for a `Retry-After` value: a number or an HTTP date (RFC 9110, 10.2.3)."""
    if value is None:
        return 0.0
    if seconds := _number(value):
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() - now


def _number(value: object) -> float:
    """The value as a number; 0 for other values, infinity and NaN."""
    try:
        number = float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return number if abs(number) < float("inf") else 0.0
