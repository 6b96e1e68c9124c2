"""One completion request: its body, its progress, and its attempts for logs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from kefu.relay.chunks import Completion, Usage
from kefu.relay.key_pool import Fingerprint


class Clock(Protocol):
    def now(self) -> float:
        """Unix time in seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary point in time; never decreases."""
        ...


class Attempt(NamedTuple):
    """One attempt with one key, for logs."""

    key: Fingerprint
    outcome: str
    """`ok`, `http_429`, `silent`, … `overtaken`: another key was faster. `cancelled`: the request
    ended before the attempt.
    """
    seconds: float
    started: float = 0.0
    """Monotonic time; two attempts may overlap."""
    cooled_down: bool = False
    """Whether this attempt started a cooldown of the key."""
    failing: bool = False
    """Whether this process asks the key last for a while, because of this attempt."""
    upstream: str = ""
    """Which upstream was asked, if there are two: `primary` or `fallback`."""
    said: str = ""
    """The text of a response that was refused: at most 4 KB, without secrets."""


@dataclass(slots=True, eq=False, repr=False)
class Call:
    """One completion request, with its body and its progress."""

    body: bytes
    completion: Completion
    """Empty until the first content; then the completion of the attempt that sent it."""
    started: float
    """Monotonic time at which the client's request arrived."""
    attempts: list[Attempt] = field(default_factory=list)
    """Attempts in the order of their ends; an answer's attempt is the last."""
    first_event_at: float | None = None
    """Monotonic time of the first content."""
    gate_open: bool = False
    """Whether the client may have its response headers, so that the status cannot change."""
    adapted: str = ""
    """Which parameters a model has refused, and what was sent instead; for the log."""
    only_fallback: bool = False
    """Whether only the second upstream is asked, because the prompt is too long for the first."""
    prompts_sent: int = 0
    """Attempts that the upstream may bill: it was sent, and no error status came back."""
    all_keys_cooling: bool = False
    """Whether the request failed because every key is cooling down or invalid."""

    @property
    def answered_by(self) -> str:
        """The upstream whose answer is sent, if there are two; empty before the first content."""
        return self.attempts[-1].upstream if self.first_event_at is not None else ""

    def usage(self, prompt: int) -> Usage:
        """The tokens that the upstream reported; without a report, an estimate.

        `prompt` is the estimated number of tokens of one prompt. For an answer that broke off, the
        result is the larger of the report and the estimate.
        """
        reported, estimated = self.completion.usage, self.completion.estimated
        if reported is None:
            return Usage(prompt if self.prompts_sent else 0, estimated)
        if self.completion.finish_reason is None:
            return reported._replace(completion=max(reported.completion, estimated))
        return reported

    def spent(self, prompt: int) -> int:
        """Tokens that the upstream may bill: `usage`, and the prompts of the other attempts."""
        usage = self.usage(prompt)
        return usage.prompt + usage.completion + prompt * max(0, self.prompts_sent - 1)
