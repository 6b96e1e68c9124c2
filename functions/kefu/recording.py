"""What an operator may look at later: each request to a model, and what stood beside it.

`CallRecord.meta` is a JSON object:

- `request_id`, `config_id`, `api_type`, `host` of the upstream, `sha256` of the request's body
- `again`: how often the message had been tried before, where it had
- `purpose`: `summary` where the model was to tell older messages in short; then there is neither
  `trimmed` nor `local`, and `history` is not its own
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from kefu.answer import Attempt, Call
from kefu.chat import Dialogue, Question
from kefu.completion import Collected, Completion
from kefu.context import CALIBRATED, Budget
from kefu.errors import ContextTooLong, KefuError
from kefu.lean_typing import NamedTuple
from kefu.prompt import Prompt
from kefu.sessions import CallRecord, StoredMessage

CALLS_A_TRY, ASIDE = 10, 5
"""Numbers for each try: those beyond `ASIDE` are of calls for what the answer was to know."""

Capture = Literal["off", "errors", "all"]
"""Whose raw bodies are kept: of no call, of those that failed, of all."""


class Happened(NamedTuple):
    """How a turn went, its last call above all."""

    message: StoredMessage
    """The visitor's."""
    again: int
    """How often it had been tried before."""
    answer: Collected
    """As it came, before any filter."""
    chunks: int
    error: Mapping[str, object] | None
    """As in an error answer; None for a good end."""
    came: float
    """Unix time of the visitor's request."""
    ended: float
    """Monotonic."""
    beside: Mapping[str, object]
    """What goes into the `meta` of every call."""


class _Sent(NamedTuple):
    """One request, and since when it was the one to be sent (monotonic)."""

    number: int
    question: Question | None
    body: bytes
    prompt: Prompt | None
    """Both absent where it was not the visitor's question that was asked."""
    attempts: Sequence[Attempt]
    began: float


class Recording(NamedTuple):
    """How calls are written down."""

    capture: Capture
    redact: Callable[[str], str]
    """Takes secrets out of a text."""
    host: str
    """The upstream's; never a URL, which might hold more."""
    model: str = ""
    """Of questions that name none."""
    windows: Mapping[str, int] = MappingProxyType({})
    """Tokens that models take, where that is known better than by their names."""

    def calls(self, dialogue: Dialogue, happened: Happened) -> Iterator[CallRecord]:
        """In the order they were made."""
        call, began, tried = dialogue.call, dialogue.call.started, 0
        # Those of the tries before are kept.
        first = CALLS_A_TRY * happened.again + 1
        error = error_object(ContextTooLong("The conversation is too long for the model."))
        for number, refused in enumerate(dialogue.too_long, first):
            attempts = call.attempts[tried : refused.attempts]
            sent = _Sent(number, dialogue.question, refused.body, refused.prompt, attempts, began)
            record = self._sent(sent, call.started, happened, failed=True)
            yield record._replace(duration=refused.ended - began, error=self._text(error))
            began, tried = refused.ended, refused.attempts
        last = _Sent(
            first + len(dialogue.too_long),
            dialogue.question,
            call.body,
            dialogue.prompt,
            call.attempts[tried:],
            began,
        )
        yield self._last(last, call, happened)

    def aside(self, number: int, call: Call, happened: Happened) -> CallRecord:
        """A call for a summary of what the answer was to know; the first has the number 0."""
        number = min(ASIDE + number, CALLS_A_TRY - 1)  # whatever a site's own hook does
        place = CALLS_A_TRY * happened.again + number + 1
        sent = _Sent(place, None, call.body, None, call.attempts, call.started)
        return self._last(sent, call, happened)

    def _sent(
        self,
        sent: _Sent,
        started: float,
        happened: Happened,
        *,
        failed: bool,
        first: float | None = None,
        chunks: int = 0,
    ) -> CallRecord:
        """A request without what came of it; `started`: when the visitor's came (monotonic)."""
        plain = self.redact(sent.body.decode()).encode()
        wanted = self.capture == "all" or (self.capture == "errors" and failed)
        redacted = {"redacted": True} if plain != sent.body else {}
        timings = {
            "started": happened.came,
            "first_event_ms": None if first is None else round(first * 1000, 1),
            "chunk_count": chunks,
        }
        return CallRecord(
            session_id=happened.message.session_id,
            message_id=happened.message.id,
            number=sent.number,
            attempt=len(sent.attempts),
            created_at=happened.came + sent.began - started,
            request=plain if wanted else None,
            response=None,
            meta=self._text({**self._meta(sent, happened), "timings": timings, **redacted}),
            finish_reason=None,
            stream_complete=False,
            ttft=first,
            duration=0.0,
            error=None,
        )

    def _last(self, sent: _Sent, call: Call, happened: Happened) -> CallRecord:
        """The one that brought the answer, or the end of all hope for one."""
        first = None if call.first_event_at is None else call.first_event_at - sent.began
        failed = happened.error is not None
        completion, usage = call.completion, call.completion.usage
        chunks = happened.chunks
        record = self._sent(sent, call.started, happened, failed=failed, first=first, chunks=chunks)
        return record._replace(
            response=self._response(completion, happened) if record.request and chunks else None,
            finish_reason=completion.finish_reason,
            stream_complete=completion.finish_reason is not None and not failed,
            duration=happened.ended - sent.began,
            error=self._text(happened.error) if happened.error is not None else None,
            prompt_tokens=usage.prompt if usage else None,
            completion_tokens=usage.completion if usage else None,
        )

    def _response(self, completion: Completion, happened: Happened) -> str:
        whole = happened.answer.response(completion)
        return self._text({name: whole.get(name) for name in ("id", "model", "choices", "usage")})

    def _meta(self, sent: _Sent, happened: Happened) -> dict[str, object]:
        return {
            **happened.beside,
            **({"again": happened.again} if happened.again else {}),
            "host": self.host,
            "sha256": hashlib.sha256(sent.body).hexdigest(),
            "attempts": [_attempt(attempt) for attempt in sent.attempts],
            **(self._question(sent.question, sent.prompt) or {"purpose": "summary"}),
        }

    def _question(self, question: Question | None, prompt: Prompt | None) -> dict[str, object]:
        if question is None or prompt is None:
            return {}
        return {"trimmed": _trimmed(prompt), "local": self._local(question, prompt)}

    def _local(self, question: Question, prompt: Prompt) -> dict[str, object]:
        model = question.model or self.model
        trim = question.policy.trim if question.policy else None
        window = Budget.for_model(model, windows=self.windows)
        return {
            # As one text: message by message takes ten times as long.
            "prompt": CALIBRATED.count(" ".join([one.content for one in prompt.messages])),
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
