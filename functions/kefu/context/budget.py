"""The token budget of one request: the limit, the reserve and the trimming options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kefu.context.model_windows import Override, resolve_window


class _Budget(NamedTuple):
    limit: int
    """Tokens of the prompt and the answer together, at most."""
    reserve: int | None
    """Tokens reserved for the answer. None: a fifth of the limit, rounded up."""
    trim_step: float
    """Fraction of the room (0 to below 1) by which trimming proceeds; 0: drop as little as needed.

    With a step, successive requests start with the same messages, so a provider's prompt cache can
    serve them. The cost: prompts are shorter, on average by half a step."""
    max_messages: int
    """Maximum number of messages for `sliding_window`, without the system prompt; 0: no maximum."""
    resolved: bool
    """False if the model is unknown: `limit` is then a conservative guess."""
    model: str
    """The model's name, if known; it decides how tokens are counted."""


class Budget(_Budget):
    """The token budget of one request. Raises ValueError for a value that is out of range.

    `limit`: tokens of prompt and answer together. `reserve`: tokens for the answer; None is a fifth
    of the limit. `trim_step`: by which fraction of the room trimming proceeds; 0.2 or 0.3 for a
    provider that caches prompts. `max_messages`: for `sliding_window`. `resolved`: False if the
    model is unknown. `model`: decides how tokens are counted.

    Example: `Budget(8_192, reserve=2_048).room == 6_144`.
    """

    __slots__ = ()

    def __new__(  # noqa: PYI034 -- the class has no subclass, so Self is not needed
        cls,
        limit: int,
        reserve: int | None = None,
        trim_step: float = 0.0,
        max_messages: int = 0,
        resolved: bool = True,
        model: str = "",
    ) -> Budget:
        if not 0 <= trim_step < 1:
            raise ValueError(f"trim_step is a part of the room, from 0 to below 1: {trim_step}")
        if reserve is not None and reserve < 0:
            raise ValueError(f"reserve is a number of tokens, 0 or more: {reserve}")
        if max_messages < 0:
            raise ValueError(f"max_messages is a number of messages, or 0: {max_messages}")
        return super().__new__(cls, limit, reserve, trim_step, max_messages, resolved, model)

    @property
    def room(self) -> int:
        """Tokens that the prompt may have: the limit minus the reserve, never below 0."""
        reserve = -(-self.limit // 5) if self.reserve is None else self.reserve
        return max(0, self.limit - reserve)

    @classmethod
    def for_model(
        cls,
        model: str,
        max_tokens: int | None = None,
        reserve: int | None = None,
        trim_step: float = 0.0,
        max_messages: int = 0,
        windows: Mapping[str, Override] | None = None,
    ) -> Budget:
        """The budget for a model: `max_tokens`, but at most the model's context window.

        `windows` overrides the built-in table of context windows; see `resolve_window`.
        """
        window = resolve_window(model, windows)
        length = window.context_length
        limit = length if max_tokens is None else min(max_tokens, length)
        return cls(limit, reserve, trim_step, max_messages, window.resolved, model)

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> Budget:
        """The budget that a configuration describes; keys in camelCase or snake_case.

        Keys: `model`, `contextLength` (overrides the table's context window), `maxTokens`,
        `reserve`, `trimStep`, `maxMessages`. All other keys are ignored. Raises ValueError for a
        value that is not a number.

        Example: `Budget.from_config({"model": "gpt-4o", "maxTokens": 8000})`.
        """
        model = str(config.get("model", ""))
        length = _number(config, "contextLength", "context_length")
        return cls.for_model(
            model,
            _integer(_number(config, "maxTokens", "max_tokens")),
            _integer(_number(config, "reserve")),
            _number(config, "trimStep", "trim_step") or 0.0,
            _integer(_number(config, "maxMessages", "max_messages")) or 0,
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


def _integer(number: float | None) -> int | None:
    return None if number is None else int(number)
