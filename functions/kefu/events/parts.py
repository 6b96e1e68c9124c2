"""What several kinds of events consist of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Source = Literal["usage", "local", "mixed"]
Mode = Literal["interactive", "once"]
TurnStatus = Literal["ok", "error", "max_steps", "interrupted"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Of one call of the model, or the sum over several."""

    prompt: int = 0
    """What the model was told."""
    completion: int = 0
    """What it said."""
    source: Source | None = None
    """Who counted: the upstream (`usage`), Kefu (`local`), or some calls so and some so."""

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion

    def __add__(self, other: Tokens) -> Tokens:
        source: Source | None = self.source or other.source
        if self.source and other.source and self.source != other.source:
            source = "mixed"
        return Tokens(self.prompt + other.prompt, self.completion + other.completion, source)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What Kefu counted by itself, whatever the upstream says."""

    prompt: int = 0
    """Tokens of what the model was told."""
    completion: int | None = None
    """Tokens of what it said."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One key that was tried for a call."""

    key: str = ""
    """Its fingerprint."""
    outcome: str = ""
    """`ok`, `http_429`, `silent`, …"""
    ms: int = 0
    """Until that was clear, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Run:
    """Messages of the conversation, by their positions: the system prompt is 0."""

    start: int = 0
    """The first."""
    stop: int = 0
    """The first that is not among them."""
