"""Collects the facts about one request for its log line and its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.types import Scope

from kefu.chat.completion import Dialogue
from kefu.chat.state import Answer
from kefu.errors import GatewayTimeout, KefuError, RateLimited
from kefu.relay.call import Attempt
from kefu.relay.failures import operator_error, silence


@dataclass(slots=True, eq=False, repr=False)
class Record:
    request_id: str
    method: str
    path: str
    started: float
    """The start time in seconds of the monotonic clock."""
    status: int = 0
    """The HTTP status; 0 before the headers are sent."""
    code: str = ""
    """The code of the error, also of one raised after the headers were sent; empty: no error."""
    answer: Answer | None = None
    """The answer of the request; None for other requests."""
    facts: dict[str, object] = field(default_factory=dict)
    """Additional fields of the log line."""
    traceparent: str = ""
    """The W3C trace context that the client sent."""
    answer_headers: dict[str, str] = field(default_factory=dict)
    """Headers that `Edge` adds to the response, whether it is an answer or an error."""

    def failed(self, error: KefuError) -> None:
        """Note the error of the response."""
        self.code = error.code
        if isinstance(error, RateLimited):
            self.facts["limit"] = error.limit

    def fields(self, ended: float) -> dict[str, object]:
        """Return the fields of the log line, with durations in milliseconds.

        `ended`: the end time in seconds of the monotonic clock.
        """
        fields: dict[str, object] = {
            "request_id": self.request_id,
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "code": self.code or "ok",
            "duration_ms": _ms(ended - self.started),
            **self.facts,
        }
        if self.answer and self.answer.bot_check:
            fields["bot_check"] = self.answer.bot_check
        if self.dialogue:
            fields |= self._of(self.dialogue)
        if self.answer and self.answer.uses:
            fields["steps"] = len(self.answer.dialogues)
            fields["tools"] = [f"{one.name}:{one.state}" for one in self.answer.uses]
        return fields

    @property
    def dialogue(self) -> Dialogue | None:
        return self.answer.dialogue if self.answer else None

    @property
    def dialogues(self) -> Sequence[Dialogue]:
        return self.answer.dialogues if self.answer else ()

    @property
    def spent(self) -> int:
        total = 0
        for one in self.dialogues:
            total += one.spent
        return total

    @property
    def attempts(self) -> list[Attempt]:
        """The attempts of all requests to the model."""
        return [attempt for one in self.dialogues for attempt in one.call.attempts]

    def _of(self, dialogue: Dialogue) -> dict[str, object]:
        call, prompt = dialogue.call, dialogue.prompt
        attempts = self.attempts
        fields: dict[str, object] = {
            "attempts": len(attempts),
            "keys": [f"{attempt.key}:{attempt.outcome}" for attempt in attempts],
            "trimmed": len(prompt.window.dropped),
            "tokens": self.spent,
        }
        has_failed = bool(self.code)  # a refused parameter is a mistake only then
        failed = [one for one in attempts if one.outcome != "ok"]
        mistakes = {operator_error(one.outcome, has_failed * one.said) for one in failed}
        optional: dict[str, object] = {
            "upstream": call.answered_by,
            "all_keys_cooling": call.all_keys_cooling,
            "adapted": call.adapted,
            "misconfigured": sorted(mistakes - {""}),
            "hint": self._hint(dialogue),
            "trimmed_because": prompt.window.dropped and prompt.window.reasons,
            "over_budget": prompt.window.over_budget,
            "no_summary": prompt.window.fallback,
            "finish_reason": call.completion.finish_reason,
        }
        fields |= {name: value for name, value in optional.items() if value}
        if (first := self.dialogues[0].call.first_event_at) is not None:
            fields["ttft_ms"] = _ms(first - self.started)
        if dialogue.sources:
            fields |= dialogue.sources.counts()
        if prompt.client_system_dropped:
            fields["client_system"] = "dropped"
        return fields

    def _hint(self, dialogue: Dialogue) -> str:
        waited = [one.seconds for one in dialogue.call.attempts if one.outcome == "silent"]
        has_failed = self.code == GatewayTimeout.code and dialogue.call.first_event_at is None
        return silence(waited) if waited and has_failed else ""


def record_of(scope: Scope) -> Record:
    record: Record = scope["state"]["record"]
    return record


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
