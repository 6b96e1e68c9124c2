"""T16 in the widget: the next user of a browser tab sees nothing of the previous one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.fakes import behaviours as b
from tests.fakes.browser import told_by
from tests.fakes.stage import FAST, stage
from tests.parts.plugin import slow

SECRET = "site-secret-" + "s" * 48
SCRIPT = Path(__file__).with_name("widget_users.mjs")


def token(user: str) -> str:
    return jwt.encode({"sub": user, "aud": "kefu", "exp": int(time.time()) + 600}, SECRET, "HS256")


@pytest.mark.slow
@pytest.mark.parametrize("persist", ["session", slow("local"), slow("none")])
def test_next_user_of_a_tab_sees_and_stores_nothing_of_the_last_one(persist: str) -> None:
    with stage(1, sessions="true", identity_secrets=SECRET, **FAST) as running:
        running.script(b.answer("for Ann"), asking="Ann")
        running.script(b.answer("for Bob"), asking="Bob")
        seen: dict[str, Any] = told_by(
            SCRIPT, running.url, persist, token("ann"), token("bob"), timeout=120
        )

    assert seen["annAsked"]["answers"] == ["for Ann"]
    again = ["for Ann"] if persist != "none" else []
    assert seen["annAgain"]["answers"] == again, "the same user goes on"
    assert seen["bobArrived"]["questions"] == seen["bobArrived"]["answers"] == []
    assert seen["bobAsked"]["answers"] == ["for Bob"]
    assert len(seen["bobAsked"]["questions"]) == 1
    assert seen["annBack"]["questions"] == seen["annBack"]["answers"] == []
    assert "Ann" not in seen["bobArrived"]["stored"] + seen["bobAsked"]["stored"]
    assert "Bob" not in seen["annBack"]["stored"]
