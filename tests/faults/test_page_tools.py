"""W23: a tool of the page, with a real service: its settings, its requests and its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.asking import Answer
from tests.fakes.choosing import Choosing, rule
from tests.fakes.recorded_tool import steps_in
from tests.fakes.shopping import Shopper, events
from tests.fakes.stage import UNHURRIED, Stage, stage
from tests.fakes.upstream import ScriptedUpstream

SIZES = {"type": "string", "enum": ["S", "M", "L"]}
ADD = {
    "name": "add_to_cart",
    "description": "Put the shirt into the cart.",
    "approve": "Add {size}?",
}
GIVEN = [{**ADD, "parameters": {"size": SIZES}}]


@pytest.fixture
def page_stage(tmp_path: Path) -> Iterator[Stage]:
    file = tmp_path / "kefu.toml"
    file.write_text('[tools.add_to_cart]\npage = true\ntitle = "Adding"\n', encoding="utf-8")
    store = f"sqlite:///{tmp_path / 'chats.sqlite3'}"
    with ScriptedUpstream() as upstream:
        upstream.script("*", Choosing(rule(r"^[Cc]ancel (\w+)", "add_to_cart", size=r"\1")))
        with stage(1, upstream=upstream, config=str(file), store=store, **UNHURRIED) as one:
            yield one


def arguments(answer: Answer) -> list[Any]:
    steps = [one["step"] for one in events(answer) if one.get("object") == "kefu.step"]
    return [one["arguments"] for one in steps if "arguments" in one]


async def test_w23_a_click_gives_the_call_to_the_page_and_the_result_goes_on(
    page_stage: Stage,
) -> None:
    visitor = Shopper(page_stage)
    card = await visitor.asks_to_cancel("M", page_tools=GIVEN)
    assert card["text"] == "Add \u2068M\u2069?"
    given = await visitor.click()
    assert arguments(given) == [{"size": "M"}]
    assert arguments(await visitor.click()) == [], "only the first click"
    done = await visitor.click(result={"text": "1 thing in the cart"})
    assert done.complete
    assert steps_in([dict(one) for one in events(done)])[-1] == ("add_to_cart", "output-available")
    [*_, last] = await visitor.stored()
    assert [one["state"] for one in last["steps"]] == ["output-available"]
    assert "1 thing in the cart" in str(page_stage.upstream.journal[-1].body)


@pytest.mark.parametrize(
    ("given", "status", "offered"),
    [
        ([{**GIVEN[0], "name": "empty_cart"}], 200, False),
        ([{**GIVEN[0], "parameters": {"size": {"type": "string"}}}], 200, False),
        ([{**GIVEN[0], "name": "no name"}], 400, False),
        ([{**GIVEN[0], "description": ""}], 400, False),
        (GIVEN * 21, 400, False),
        (GIVEN, 200, True),
    ],
)
async def test_w23_only_what_the_settings_name_and_a_card_can_show_is_offered(
    page_stage: Stage, given: list[dict[str, Any]], status: int, *, offered: bool
) -> None:
    answer = await Shopper(page_stage).say("hello", page_tools=given)
    assert answer.status == status
    if status == 200:
        assert ("add_to_cart" in str(page_stage.upstream.journal[-1].body)) is offered
