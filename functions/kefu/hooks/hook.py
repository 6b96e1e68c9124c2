"""What may be changed on the way of a kept chat's turn, and where.

A hook overrides the steps it cares about; each of them has a way that changes nothing. Several
hooks take their turn in the order in which `KEFU_HOOKS` names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kefu.context import Summarize
from kefu.lean_typing import NamedTuple
from kefu.messages import Message
from kefu.sessions import Session


class Given(NamedTuple):
    """What a hook may be made with."""

    options: Mapping[str, object]
    """Of the table `[hooks.NAME]` in the file that KEFU_CONFIGS names."""
    summarize: Summarize
    """Asks the model; what it costs comes out of the day's budget."""


class Visit(NamedTuple):
    """The turn that is under way."""

    session: Session
    now: float
    """Unix time in seconds."""
    profile: Mapping[str, str] = MappingProxyType({})
    """What the page says of the visitor: unproven."""


class Reply(str):
    """An answer given in place of the model's."""

    __slots__ = ()


class Filter:
    """Changes a text while it comes. What it holds back is given out later, at the end at last."""

    def feed(self, text: str) -> str:
        return text

    def close(self) -> str:
        return ""


class Hook:
    def user_message(self, text: str, visit: Visit) -> str:
        """The visitor's text, perhaps changed, before it is saved; a Reply ends the turn.

        Empty is no text: the visitor hears 400.
        """
        return text

    def system(self, visit: Visit) -> str:
        """What to put behind the system prompt, in the one system message; "" for nothing."""
        return ""

    async def history(self, history: Sequence[Message], visit: Visit) -> Sequence[Message]:
        """Which of the older messages, oldest first, the model is told; in whole turns.

        A hook that raises changes nothing.
        """
        return history

    def answer(self, visit: Visit) -> Filter | None:
        """What the answer goes through, on its way to the visitor and into the store."""
        return None


class BadOptions(ValueError):
    """A hook's options are not what it understands; says which."""


def whole_number(options: Mapping[str, object], name: str, default: int) -> int:
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadOptions(f"{name} must be a whole number above 0, not {value!r}")
    return value


def texts(options: Mapping[str, object], name: str) -> list[str]:
    value = options.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in value):
        raise BadOptions(f"{name} must be a list of texts")
    return value
