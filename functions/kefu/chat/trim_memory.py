"""Remembers in this process the summaries and cuts of conversations that are not stored.

A page sends its whole conversation with every question, so the same messages arrive repeatedly. A
conversation is recognized by a digest of its first messages. Stored chats use another memory:
`kefu.sessions.turn.history.ChatMemory`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NewType, TypeVar

from kefu.context import ToSummarize, TrimState
from kefu.context.wire.marks import mark
from kefu.messages import Message

Prefix = NewType("Prefix", bytes)
"""The digest of a conversation's first messages, without the system prompt."""

T = TypeVar("T")


class ProcessMemory:
    """The least recently used summaries and cuts are evicted. Implements `chat.prompt.Memory`."""

    def __init__(self, size: int) -> None:
        """`size`: the maximum number of summaries, and of cuts."""
        self._size = size
        self._summaries: OrderedDict[Prefix, str] = OrderedDict()
        self._cuts: OrderedDict[Prefix, None] = OrderedDict()

    def state(self, messages: Sequence[Message]) -> TrimState:
        """The known summary that covers the most messages, and the last known cut."""
        start = _systems(messages)
        known = list(prefixes(messages[start:]))
        state = TrimState()
        for count in range(len(known), 0, -1):
            stop = start + count
            if not state.cut and known[count - 1] in self._cuts:
                self._cuts.move_to_end(known[count - 1])
                state = state._replace(cut=stop, cut_mark=mark(messages, stop))
            if not state.summary and (text := self.summary(known[count - 1])):
                state = state._replace(summary=text, covers=stop, covers_mark=mark(messages, stop))
        return state

    def note(self, messages: Sequence[Message], state: TrimState) -> None:
        start = _systems(messages)
        if state.cut > start:
            *_, prefix = prefixes(messages[start : state.cut])
            _remember(self._cuts, prefix, None, self._size)

    def names(self, due: ToSummarize) -> Sequence[Prefix]:
        """The prefixes of the covered messages, so that a longer conversation has them as well."""
        return list(prefixes(due.covered))

    def summarized(self, due: ToSummarize, text: str) -> None:
        self.keep(self.names(due)[-1], text)

    def summary(self, prefix: Prefix) -> str:
        """The summary of these messages; empty if there is none."""
        if text := self._summaries.get(prefix, ""):
            self._summaries.move_to_end(prefix)
        return text

    def keep(self, prefix: Prefix, text: str) -> None:
        """Remember the summary of these messages."""
        _remember(self._summaries, prefix, text, self._size)


def prefixes(messages: Sequence[Message]) -> Iterator[Prefix]:
    """For each message, the digest of the conversation up to it."""
    digest = hashlib.blake2b(digest_size=16)
    for message in messages:
        for part in (message.role, message.content):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
        yield Prefix(digest.copy().digest())


def _remember(cache: OrderedDict[Prefix, T], prefix: Prefix, value: T, size: int) -> None:
    cache[prefix] = value
    cache.move_to_end(prefix)
    while len(cache) > size:
        cache.popitem(last=False)


def _systems(messages: Sequence[Message]) -> int:
    """The number of system messages at the start."""
    roles = (message.role != "system" for message in messages)
    return next((at for at, other in enumerate(roles) if other), len(messages))
