"""Defines the steps of a stored chat's turn that a site can change with hooks.

A hook overrides the methods of the steps that it changes; the default methods change nothing. Hooks
run in the order of their tables in kefu.toml.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kefu.context import Summarize
from kefu.messages import Message
from kefu.sessions.model import Session


class HookConfig(NamedTuple):
    """The configuration of a hook."""

    options: Mapping[str, object]
    """The table `[hooks.NAME]` of kefu.toml."""


class HookContext(NamedTuple):
    """The current turn."""

    session: Session
    now: float
    """Unix time in seconds."""
    profile: Mapping[str, str] = MappingProxyType({})
    """Facts about the visitor from the page. They are not verified."""
    summarize: Summarize | None = None
    """Summarizes messages with the model; the tokens count for the daily budget. It is set only in
    `history`, because only this step is asynchronous.
    """


class Reply(str):
    """An answer that replaces the request to the model."""

    __slots__ = ()


class Filter:
    """Changes a text that arrives in pieces. It may hold text back until a later call."""

    def feed(self, text: str) -> str:
        """The text to send after the next piece."""
        return text

    def close(self) -> str:
        """The text that was held back, at the end of the answer."""
        return ""


class Hook:
    """The base class of hooks."""

    def user_message(self, text: str, context: HookContext) -> str:
        """The visitor's text, possibly changed, before it is saved.

        A Reply becomes the answer of the turn. An empty text is rejected with status 400.
        """
        return text

    def system(self, context: HookContext) -> str:
        """A text to append to the system prompt; "" for none."""
        return ""

    async def history(self, history: Sequence[Message], context: HookContext) -> Sequence[Message]:
        """The older messages to send to the model, oldest first, in complete turns.

        If the method raises an exception, the history is not changed.
        """
        return history

    def answer(self, context: HookContext) -> Filter | None:
        """A filter for the answer, before it is sent and saved; None for no filter."""
        return None


class BadOptions(ValueError):
    """An option of a hook is invalid; the message names it."""


def whole_number(options: Mapping[str, object], name: str, default: int) -> int:
    """An option that is an integer above 0. Raises BadOptions."""
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadOptions(f"{name} must be a whole number above 0, not {value!r}")
    return value


def texts(options: Mapping[str, object], name: str) -> list[str]:
    """An option that is a list of non-empty texts; [] if it is absent. Raises BadOptions."""
    value = options.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        raise BadOptions(f"{name} must be a list of texts")
    return value
