"""Pictures of the panel: `python -m tests.web.panel_pictures FOLDER` after `make setup`.

A real service with chats of a shop, in Chromium. Copy those that docs/images has, and make them
smaller with pngquant. Fonts for Chinese are needed, as for the widget's pictures.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from kefu.auth.admin_tokens import AdminTokens
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import NewMessage, Session, SessionId, TurnOutcome
from kefu.sessions.store.ports import Sessions
from tests.fakes import behaviours as b
from tests.fakes.browser import told_by
from tests.fakes.chatting import STORE, Visitor, store_of
from tests.fakes.stage import Stage, stage

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
TITLES = (
    "Where is my parcel?",
    "Can I return a sale item?",
    "我的包裹到哪里了？",
    "Which size fits me if I am between M and L?",
    "How do I wash the Fjell jacket?",
    "退款需要多长时间？",
    "Do you ship to Svalbard?",
    "Is the rain cover included?",
    "Can I change the address of my order?",
)
CHAT = (
    "Can I return only one of two jackets?",
    """Yes. Put the smaller jacket into the parcel with its **label**, and keep the other:

1. Open *Your orders* and choose the order.
2. Choose the jacket and print the label.""",
    "Is the way back free?",
    "Yes, within 30 days. After that it costs 49 kr.",
    "And how long does the refund take?",
    "Three to five working days after the parcel has arrived. We send you an email.",
)
LIMITED = {"error": {"message": "Rate limit reached for this key", "code": "rate_limit"}}
BUSY = {"error": {"message": "The model is overloaded", "code": "overloaded"}}
LAPTOP, PHONE = (1280, 800), (390, 844)


async def other_chats(store: Sessions, now: float) -> None:
    """Chats of four weeks, for the list and the insights."""
    for number in range(240):
        at = now - (240 - number) * 27 * 86400 / 240 - 600
        title = TITLES[(number * number + number // 5) % len(TITLES)]
        session = Session(SessionId(f"{number:032x}"), title, "default", at, at)
        begun = await store.begin(session, NewMessage(title, f"{number}"), at)
        is_vain = "Svalbard" in title
        ended = TurnOutcome("ok", "Within two days.", 900, 120, is_vain, 0.4 + number % 7 / 10)
        if number % 60 == 58:
            ended = TurnOutcome("failed", "", 900, 0)
        await store.finish(session.id, begun.message.id, ended, at + 2)
        if number % 6 == 0:
            await store.rate(session.id, f"{number}", "down" if number % 18 == 0 else "up")
        if number % 70 == 69:
            text = "My parcel has been in Hamburg for a week. Can you call me?"
            request = ContactRequest(
                f"{number}", session.id, "", f"kari{number}@example.no", text, at, due_at=at
            )
            await store.add_contact(request)


async def chat_of_the_pictures(running: Stage) -> str:
    visitor = Visitor(running)
    failures = [b.status(429, LIMITED, before=0.4), b.status(503, BUSY, before=0.7)]
    for at in range(0, len(CHAT), 2):
        words = [f"{word} " for word in CHAT[at + 1].split(" ")]
        usage = {"prompt_tokens": 90 + 30 * at, "completion_tokens": len(words) + 9}
        reply = b.answer(*words, usage=usage, delay=0.04)
        running.script(*(failures if at == len(CHAT) - 2 else []), reply)
        answer = await visitor.say(CHAT[at])
        assert answer.complete, answer
    assert visitor.session_id
    return visitor.session_id


def steps_of(session: str, folder: Path, names: str) -> list[tuple[str, Any]]:
    def shot(name: str) -> tuple[str, str]:
        return ("shot", f"{folder}/{names.format(name)}.png")

    def opened(view: str, shown: str) -> list[tuple[str, Any]]:
        return [("click", f'nav a[href="#{view}"]'), ("wait", f".content {shown}"), shot(view)]

    call = ".content .turn .call >> nth=-1"
    return [
        ("wait", ".rows a"),
        shot("list"),
        ("click", ".filters summary"),
        ("wait", ".filters details[open] input"),
        shot("filters"),
        ("click", ".filters summary"),
        ("session", session),
        shot("chat"),
        ("top", call),
        shot("panel"),
        ("click", f"{call} >> [role=tab] >> nth=-1"),
        ("wait", ".content .change"),
        ("top", f"{call} >> [role=tablist]"),
        shot("panel-diff"),
        ("click", ".content .correction .quiet >> nth=0"),
        ("top", ".content .turn"),
        shot("correction"),
        ("top", ".content .talk"),
        shot("talk"),
        *opened("requests", ".contacts li"),
        *opened("keys", ".state"),
        *opened("insights", ".questions li"),
    ]


def visit(
    running: Stage, session: str, folder: Path, names: str, size: tuple[int, int], **context: Any
) -> None:
    ticket = AdminTokens(TOKEN).ticket(os.urandom(8).hex(), time.time())
    width, height = size
    asked = {
        "url": running.url,
        "steps": [
            ("open", f"{running.url}/admin#ticket={ticket}"),
            *steps_of(session, folder, names),
        ],
        "context": {
            "viewport": {"width": width, "height": height},
            "deviceScaleFactor": 2,
            "reducedMotion": "reduce",
            **context,
        },
    }
    told = told_by(Path(__file__).with_name("panel_visit.mjs"), json.dumps(asked), timeout=300)
    assert told["errors"] == []


async def main(folder: Path) -> None:
    with stage(
        4,
        environment={"ADMIN_TOKEN": TOKEN},
        store=STORE,
        sessions="true",
        contact_form="email,message",
        capture="all",
        cooldown=3600,
        prices="0.5,1.5",
        trim="v1",
        trim_chars=270,
    ) as running:
        session = await chat_of_the_pictures(running)
        async with store_of(running, time.time) as store:
            await other_chats(store, time.time())
        for theme in ("light", "dark"):
            visit(running, session, folder, f"{{}}-{theme}", LAPTOP, colorScheme=theme)
        visit(running, session, folder, "{}-wide", (1440, 900))
        visit(running, session, folder, "{}-phone-zh", PHONE, locale="zh-CN")


if __name__ == "__main__":
    chosen = Path(sys.argv[1])
    chosen.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(chosen))
