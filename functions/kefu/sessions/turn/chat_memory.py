"""Remembers the cut and the summary of one stored chat, in the chat's session.

So every process finds cut and summary. Cut and summary are stored as a `TrimState` with ids of
messages in place of positions: each prompt starts at another message of the chat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from kefu.context import ToSummarize, TrimState
from kefu.context.wire.marks import mark
from kefu.messages import Message
from kefu.sessions.store.model import SessionId


class ChatMemory:
    """The memory of one turn of a stored chat. Implements `kefu.chat.prompt.Memory`."""

    def __init__(
        self,
        session_id: SessionId,
        stored: str,
        ids: Sequence[int | None],
        save: Callable[[str], object],
    ) -> None:
        """`stored`: `Session.trim_state`. `save` is called with each new state.

        `ids`: the ids of the conversation's messages behind the system message, ascending; None for
        messages that a hook has made.
        """
        self._session = session_id
        self._stored = stored
        self._ids = ids
        self._first = 0
        """The position of the first message: 1 behind a system message."""
        self._save = save

    @cached_property
    def _state(self) -> TrimState:
        try:
            return TrimState.load(self._stored)
        except ValueError:  # a newer version's state is replaced
            return TrimState()

    def state(self, messages: Sequence[Message]) -> TrimState:
        self._first = len(messages) - len(self._ids)
        cut, covers = self._position(self._state.cut), self._position(self._state.covers)
        state = TrimState()
        if self._state.cut:
            state = state._replace(cut=cut, cut_mark=mark(messages, cut))
        if self._state.summary:
            state = state._replace(
                summary=self._state.summary, covers=covers, covers_mark=mark(messages, covers)
            )
        return state

    def note(self, messages: Sequence[Message], state: TrimState) -> None:
        self._update(self._state._replace(cut=self._id_before(state.cut)))

    def names(self, due: ToSummarize) -> Sequence[bytes]:
        return [self._session.encode()]

    def summarized(self, due: ToSummarize, text: str) -> None:
        covers = self._id_before(due.covers)
        self._update(self._state._replace(summary=text, covers=covers, cut=0))

    def _update(self, state: TrimState) -> None:
        if state != self._state:
            self._state = state
            self._save(state.dump())

    def _position(self, id: int) -> int:
        """The position after the newest message whose id is not greater.

        Without such a message, the first position.
        """
        for at in range(len(self._ids), 0, -1):
            known = self._ids[at - 1]
            if known is not None and known <= id:
                return self._first + at
        return self._first

    def _id_before(self, position: int) -> int:
        """The id of the newest message before a position; 0 if there is none."""
        before = reversed(self._ids[: max(0, position - self._first)])
        return next((id for id in before if id is not None), 0)
