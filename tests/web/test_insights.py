"""H6, H7, G29: search, filters and insights over HTTP, for chats of a real service."""

from __future__ import annotations

from pathlib import Path

import httpx

from kefu.stores.sqlite.knowledge.write import PageProblem, Run, write
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer
from tests.fakes.chatting import STORE, Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.web.test_identity import NEW, token
from tests.web.test_knowledge import PAGES

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
PRESETS = '[presets.sales]\nsystem_prompt = "You sell."\n'


def operator(stage: Stage, path: str, **query: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"{stage.url}/admin/api/{path}"
    return httpx.get(url, params=query, headers=headers, timeout=30)


def titles(stage: Stage, **query: str) -> list[str]:
    answer = operator(stage, "sessions", **query)
    assert answer.is_success, answer.text
    return [row["title"] for row in answer.json()["rows"]]


async def rate(stage: Stage, visitor: Visitor, message_id: str, rating: str) -> None:
    body = {"client_message_id": message_id, "rating": rating, "session_id": visitor.session_id}
    async with httpx.AsyncClient(timeout=30) as browser:
        url = f"{stage.url}/api/chat/feedback"
        rated = await browser.post(url, json=body, headers=visitor.headers)
    assert rated.is_success, rated.text


async def test_g29_questions_without_an_answer_are_gaps_of_the_panel(
    staged: Staged, tmp_path: Path
) -> None:
    """Grouped by equal words; also without stored calls, which expire after seven days."""
    file = tmp_path / "a.kefu"
    write(file, Run(PAGES, [PageProblem("/gone", "failed", "404")], 1.0))
    stage = staged(
        2, knowledge=str(file), store=STORE, capture="off", environment={"ADMIN_TOKEN": TOKEN}
    )
    stage.script(b.answer("[0] The pages do not say."), asking="hats")
    stage.script(b.answer("Thirty days [1]."), asking="boots")
    await Visitor(stage).say("Do you sell hats?")
    good, id = Visitor(stage), new_id()
    await good.say("Can boots be sent back?", client_message_id=id)
    await rate(stage, good, id, "up")
    last = Visitor(stage)
    await last.say("selling hats")

    found = operator(stage, "insights").json()
    [gap] = found["gaps"]
    assert (gap["question"], gap["times"], gap["reasons"]) == ("selling hats", 2, ["not answered"])
    assert gap["session_id"] == last.session_id
    assert [(one["question"], one["times"]) for one in found["questions"]] == [
        ("selling hats", 2),
        ("Can boots be sent back?", 1),
    ]
    assert found["gaps_whole"]
    [day] = found["days"]
    assert found["read"] == 3
    assert (day["chats"], day["turns"], day["unanswered"], day["ups"]) == (3, 3, 2, 1)
    assert (day["answers"], day["proved"], day["again"]) == (3, 1, 0)
    assert day["first_words"] == 3
    assert 0 < day["first_word_ms"] < 60_000
    assert titles(stage, unanswered="true") == ["selling hats", "Do you sell hats?"]
    assert titles(stage, rating="up") == ["Can boots be sent back?"]
    assert titles(stage, text="boot days", rating="up") == ["Can boots be sent back?"]
    assert titles(stage, text="sold hats", rating="up") == []
    about = operator(stage, "about").json()
    assert (about["has_pages"], about["presets"]) == (True, [])
    pages = {"count": len(PAGES), "made": 1.0, "old": True}
    assert found["pages"] == {**pages, "problems": [{"page": "/gone", "reason": "404"}]}
    assert operator(stage, "insights", since="2026-02-30").status_code == 400
    assert operator(stage, "insights", until="x").status_code == 400
    for wrong in ({"rating": "good"}, {"unanswered": "1"}):
        assert operator(stage, "sessions", **wrong).status_code == 400


async def test_h7_chats_are_found_by_their_user_and_their_preset(
    staged: Staged, tmp_path: Path
) -> None:
    """Only the panel gets the user's id."""
    file = tmp_path / "kefu.toml"
    file.write_text(PRESETS)
    environment = {"ADMIN_TOKEN": TOKEN, "KEFU_CONFIG": str(file)}
    stage = staged(1, sessions="true", identity_secrets=NEW, environment=environment)

    async def ask(text: str, user: str = "", preset: str = "") -> Answer:
        headers = {"X-User-Token": token(user)} if user else {}
        preset_of = {"config_id": preset} if preset else {}
        return await stage.ask({"message": text, **preset_of}, headers=headers)

    await ask("by nobody")
    await ask("by Anna", "anna@example.org")
    sold = await ask("to the sales", preset="sales")
    assert sold.status == 200
    assert titles(stage, user="anna@example.org") == ["by Anna"]
    assert titles(stage, user="anna") == []
    assert titles(stage, preset="sales") == ["to the sales"]
    assert titles(stage, preset="default") == ["by Anna", "by nobody"]
    assert operator(stage, "about").json()["presets"] == ["default", "sales"]
    [row] = operator(stage, "sessions", user="anna@example.org").json()["rows"]
    assert row["user"] == "anna@example.org"
    assert operator(stage, f"sessions/{row['id']}").json()["session"]["user"] == row["user"]


async def test_h7_a_search_in_memory_finds_words_and_reads_no_chat_for_it(staged: Staged) -> None:
    stage = staged(1, sessions="true", environment={"ADMIN_TOKEN": TOKEN})
    stage.script(b.answer("三十天内可以退货。"))
    await Visitor(stage).say("退款政策是什么？")
    answer = operator(stage, "sessions", text="退货").json()
    assert [row["title"] for row in answer["rows"]] == ["退款政策是什么？"]
    assert (answer["cursor"], answer["read"], answer["waiting"]) == (None, None, 0)


async def test_h6_a_rating_goes_with_the_answer_that_another_one_replaces(staged: Staged) -> None:
    stage = staged(1, store=STORE, environment={"ADMIN_TOKEN": TOKEN})
    stage.script(b.answer("In Oslo."), b.answer("In Bergen."), asking="shop")
    visitor, first = Visitor(stage), new_id()
    await visitor.say("Where is your shop?", client_message_id=first)
    await rate(stage, visitor, first, "down")
    assert titles(stage, rating="down") == ["Where is your shop?"]
    again = await visitor.say("Where is your shop?", client_message_id=new_id(), again=first)
    assert again.text == "In Bergen."
    assert titles(stage, rating="down") == []
    [day] = operator(stage, "days").json()["days"]
    assert (day["ups"], day["downs"]) == (0, 0)
