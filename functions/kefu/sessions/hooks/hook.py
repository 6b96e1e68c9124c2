"""Defines the steps of a stored chat that a site can change or follow with hooks.

A hook is a module with functions, or a class with methods, of the names in `STEPS`. Hooks run in
the order of their tables in kefu.toml. `Hooks` runs the hooks, so that a failing or slow one
changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kefu.context import Summarize
from kefu.messages import Message
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import Rating, Session, Status


class HookConfig(NamedTuple):
    """The configuration of a hook."""

    options: Mapping[str, object]
    """The table `[hooks.NAME]` of kefu.toml."""


class HookContext(NamedTuple):
    """The visitor's message that is being answered."""

    session: Session
    now: float
    """Unix time in seconds."""
    profile: Mapping[str, str] = MappingProxyType({})
    """Facts about the visitor. Those of the page, which are not in `claims`, are not verified."""
    user: str = ""
    """The user of the site, from a checked user token; empty for an anonymous visitor."""
    history: Sequence[Message] = ()
    """The older messages of the chat, oldest first; only for `context` and `history`."""
    claims: Mapping[str, str] = MappingProxyType({})
    """The part of `profile` from a checked user token."""
    summarize: Summarize | None = None
    """Summarizes messages with the model; the tokens count for the daily budget. `summarize` is set
    only in `history`, for functions that are asynchronous.
    """


class EndedTurn(NamedTuple):
    """A question and its answer, after the end of the answer or its rating."""

    session: Session
    message_id: int
    """The id of the question in its chat."""
    question: str
    answer: str
    """The answer as the visitor saw it; empty without an answer."""
    status: Status
    """`ok`, `failed`, or `partial` for an answer that was cut off."""
    now: float
    """Unix time in seconds."""
    profile: Mapping[str, str] = MappingProxyType({})
    user: str = ""
    answered: bool | None = None
    """Whether the learnt pages answered the question; None without them."""
    rating: Rating | None = None
    comment: str = ""
    """The visitor's comment on an answer that they rated down."""


class Reply(str):
    """An answer that replaces the request to the model."""

    __slots__ = ()


class Filter:
    """Changes a text that arrives in pieces. A filter may hold text back until a later call."""

    def feed(self, text: str) -> str:
        """The text to send after the next piece."""
        return text

    def close(self) -> str:
        """The text that was held back, at the end of the answer."""
        return ""


class Hook:
    """The base class of the hooks of Kefu. A hook of a site needs none.

    The methods of a site's hook may be plain functions, which run in a thread.
    """

    async def user_message(self, text: str, visit: HookContext) -> str:
        """The visitor's text, possibly changed, before it is saved.

        A Reply becomes the answer of the turn. An empty text is rejected with status 400.
        """
        return text

    async def history(self, history: Sequence[Message], visit: HookContext) -> Sequence[Message]:
        """The older messages to send to the model, oldest first, in complete turns."""
        return history

    async def context(self, question: str, visit: HookContext) -> str:
        """A text to append to the system prompt; "" for none."""
        return ""

    def output(self, visit: HookContext) -> Filter | None:
        """A filter for the answer, before it is sent and saved; None for no filter."""
        return None

    async def after(self, turn: EndedTurn) -> None:
        """Called in the background when a turn has ended, in any way."""

    async def rated(self, turn: EndedTurn) -> None:
        """Called in the background when the visitor has rated an answer."""

    async def contact(self, request: ContactRequest) -> None:
        """Called in the background when a visitor has asked for a person."""


STEPS: Mapping[str, tuple[str, ...]] = {
    "user_message": ("text", "visit"),
    "history": ("history", "visit"),
    "context": ("question", "visit"),
    "output": ("visit",),
    "after": ("turn",),
    "rated": ("turn",),
    "contact": ("request",),
}
"""The steps with their arguments."""


class BadOptions(ValueError):
    """An option of a hook is invalid; the message names the option."""


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
