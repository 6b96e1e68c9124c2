"""Adds up tokens per turn and per session, and compares Kefu's count with the upstream's."""

from __future__ import annotations

from kefu.agent.events import Estimate, Tokens
from kefu.agent.model import ModelOutput
from kefu.context import MessageCounter


class Meter:
    """Token sums over model calls. The sums of the turns add up to the sum of the session."""

    def __init__(self, counter: MessageCounter, before: Tokens | None = None) -> None:
        self._counter = counter
        self._counted = self._reported = 0
        self.session = before or Tokens()
        self.turn = Tokens()

    def begin(self) -> None:
        """Start the sum of a new turn."""
        self.turn = Tokens()

    def note(self, output: ModelOutput, prompt: int) -> tuple[Tokens, Estimate]:
        """Add a model call to the sums, by the upstream's counts if it reported any.

        `prompt` is Kefu's count of the prompt. Returns the counts added and Kefu's estimate.
        """
        text = output.text
        completion = self._counter.count(text) if text else 0
        estimate = Estimate(prompt, completion)
        reported = output.usage
        if reported:
            self._counted += prompt + completion
            self._reported += reported.total
        tokens = reported or Tokens(prompt, completion, "local")
        self.turn += tokens
        self.session += tokens
        return tokens, estimate

    @property
    def drift(self) -> float | None:
        """The relative error of Kefu's count, over all calls with counts from the upstream.

        0.1 means that Kefu counts 10 % more than the upstream. None without calls of the model.
        """
        return self._counted / self._reported - 1 if self._reported else None
