"""What is known of one request when it ends: the one log line, and the metrics in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.types import Scope

from kefu.chat import Dialogue


@dataclass(slots=True, eq=False, repr=False)
class Record:
    request_id: str
    method: str
    path: str
    started: float
    """Monotonic."""
    status: int = 0
    code: str = ""
    """The error's code, also when it came after the headers."""
    dialogue: Dialogue | None = None
    tokens: int = 0
    """Settled: by the upstream's usage where it said, else estimated."""
    facts: dict[str, object] = field(default_factory=dict)
    answer_headers: dict[str, str] = field(default_factory=dict)
    """What the answer carries besides, whatever it turns out to be."""

    def fields(self, ended: float) -> dict[str, object]:
        """The fields of the log line; times in milliseconds."""
        fields: dict[str, object] = {
            "request_id": self.request_id,
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "code": self.code or "ok",
            "duration_ms": _ms(ended - self.started),
            **self.facts,
        }
        if self.dialogue:
            fields |= self._of(self.dialogue)
        return fields

    def _of(self, dialogue: Dialogue) -> dict[str, object]:
        call, prompt = dialogue.call, dialogue.prompt
        fields: dict[str, object] = {
            "attempts": len(call.attempts),
            "keys": [f"{attempt.key}:{attempt.outcome}" for attempt in call.attempts],
            "trimmed": len(prompt.window.dropped),
            "tokens": self.tokens,
        }
        if prompt.window.dropped:
            fields["trimmed_because"] = prompt.window.reasons
        if prompt.window.over_budget:
            fields["over_budget"] = True
        if prompt.window.fallback:
            fields["no_summary"] = prompt.window.fallback
        if call.first_event_at is not None:
            fields["ttft_ms"] = _ms(call.first_event_at - self.started)
        if call.completion.finish_reason:
            fields["finish_reason"] = call.completion.finish_reason
        if prompt.client_system_dropped:
            fields["client_system"] = "dropped"
        return fields


def record_of(scope: Scope) -> Record:
    record: Record = scope["state"]["record"]
    return record


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
