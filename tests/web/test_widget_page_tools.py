"""W23 in Chromium: the model proposes, the visitor clicks, and the page carries it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.browser import told_by
from tests.fakes.chatting import STORE
from tests.fakes.choosing import Choosing, rule
from tests.fakes.stage import UNHURRIED, stage

SCRIPT = Path(__file__).with_name("widget_page_tools.mjs")


@pytest.mark.slow
def test_w23_a_click_puts_one_thing_into_the_cart_and_the_chat_knows_it(tmp_path: Path) -> None:
    """Also with the card open in a second tab, and with a tool of the page that fails."""
    config = tmp_path / "kefu.toml"
    config.write_text('[tools.add_to_cart]\npage = true\ntitle = "Adding"\n', encoding="utf-8")
    with stage(2, config=str(config), store=STORE, **UNHURRIED) as running:
        running.script(Choosing(rule(r"^Cancel (\w)$", "add_to_cart", size=r"\1")))
        seen = told_by(SCRIPT, running.url)
    assert seen["errors"] == []
    assert seen["asked"].replace("\u2068", "").replace("\u2069", "") == (
        "Put the shirt in M into the cart?"
    )
    assert seen["done"] == ["1", 'The results: {"size":"M","items":1}']
    assert seen["second"] == ["0", seen["done"][1]], "the second tab has the first one's answer"
    assert seen["unsure"][0] == "2"
    assert "sold out" in seen["unsure"][1]
