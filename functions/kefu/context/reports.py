"""The values that `MessageContextManager` reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kefu.context.window import Reason


class Removed(NamedTuple):
    """A message that was removed from the conversation."""

    id: int
    """The message's number in the order of adding, from 0; the system prompt counts."""
    tokens: int
    """Its cost."""
    reason: Reason
    summary_id: int | None
    """The id of the summary that replaces the message; None without a summary."""


class Compaction(NamedTuple):
    """The result of `compact` or `summarize`."""

    removed: tuple[Removed, ...]
    """The removed messages, oldest first."""
    fallback: str = ""
    """Why no summary was made, if one was needed; nothing is removed then. Else empty."""


class Forecast(NamedTuple):
    """The state of the budget after adding a message that is not added yet."""

    fits: bool
    """The whole conversation with this message is within the limit."""
    near: bool
    """The whole conversation with this message exceeds 80 % of the limit: time to compact."""
    tokens: int
    """The cost of the message."""
    remaining: int
    """Tokens left below the limit after adding the message; never below 0."""


class State(NamedTuple):
    """The conversation's use of its budget, in tokens."""

    used: int
    """Tokens of the whole conversation; may exceed the limit."""
    remaining: int
    """Tokens left below the limit; never below 0."""
    limit: int
    """Tokens that a prompt may have: the model's context window minus the reserve."""
    resolved: bool
    """False if the model is unknown: its context window is then a conservative guess."""
    messages: int
    """The number of messages, the system prompt included."""
    roles: Mapping[str, int]
    """The number of messages per role; a summary counts as `summary`."""
    over_budget: bool
    """The messages that are always kept exceed the limit; see `Window.over_budget`."""
    dropped: int
    """The number of messages that `window` leaves out."""
