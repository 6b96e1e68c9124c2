"""A plan: what goes to the model, and what does not."""

from __future__ import annotations

from dataclasses import dataclass

from kefu.messages import Message


@dataclass(frozen=True, slots=True)
class Window:
    """Both parts in the order of the conversation; together they are all of it, unchanged."""

    messages: tuple[Message, ...]
    dropped: tuple[Message, ...] = ()
