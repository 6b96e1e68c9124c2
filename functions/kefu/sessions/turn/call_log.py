"""Builds the records of requests to a model that operators can look at later.

`CallRecord.meta` is a JSON object:

- `request_id`, `config_id`, `api_type`, `host` of the upstream, `sha256` of the request's body
- `again`: number of earlier tries to answer the message; absent for the first
- `purpose`: `summary` for a call that summarizes older messages, `search` for one that writes words
  for the search of the site's pages; such a call has no `trimmed` and no `local`, and `history` is
  that of the answer
- `attempts`: `[{key, outcome, at, ms, rested, failing, upstream, said}]`; `key` is a fingerprint,
  and `at` the milliseconds from the request to the attempt. `rested` tells whether the attempt
  started a cooldown of the key, and `failing` whether this process then asks the key last.
  `upstream` is `primary` or `fallback` if there are two. `said` is the text of a refused response.
  The last three are absent if false or empty.
- `trimmed`: `{kept, dropped, reasons, tokens, limit, over_budget, fallback, left_out}`; `left_out`
  are ranges `[start, stop, reason]` of dropped messages, by their positions in the conversation
  including the system message, if there is one
- `local`: `{prompt, window, strategy}`: the prompt's tokens as counted by Kefu, the context window
  of the model in tokens, and the trimming strategy
- `history`: `{read, told}`: number of older messages read from the store, and number of those left
  after the hooks
- `knowledge`: `{passages, used, answered}`; a passage is `{n, url, title, heading, score, terms}`;
  only of a service with learnt pages. `words`: the search words that the model wrote, if any
- `timings`: `{started, first_event_ms, chunk_count}`; `started` is the Unix time at which the
  visitor's request arrived
- `redacted`: true if a secret was replaced in the stored request, which has a reference in place
  of each image in any case
- `damaged`: a sentence that names the unreadable parts of a record; the store adds it
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from kefu.chat.completion import Dialogue, Question
from kefu.chat.prompt import Prompt
from kefu.context import CALIBRATED
from kefu.errors import ContextTooLong
from kefu.relay.call import Attempt, Call
from kefu.relay.chunks import Completion
from kefu.relay.collected import Collected
from kefu.sessions.store.model import CallRecord, StoredMessage

CALLS_A_TRY, FIRST_AUXILIARY = 100, 50
"""Call numbers. Each try to answer a message has `CALLS_A_TRY` numbers. The numbers after the first
`FIRST_AUXILIARY` are for summary calls.
"""

Capture = Literal["off", "errors", "all"]
"""The calls whose raw bodies are stored: none, failed calls, or all."""


IMAGE_REFERENCE = '"url":"kefu-image:'
"""Begins what a recorded request has in place of an image; the id of the image follows."""
_IMAGE = re.compile(rb'"url":"data:image/[a-z]+;base64,[A-Za-z0-9+/=]*"')


class TurnRecord(NamedTuple):
    """The outcome of a turn, or of one summary call."""

    message: StoredMessage
    """The visitor's message."""
    retries: int
    """Number of earlier tries to answer the message."""
    answer: Collected
    """The answer of the model, before any filter."""
    error: Mapping[str, object] | None
    """The `error` object of an error response; None for a complete answer."""
    asked_at: float
    """Unix time at which the visitor's request arrived."""
    ended: float
    """Monotonic time at which the turn or the summary call ended."""
    meta: Mapping[str, object]
    """Fields for the `meta` of each call."""
    purpose: Literal["summary", "search"] = "summary"
    """The number of a call that is no answer."""


class _Sent(NamedTuple):
    """One request to the model."""

    number: int
    question: Question | None
    """None for the call of a summary."""
    body: bytes
    prompt: Prompt | None
    """None for a summary call."""
    attempts: Sequence[Attempt]
    began: float
    """Monotonic time at which the request was ready, or its predecessor failed."""


class Recording(NamedTuple):
    """Builds call records."""

    capture: Capture
    redact: Callable[[str], str]
    """Replaces secrets in a text."""
    host: str
    """Host of the upstream. The URL is not recorded, because it could contain secrets."""
    windows: Mapping[str, int] = MappingProxyType({})
    """The context windows of the presets' models, in tokens, as far as they are known."""
    has_room: Callable[[], bool] = lambda: True
    """Whether the store has space for bodies."""

    def calls(self, dialogues: Sequence[Dialogue], turn: TurnRecord) -> Iterator[CallRecord]:
        """The records of an answer's calls, in the order of the requests."""
        before = 0
        for at, dialogue in enumerate(dialogues, 1):
            step = turn
            if dialogue.collected:
                ended = turn.ended if dialogue.ended_at is None else dialogue.ended_at
                step = turn._replace(answer=dialogue.collected, ended=ended)
            if at < len(dialogues):
                step = step._replace(error=None)
            yield from self._calls(dialogue, step, before)
            before += len(dialogue.too_long) + 1

    def _calls(self, dialogue: Dialogue, turn: TurnRecord, before: int) -> Iterator[CallRecord]:
        """The records of one step; `before`: the number of calls of the steps before it."""
        call, began, tried = dialogue.call, dialogue.call.started, 0
        # Numbers go on after the last number of earlier tries, so that no record is replaced.
        first = CALLS_A_TRY * turn.retries + before + 1
        for number, refused in enumerate(dialogue.too_long, first):
            attempts = call.attempts[tried : refused.attempts]
            sent = _Sent(number, dialogue.question, refused.body, refused.prompt, attempts, began)
            record = self._sent(sent, call.started, turn, failed=True)
            error = ContextTooLong("The conversation is too long for the model.").body()["error"]
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
        yield self._last(last, call, turn)

    def auxiliary_call(self, number: int, call: Call, turn: TurnRecord) -> CallRecord:
        """The record of a summary call; `number` counts the turn's summary calls from 0."""
        # A site's own hook may make more calls than there are numbers; the last number is reused.
        number = min(FIRST_AUXILIARY + number, CALLS_A_TRY - 1)
        call_number = CALLS_A_TRY * turn.retries + number + 1
        sent = _Sent(call_number, None, call.body, None, call.attempts, call.started)
        return self._last(sent, call, turn)

    def _sent(
        self,
        sent: _Sent,
        started: float,
        turn: TurnRecord,
        *,
        failed: bool,
        first: float | None = None,
        chunks: int = 0,
    ) -> CallRecord:
        """The record of a request, without its outcome.

        `started` is the monotonic time of the visitor's request. `first` is the number of seconds
        to the first event.
        """
        body = sent.body
        if sent.question and sent.prompt and sent.question.image_tokens:
            body = without_images(body, sent.prompt)
        request = self.redact(body.decode()).encode()
        captured = self.capture == "all" or (self.capture == "errors" and failed)
        captured = captured and self.has_room()
        redacted = {"redacted": True} if request != body else {}
        timings = {
            "started": turn.asked_at,
            "first_event_ms": None if first is None else round(first * 1000, 1),
            "chunk_count": chunks,
        }
        return CallRecord(
            session_id=turn.message.session_id,
            message_id=turn.message.id,
            number=sent.number,
            attempt=len(sent.attempts),
            created_at=turn.asked_at + sent.began - started,
            request=request if captured else None,
            response=None,
            meta=self._text({**self._meta(sent, turn), "timings": timings, **redacted}),
            finish_reason=None,
            stream_complete=False,
            ttft=first,
            duration=0.0,
            error=None,
        )

    def _last(self, sent: _Sent, call: Call, turn: TurnRecord) -> CallRecord:
        """The record of the last request, with the outcome of the turn."""
        first = None if call.first_event_at is None else call.first_event_at - sent.began
        failed = turn.error is not None
        completion, usage = call.completion, call.completion.usage
        chunks = turn.answer.chunks
        record = self._sent(sent, call.started, turn, failed=failed, first=first, chunks=chunks)
        return record._replace(
            response=self._response(completion, turn) if record.request and chunks else None,
            finish_reason=completion.finish_reason,
            stream_complete=completion.finish_reason is not None and not failed,
            duration=turn.ended - sent.began,
            error=self._text(turn.error) if turn.error is not None else None,
            prompt_tokens=usage.prompt if usage else None,
            completion_tokens=usage.completion if usage else None,
        )

    def _response(self, completion: Completion, turn: TurnRecord) -> str:
        body = turn.answer.response(completion)
        return self._text({name: body.get(name) for name in ("id", "model", "choices", "usage")})

    def _meta(self, sent: _Sent, turn: TurnRecord) -> dict[str, object]:
        return {
            **turn.meta,
            **({"again": turn.retries} if turn.retries else {}),
            "host": self.host,
            "sha256": hashlib.sha256(sent.body).hexdigest(),
            "attempts": [_attempt(attempt, sent.began) for attempt in sent.attempts],
            **(self._question(sent.question, sent.prompt) or {"purpose": turn.purpose}),
        }

    def _question(self, question: Question | None, prompt: Prompt | None) -> dict[str, object]:
        if question is None or prompt is None:
            return {}
        local = {
            # Counted as one text, because counting each message alone takes ten times as long.
            "prompt": CALIBRATED.count(" ".join([one.content for one in prompt.window.messages])),
            "window": self.windows.get(question.sampling.model),
            "strategy": question.policy.trim.strategy if question.policy else None,
        }
        return {"trimmed": _trimmed(prompt), "local": local}

    def _text(self, value: Mapping[str, object]) -> str:
        return self.redact(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def without_images(body: bytes, prompt: Prompt) -> bytes:
    """The body with references in place of images, such as `kefu-image:1-0`.

    In a text of the visitor the quotation marks would be escaped, so no text is replaced.
    """
    ids = (image.id for message in prompt.window.messages for image in message.images)
    return _IMAGE.sub(lambda _: f'{IMAGE_REFERENCE}{next(ids, "")}"'.encode(), body)


def _attempt(attempt: Attempt, began: float) -> dict[str, object]:
    return {
        "key": attempt.key,
        "outcome": attempt.outcome,
        "at": round((attempt.started - began) * 1000, 1),
        "ms": round(attempt.seconds * 1000, 1),
        "rested": attempt.cooled_down,
        **({"failing": True} if attempt.failing else {}),
        **({"upstream": attempt.upstream} if attempt.upstream else {}),
        **({"said": attempt.said} if attempt.said else {}),
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
