"""The objects that several events have as fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Source = Literal["usage", "local", "mixed"]
Mode = Literal["interactive", "once"]
TurnStatus = Literal["ok", "error", "max_steps", "interrupted"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of one model call, or their sum over several calls."""

    prompt: int = 0
    """Tokens of the prompt."""
    completion: int = 0
    """Tokens of the model's output."""
    source: Source | None = None
    """The origin of the counts: `usage` from the upstream, `local` from Kefu, or `mixed`."""

    @property
    def total(self) -> int:
        """Tokens of prompt and output together."""
        return self.prompt + self.completion

    def __add__(self, other: Tokens) -> Tokens:
        source: Source | None = self.source or other.source
        if self.source and other.source and self.source != other.source:
            source = "mixed"
        return Tokens(self.prompt + other.prompt, self.completion + other.completion, source)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Token counts by Kefu's own counter, independent of the upstream's."""

    prompt: int = 0
    """Tokens of the prompt."""
    completion: int | None = None
    """Tokens of the model's output."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt of a model call, with one API key."""

    key: str = ""
    """Fingerprint of the API key."""
    outcome: str = ""
    """Result of the attempt: `ok`, `http_429`, `silent`, …"""
    ms: int = 0
    """Duration of the attempt in milliseconds."""


@dataclass(frozen=True, slots=True)
class MessageRun:
    """A run of messages of the conversation, by position; the system prompt has position 0."""

    start: int = 0
    """Position of the first message."""
    stop: int = 0
    """Position after the last message."""
