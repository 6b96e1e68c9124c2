"""What later calls of the model are told: the conversation, each message counted once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kefu.context import Message, MessageCounter, ToolCall
from kefu.lean_typing import NamedTuple

# An observation goes out as a user's message. Here it is the result of a call, so that trimming
# keeps it with the words that asked for it, and knows which message is the user's.
_CALL = (ToolCall("step", "", ""),)


class Entry(NamedTuple):
    turn: int
    """0: of none, as the system prompt and summaries."""
    message: Message


class ChatHistory:
    def __init__(self, counter: MessageCounter, entries: Iterable[Entry] = ()) -> None:
        self.counter = counter
        self.entries: list[Entry] = []
        self._costs: list[int] = []
        for entry in entries:
            self._add(entry)

    @property
    def tokens(self) -> int:
        """Of a prompt with all of it."""
        return self.counter.priming + sum(self._costs)

    @property
    def messages(self) -> Sequence[Message]:
        """As they are sent."""
        return sent(entry.message for entry in self.entries)

    @property
    def whole(self) -> Sequence[Message]:
        """As trimming sees them."""
        return [entry.message for entry in self.entries]

    def tell(self, system_prompt: str) -> None:
        self._add(Entry(0, Message("system", system_prompt)))

    def ask(self, turn: int, text: str) -> None:
        self._add(Entry(turn, Message("user", text)))

    def step(self, turn: int, said: str, observation: str) -> None:
        """The model's words and what it is told next. There are APIs that refuse empty words."""
        self._add(Entry(turn, Message("assistant", said or "…", _CALL)))
        self._add(Entry(turn, Message("tool", observation, tool_call_id=_CALL[0].id)))

    def answer(self, turn: int, text: str) -> None:
        self._add(Entry(turn, Message("assistant", text)))

    def stopped(self, turn: int, text: str) -> None:
        """The user ended the turn in the middle of this answer: only the question stays with it."""
        mine = [at for at, entry in enumerate(self.entries) if entry.turn == turn]
        self._keep(sorted({*range(len(self.entries))} - {*mine[1:]}))
        self.answer(turn, text)

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._costs.append(self.counter(entry.message))

    def forget(self, turn: int) -> None:
        """Take back all of a turn."""
        self._keep(at for at, entry in enumerate(self.entries) if entry.turn != turn)

    def clear(self) -> None:
        """Take back all but the system prompt."""
        self._keep(at for at, e in enumerate(self.entries) if e.message.role == "system")

    def _keep(self, positions: Iterable[int]) -> None:
        kept = list(positions)
        self.entries = [self.entries[at] for at in kept]
        self._costs = [self._costs[at] for at in kept]

    def last_turn(self) -> int:
        """The last one there is anything of; 0: none."""
        return max((entry.turn for entry in self.entries), default=0)

    def asked(self, turn: int) -> str:
        """What the user said in a turn; empty if that is gone."""
        said = (e.message for e in self.entries if e.turn == turn)
        return next((message.content for message in said if message.role == "user"), "")

    def summarised(self, summary: Message, left_out: Iterable[tuple[int, int]]) -> None:
        """Put a summary behind the system prompt, in place of what it tells of."""
        gone = {at for start, stop in left_out for at in range(start, stop)}
        old = {at for at, entry in enumerate(self.entries) if entry.message.summary}
        self._keep(at for at in range(len(self.entries)) if at not in gone | old)
        head = sum(entry.message.role == "system" for entry in self.entries)
        self.entries.insert(head, Entry(0, summary))
        self._costs.insert(head, self.counter(summary))


def sent(messages: Iterable[Message]) -> list[Message]:
    """The same messages as a model gets them: observations come from the user."""
    return [
        Message("user" if message.role == "tool" else message.role, message.content)
        for message in messages
    ]
