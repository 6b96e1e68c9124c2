"""Presents messages of other APIs to the strategies, reading them only as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from kefu.context.conversation import Conversation, CountedOnce, Pairing
from kefu.context.cost import MessageCounter
from kefu.context.wire.parts import Shape
from kefu.context.wire.shapes import role_of, shape_of
from kefu.messages import Message, ToolCall

_STEPS = frozenset({"assistant", "tool"})
"""Roles of dicts that are never a question nor a system prompt."""


class WireEntry(Message):
    """A message of another API, as the strategies see it. The object has no content of its own."""

    shape: Shape


class Reading(Sequence[Message]):
    """A list of messages of any format; entries are made when they are asked for.

    The strategies know one kind of tool exchange: a message with calls, and one result for each
    call. Other formats have several results in one message, or several items in one step of the
    model. So the calls of an entry are the entries that belong to it, named by their positions.
    """

    def __init__(
        self,
        values: Sequence[Any],
        counter: MessageCounter,
        model: str = "",
        keep: Callable[[Any], bool] | None = None,
    ) -> None:
        """`keep` tells which messages are pinned, besides own messages that are pinned."""
        self.values = values
        self.priming = counter.priming
        self.costs = CountedOnce(self, counter)
        self._model = model
        self._keep = keep
        self._shapes: dict[int, Shape] = {}
        self._entries: dict[int, Message] = {}
        self._pinned: set[int] = set()
        self._tools: dict[int, dict[str, str]] = {}
        self._questions: dict[int, int] = {}
        self._systems: Sequence[int] | None = None
        self.summary_at = -1
        """The position of the summary that was put among the messages."""
        self.edited: dict[int, Any] = {}
        """Copies that replace messages, by position."""

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

    def __iter__(self) -> Iterator[Message]:
        return map(self.__getitem__, range(len(self.values)))

    def __reversed__(self) -> Iterator[Message]:
        return map(self.__getitem__, range(len(self.values) - 1, -1, -1))

    def value(self, at: int) -> Any:
        """The message at a position, or the copy that replaces it."""
        return self.edited.get(at, self.values[at]) if self.edited else self.values[at]

    def shape(self, at: int) -> Shape:
        shape = self._shapes.get(at)
        if shape is None:
            shape = self._shapes[at] = shape_of(self.value(at), self._model)
        return shape

    def replace(self, at: int, value: Any) -> None:
        """Put a copy with shorter results in the place of a message."""
        self.edited[at] = value
        self._forget(at)

    def _forget(self, at: int) -> None:
        for known in (self._shapes, self._entries, self.costs):
            known.pop(at, None)

    def restore(self, counter: MessageCounter) -> None:
        """Take back all copies, and count with another counter."""
        for at in self.edited:
            self._forget(at)
        self.edited = {}
        self.priming = counter.priming
        self.costs = CountedOnce(self, counter)

    def role(self, at: int) -> str:
        """The role of a message; most are told without reading the content."""
        return role_of(self.values[at]) or self.shape(at).role

    def last_question(self, first: int, stop: int) -> int:
        """The position of the last user message in a span; -1 if there is none."""
        if stop not in self._questions:
            at = stop - 1
            while at >= first and not self._is_question(at):
                at -= 1
            self._questions[stop] = at if at >= first else -1
        return self._questions[stop]

    def _is_question(self, at: int) -> bool:
        value = self.values[at]
        if type(value) is dict and value.get("role") in _STEPS:
            return False
        return self.role(at) == "user" and not self[at].summary

    def systems_after(self, first: int) -> Sequence[int]:
        """The positions of the system messages from `first` on."""
        if self._systems is None:
            self._systems = [
                at
                for at, value in enumerate(self.values)
                if at >= first
                and not (type(value) is dict and value.get("role") in _STEPS)
                and self.role(at) == "system"
            ]
        return self._systems

    def pin(self, at: int) -> None:
        """Pin a message that `keep` does not choose."""
        self._pinned.add(at)
        self._entries.pop(at, None)

    def pinned_after(self, head: int) -> Iterator[int]:
        """The positions of the pinned messages from `head` on, newest first; no system messages."""
        for at in range(len(self.values) - 1, head - 1, -1):
            value = self.values[at]
            pinned = at in self._pinned or (isinstance(value, Message) and value.pinned)
            if (pinned or self._wanted(at)) and self[at].role != "system":
                yield at

    def results_after(self, at: int) -> range:
        """The positions of the results that follow a position directly."""
        stop = at + 1
        while stop < len(self.values) and self.shape(stop).role == "tool":
            stop += 1
        return range(at + 1, stop)

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
                if not self._continues(at):
                    break
                at -= 1
        self._tools.update(dict.fromkeys(results, names))
        return names

    def _read(self, at: int) -> Message:
        value = self.value(at)
        shape = self.shape(at)
        if isinstance(value, Message):
            pinned = value.pinned or self._wanted(at)
            summary = value.summary
        else:
            pinned, summary = self._wanted(at), at == self.summary_at
        role = shape.role
        calls: tuple[ToolCall, ...] = ()
        call_id: str | None = None
        if role == "tool" or self._continues(at):
            role, call_id = "tool", f"#{at}"
        elif role == "assistant" and (shape.calls or shape.step):
            calls = tuple(ToolCall(name, "", "") for name in self._members(at))
        entry = Message.__new__(WireEntry, role, "", calls, call_id, pinned, summary)
        entry.shape = shape
        return entry

    def _wanted(self, at: int) -> bool:
        if at in self._pinned:
            return True
        return self._keep is not None and bool(self._keep(self.values[at]))

    def _continues(self, at: int) -> bool:
        """Whether the item belongs to the same step of the model as its predecessor."""
        shape = self.shape(at)
        if at == 0 or shape.role != "assistant" or not self.shape(at - 1).step:
            return False
        return shape.step or not isinstance(self.value(at), Message)

    def _members(self, first: int) -> Iterator[str]:
        """The entries that belong to this entry, and `#missing` if a call has no result."""
        shape = self.shape(first)
        pairing, reference = Pairing(shape.calls), shape.reference
        at = first + 1
        while at < len(self.values) and self._continues(at):
            yield f"#{at}"
            pairing.add(self.shape(at).calls)
            reference = reference or self.shape(at).reference
            at += 1
        for result in self.results_after(at - 1):
            answers = [(answer.call_id, answer.tool) for answer in self.shape(result).results]
            if pairing.answer_all(answers) or reference:
                yield f"#{result}"
        if not pairing.complete:
            yield "#missing"


class ReadingConversation(Conversation):
    """A `Conversation` over a `Reading`; it looks for roles and pins without reading the texts."""

    __slots__ = ()
    messages: Reading

    def __init__(self, reading: Reading, kept_from: int = 0) -> None:
        super().__init__(reading, reading.costs, reading.priming, kept_from)
        self.summary_at = reading.summary_at

    def later_systems(self) -> Sequence[int]:
        return self.messages.systems_after(self.first_turn)

    def pinned(self) -> Iterator[int]:
        return self.messages.pinned_after(self.first_turn)

    def _find_current(self) -> int:
        return self.messages.last_question(self.first_turn, self.open_calls)

    def _starts_turn(self, at: int) -> bool:
        return self.messages.role(at) == "user" and not self.messages[at].summary


class WireCounter(MessageCounter):
    """Counts entries: their texts, and their images and files."""

    __slots__ = ()

    def __call__(self, message: Message) -> int:
        if not isinstance(message, WireEntry):
            return super().__call__(message)
        shape = message.shape
        tokens = self.per_message + shape.tokens + (shape.named and self.per_message > 0)
        for text in shape.texts:
            if text:
                tokens += self.of_text(text)
        for result in shape.results:
            tokens += self.of_text(result.text) + result.tokens
        return tokens
