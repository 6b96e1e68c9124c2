"""A shop whose model repeats its system prompt, and the questions that its owner asks it."""

from __future__ import annotations

from tests.fakes.behaviours import Exchange, answer

QUESTIONS = """\
every: {language: en}
cases:
  - name: opening hours
    turns:
      - ask: When are you open?
        expect: {contains: "9:00", not: sorry}
      - ask: And on Sunday?
        expect: {contains: closed}
  - name: shipping
    ask: Do you ship to Norway?
    expect: {regex: '(?i)norway'}
"""

GOOD_PROMPT = "We are open from 9:00. On Sunday we are closed. We ship to Norway."


async def from_its_prompt(exchange: Exchange) -> None:
    """The answer of a model that repeats its system prompt."""
    system = [m["content"] for m in exchange.body["messages"] if m["role"] == "system"]
    await answer(" ".join(["The rules are:", *system]))(exchange)
