"""Tokens by turn and by session, and how far Kefu's own count is from the upstream's."""

from __future__ import annotations

from kefu.context import MessageCounter
from kefu.events import Estimate, Tokens
from kefu.react.model import Reply

DRIFT = 0.15
"""Above it the user is told, once."""


class Meter:
    """Sums over calls of the model; the turns' sums add up to the session's exactly."""

    def __init__(self, counter: MessageCounter, before: Tokens | None = None) -> None:
        self._counter = counter
        self._counted = self._reported = 0
        self.session = before or Tokens()
        self.turn = Tokens()

    def begin(self) -> None:
        """A new turn."""
        self.turn = Tokens()

    def note(self, reply: Reply, prompt: int) -> tuple[Tokens, Estimate]:
        """Add a call, whose prompt was counted before; by the upstream's word where it gave one."""
        text = reply.text
        completion = self._counter.count(text) if text else 0
        estimate = Estimate(prompt, completion)
        reported = reply.usage
        if reported:
            self._counted += prompt + completion
            self._reported += reported.total
        tokens = reported or Tokens(prompt, completion, "local")
        self.turn += tokens
        self.session += tokens
        return tokens, estimate

    @property
    def drift(self) -> float | None:
        """Of all calls whose tokens the upstream told: counted too much (above 0) or too little,
        as a part of what it told. None: it told of none.
        """
        return self._counted / self._reported - 1 if self._reported else None
