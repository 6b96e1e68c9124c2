"""Counts the calls of tools in a turn, for all engines: by tool and for the chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kefu.sessions.store.overview import ToolDay
from kefu.stores.turns import date_of

if TYPE_CHECKING:
    from kefu.tools.use import Use

MADE_UP = "?"
"""Counts calls of tools that do not exist: the sums have no texts of a model or a visitor."""


def calls_of(steps: str, now: float) -> Sequence[ToolDay]:
    """The calls in the `steps` of a turn that ended at `now`, by tool."""
    from kefu.tools.use import stored_uses  # here, because few chats have calls

    found: dict[str, ToolDay] = {}
    for use in stored_uses(steps):
        name = _name_of(use)
        one = found.get(name) or ToolDay(date_of(now), name)
        found[name] = one._replace(**{field: getattr(one, field) + 1 for field in _fields_of(use)})
    return list(found.values())


def _name_of(use: Use) -> str:
    """The name of the tool. A call that failed and has no title is of no tool of the site."""
    return use.name if use.title or use.state != "failed" else MADE_UP


def _fields_of(use: Use) -> Sequence[str]:
    """The fields of ToolDay that count a call."""
    if use.state == "asked":
        return ["asked"]
    if use.state == "denied":
        return ["declined"]
    # A turn that ends while a write is being sent does not know whether it was carried out.
    ended = {"failed": ["failures"], "unsure": ["unsure"], "sending": ["unsure"]}
    return ["uses", *ended.get(use.state, []), *(["approved"] if use.card else [])]


def in_chat(called: Sequence[ToolDay]) -> Mapping[str, int]:
    """What the calls of a turn add to the numbers of its chat, by the fields of Overview.

    The call that a click approves was counted when the visitor was asked.
    """
    return {
        "tool_calls": sum(one.uses - one.approved + one.asked for one in called),
        "tool_failures": sum(one.failures + one.unsure for one in called),
        "declined": sum(one.declined for one in called),
    }
