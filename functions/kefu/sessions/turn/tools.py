"""The calls of tools in stored chats: clicks on cards, and calls of earlier turns in the prompt.

A click on a card is a message of the chat, so `begin` decides that a call is carried out once. Its
`client_message_id` names the turn that asked, and a digest of the call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from kefu.errors import ApprovalGone
from kefu.messages import Message, is_click
from kefu.sessions.store.model import Session, StoredMessage
from kefu.sessions.store.ports import SessionStore
from kefu.tools.card import NO, YES, declined, outcome_sentence
from kefu.tools.tool import Outcome
from kefu.tools.use import Use, asking_turn, stored, stored_uses
from kefu.tools.workbench import NOT_KNOWN, as_messages

SEARCHED_MESSAGES = 40
"""Messages that are searched for a card."""

_WAITS = "Not carried out: the visitor was asked to approve it by a click."
_NOT_APPROVED = "Not carried out: the visitor did not approve it."


class Click(NamedTuple):
    """A visitor's click on a card."""

    id: str
    """`Use.approval_id`."""
    approved: bool
    result: Outcome | None = None
    """What a tool of the visitor's page has returned: the click comes a second time with it."""

    def text(self, card: str) -> str:
        """The visitor's message."""
        return f"{YES if self.approved else NO}{card}"


async def asked_call(store: SessionStore, session: Session, click: Click, now: float) -> Use:
    """The call that waits for the click. Raises ApprovalGone if it does not wait any more.

    A click that is repeated finds its call as long as the first click was in time. A click that was
    lost before its call was sent does not count: not after another message, and not too late.
    """
    page = await store.messages(session.id, limit=SEARCHED_MESSAGES, now=now)
    turn = asking_turn(click.id)
    asked = next((stored_uses(one.steps) for one in page if one.id == turn), [])
    use = next((one for one in asked if one.card and one.approval_id(turn) == click.id), None)
    if use is None:
        raise ApprovalGone("This question is not open any more. Please ask again.")
    questions = [one for one in page if one.role == "user" and one.id > turn]
    first = next((one for one in questions if one.client_message_id == click.id), None)
    counts = first if first and may_be_sent(first) else None
    if session.attendance.state == "person" and not (first and first.status == "ok"):
        said = "Please ask whether this was done." if counts else "Nothing was changed."
        raise ApprovalGone(f"A person answers this chat now. {said}", reason="taken")
    if any(one is not first and (not counts or one.id < counts.id) for one in questions):
        said = "You wrote another message since, so nothing was changed."
        raise ApprovalGone(said, reason="superseded")
    if use.expires < (counts.created_at if counts else now):
        raise ApprovalGone("This question has expired. Please ask again.", reason="expired")
    return use


def may_be_sent(click: StoredMessage) -> bool:
    """Whether the call of this click was sent, or a request is at work that may send it."""
    uses = stored_uses(click.steps)
    return click.status in ("ok", "pending") or any(one.state != "asked" for one in uses)


def with_outcomes(page: Sequence[StoredMessage]) -> list[StoredMessage]:
    """Return the messages, and after each click without an answer a message with the outcome of its
    call, as far as it is known.

    The process of such a click was killed, or is still at work. Without this, the model would hear
    that nobody has approved the call, and could ask the visitor for it a second time.
    """
    found: list[StoredMessage] = []
    for one in page:
        if one.role == "user" and is_click(one.client_message_id) and one.status != "ok":
            found += (one._replace(status="ok"), _outcome(one))
        else:
            found.append(one)
    return found


def _outcome(click: StoredMessage) -> StoredMessage:
    card, uses = click.content[len(YES) :], list[Use]()
    text = declined(card)
    if click.content.startswith(YES) and may_be_sent(click):
        uses = [
            one._replace(state="unsure", result=NOT_KNOWN) if one.state == "sending" else one
            for one in stored_uses(click.steps)
        ]
        if (state := uses[0].state if uses else "unsure") != "failed":
            text = outcome_sentence(card, state)
    given = click._replace(id=click.id + 1, role="assistant", content=text, status="ok")
    return given._replace(reply_to=click.id, client_message_id=None, steps=stored(uses))


def with_calls(
    history: Sequence[Message], answers: Mapping[int, StoredMessage], clicks: Collection[str]
) -> list[tuple[Message, Message]]:
    """The history with the calls of its answers: pairs of a message and the one that it came from.

    `answers`: the stored answers with calls, by `id` of their messages in `history`. `clicks`: the
    `client_message_id`s of the chat's questions.
    """
    found: list[tuple[Message, Message]] = []
    for message in history:
        stored = answers.get(id(message))
        parts = _parts(message, stored, clicks) if stored else [message]
        found += [(one, message) for one in parts]
    return found


def _parts(message: Message, stored: StoredMessage, clicks: Collection[str]) -> Iterable[Message]:
    """An answer as the model has seen it: text, calls, results and text."""
    question, done, text = stored.id - 1, 0, message.content
    uses = [_told(one, question, clicks) for one in stored_uses(stored.steps)]
    for _, step in groupby(uses, lambda one: one.step):
        calls = list(step)
        at = max(done, min(calls[0].at, len(text)))
        said = Message("assistant", text[done:at].strip())
        yield from as_messages(calls, question, said)
        done = at
    if rest := text[done:].strip():
        yield message._replace(content=rest)


def _told(use: Use, question: int, clicks: Collection[str]) -> Use:
    if use.state != "asked":
        return use
    was_clicked = use.approval_id(question) in clicks
    return use._replace(result=_WAITS if was_clicked else _NOT_APPROVED)


def calls_in(answers: Iterable[StoredMessage]) -> list[Use]:
    """The calls of the answers, from which later prompts have words of the tools' services."""
    return [one for answer in answers for one in stored_uses(answer.steps)]
