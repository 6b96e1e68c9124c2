"""H28: the talk of a person in a chat becomes the draft of an answer."""

from __future__ import annotations

from typing import Any

from kefu.sessions.people.answers import draft_of
from kefu.sessions.store.answers import MAX_QUESTION, MAX_TEXT
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import SessionId, StoredMessage

CHAT = SessionId("chat-000001")


def talk(*lines: tuple[str, str]) -> list[StoredMessage]:
    """Messages by author: `V` the visitor, `M` the model, else an operator; one a second."""
    made = []
    for at, (by, text) in enumerate(lines, 1):
        more: dict[str, Any] = {} if by in "VM" else {"operator": by}
        role: Any = "user" if by == "V" else "assistant"
        made.append(StoredMessage(at, CHAT, role, text, "ok", float(at), **more))
    return made


def test_h28_the_lines_of_the_last_talk_answer_what_was_asked_before_it() -> None:
    first = (("V", "Old?"), ("Bob", "Old."), ("M", "Anything else?"))
    last = (("V", " Do you ship\nto  Svalbard? "), ("M", "No."), ("Ida", "We do."), ("V", "Ah!"))
    draft = draft_of(talk(*first, *last, ("Ida", "In ten days."), ("V", "Bye"), ("M", "Bye.")), [])
    assert draft is not None
    assert draft.question == "Do you ship to Svalbard?"
    assert draft.text == "We do.\n\nIn ten days."
    assert (draft.author, draft.session_id) == ("Ida", CHAT)


def test_h28_the_text_of_the_form_is_a_question_if_it_was_written_last() -> None:
    def asked(at: float, message: str = "Is it free?") -> str:
        request = ContactRequest("id-000001", CHAT, "", "", message, at)
        draft = draft_of(
            talk(("V", "A person, please"), ("M", "Yes"), ("Ida", "It is.")), [request]
        )
        assert draft is not None
        return draft.question

    assert asked(2.5) == "Is it free?"
    assert asked(0.5) == asked(3.5) == asked(2.5, "") == "A person, please"


def test_h28_a_long_talk_fits_an_answer_and_no_talk_makes_none() -> None:
    draft = draft_of(talk(("V", "q" * 9000), ("Ida", "a" * 9000)), [])
    assert draft is not None
    assert (len(draft.question), len(draft.text)) == (MAX_QUESTION, MAX_TEXT)
    alone = draft_of(talk(("Ida", "Can I help?")), [])
    assert alone is not None
    assert alone.question == ""
    assert draft_of(talk(("V", "Hello"), ("M", "Hello.")), []) is None
    assert draft_of([], []) is None
