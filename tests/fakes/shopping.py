"""Visitors of a chat with tools of a `ToolShop`, who read cards and click on them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fakes.asking import Answer
from tests.fakes.chatting import S, Visitor
from tests.fakes.choosing import Choosing, rule
from tests.fakes.recorded_tool import card_in, steps_in
from tests.fakes.tool_shop import order_tools

TABLES = order_tools('"Cancel order {{order_id}}? {{total}}"', cancel="idempotent = {idempotent}")
CHOOSING = Choosing(
    rule(r"[Ww]here is order (\w+)", "order_status", order_id=r"\1"),
    rule(r"^[Cc]ancel (\w+)", "cancel_order", order_id=r"\1"),
)
WRITTEN = {"output-available": "done", "output-error": "failed", "output-unsure": "unsure"}
"""The certain and uncertain ends of a write, by their names in the events."""
BUSY_SECONDS = 60
"""For a click whose process was killed: its lease lasts 15 seconds."""


def settings_file(folder: Path, shop: str, *, idempotent: bool = False, more: str = "") -> str:
    """Write a kefu.toml with tools of this shop; its path."""
    file = folder / "kefu.toml"
    text = TABLES.format(shop=shop, idempotent=str(idempotent).lower())
    file.write_text(text + more, encoding="utf-8")
    return str(file)


def orders(numbers: range) -> dict[str, dict[str, Any]]:
    """Orders that can be cancelled, each with a price of its own."""
    known = {"customer": "ada", "state": "paid", "items": 1}
    return {str(n): {**known, "id": str(n), "total": f"{n}.00 EUR"} for n in numbers}


def events(answer: Answer) -> Sequence[Mapping[str, Any]]:
    return [json.loads(text) for _, text in answer.events if text != "[DONE]"]


def outcome(answer: Answer) -> str:
    """`done`, `failed` or `unsure`: how the write of a click ended."""
    [*_, (_, state)] = steps_in([dict(one) for one in events(answer)])
    return WRITTEN[state]


class Shopper(Visitor[S]):
    """Has at most one card."""

    card: Mapping[str, Any]

    async def asks_to_cancel(self, order: object, **more: Any) -> Mapping[str, Any]:
        """Get a card."""
        answer = await self.say(f"Cancel {order}", steps=True, **more)
        assert answer.complete, answer.raw
        self.card = card_in([dict(one) for one in events(answer)])
        return self.card

    async def click(
        self, *, approved: bool = True, card: str = "", result: Mapping[str, str] | None = None
    ) -> Answer:
        approval = {"id": card or self.card["id"], "approved": approved}
        body = {
            "session_id": self.session_id,
            "steps": True,
            "approval": {**approval, "result": result} if result else approval,
        }
        return await self.stage.ask(body, headers=self.headers)

    async def click_until_answered(self) -> Answer:
        """Click again, as long as another request is answering the click."""
        end = time.monotonic() + BUSY_SECONDS
        while True:
            answer = await self.click()
            if answer.status != 409 or answer.error["code"] != "session_busy":
                return answer
            assert time.monotonic() < end, "busy for too long"
            await asyncio.sleep(0.5)

    async def stored(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = (await self.look("/messages?steps=true")).json()[
            "messages"
        ]
        return found
