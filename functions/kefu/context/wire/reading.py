"""Presents messages of other APIs to the strategies, reading them only as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Any, overload

from kefu.context.conversation import Conversation, CountedOnce, Pairing
from kefu.context.cost import MessageCounter
from kefu.context.wire.parts import Shape
from kefu.context.wire.shapes import role_of, shape_of
from kefu.messages import Message, Role, ToolCall

_STEPS = frozenset({"assistant", "tool"})
"""Roles of dicts that are never a question nor a system prompt."""
_FEW_CHARS = 32
"""The most characters of a text whose tokens are remembered."""
_NEAR_END = 64
"""Messages at the end, in which the question of most conversations is."""


@cache
def _entry(role: Role, calls: bool, summary: bool) -> Message:
    """What strategies see of a message: its role, and whether it calls tools or is a summary.

    It has no text and no ids; `ReadingConversation` takes these from the shapes.
    """
    return Message(role, "", (ToolCall("", "", ""),) if calls else (), summary=summary)


class Reading(Sequence[Message]):
    """A list of messages of any format; each is read when it is asked for.

    The strategies know one kind of tool exchange: a message with calls, and then its results. In
    OpenAI's Responses API, a step of the model may be several items. All but the first of them are
    entries with the role `tool`.
    """

    def __init__(
        self,
        values: Sequence[Any],
        model: str = "",
        keep: Callable[[Any], bool] | None = None,
        summary_at: int = -1,
    ) -> None:
        """`keep` tells which messages are pinned, besides own messages that are pinned.

        `summary_at`: the position of the summary that was put among the messages; -1 for none.
        """
        self.values = values
        self.summary_at = summary_at
        self.edited: dict[int, Any] = {}
        """Copies that replace messages, by position."""
        self._model = model
        self._keep = keep
        self._shapes: dict[int, Shape] = {}
        self._entries: dict[int, Message] = {}
        self._tools: dict[int, dict[str, str]] = {}
        self._pins: set[int] | None = None
        self._speakers: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self[at] for at in range(len(self.values))[index]]
        entry = self._entries.get(index)
        if entry is None:
            at = range(len(self.values))[index]
            entry = self._entries[at] = self._read(at)
        return entry

    def value(self, at: int) -> Any:
        """The message at a position, or the copy that replaces it."""
        return self.edited.get(at, self.values[at]) if self.edited else self.values[at]

    def shape(self, at: int) -> Shape:
        shape = self._shapes.get(at)
        if shape is None:
            shape = self._shapes[at] = shape_of(self.value(at), self._model)
        return shape

    def replace(self, at: int, value: Any) -> None:
        """Put a copy with shorter results in the place of a message; its entry stays the same."""
        self.edited[at] = value
        self._shapes.pop(at, None)

    def restore(self) -> None:
        """Take back all copies."""
        for at in self.edited:
            self._shapes.pop(at, None)
        self.edited = {}

    def role(self, at: int) -> str:
        """The role of a message; most are told without reading the content."""
        return role_of(self.values[at]) or self.shape(at).role

    def is_question(self, at: int) -> bool:
        """Whether a message is the user's, and no summary."""
        return self.role(at) == "user" and not self[at].summary

    def asks_beside(self, at: int) -> bool:
        """Whether the user's words stand beside tool results; most are told without reading."""
        return role_of(self.values[at]) is None and self.shape(at).asked

    @property
    def speakers(self) -> Sequence[int]:
        """The positions of own messages, and of others that are no assistant's and no tool's."""
        if self._speakers is None:
            self._speakers = [
                at
                for at, value in enumerate(self.values)
                if not (type(value) is dict and value.get("role") in _STEPS)  # as most are
                and (isinstance(value, Message) or role_of(value) not in _STEPS)
            ]
        return self._speakers

    @property
    def pins(self) -> set[int]:
        """The positions of the pinned messages."""
        if self._pins is None:
            values, keep = self.values, self._keep
            own = (at for at in self.speakers if isinstance(values[at], Message))
            self._pins = {at for at in own if values[at].pinned}
            if keep is not None:
                self._pins.update(at for at, one in enumerate(values) if keep(one))
        return self._pins

    def continues(self, at: int) -> bool:
        """Whether the item belongs to the same step of the model as its predecessor."""
        if not 0 < at < len(self.values):
            return False
        shape = self.shape(at)
        if shape.role != "assistant" or not self.shape(at - 1).step:
            return False
        return shape.step or not isinstance(self.value(at), Message)

    def tools_of(self, at: int) -> dict[str, str]:
        """The names of the tools whose results follow this message, by the ids of the calls.

        Of a message with results, the names are those of the step before it.
        """
        results = []
        while at and at not in self._tools and self.shape(at).role == "tool":
            results.append(at)
            at -= 1
        names = self._tools.get(at)
        if names is None:
            names = self._tools[at] = {}
            results.append(at)
            while at >= 0 and self.shape(at).role == "assistant":
                for call in self.shape(at).calls:
                    names.setdefault(call.id, call.tool)
                if not self.continues(at):
                    break
                at -= 1
        self._tools.update(dict.fromkeys(results, names))
        return names

    def _read(self, at: int) -> Message:
        value, shape = self.value(at), self.shape(at)
        summary = value.summary if isinstance(value, Message) else at == self.summary_at
        if shape.role != "assistant":
            return _entry(shape.role, False, summary)
        if self.continues(at):
            return _entry("tool", False, summary)
        calls = bool(shape.calls) or (shape.step and self._is_answered(at))
        return _entry("assistant", calls, summary)

    def _is_answered(self, at: int) -> bool:
        """Whether an item without calls is followed by items of its step, or by results."""
        if self.continues(at + 1):
            return True
        is_last = at + 1 == len(self.values)
        return self.shape(at).reference and not is_last and self.shape(at + 1).role == "tool"


class ReadingConversation(Conversation):
    """A `Conversation` over a `Reading`; it looks for roles and pins without reading the texts."""

    messages: Reading
    costs: CountedOnce[Shape]
    _systems: Sequence[int] | None

    def __init__(self, reading: Reading, counter: MessageCounter) -> None:
        self._systems = None
        super().__init__(
            reading, CountedOnce(reading.shape, count_shapes(counter)), counter.priming
        )
        self.summary_at = reading.summary_at
        after = takewhile(lambda at: at > self.current, self._speakers())
        if (at := next(filter(reading.asks_beside, after), -1)) >= 0:
            start, stop = self.exchange(at)
            self.asked = [*self.asked, (start, stop)] if start < stop else self.asked

    def replace(self, at: int, value: Any) -> None:
        """Put a copy with shorter results in the place of a message."""
        self.messages.replace(at, value)
        self.costs.pop(at, None)

    def later_systems(self) -> Sequence[int]:
        if self._systems is None:
            reading, first = self.messages, self.first_turn
            later = (at for at in reading.speakers if at >= first)
            self._systems = [at for at in later if reading.role(at) == "system"]
        return self._systems

    def pinned(self) -> Iterator[int]:
        for at in sorted(self.messages.pins, reverse=True):
            if at >= self.first_turn and self.messages[at].role != "system":
                yield at

    def _pair(self, start: int, stop: int) -> tuple[Sequence[int], bool]:
        shapes = [self.messages.shape(at) for at in range(start, stop)]
        step = [shape for shape in shapes if shape.role == "assistant"]
        results = shapes[len(step) :]
        calls = [call for shape in step for call in shape.calls]
        ids = [result.call_id for shape in results for result in shape.results]
        if ids == [call.id for call in calls]:
            return (), True
        pairing = Pairing(calls)
        reference = any(shape.reference for shape in step)
        unmatched = []
        for at, shape in enumerate(results, start + len(step)):
            answers = [(answer.call_id, answer.tool) for answer in shape.results]
            if not pairing.answer(*answers) and not reference:
                unmatched.append(at)
        return unmatched, pairing.complete

    def _find_current(self) -> int:
        return next(filter(self.messages.is_question, self._speakers()), -1)

    def _speakers(self) -> Iterator[int]:
        """The positions before `open_calls` that may be the user's, newest first.

        Near the end, where the question is except in the run of an agent, they are all positions.
        """
        near = max(self.first_turn, self.open_calls - _NEAR_END)
        yield from range(self.open_calls - 1, near - 1, -1)
        older = self.messages.speakers if near > self.first_turn else ()
        yield from (at for at in reversed(older) if self.first_turn <= at < near)

    def _starts_turn(self, at: int) -> bool:
        return self.messages.is_question(at)


def count_shapes(counter: MessageCounter) -> Callable[[Shape], int]:
    """A counter of messages of any format: of their texts, and of their images and files.

    A text with few characters is counted once: names of tools and placeholders repeat.
    """
    known: dict[str, int] = {}

    def of_text(text: str) -> int:
        if len(text) > _FEW_CHARS:
            return counter.of_text(text)
        tokens = known.get(text)
        if tokens is None:
            tokens = known[text] = counter.of_text(text)
        return tokens

    def count(shape: Shape) -> int:
        tokens = counter.per_message + shape.tokens + (shape.named and counter.per_message > 0)
        for text in shape.texts:
            if text:
                tokens += of_text(text)
        for result in shape.results:
            tokens += of_text(result.text) + result.tokens
        return tokens

    return count
