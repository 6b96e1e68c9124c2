"""The bot check in the widget, from the provider's box to the pass of the service (T17)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.browser import told_by
from tests.fakes.siteverify import SECRET, SiteVerify
from tests.fakes.stage import FAST, stage
from tests.parts.plugin import daily, slow
from tests.web.test_contact import TOKEN, in_panel

SCRIPT = Path(__file__).with_name("widget_check.mjs")
HOSTS = {"turnstile": "challenges.cloudflare.com", "hcaptcha": "js.hcaptcha.com"}


@pytest.mark.slow
@pytest.mark.parametrize("name", daily(HOSTS, "turnstile"))
@pytest.mark.parametrize("sessions", ["true", slow("false")])
def test_t17_a_visitor_passes_the_check_once_and_after_consent(name: str, sessions: str) -> None:
    with SiteVerify() as provider:
        provider.verdict |= {"hostname": "127.0.0.1"}
        settings: dict[str, Any] = {
            "bot_check": name,
            "bot_check_secret": SECRET,
            "bot_check_url": provider.url,
            "allowed_origins": "http://127.0.0.1",
            "environment": {"KEFU_CONTACT_FORM": "message", "ADMIN_TOKEN": TOKEN},
        }
        with stage(1, sessions=sessions, **{**FAST, **settings}) as running:
            seen: dict[str, Any] = told_by(SCRIPT, running.url, name, "pass", timeout=120)
            messages = [one["message"] for one in in_panel(running)["requests"]]
    assert messages == ["And Jan Mayen?", "Svalbard?"]
    assert seen["before"] == []
    assert seen["scripts"] == [HOSTS[name]] * 2  # of two pages
    assert seen["label"] == "I am human: the-key chat"
    assert seen["isAbove"]
    assert len(seen["answers"]) == 2
    assert all(seen["answers"])
    assert (seen["trouble"], seen["left"]) == ([], 0)
    assert [form["response"] for form in provider.asked] == [
        "good-1",
        "good-2",
    ]


@pytest.mark.slow
def test_t17_a_check_that_fails_has_its_own_words_and_asks_no_model() -> None:
    with SiteVerify() as provider:
        settings: dict[str, Any] = {
            "bot_check": "turnstile",
            "bot_check_secret": SECRET,
            "bot_check_url": provider.url,
            "allowed_origins": "http://127.0.0.1",
        }
        with stage(1, sessions="true", **{**FAST, **settings}) as running:
            seen: dict[str, Any] = told_by(SCRIPT, running.url, "turnstile", "fail", timeout=120)
            assert running.upstream.journal == []
    assert seen["trouble"] == ["The check for robots did not pass. Please try again.\nRetry"]
    assert provider.asked == []
