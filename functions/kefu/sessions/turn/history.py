"""Reads the stored messages that are sent to the model as history, and remembers how it was cut.

The history consists of complete turns with the status `ok`, lines of operators, and the visitor's
messages to them, in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import groupby

from kefu.context import ToSummarize, TrimState
from kefu.context.wire.marks import mark
from kefu.messages import Message
from kefu.sessions.hooks.hook import EndedTurn
from kefu.sessions.store.model import Session, SessionId, StoredMessage
from kefu.sessions.store.ports import SessionStore

Exchange = Sequence[StoredMessage]
"""Messages of the visitor, and the answers to them that come before the visitor's next message."""

MAX_READS = 3
"""Maximum number of reads for one history. Failed turns in a page can make another read necessary.
"""

RATED_PAGE = 100
"""Messages of one read for an answer that was rated."""


async def latest_exchanges(
    store: SessionStore, message: StoredMessage, limit: int, now: float
) -> list[Exchange]:
    """Read the newest `limit` exchanges before a message, in a few reads.

    Raises StoreUnavailable.
    """
    found, before = list[StoredMessage](), message.id
    known: list[Exchange] = []
    for _ in range(MAX_READS if limit else 0):
        page = await store.messages(message.session_id, before=before, limit=2 * limit, now=now)
        found[:0] = _with_outcomes(page)
        known = exchanges(found, message.id)
        if len(known) >= limit or len(page) < 2 * limit:
            break
        before = page[0].id
    return known[-limit:]


def _with_outcomes(page: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
    if not any(one.steps for one in page):
        return page
    from kefu.sessions.turn.tools import with_outcomes  # here, because few chats have calls

    return with_outcomes(page)


async def rated_turn(
    store: SessionStore, session: Session, client_message_id: str, now: float
) -> EndedTurn:
    """The turn of the message with this id, for hooks. Raises StoreUnavailable.

    Raises LookupError if the message is not among the newest.
    """
    found = list[StoredMessage]()
    before: int | None = None
    while page := await store.messages(session.id, before=before, limit=RATED_PAGE, now=now):
        found[:0] = page
        questions = {m.id: m for m in found if m.client_message_id == client_message_id}
        for answer in found:
            if question := questions.get(answer.reply_to or 0):
                texts = question.content, answer.content, answer.status
                turn = EndedTurn(session, question.id, *texts, now)
                return turn._replace(rating=answer.rating, comment=answer.comment)
        before = page[0].id
        if len(found) >= MAX_READS * RATED_PAGE:
            break
    raise LookupError("the rated answer")


def from_stable_start(turns: list[Exchange], limit: int, trim_step: float) -> list[Exchange]:
    """The exchanges without up to `trim_step * limit` of the oldest ones, if there are `limit`.

    Without steps, each prompt would start one turn later than the last one, and no prompt cache of
    a provider could serve it. The start moves by whole steps, counted in turns of the chat.
    """
    step = int(trim_step * limit)
    if step < 2 or len(turns) < limit:
        return turns
    starts = (at for at, turn in enumerate(turns[:step]) if _number(turn) % step == 0)
    return turns[next(starts, 0) :]


def _number(turn: Exchange) -> int:
    """The number of a turn in its chat, from 0: its question has the id 1, 3, 5 and so on."""
    return turn[0].id // 2


def exchanges(messages: Iterable[StoredMessage], current: int) -> list[Exchange]:
    """The exchanges, oldest first, limited to questions with an id below `current`.

    Answers are found by `reply_to`, not by position. With two tabs open on one chat, a question can
    be stored before the answer to the previous question. Lines of operators have no question.
    """
    good = [message for message in messages if message.status == "ok"]
    questions = {m.id for m in good if m.role == "user" and m.id < current}
    said = [m for m in good if m.id in questions or m.operator or m.reply_to in questions]
    said.sort(key=lambda message: (message.reply_to or message.id, message.id))
    found: list[list[StoredMessage]] = []
    for role, run in groupby(said, lambda message: message.role):
        if role == "user":
            found.append(list(run))
        elif found:  # else older messages were not read
            found[-1] += run
    return [*found]


def alternating(stored: Iterable[StoredMessage]) -> list[tuple[Message, StoredMessage]]:
    """The messages for a model, each with its newest stored message.

    Successive messages of one role are joined, because some models refuse them.
    """
    runs = (list(run) for _, run in groupby(stored, lambda message: message.role))
    return [(Message(run[0].role, "\n\n".join(m.content for m in run)), run[-1]) for run in runs]


class ChatMemory:
    """The cut and the summary of a stored chat, in one turn. Implements `kefu.chat.prompt.Memory`.

    They are stored in the chat's session, so that every process finds them: as a `TrimState` with
    ids of messages in place of positions, because each prompt starts at another message.
    """

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
        # Behind the question are only the calls of its answer.
        self._first = int(bool(messages) and messages[0].role == "system")
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
