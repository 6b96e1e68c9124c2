"""What an operator may look at later: each request to a model, and what stood beside it.

`CallRecord.meta` is a JSON object:

- `request_id`, `config_id`, `api_type`, `host` of the upstream, `sha256` of the request's body
- `attempts`: `[{key, outcome, ms, rested}]`, keys as fingerprints
- `trimmed`: `{kept, dropped, reasons, tokens, limit, over_budget, fallback, left_out}`; `left_out`
  are the runs `[start, stop, reason]` of messages that stayed behind, by their positions in the
  whole conversation, the system message among them
- `local`: `{prompt, window, strategy}`: tokens of the prompt by Kefu's own count, those that the
  model takes, prompt and answer together, and what trims
- `history`: how many older messages were read of the store, and how many the hooks let through
- `timings`: `{started, first_event_ms, chunk_count}`; `started` is the Unix time at which the
  visitor's request came
- `redacted`: true where a secret was taken out of the request, which is then not as it was sent
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from kefu.answer import Attempt
from kefu.chat import Dialogue, Question
from kefu.completion import Collected
from kefu.context import CALIBRATED, Budget
from kefu.errors import ContextTooLong, KefuError
from kefu.prompt import Prompt
from kefu.sessions import CallRecord, SessionId

Capture = Literal["off", "errors", "all"]
"""Whose raw bodies are kept: of no call, of those that failed, of all."""


@dataclass(frozen=True, slots=True)
class Happened:
    """How a turn's last call went."""

    answer: Collected
    """As it came, before any filter."""
    chunks: int
    error: Mapping[str, object] | None
    """As in an error answer; None for a good end."""
    came: float
    """Unix time of the visitor's request."""
    ended: float
    """Monotonic."""


@dataclass(frozen=True, slots=True)
class Recording:
    """How calls are written down."""

    capture: Capture
    redact: Callable[[str], str]
    """Takes secrets out of a text."""
    host: str
    """The upstream's; never a URL, which might hold more."""
    model: str = ""
    """Of questions that name none."""
    windows: Mapping[str, int] = field(default_factory=dict)
    """Tokens that models take, where that is known better than by their names."""

    def calls(
        self,
        session_id: SessionId,
        message_id: int,
        dialogue: Dialogue,
        happened: Happened,
        beside: Mapping[str, object],
    ) -> Iterator[CallRecord]:
        """In the order they were made; `beside` goes into every `meta`."""
        call, began, tried = dialogue.call, dialogue.call.started, 0
        too_long = error_object(ContextTooLong("The conversation is too long for the model."))
        for number, sent in enumerate(dialogue.too_long, 1):
            attempts = call.attempts[tried : sent.attempts]
            meta = self._meta(
                sent.body, sent.prompt, dialogue.question, attempts, happened.came, beside
            )
            yield CallRecord(
                session_id=session_id,
                message_id=message_id,
                number=number,
                attempt=len(attempts),
                created_at=happened.came + began - call.started,
                request=self._request(sent.body, failed=True),
                response=None,
                meta=self._text(meta),
                finish_reason=None,
                stream_complete=False,
                ttft=None,
                duration=sent.ended - began,
                error=self._text(too_long),
            )
            began, tried = sent.ended, sent.attempts
        attempts = call.attempts[tried:]
        meta = self._meta(
            call.body, dialogue.prompt, dialogue.question, attempts, happened.came, beside
        )
        yield self._last(session_id, message_id, dialogue, happened, (meta, began, len(attempts)))

    def _last(
        self,
        session_id: SessionId,
        message_id: int,
        dialogue: Dialogue,
        happened: Happened,
        known: tuple[dict[str, object], float, int],
    ) -> CallRecord:
        call, completion = dialogue.call, dialogue.call.completion
        meta, began, tries = known
        first = None if call.first_event_at is None else call.first_event_at - began
        meta["timings"] = {
            "started": happened.came,
            "first_event_ms": None if first is None else round(first * 1000, 1),
            "chunk_count": happened.chunks,
        }
        failed = happened.error is not None
        wanted = self.capture == "all" or (self.capture == "errors" and failed)
        usage = completion.usage
        return CallRecord(
            session_id=session_id,
            message_id=message_id,
            number=len(dialogue.too_long) + 1,
            attempt=tries,
            created_at=happened.came + began - call.started,
            request=self._request(call.body, failed=failed),
            response=self._response(dialogue, happened) if wanted and happened.chunks else None,
            meta=self._text(meta),
            finish_reason=completion.finish_reason,
            stream_complete=completion.finish_reason is not None and not failed,
            ttft=first,
            duration=happened.ended - began,
            error=self._text(happened.error) if happened.error is not None else None,
            prompt_tokens=usage.prompt if usage else None,
            completion_tokens=usage.completion if usage else None,
        )

    def _request(self, body: bytes, *, failed: bool) -> bytes | None:
        if self.capture == "off" or (self.capture == "errors" and not failed):
            return None
        return self.redact(body.decode()).encode()

    def _response(self, dialogue: Dialogue, happened: Happened) -> str:
        whole = happened.answer.response(dialogue.call.completion)
        return self._text({name: whole.get(name) for name in ("id", "model", "choices", "usage")})

    def _meta(
        self,
        body: bytes,
        prompt: Prompt,
        question: Question,
        attempts: list[Attempt],
        came: float,
        beside: Mapping[str, object],
    ) -> dict[str, object]:
        text = body.decode()
        meta: dict[str, object] = {
            **beside,
            "host": self.host,
            "sha256": hashlib.sha256(body).hexdigest(),
            "attempts": [_attempt(attempt) for attempt in attempts],
            "trimmed": _trimmed(prompt),
            "local": self._local(question, prompt),
            "timings": {"started": came, "first_event_ms": None, "chunk_count": 0},
        }
        if self.redact(text) != text:
            meta["redacted"] = True
        return meta

    def _local(self, question: Question, prompt: Prompt) -> dict[str, object]:
        model = question.model or self.model
        trim = question.policy.trim if question.policy else None
        window = Budget.for_model(model, windows=self.windows)
        return {
            "prompt": sum(map(CALIBRATED, prompt.messages)),
            "window": window.limit if window.resolved else None,
            "strategy": trim.strategy if trim else None,
        }

    def _text(self, value: Mapping[str, object]) -> str:
        return self.redact(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def error_object(error: KefuError) -> dict[str, object]:
    return {
        "message": error.message,
        "type": error.type,
        "param": error.param,
        "code": error.code,
    }


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "key": attempt.key,
        "outcome": attempt.outcome,
        "ms": round(attempt.seconds * 1000, 1),
        "rested": attempt.rested,
    }


def _trimmed(prompt: Prompt) -> dict[str, object]:
    window = prompt.window
    return {
        "kept": len(window.messages),
        "dropped": len(window.dropped),
        "reasons": window.reasons,
        "tokens": window.tokens,
        "limit": window.limit,
        "over_budget": window.over_budget,
        "fallback": window.fallback,
        "left_out": [list(run) for run in window.left_out],
    }
