"""A24 in Chromium: the browser's assistant searches pages, and the chat has the page's tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.stores.sqlite.knowledge.write import Run, write
from tests.fakes.browser import told_by
from tests.fakes.chatting import STORE
from tests.fakes.choosing import Choosing, rule
from tests.fakes.stage import UNHURRIED, stage

SCRIPT = Path(__file__).with_name("widget_webmcp.mjs")
DELIVERY = "https://shop.example/help/delivery"
TEXT = "Parcels to Norway take three to five working days."


@pytest.mark.slow
def test_a24_the_browser_has_the_pages_and_the_chat_has_the_tools_of_the_page(
    tmp_path: Path,
) -> None:
    """With Chromium's own WebMCP. A tool of the page waits for a click, as any other tool of it."""
    knowledge, config = tmp_path / "shop.kefu", tmp_path / "kefu.toml"
    blocks = [Block("Delivery", 1, "top"), Block(TEXT)]
    page = Learnt(PageText(DELIVERY, "Delivery", blocks, "en"), {})
    write(knowledge, Run([page], [], 1_800_000_000.0))
    config.write_text('[tools.add_to_cart]\npage = true\ntitle = "Adding"\n', encoding="utf-8")
    with stage(
        2,
        store=STORE,
        config=str(config),
        knowledge=str(knowledge),
        mcp="true",
        **UNHURRIED,
    ) as running:
        running.script(Choosing(rule(r"^Put one in (\w)\b", "add_to_cart", size=r"\1")))
        seen = told_by(SCRIPT, running.url)
    if not seen["has"]:
        pytest.skip("this Chromium has no WebMCP")
    assert seen["errors"] == []
    assert seen["without"] == ["add_to_cart", "configure"], "off by default"
    named = {one["name"]: (one["fields"], one["isRead"]) for one in seen["tools"]}
    del named["configure"]
    assert named == {
        "add_to_cart": (["size"], False),
        "read_page": (["page", "part"], True),
        "search_pages": (["query"], True),
    }
    assert [one["url"] for one in json.loads(seen["found"])["passages"]] == [f"{DELIVERY}#top"]
    assert TEXT in seen["found"]
    assert json.loads(seen["wrong"]) == {
        "error": "page: there is no such page. Search for it first."
    }
    assert seen["cart"] == ["0", "1"], "the tool ran after the click alone"
    assert seen["answer"] == 'The results: {"size":"M","items":1}'
