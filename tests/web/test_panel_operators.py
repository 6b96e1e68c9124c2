"""H24, H26 in Chromium: operators with links of their own, their ready replies, and a reader."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.fakes.browser import told_by
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.oidc_provider import OidcProvider
from tests.web.test_contact import TOKEN, in_panel, send, settings, wait_until
from tests.web.test_insights_page import visit
from tests.web.test_oidc import CALLBACK, served
from tests.web.test_sign_ins import link, listed

SCRIPT = Path(__file__).with_name("panel_operators.mjs")
REPLIES = "# Greeting\n\nHello!\n\n# Returns\n\nWithin 30 days.\n"


@pytest.mark.slow
async def test_h24_h26_operators_reply_with_ready_texts_end_sign_ins_and_one_only_reads(
    staged: Staged,
) -> None:
    given = settings()
    given["environment"]["KEFU_CONTACT_REPLIES"] = REPLIES
    running = staged(1, **given)
    visitor = Visitor(running)
    assert (await visitor.say("Can I send it back?")).complete
    assert (await send(visitor, new_id())).status_code == 204
    names = (("Ingrid",), ("Bob",), ("Kari", "--read-only"))
    links = [link(running, "--url", running.url, "--name", *name).stdout.strip() for name in names]
    assert visitor.session_id
    seen: dict[str, Any] = await asyncio.to_thread(
        told_by, SCRIPT, running.url, json.dumps(links), visitor.session_id, timeout=120
    )
    assert seen["names"] == ["Ready replies", "Greeting", "Returns"]
    assert seen["written"] == "To Kari: Within 30 days.!"
    assert "Ingrid" in seen["held"]
    assert (seen["controls"], seen["tools"], seen["ends"]) == (0, 0, 0)
    assert not {"Delete", "Done", "Write the answer"} & set(seen["buttons"])
    who = sorted(row.split()[0] for row in seen["rows"])
    assert who == ["Bob", "Ingrid", "Kari"]
    assert next(row for row in seen["rows"] if "Kari" in row).count("reads and writes") == 0
    assert (seen["wrong"], seen["errors"]) == ([], [])
    assert in_panel(running)["requests"][0]["done_at"] is not None
    # Locked: the server has ended the pass, too.
    wait_until(lambda: [one["operator"] for one in listed(running)] == ["Kari"])


@pytest.mark.slow
async def test_h24_the_sign_in_leads_to_the_provider(staged: Staged) -> None:
    with OidcProvider() as provider:
        running = served(staged, provider)
        steps = [
            ["open", f"{running.url}/admin#refused=not_an_operator"],
            ["texts", ["stranger", ".entrance .trouble"]],
            ["axe", "refused"],
            ["address", "address"],
            ["open", "about:blank"],
            ["open", f"{running.url}/admin#refused=<b>Call"],
            ["texts", ["forged", ".entrance .trouble"]],
            ["open", f"{running.url}/admin"],
            ["wait", ".entrance a"],
            ["axe", "entrance"],
            ["leave", [".entrance a", provider.issuer]],
        ]
        asked = json.dumps({"url": running.url, "steps": steps, "context": {}})
        script = SCRIPT.with_name("panel_visit.mjs")
        seen: dict[str, Any] = await asyncio.to_thread(told_by, script, asked, timeout=120)
    assert seen["axe"] == []
    assert "may not use this panel" in seen["stranger"][0]
    assert "The sign-in is not valid" in seen["forged"][0]
    assert seen["address"] == f"{running.url}/admin"
    assert f"redirect_uri={quote(CALLBACK, safe='')}" in seen["foreign"][0]


@pytest.mark.slow
async def test_h25_an_operator_sees_that_a_colleague_takes_the_open_chat_unasked(
    staged: Staged,
) -> None:
    """The panel asks for the queue anyway, within 5 seconds."""
    running = staged(1, **settings())
    visitor = Visitor(running)
    await visitor.say("Can I send it back?")
    state = f"{running.url}/admin/api/sessions/{visitor.session_id}/state"
    taken = {"state": "person", "operator": "Ingrid"}
    seen = await asyncio.to_thread(
        visit,
        running,
        ("wait", ".rows a"),
        ("click", ".rows a"),
        ("wait", ".talk:has-text('The model answers')"),
        ("post", [state, taken, {"Authorization": f"Bearer {TOKEN}"}]),
        ("wait", ".talk:has-text('Ingrid')"),
        ("texts", ["buttons", ".talk .accent"]),
    )
    assert "Take over from" in seen["buttons"][0]
