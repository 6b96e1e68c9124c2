"""D2 in the widget: the newest chat of a signed-in user appears in a browser that has none."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.fakes import behaviours as b
from tests.fakes.browser import told_by
from tests.fakes.stage import FAST, stage
from tests.web.test_widget_users import SECRET, token

SCRIPT = Path(__file__).with_name("widget_follows.mjs")
FIRST, SECOND = "Where is my parcel?", "And now?"


def expired(user: str) -> str:
    claims = {"sub": user, "aud": "kefu", "exp": int(time.time()) - 3600}
    return jwt.encode(claims, SECRET, "HS256")


@pytest.mark.slow
def test_d2_chat_of_a_user_follows_to_other_devices_and_to_nobody_else() -> None:
    """Also after a sign-out, after an expired token, and in a new tab."""
    with stage(1, sessions="true", identity_secrets=SECRET, **FAST) as running:
        running.script(b.answer("Tomorrow."))
        tokens = token("ann"), token("bob"), expired("ann")
        seen: dict[str, Any] = told_by(SCRIPT, running.url, *tokens, timeout=150)
        [call] = running.upstream.calls(SECOND)
    assert seen["laptopAsked"] == [FIRST]
    assert seen["phoneArrived"] == [FIRST]
    assert seen["phoneAsked"] == [FIRST, SECOND]
    texts = [one["content"] for one in call.body["messages"] if one["role"] != "system"]
    assert texts == [FIRST, "Tomorrow.", SECOND]
    assert seen["laptopAgain"] == [FIRST, SECOND]
    assert seen["bobArrived"] == seen["bobAgain"] == seen["nobody"] == []
    assert seen["bobLists"] == seen["otherLists"] == 2, "never without a user"
    assert seen["signedOut"] == seen["hasExpired"] == []
    assert seen["signedIn"] == seen["renewed"] == [FIRST, SECOND]
    assert seen["renewedAgain"] == [], "the visitor has begun a new conversation"
    assert seen["lists"] == 1
    assert seen["newTab"] == [FIRST, SECOND]
