"""The conversation that is sent to the model; each message is counted once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kefu.agent.instructions import observed_tool
from kefu.context import Message, MessageCounter, ToolCall

# An observation is sent as a user message. Kefu stores it as a tool result. So trimming keeps an
# observation together with its action, and apart from the user's messages.
_CALL = (ToolCall("step", "", ""),)


class Entry(NamedTuple):
    """A message and its turn."""

    turn: int
    """Number of the turn; 0 for the system prompt and summaries."""
    message: Message


class ChatHistory:
    """The messages of a session in order, with their token counts."""

    def __init__(self, counter: MessageCounter, entries: Iterable[Entry] = ()) -> None:
        self.counter = counter
        self.entries: list[Entry] = []
        self._costs: list[int] = []
        for entry in entries:
            self._add(entry)

    @property
    def tokens(self) -> int:
        """The tokens of a prompt with all messages."""
        return self.counter.priming + sum(self._costs)

    @property
    def observed(self) -> Iterator[str]:
        """The tools whose results the conversation has."""
        for entry in self.entries:
            if entry.message.role == "tool" and (tool := observed_tool(entry.message.content)):
                yield tool

    @property
    def messages(self) -> Sequence[Message]:
        """The messages as they are sent to the model."""
        return sent(entry.message for entry in self.entries)

    @property
    def conversation(self) -> Sequence[Message]:
        """The messages for trimming: observations are tool results."""
        return [entry.message for entry in self.entries]

    def add_system_prompt(self, text: str) -> None:
        self._add(Entry(0, Message("system", text)))

    def add_question(self, turn: int, text: str) -> None:
        self._add(Entry(turn, Message("user", text)))

    def add_step(self, turn: int, output: str, observation: str) -> None:
        """Add the model's output and the observation.

        Empty output is replaced by an ellipsis, because some APIs refuse empty messages.
        """
        self._add(Entry(turn, Message("assistant", output or "…", _CALL)))
        self._add(Entry(turn, Message("tool", observation, tool_call_id=_CALL[0].id)))

    def add_answer(self, turn: int, text: str) -> None:
        self._add(Entry(turn, Message("assistant", text)))

    def end_interrupted(self, turn: int, text: str) -> None:
        """Keep only the user's message and the partial answer of an interrupted turn."""
        positions = [at for at, entry in enumerate(self.entries) if entry.turn == turn]
        self._keep(sorted({*range(len(self.entries))} - {*positions[1:]}))
        self.add_answer(turn, text)

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._costs.append(self.counter(entry.message))

    def remove_turn(self, turn: int) -> None:
        """Remove all messages of a turn."""
        self._keep(at for at, entry in enumerate(self.entries) if entry.turn != turn)

    def clear(self) -> None:
        """Remove all messages but the system prompt."""
        self._keep(at for at, e in enumerate(self.entries) if e.message.role == "system")

    def _keep(self, positions: Iterable[int]) -> None:
        kept = list(positions)
        self.entries = [self.entries[at] for at in kept]
        self._costs = [self._costs[at] for at in kept]

    def last_turn(self) -> int:
        """The number of the last turn with a message in the history; 0 if there is none."""
        return max((entry.turn for entry in self.entries), default=0)

    def question(self, turn: int) -> str:
        """The user's message of a turn; empty if the history does not contain it."""
        messages = (e.message for e in self.entries if e.turn == turn)
        return next((message.content for message in messages if message.role == "user"), "")

    def replace_by_summary(self, summary: Message, left_out: Iterable[tuple[int, int]]) -> None:
        """Replace the messages in the spans, and any old summary, by a new summary."""
        replaced = {at for start, stop in left_out for at in range(start, stop)}
        old = {at for at, entry in enumerate(self.entries) if entry.message.summary}
        self._keep(at for at in range(len(self.entries)) if at not in replaced | old)
        head = sum(entry.message.role == "system" for entry in self.entries)
        self.entries.insert(head, Entry(0, summary))
        self._costs.insert(head, self.counter(summary))


def sent(messages: Iterable[Message]) -> list[Message]:
    """The messages as they are sent to the model: tool results become user messages."""
    return [
        Message("user" if message.role == "tool" else message.role, message.content)
        for message in messages
    ]
