"""H4, H5 in Chromium: a visitor asks for a person, who takes over and hands the chat back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.browser import told_by
from tests.fakes.stage import FAST, stage
from tests.parts.plugin import slow
from tests.web.test_contact import TOKEN, settings
from tests.web.test_take_over import audited, sent_to_model

ISOLATES = dict.fromkeys(range(0x2066, 0x206A))
SCRIPT = Path(__file__).with_name("take_over.mjs")


@pytest.mark.parametrize(
    ("language", "theme", "device", "name", "line", "waiting"),
    [
        slow("en", "light", "desktop", "Ingrid", "Hello! Yes, we ship", "Waiting for a person"),
        slow("ar", "dark", "phone", "إنغريد", "مرحبًا! نعم", "في انتظار شخص"),
    ],
)
def test_h4_a_person_takes_over_the_model_is_quiet_and_knows_the_talk_afterwards(
    language: str, theme: str, device: str, name: str, line: str, waiting: str
) -> None:
    """Every day test_take_over.py asks the service, and talk.test.ts the widget."""
    with stage(1, **FAST, **settings()) as running:
        seen: dict[str, Any] = told_by(
            SCRIPT, running.url, TOKEN, language, theme, device, timeout=180
        )
        assert len(running.upstream.calls()) == 2
        told = sent_to_model(running)[-1]
        assert {"state person", "reply", "state bot", "read"} <= set(audited(running))
    assert seen["waiting"] == waiting
    assert "waited for a person" in seen["waits"]
    held, fields = seen["held"]
    assert (f"{name} has had this chat" in held.translate(ISOLATES), fields) == (True, 0)
    assert f"Take over from {name}" in held.translate(ISOLATES)
    assert (seen["refused"], seen["draft"]) == ("Bob has this chat.", "draft")
    assert (seen["reloaded"], seen["unsent"]) == ("draft", False)
    assert name in seen["heading"]
    assert [one.split()[-1] for one in seen["by"]] == [name]
    assert (seen["spoken"].startswith(f"{name}: {line}"), seen["badge"]) == (True, 0)
    assert (seen["quiet"], seen["link"]) == ("", [True, True])
    assert seen["gap"] < 2
    assert name in seen["label"]
    assert [one[:5] for one in seen["lines"]] == [line[:5], "49 kr", "Anyth"]
    assert [role for role, _ in told] == ["user", "assistant", "user", "assistant", "user"]
    assert told[1][1].startswith(f"{seen['last']}\n\n{line}")
    assert told[2:] == [
        ("user", "How much?"),
        ("assistant", "> 49 kroner: https://shop.example/prices\n\nAnything else?"),
        ("user", "Thank you!"),
    ]
    assert len(seen["order"]) == 6
    assert (seen["wrong"], seen["errors"]) == ([], [])
