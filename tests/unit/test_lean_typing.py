"""What stands in for `typing` when the code runs; mypy looks after the rest."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kefu.context
import kefu.errors
import kefu.tokens
from kefu import lean_typing
from kefu.context import Message, ToolCall, Window
from kefu.context.budget import Budget

ASKED = Message("user", "How long?", (ToolCall("1", "clock", "{}"),), pinned=True)


class Ours(lean_typing.NamedTuple):
    """Has fields."""

    first: int
    second: str = "2"

    @property
    def both(self) -> str:
        return f"{self.first}{self.second}"


class Theirs(typing.NamedTuple):
    """Has fields."""

    first: int
    second: str = "2"

    @property
    def both(self) -> str:
        return f"{self.first}{self.second}"


def test_a_named_tuple_is_what_typing_would_make_of_it() -> None:
    names = {*vars(Theirs), "both"} - {"__orig_bases__", "__static_attributes__"}
    assert names <= vars(Ours).keys()
    same = ("__doc__", "__module__", "__bases__", "__match_args__", "_fields", "_field_defaults")
    assert [getattr(Ours, name) for name in same] == [getattr(Theirs, name) for name in same]
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert list(inspect.signature(Ours).parameters) == ["first", "second"]
    assert repr(Ours(1)) == "Ours(first=1, second='2')"
    assert (Ours(1).both, Ours(first=3, second="4").both) == ("12", "34")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'first'"):
        Ours()  # type: ignore[call-arg]


def test_a_message_cannot_be_changed() -> None:
    for name in ("content", "extra"):
        with pytest.raises(AttributeError):
            setattr(ASKED, name, "changed")
    assert ASKED._replace(content="changed") != ASKED == (*ASKED,)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_message_can_be_copied_and_compared_and_is_a_key(copied: Callable[[Any], Any]) -> None:
    twin = copied(ASKED)
    assert type(twin) is Message
    assert {ASKED: "found"}[twin] == "found"
    assert twin == ASKED != Message("user", "How long?")


def test_a_message_matches_a_pattern() -> None:
    match ASKED:
        case Message("user", content, (ToolCall(name=name),), pinned=True):
            assert (content, name) == ("How long?", "clock")
        case _:
            pytest.fail("does not match")


def test_a_value_with_a_constructor_of_its_own_keeps_it() -> None:
    assert pickle.loads(pickle.dumps(Budget(10)))._replace(limit=5) == Budget(5)
    with pytest.raises(ValueError, match="cut_step"):
        Budget(10, cut_step=1.0)


def public() -> Iterator[Any]:
    """Every class, function and method of the library that is Kefu's own."""
    for module in (kefu.context, kefu.tokens, kefu.errors):
        for value in vars(module).values():
            if inspect.isclass(value) or inspect.isfunction(value):
                functions = inspect.getmembers(value, inspect.isfunction)
                methods = inspect.getmembers(value, inspect.ismethod)
                for found in (value, *(member for _, member in functions + methods)):
                    if found.__module__.startswith("kefu."):
                        yield found


def test_type_hints_of_all_that_is_public_are_known_when_the_code_runs() -> None:
    hints = {value: typing.get_type_hints(value) for value in public()}
    assert hints[Message]["role"] is str  # which strings, only type checkers know
    assert hints[Message]["tool_calls"] == tuple[ToolCall, ...]
    assert hints[Budget.for_model]["return"] is Budget
    assert hints[kefu.context.trim_messages]["return"] is Window
