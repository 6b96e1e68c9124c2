"""H22 of the real service: an operator's line reaches a visitor who has left by mail."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kefu.settings import Settings
from tests.fakes.browser import told_by
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.mailbox import PASSWORD, Mailbox
from tests.fakes.stage import Stage
from tests.web.test_contact import (
    CONSENT,
    EMAIL,
    as_operator,
    described,
    in_panel,
    send,
    settings,
    wait_until,
)
from tests.web.test_sign_ins import link
from tests.web.test_take_over import LINE, Operator, polled

SCRIPT = Path(__file__).with_name("panel_visit.mjs")
AGREED = "If I have left, the answer may be mailed to me."
ORIGIN = "https://shop.example"


def mailing(mailbox: Mailbox, **more: Any) -> dict[str, Any]:
    given = settings()
    given["environment"] |= {
        "KEFU_CONTACT_MAIL": mailbox.url(),
        "KEFU_CONTACT_PASSWORD": PASSWORD,
        "KEFU_CONTACT_MAIL_VISITORS": AGREED,
    }
    return {**given, "allowed_origins": ORIGIN, **more}


async def in_browser(running: Stage, visitor: Visitor) -> dict[str, Any]:
    """The panel's lines about mails below a chat."""
    steps = [
        ["open", link(running, "--url", running.url, "--name", "Ingrid").stdout.strip()],
        ["wait", ".rows a"],
        ["open", f"{running.url}/admin#s={visitor.session_id}"],
        ["wait", ".talk"],
        ["texts", ["mail", ".talk [role=status]"]],
        ["axe", "talk"],
    ]
    asked = json.dumps({"url": running.url, "steps": steps, "context": {}})
    return await asyncio.to_thread(told_by, SCRIPT, asked, timeout=120)


@pytest.mark.slow
async def test_h22_a_visitor_who_has_left_gets_the_line_by_mail_after_a_refusal_and_a_restart(
    staged: Staged,
) -> None:
    """The form says so, the panel says when, and deleting the chat deletes what was kept of it."""
    with Mailbox() as mailbox:
        running = staged(1, **mailing(mailbox, visitor_mail_seconds=2.0))
        visitor, ingrid = Visitor(running), Operator(running)
        assert described(running).json()["consent"] == f"{CONSENT} {AGREED}"
        assert (await visitor.say("Can I talk to a person?")).complete
        assert (await send(visitor, new_id())).status_code == 204
        mailbox.wait_for(1)  # to the owner
        mailbox.refusals = 1
        assert ingrid.turn(visitor, "person").status_code == 200
        assert ingrid.say(visitor, LINE).status_code == 200
        assert ingrid.ask(visitor, "/talk").json()["mail"]["due_at"] > 0
        wait_until(lambda: "a mail to a visitor failed: SMTP 451" in running.service.stderr)
        running.service.restart(kill=True)
        [_, mail] = mailbox.wait_for(2)
        assert mail["To"] == EMAIL
        assert f"> {LINE}" in mail.get_content()
        assert ORIGIN in mail.get_content()
        wait_until(lambda: ingrid.ask(visitor, "/talk").json()["mail"]["mailed_at"] > 0)
        shown = ingrid.ask(visitor, "").json()
        assert shown["mail"] == ingrid.ask(visitor, "/talk").json()["mail"]
        assert (shown["mail"]["due_at"], shown["mail"]["attempts"]) == (0, 0)
        assert EMAIL not in running.service.stderr
        in_panel_now = await in_browser(running, visitor)
        assert in_panel_now["axe"] == []
        assert any(one.startswith("Your lines, by mail: delivered") for one in in_panel_now["mail"])
        path = f"sessions/{visitor.session_id}"
        assert as_operator(running, path, "DELETE").status_code == 204
        assert in_panel(running)["requests"] == []


@pytest.mark.parametrize("look", ["/person", "/messages"])
async def test_h22_a_line_that_the_visitor_has_seen_is_not_mailed(
    staged: Staged, look: str
) -> None:
    with Mailbox() as mailbox:
        running = staged(1, **mailing(mailbox, visitor_mail_seconds=600.0))
        visitor, ingrid = Visitor(running), Operator(running)
        assert (await visitor.say("Can I talk to a person?")).complete
        assert (await send(visitor, new_id())).status_code == 204
        assert ingrid.turn(visitor, "person").status_code == 200
        assert (await polled(visitor))["state"] == "person"
        assert ingrid.say(visitor, LINE).status_code == 200
        # A page in a hidden tab has the line, but nobody has read it there.
        assert LINE in (await visitor.look("/person?seen=false")).text
        assert ingrid.ask(visitor, "/talk").json()["mail"]["due_at"] > 0
        assert LINE in (await visitor.look(look)).text
        assert ingrid.ask(visitor, "/talk").json()["mail"] is None


async def test_h22_without_the_sentence_nothing_is_mailed_to_visitors(staged: Staged) -> None:
    with Mailbox() as mailbox:
        given = mailing(mailbox, visitor_mail_seconds=0.0)
        del given["environment"]["KEFU_CONTACT_MAIL_VISITORS"]
        running = staged(1, **given)
        visitor, ingrid = Visitor(running), Operator(running)
        assert (await visitor.say("Can I talk to a person?")).complete
        assert (await send(visitor, new_id())).status_code == 204
        assert ingrid.turn(visitor, "person").status_code == 200
        assert ingrid.say(visitor, LINE).status_code == 200
        assert ingrid.ask(visitor, "/talk").json()["mail"] is None
        [kept] = in_panel(running)["requests"]
        assert kept["mail_line"] == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"KEFU_CONTACT_MAIL": ""}, "needs mail, and the field email"),
        ({"KEFU_CONTACT_FORM": "message"}, "needs mail, and the field email"),
        ({"KEFU_SESSIONS": "false"}, "needs stored chats"),
        ({"AWS_LAMBDA_FUNCTION_NAME": "kefu"}, "needs stored chats"),
        ({"KEFU_ALLOWED_ORIGINS": "*"}, "needs origins in"),
    ],
)
def test_h22_mails_to_visitors_that_cannot_work_stop_the_start(
    changed: dict[str, str], said: str
) -> None:
    environment = {
        "KEFU_CONTACT_FORM": "email",
        "KEFU_CONTACT_MAIL": "smtp://mail.example.com?to=help@example.com",
        "KEFU_CONTACT_MAIL_VISITORS": AGREED,
        "KEFU_ALLOWED_ORIGINS": ORIGIN,
    }
    on_aws = {"AWS_LAMBDA_FUNCTION_NAME": "kefu", "KEFU_SESSIONS": "true"}
    for given in (environment, environment | on_aws):
        assert Settings.model_validate(given).accepted_consent == AGREED
    with pytest.raises(ValidationError, match=said):
        Settings.model_validate({**environment, **changed})
