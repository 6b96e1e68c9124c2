"""H21 to H28 in Chromium: three visitors and two operators, from a request to the next answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import behaviours as b
from tests.fakes.browser import told_by
from tests.fakes.mailbox import PASSWORD, Mailbox
from tests.fakes.stage import FAST, stage
from tests.web.test_contact import in_panel
from tests.web.test_knowledge import learn
from tests.web.test_panel_watch import ASKS_EVERY_MS, LOAD_MS, settings_with
from tests.web.test_sign_ins import link
from tests.web.test_take_over import sent_to_model
from tests.web.test_widget_users import SECRET, token

SCRIPT = Path(__file__).with_name("inbox.mjs")
ISOLATES = dict.fromkeys(range(0x2066, 0x206A))
QUESTION = "Do you deliver to Svalbard?"
LINES = ("Hello, Ingrid here.", "Can it be here on Friday?", "Yes, to Longyearbyen in ten days.")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "dynamodb_local"])
async def test_h21_h28_somebody_waits_two_operators_help_and_the_talk_becomes_an_answer(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path, aws_environment: dict[str, str]
) -> None:
    given = await settings_with(engine, request)
    with Mailbox() as mailbox:
        given["environment"] |= {
            "KEFU_CONTACT_MAIL": mailbox.url(),
            "KEFU_CONTACT_PASSWORD": PASSWORD,
        }
        file = learn(tmp_path / "shop.kefu")
        secrets: dict[str, Any] = {"identity_secrets": SECRET, "knowledge": str(file)}
        with stage(9, **FAST, **secrets, **given) as running:
            running.script(
                b.answer("[0] The pages do not say."),
                b.answer("In ten days [1]."),
                asking=QUESTION,
            )
            links = [
                link(running, "--url", running.url, "--name", name).stdout.strip()
                for name in ("Ingrid", "Bob")
            ]
            tokens = [token("kari"), token("ola")]
            seen: dict[str, Any] = await asyncio.to_thread(
                told_by,
                *(SCRIPT, running.url, json.dumps(links), json.dumps(tokens)),
                timeout=240,
            )
            thanked = next(one for one in sent_to_model(running) if "Thank you!" in one[-1][1])
            assert len(in_panel(running)["requests"]) == 2
            assert len(mailbox.got) == 1
            cases = tmp_path / "questions.jsonl"
            cases.write_text(seen["case"], encoding="utf-8")
            running.script(b.answer('{"pass": true, "reason": "Yes."}'), asking="Agrees with this")
            tested = running.service.kefu("test", str(cases), "--server", running.url)
    print(engine, {name: seen[name] for name in ("told", "toFirstLine", "reached", "badge")})
    assert max(seen["told"]) <= ASKS_EVERY_MS + LOAD_MS
    assert "Sessions (2)" in seen["nav"]
    asked, case = seen["first"]
    for part in ("It is for a birthday.", "kari@example.no", "Help about delivery"):
        assert part in asked, part
    assert "kari" in case
    assert (
        "Ingrid has had this chat" in seen["held"][0].translate(ISOLATES),
        seen["held"][1],
    ) == (True, 0)
    assert (
        "Bob has had this chat" in seen["lost"][0].translate(ISOLATES),
        seen["lost"][1],
    ) == (True, 0)
    for side in ("inWidget", "inPanel"):
        shown = [one.removeprefix("You: ") for one in seen[side]]
        assert [one for one in shown if one in LINES] == list(LINES), side
    assert seen["badge"] <= 30_000
    told = "\n".join(text for _, text in thanked)
    assert all(line in told for line in (*LINES, "Anything else?"))
    assert "It is for a birthday." in seen["draft"]
    assert seen["next"].startswith("In ten days")
    assert (tested.returncode, "1 passed, 0 failed" in tested.stdout) == (0, True), tested.stdout
    assert seen["over"] == [0, 0], "neither a phone nor 400 % zoom scrolls sideways"
    assert (seen["wrong"], seen["errors"]) == ([], [])
