"""A10: the state of a card as a page shows it that was loaded anew."""

from __future__ import annotations

import pytest

from kefu.sessions.store.model import SessionId, Status, StoredMessage
from kefu.tools.use import State, Use, stored
from kefu.web.steps import add_steps

CARD = Use("s0c0", "cancel_order", "{}", state="asked", card="Cancel?", expires=1000)
CHAT = SessionId("0" * 32)


def shown(*later: StoredMessage, now: float = 500, has_person: bool = False) -> object:
    asked = StoredMessage(
        2, CHAT, "assistant", "Cancel?", "ok", 1, reply_to=1, steps=stored([CARD])
    )
    answer: dict[str, object] = {"id": 2}
    add_steps([answer], [asked, *later], now, has_person=has_person)
    card = answer["approval"]
    assert isinstance(card, dict)
    return card["state"]


def question(number: int, text: str, status: Status = "ok", id: str = "other") -> StoredMessage:
    return StoredMessage(number, CHAT, "user", text, status, 2, client_message_id=id)


def click(text: str, status: Status, state: State | None = None) -> StoredMessage:
    made = question(3, text, status, CARD.approval_id(1))
    return made._replace(steps=stored([CARD._replace(state=state)]) if state else "")


def test_a_card_waits_for_a_click_until_it_expires_or_another_message_comes() -> None:
    assert shown() == "requested"
    assert shown(now=1001) == "expired"
    assert shown(has_person=True) == "expired"
    assert shown(question(3, "no, wait")) == "denied"


@pytest.mark.parametrize(
    ("text", "status", "state", "card"),
    [
        ("✓ Cancel?", "ok", "done", "approved"),
        ("✓ Cancel?", "pending", None, "approved"),
        ("✓ Cancel?", "interrupted", "sending", "approved"),
        ("✓ Cancel?", "interrupted", "done", "approved"),
        ("✗ Cancel?", "ok", "denied", "denied"),
        # A click that was lost before anything was sent can be made again.
        ("✓ Cancel?", "interrupted", None, "requested"),
        ("✓ Cancel?", "failed", "asked", "requested"),
        ("✗ Cancel?", "interrupted", None, "requested"),
    ],
)
def test_a_click_counts_if_its_call_may_be_sent(
    text: str, status: Status, state: State | None, card: str
) -> None:
    assert shown(click(text, status, state)) == card
    later = "denied" if card == "requested" else card
    assert shown(click(text, status, state), question(5, "and now?")) == later
