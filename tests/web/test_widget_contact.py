"""H1 to H3 in the widget: a visitor asks for a person in five languages, up to the webhook."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from kefu.sessions.store.contacts import ContactRequest
from tests.fakes.browser import told_by
from tests.fakes.chatting import Visitor, new_id, store_of
from tests.fakes.stage import FAST, Stage, stage
from tests.fakes.webhook import Webhook
from tests.parts.plugin import slow
from tests.web.test_contact import (
    CONSENT,
    EMAIL,
    TOKEN,
    in_panel,
    send,
    settings,
    wait_until,
)

SCRIPT = Path(__file__).with_name("contact.mjs")


@pytest.mark.parametrize(
    ("language", "theme", "device", "question", "offer"),
    [
        slow("en", "light", "desktop", "Can I talk to a person?", "Talk to a person"),
        slow("de", "dark", "phone", "Kann ich mit einem Menschen sprechen?", "Mit einem Menschen"),
        slow("fr", "light", "phone", "Je veux parler à un humain", "Parler à une personne"),
        slow("zh", "light", "desktop", "我要转人工", "转人工"),
        slow("ar", "dark", "desktop", "أريد التحدث مع شخص", "التحدث إلى شخص"),
    ],
)
def test_h1_a_visitor_asks_for_a_person_and_the_request_reaches_the_webhook_once(
    language: str, theme: str, device: str, question: str, offer: str
) -> None:
    """Every day test_contact.py asks the service, and contact.test.ts the widget."""
    with Webhook() as webhook, stage(1, **FAST, **settings(webhook)) as running:
        seen: dict[str, Any] = told_by(
            SCRIPT, running.url, language, theme, device, question, timeout=120
        )
        [delivery] = webhook.wait_for(1)
    assert seen["offeredAtOnce"] == 0
    assert seen["offer"].startswith(offer)
    assert seen["inMenu"] == seen["offer"]
    assert (seen["focused"], seen["kept"]) == ("email", 1)
    assert CONSENT in seen["labels"]
    assert seen["sent"]
    assert (seen["wrong"], seen["errors"]) == ([], [])
    content = delivery.content
    assert (content["email"], content["message"]) == ("kari@example.no", "Svalbard?")
    assert [one["content"] for one in content["transcript"][::2]] == ["Svalbard?", question]


async def older_requests(running: Stage, count: int) -> None:
    """Store requests that are due tomorrow."""
    now = time.time()
    async with store_of(running, time.time) as store:
        for number in range(count):
            id, at = f"older-request-{number}", now - 60 - number
            older = ContactRequest(id, "", "", EMAIL, "Older", at, due_at=now + 86_400)
            await store.add_contact(older)


@pytest.mark.slow
@pytest.mark.parametrize("theme", [slow("light"), "dark"])
async def test_h2_the_panel_lists_requests_with_their_delivery_and_chat(theme: str) -> None:
    script = SCRIPT.with_name("panel_requests.mjs")
    with Webhook() as webhook, stage(1, **FAST, **settings(webhook)) as running:
        webhook.refusals = 10**6
        visitor = Visitor(running)
        assert (await visitor.say("Do you ship to Svalbard?")).complete
        assert (await send(visitor, new_id(), message="<b>Svalbard</b>")).status_code == 204
        await older_requests(running, 52)
        webhook.wait_for(1)
        wait_until(lambda: in_panel(running)["requests"][0]["attempts"] > 0)
        seen: dict[str, Any] = await asyncio.to_thread(
            told_by, script, running.url, TOKEN, theme, timeout=120
        )
    row, *older = seen["rows"]
    assert (len(older), seen["more"]) == (50, 2)
    assert "done" in seen["done"]
    assert seen["mail"] == f"mailto:{EMAIL.replace('@', '%40')}"
    receipt = seen["receipt"]
    assert (receipt["requests"], receipt["found_afterwards"]) == (["older-request-51"], 0)
    assert seen["trouble"] == "the contact webhook failed: HTTP 500"
    assert seen["resent"] == [204, 1]
    assert EMAIL in row
    assert f"Accepted: {CONSENT}" in row
    assert "not delivered" in row
    assert "<b>Svalbard</b>" in row
    assert seen["current"] == "Requests"
    assert "Do you ship to Svalbard?" in seen["chat"]
    assert (seen["wrong"], seen["errors"]) == ([], [])
