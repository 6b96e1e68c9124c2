"""How much may go to the model, and how the cut moves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    limit: int
    """What the model takes: prompt and answer together."""
    reserve: int | None = None
    """Kept free for the answer; a fifth of the limit, rounded up, unless given."""
    cut_step: float = 0.0
    """Where above 0, the cut moves in steps of this part of the room, so that the start of the
    prompt stays the same for several requests and a provider's prompt cache can use it. 0.2 is a
    good step where there is such a cache; the oldest messages are then counted as well."""
    max_messages: int = 0
    """For `sliding_window`: no more than this many messages beside the system prompt; 0: any."""

    def __post_init__(self) -> None:
        if not 0 <= self.cut_step < 1:
            raise ValueError(f"cut_step is a part of the room, from 0 to below 1: {self.cut_step}")

    @property
    def room(self) -> int:
        """What the prompt may take."""
        reserve = -(-self.limit // 5) if self.reserve is None else self.reserve
        return max(0, self.limit - reserve)
