"""Reads the stream of an answer of a service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kefu.errors import ConnectionLost, GatewayTimeout, UpstreamUnavailable
from kefu.evaluation.checks import CitedPage
from kefu.evaluation.steps import CallStep, ShownCard, card_text
from kefu.relay.attempt import UpstreamResponse
from kefu.relay.sse import EventTooLarge, Parser

_MAX_SILENCE_SECONDS = 120.0
"""Seconds without a byte after which an answer is given up."""


class Heard:
    """Collects the events of an answer."""

    def __init__(self) -> None:
        self.text = ""
        self.answered = True
        self.complete = False
        self.steps: dict[str, CallStep] = {}
        """The calls of tools, by their ids."""
        self.card: ShownCard | None = None
        self._sources: dict[int, CitedPage] | None = None
        self._used: Sequence[int] = ()

    def event(self, data: str) -> None:
        if data == "[DONE]":
            self.complete = True
            return
        event: Any = json.loads(data)
        if error := event.get("error"):
            raise UpstreamUnavailable(f"{error.get('message')} ({error.get('code')})")
        for choice in event.get("choices") or ():
            self.text += (choice.get("delta") or {}).get("content") or ""
        if "sources" in event:
            self._sources = {
                one["number"]: CitedPage(
                    one.get("title") or "", one.get("url") or "", one["number"], one.get("text")
                )
                for one in event["sources"]
            }
        if "used" in event:
            self._sources = self._sources or {}
            self._used, self.answered = event["used"], event["answered"]
        if step := event.get("step"):
            id = step["tool_call_id"]
            self.steps[id] = CallStep(id, step["tool"], step["state"])
        if card := event.get("approval"):
            self.card = ShownCard(card["id"], card["tool"], card_text(card["text"]))

    def pages(self) -> Sequence[CitedPage] | None:
        sources = self._sources
        if sources is None:
            return None
        return [sources[number] for number in self._used if number in sources]


async def whole_answer(response: UpstreamResponse) -> Heard:
    """The whole answer. Raises UpstreamUnavailable for an answer that broke off."""
    parser, heard = Parser(), Heard()
    try:
        while not heard.complete and (part := await response.read(_MAX_SILENCE_SECONDS)):
            for event in parser.feed(part):
                heard.event(event.data)
    except TimeoutError:
        raise GatewayTimeout(f"no word for {_MAX_SILENCE_SECONDS:.0f} s") from None
    except (ConnectionLost, EventTooLarge, ValueError, LookupError, AttributeError, TypeError):
        raise UpstreamUnavailable("the answer cannot be read") from None
    if not heard.complete:
        raise UpstreamUnavailable("the answer broke off")
    return heard
