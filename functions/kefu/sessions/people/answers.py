"""Shows an answer that a person wrote to the search, as a page and as a source."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from kefu.knowledge.extract.markdown import read_markdown
from kefu.knowledge.finding import PassageHit
from kefu.knowledge.pages import PageText
from kefu.knowledge.terms import guessed_language
from kefu.sessions.store.answers import WrittenAnswer

_CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")


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
    when = datetime.fromtimestamp(answer.updated_at, UTC)
    if _CHINESE.search(answer.question + answer.text):
        return f"{answer.author or '本站'} 于 {when.year} 年 {when.month} 月 {when.day} 日回答"
    return f"Answered by {answer.author or 'this site'}, {when.day} {when:%b %Y}"
