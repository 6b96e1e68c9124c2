"""How much may go to the model, and how the cut moves."""

from __future__ import annotations

from collections.abc import Mapping

from kefu.context.model_windows import Override, resolve_window
from kefu.lean_typing import NamedTuple


class _Budget(NamedTuple):
    limit: int
    """What the model takes: prompt and answer together."""
    reserve: int | None
    """Kept free for the answer; a fifth of the limit, rounded up, unless given."""
    cut_step: float
    """Where above 0, the cut moves in steps of this part of the room, so that the start of the
    prompt stays the same for several requests and a provider's prompt cache can use it. 0.2 is a
    good step where there is such a cache; the oldest messages are then counted as well."""
    max_messages: int
    """For `sliding_window`: no more than this many messages beside the system prompt; 0: any."""
    resolved: bool
    """False: nobody knows this model's window, and the limit is a careful guess."""


class Budget(_Budget):
    __slots__ = ()

    def __new__(  # noqa: PYI034 -- nothing is derived from it, so Self need not be known here
        cls,
        limit: int,
        reserve: int | None = None,
        cut_step: float = 0.0,
        max_messages: int = 0,
        resolved: bool = True,
    ) -> Budget:
        if not 0 <= cut_step < 1:
            raise ValueError(f"cut_step is a part of the room, from 0 to below 1: {cut_step}")
        return super().__new__(cls, limit, reserve, cut_step, max_messages, resolved)

    @property
    def room(self) -> int:
        """What the prompt may take."""
        reserve = -(-self.limit // 5) if self.reserve is None else self.reserve
        return max(0, self.limit - reserve)

    @classmethod
    def for_model(
        cls,
        model: str,
        max_tokens: int | None = None,
        reserve: int | None = None,
        cut_step: float = 0.0,
        max_messages: int = 0,
        windows: Mapping[str, Override] | None = None,
    ) -> Budget:
        """`max_tokens`, but never more than the model takes; `windows` as in `resolve_window`."""
        window = resolve_window(model, windows)
        limit = window.context_length if max_tokens is None else max_tokens
        return cls(
            min(limit, window.context_length), reserve, cut_step, max_messages, window.resolved
        )

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> Budget:
        """From what a configuration file has, with the names of the TypeScript version or ours.

        `model`, `contextLength` (the window, where it is not the table's), `maxTokens`, `reserve`,
        `cutStep`, `maxMessages`; or `context_length` and so on. Other keys are left to others.
        ValueError for a value that is not a number.
        """
        model = str(config.get("model", ""))
        length = _number(config, "contextLength", "context_length")
        return cls.for_model(
            model,
            _whole(_number(config, "maxTokens", "max_tokens")),
            _whole(_number(config, "reserve")),
            _number(config, "cutStep", "cut_step") or 0.0,
            _whole(_number(config, "maxMessages", "max_messages")) or 0,
            None if length is None else {model: int(length)},
        )


def _number(config: Mapping[str, object], *names: str) -> float | None:
    for name in names:
        value = config.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise ValueError(f"{name} is not a number: {value!r}")
        if value is not None:
            return value
    return None


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
