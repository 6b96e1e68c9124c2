"""Makes the draft of an answer from a talk, and shows answers to the search as pages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from kefu.knowledge.extract.markdown import read_markdown
from kefu.knowledge.finding import PassageHit
from kefu.knowledge.pages import PageText
from kefu.knowledge.terms import guessed_language, language_told
from kefu.sessions.store.answers import MAX_AUTHOR, MAX_QUESTION, MAX_TEXT, WrittenAnswer
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import StoredMessage
from kefu.visitor_texts import texts_in


def draft_of(
    messages: Sequence[StoredMessage], requests: Sequence[ContactRequest]
) -> WrittenAnswer | None:
    """An answer with the lines of the chat's last talk with a person; None without any line.

    Its question is what the visitor wrote last before the first line: a message, or the text of the
    contact form. `messages` are in order; the talk has no answer of the model. The draft has no id.
    """
    lines = list[StoredMessage]()
    for one in reversed(messages):
        if one.operator:
            lines.insert(0, one)
        elif lines and one.role == "assistant":
            break
    if not lines:
        return None
    first = lines[0]
    asked = [(one.created_at, one.content) for one in messages if one.role == "user"]
    asked += [(one.created_at, one.message) for one in requests if one.message]
    before = [one for one in asked if one[0] <= first.created_at]
    question = max(before, default=(0.0, ""))[1]
    return WrittenAnswer(
        id="",
        question=" ".join(question.split())[:MAX_QUESTION],
        text="\n\n".join(one.content for one in lines)[:MAX_TEXT],
        author=lines[-1].operator[:MAX_AUTHOR],
        session_id=first.session_id,
    )


def as_page(answer: WrittenAnswer) -> PageText:
    """The answer as a page, whose title is the question and whose address is the answer's id."""
    # An empty line before the text: what it begins with is no front matter.
    blocks = read_markdown(f"\n{answer.text}", answer.id).blocks
    language = guessed_language(f"{answer.question}\n{answer.text}")
    return PageText(answer.id, answer.question, blocks, language)


def as_source(hit: PassageHit, answer: WrittenAnswer) -> PassageHit:
    """A found passage of an answer, with the link and the name under which it is cited."""
    return hit._replace(page=place_of(answer.id), url=answer.page, cited_as=cited_as(answer))


def place_of(id: str) -> str:
    """The name of an answer in place of a page's address."""
    return f"answer:{id}"


def cited_as(answer: WrittenAnswer) -> str:
    """The name of the source, such as `Answered by Anna, 24 Nov 2026`."""
    texts = texts_in(language_told(f"{answer.question}\n{answer.text}"))
    when = datetime.fromtimestamp(answer.updated_at, UTC)
    return texts.answered.format(name=answer.author or texts.this_site, date=when)
