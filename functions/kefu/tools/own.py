"""Kefu's own tools: a search of the learnt pages, and the offer of a person."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kefu.tools.tool import Arguments, Outcome, Schema, Tool, Visitor

SEARCH_PAGES = "search_pages"
ASK_PERSON = "ask_person"


def _one_text(name: str, description: str) -> Schema:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "maxLength": 500, "description": description}},
        "required": [name],
        "additionalProperties": False,
    }


async def _nothing_learnt(_given: Arguments, _visitor: Visitor, _key: str) -> Outcome:
    return Outcome("No pages of the site are learnt.", "failed")


async def _offered(_given: Arguments, _visitor: Visitor, _key: str) -> Outcome:
    return Outcome("The visitor now sees a form with which to ask a person of the site.")


def own_tools(*, has_form: bool) -> Mapping[str, Tool]:
    """Kefu's tools by name. `has_form`: whether visitors can reach a person.

    The answer that uses `search_pages` searches itself: see `kefu.chat.steps`.
    """
    search = Tool(
        SEARCH_PAGES,
        "Search the pages of this site again, in other words than the visitor's.",
        _one_text("query", "Words that the page probably has, in the language of the site."),
        _nothing_learnt,
        title=MappingProxyType({"": "Searching the site", "zh": "正在搜索本站"}),
        is_own=True,
    )
    person = Tool(
        ASK_PERSON,
        "Offer the visitor a form to reach a person of the site: when the visitor asks for one, or "
        "when neither the pages nor the tools help.",
        _one_text("summary", "What the visitor wants and what was tried, in their language."),
        _offered,
        title=MappingProxyType({"": "Offering a person", "zh": "转接人工"}),
        is_own=True,
    )
    return {SEARCH_PAGES: search, **({ASK_PERSON: person} if has_form else {})}
