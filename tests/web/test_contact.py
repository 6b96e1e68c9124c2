"""H1 to H3 of the real service: the form, its delivery to a webhook, and the panel's list."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from typing import Any

import httpx

from tests.fakes.chatting import STORE, Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.stage import ORIGIN, Stage
from tests.fakes.webhook import Webhook

CONSENT = "I agree that Nordlys keeps this."
TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
EMAIL = "kari-canary@example.no"


def settings(webhook: Webhook | None = None) -> dict[str, Any]:
    environment = {
        "ADMIN_TOKEN": TOKEN,
        "KEFU_CONTACT_FORM": "email,message",
        "KEFU_CONTACT_CONSENT": CONSENT,
    }
    if webhook:
        environment["KEFU_CONTACT_WEBHOOK"] = webhook.url
    return {"store": STORE, "environment": environment}


async def send(visitor: Visitor, id: str, **changed: Any) -> httpx.Response:
    body = {"client_message_id": id, "email": EMAIL, "message": "Svalbard?", "consent": True}
    async with httpx.AsyncClient(timeout=30) as browser:
        return await browser.post(
            f"{visitor.stage.url}/api/sessions/{visitor.session_id}/contact",
            json={**body, **changed},
            headers={**visitor.headers, "Origin": ORIGIN},
        )


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def in_panel(running: Stage) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = httpx.get(f"{running.url}/admin/api/contacts", headers=headers, timeout=30)
    found: dict[str, Any] = answer.raise_for_status().json()
    return found


async def test_h2_a_killed_server_delivers_after_its_restart_what_the_webhook_refused(
    staged: Staged,
) -> None:
    """The whole way: form, consent, stored, refused, kill -9, delivered once, shown as such."""
    with Webhook() as webhook:
        webhook.refusals = 1
        running = staged(1, **settings(webhook))
        visitor = Visitor(running)
        assert (await visitor.say("Can I talk to a person?")).complete
        shown = await visitor.look("/contact")
        assert shown.json() == {"fields": ["email", "message"], "consent": CONSENT, "link": ""}
        id = new_id()
        assert (await send(visitor, id, consent=False)).status_code == 400
        assert in_panel(running)["requests"] == []
        assert (await send(visitor, id)).status_code == 204
        webhook.wait_for(1)
        wait_until(lambda: "the contact webhook failed: HTTP 500" in running.service.stderr)
        running.service.restart(kill=True)
        webhook.wait_for(2)
        assert (await send(visitor, id)).status_code == 204  # the widget's retry
        first, second = webhook.wait_for(2)
        assert (first.status, second.status) == (500, 204)
        assert first.body == second.body
        assert second.headers["idempotency-key"] == id
        transcript = second.content["transcript"]
        assert [one["role"] for one in transcript] == ["user", "assistant"]
        assert (second.content["email"], second.content["message"]) == (EMAIL, "Svalbard?")
        panel = in_panel(running)
        at, signature = second.headers["kefu-signature"].removeprefix("t=").split(",v1=")
        key = panel["signing_key"].encode()
        expected = hmac.new(key, f"{at}.".encode() + second.body, "sha256").hexdigest()
        assert signature == expected
        [listed] = panel["requests"]
        assert (listed["id"], listed["session_id"]) == (id, visitor.session_id)
        assert listed["delivered_at"] is not None
        assert len(webhook.deliveries) == 2
        assert EMAIL not in running.service.stderr


async def test_h2_without_a_webhook_a_request_is_listed_and_expects_none(staged: Staged) -> None:
    running = staged(1, **settings())
    visitor = Visitor(running)
    assert (await visitor.say("hello")).complete
    assert (await send(visitor, new_id())).status_code == 204
    assert (await send(visitor, new_id(), email="kari")).json()["error"]["param"] == "email"
    stranger = Visitor(running)
    stranger.session_id, stranger.token = visitor.session_id, "1.x"
    assert (await send(stranger, new_id())).status_code == 404
    panel = in_panel(running)
    assert [one["email"] for one in panel["requests"]] == [EMAIL]
    assert panel["signing_key"] == ""


def test_h2_requests_are_listed_for_the_operator_alone(staged: Staged) -> None:
    url = f"{staged(1, **settings()).url}/admin/api/contacts"
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        assert httpx.get(url, headers=headers, timeout=30).status_code == 401


async def test_h1_a_server_without_a_form_says_so_and_takes_none(staged: Staged) -> None:
    running = staged(1, store=STORE)
    visitor = Visitor(running)
    assert (await visitor.say("hello")).complete
    assert (await visitor.look("/contact")).json() == {"fields": [], "consent": ""}
    assert (await send(visitor, new_id())).status_code == 405
