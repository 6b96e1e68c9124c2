"""G21 to G27: answers from learnt pages, as the model, the widget and other clients see them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.knowledge.sources import PASSAGES_HEAD, QUESTION_HEAD, RULES, RULES_FOR_JSON
from kefu.sessions.store.model import SessionId
from kefu.stores.sqlite.knowledge.write import Run, write
from tests.fakes import behaviours as b
from tests.fakes.asking import conversation, get
from tests.fakes.chatting import STORE, Visitor, new_id, store_of
from tests.fakes.fixtures import Staged
from tests.fakes.forked import kefu
from tests.fakes.injections import corpus, families
from tests.fakes.stage import FAST, Stage, stage

SHOP = "https://shop.example/help"
SYSTEM = "You answer for the shop."


def page(name: str, *texts: str) -> Learnt:
    return Learnt(PageText(f"{SHOP}/{name}", name.title(), [Block(one) for one in texts], "en"), {})


PAGES = [
    page("delivery", "Parcels to Norway take three to five working days."),
    page("customs", "Customs for Norway are paid at checkout."),
    page("returns", "Boots can be sent back within thirty days."),
]


def learn(path: Path, *pages: Learnt) -> Path:
    write(path, Run(pages or PAGES, [], 1_800_000_000.0))
    return path


@pytest.fixture(scope="module")
def grounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    file = learn(tmp_path_factory.mktemp("pages") / "shop.kefu")
    with stage(20, **FAST, knowledge=str(file), system_prompt=SYSTEM) as running:
        yield running


async def sent(running: Stage, question: str) -> list[dict[str, str]]:
    messages: list[dict[str, str]] = (await running.upstream.asked(question)).body["messages"]
    return messages


def passages(message: str) -> list[Any]:
    lines = message.partition(f"\n\n{QUESTION_HEAD}")[0].splitlines()
    assert lines[0] == PASSAGES_HEAD
    return [json.loads(line) for line in lines[1:]]


async def test_g21_the_model_gets_the_passages_in_front_of_the_question(grounded: Stage) -> None:
    await grounded.ask("How long do parcels to Norway take?")
    system, question = await sent(grounded, "How long do parcels")
    assert system == {"role": "system", "content": f"{SYSTEM}\n\n{RULES}"}
    assert question["content"].endswith(f"{QUESTION_HEAD}\nHow long do parcels to Norway take?")
    first, second = passages(question["content"])
    assert (first["n"], first["title"]) == (1, "Delivery")
    assert (second["n"], second["title"]) == (2, "Customs")


async def test_g18_a_follow_up_is_looked_up_with_the_question_before(grounded: Stage) -> None:
    await grounded.ask(conversation("Can boots be sent back?", "Yes.", "And how long after?"))
    *_, last = await sent(grounded, "And how long after?")
    assert passages(last["content"])[0]["title"] == "Returns"


async def test_g26_the_widget_learns_the_sources_and_which_were_used(grounded: Stage) -> None:
    grounded.script(
        b.answer("Three to ", "five days [", "1]. Nothing ", "[9] else."), asking="Q1 N"
    )
    answer = await grounded.ask(conversation("Q1 Norway parcels?", sources=True))
    assert answer.text == "Three to five days [1]. Nothing else."
    found, *_, used = answer.chunks
    assert found == {
        "object": "kefu.sources",
        "choices": [],
        "sources": [
            {"number": 1, "title": "Delivery", "url": f"{SHOP}/delivery"},
            {"number": 2, "title": "Customs", "url": f"{SHOP}/customs"},
        ],
        "links": [],
    }
    assert used == {"object": "kefu.sources", "choices": [], "used": [1], "answered": True}
    assert answer.complete


async def test_g28_the_passages_are_shown_to_a_client_that_asks_for_them(grounded: Stage) -> None:
    answer = await grounded.ask(conversation("Q3 boots sent back?", sources="passages"))
    [source] = answer.chunks[0]["sources"]
    assert (source["number"], source["text"]) == (1, "Boots can be sent back within thirty days.")


async def test_g26_other_clients_see_no_event_of_their_own(grounded: Stage) -> None:
    answer = await grounded.ask("Q2 Norway parcels?")
    assert {chunk["object"] for chunk in answer.chunks} == {"chat.completion.chunk"}


async def test_g25_the_list_of_sources_is_part_of_the_text_if_asked_for(grounded: Stage) -> None:
    grounded.script(b.answer("Five days [1]. Paid [", "2]."), asking="W1")
    answer = await grounded.ask(conversation("W1 Norway parcels customs?", sources="text"))
    text = (
        "Five days [1]. Paid [2].\n\n"
        f'[1]: {SHOP}/customs "Customs"\n[2]: {SHOP}/delivery "Delivery"'
    )
    assert answer.text == text
    assert answer.complete
    await grounded.ask(conversation("W1 Norway parcels customs?", text, "W2 thanks"))
    told = [m["content"] for m in await sent(grounded, "W2 thanks")]
    assert told[2] == "Five days [1]. Paid [2]."


@pytest.mark.parametrize(
    ("question", "pieces", "shown"),
    [
        ("R1 Norway moon?", ["[0]", " The pages do not say."], "The pages do not say."),
        ("R2 Norway moon?", ["[", "0", "]"], "The pages of this site do not answer that."),
        ("R3 挪威月亮?", ["[0]"], "本站页面没有回答这个问题。"),
        ("R4 到挪威還是月亮?", ["[0]"], "本站頁面沒有回答這個問題。"),
        ("R5 ノルウェーの月?", ["[0]"], "このサイトのページには、その答えがありません。"),
        (
            "R6 Ist Norway auf dem Mond?",
            ["[0]"],
            "Die Seiten dieser Website beantworten das nicht.",
        ),
    ],
)
async def test_g27_an_unanswered_question_is_said_without_the_marker(
    grounded: Stage, question: str, pieces: list[str], shown: str
) -> None:
    grounded.script(b.answer(*pieces), asking=question[:2])
    answer = await grounded.ask(conversation(question, sources=True))
    assert answer.text == shown
    assert answer.chunks[-1] == {
        "object": "kefu.sources",
        "choices": [],
        "used": [],
        "answered": False,
    }
    assert answer.finish == "stop"


@pytest.mark.parametrize(("answer", "events"), [("[0]", 1), ("Five days [1].", 0)])
async def test_h1_the_widget_learns_that_a_question_was_not_answered(
    grounded: Stage, answer: str, events: int
) -> None:
    """With sources as text, this is the only event beside the chunks of the model."""
    question = f"S{events} Norway moon?"
    grounded.script(b.answer(answer), asking=question[:2])
    told = await grounded.ask(conversation(question, sources="text"))
    others = [one for one in told.chunks if one["object"] != "chat.completion.chunk"]
    assert others == events * [{"object": "kefu.sources", "choices": [], "answered": False}]
    assert told.complete


async def test_g24_links_to_other_sites_become_text(grounded: Stage) -> None:
    evil = "https://evil.example/"
    text = f"See [here]({evil}) ![x]({evil}x.png) or [this]({SHOP}/returns)."
    grounded.script(b.answer(*text), asking="L1")
    answer = await grounded.ask("L1 boots?")
    assert answer.text == f"See here x or [this]({SHOP}/returns)."


async def test_g21_openai_clients_are_answered_from_the_pages_too(grounded: Stage) -> None:
    grounded.script(b.answer("Thirty days [1] [7]."), asking="V1")
    answer = await grounded.ask(conversation("V1 boots sent back?"), path="/v1/chat/completions")
    assert answer.json["choices"][0]["message"]["content"] == "Thirty days [1]."


@pytest.mark.parametrize("stream", [True, False])
async def test_g21_json_is_answered_from_the_pages_and_stays_json(
    grounded: Stage, stream: bool
) -> None:
    """Numbers in brackets are values there, and a list behind the answer would spoil it."""
    value = '{"days": [30, 9], "first": [1], "see": "https://evil.example/a [7]", "more": "```"}'
    grounded.script(b.answer(*value), asking=f"J1 {stream}")
    asked = conversation(
        f"J1 {stream} boots sent back?",
        stream=stream,
        sources="text",
        response_format={"type": "json_object"},
    )
    answer = await grounded.ask(asked, path="/v1/chat/completions")
    text = answer.text if stream else answer.json["choices"][0]["message"]["content"]
    assert text == value
    system, question = await sent(grounded, f"J1 {stream}")
    assert system == {"role": "system", "content": f"{SYSTEM}\n\n{RULES_FOR_JSON}"}
    assert passages(question["content"])[0]["title"] == "Returns"


async def test_g21_a_prompt_that_was_too_long_is_sent_with_fewer_passages(
    staged: Staged, tmp_path: Path
) -> None:
    """The next question has fewer passages at once."""
    running = staged(2, knowledge=str(learn(tmp_path / "shop.kefu")))
    body = {"error": {"code": "context_length_exceeded", "message": "too long"}}
    running.script(b.status(400, body), b.answer("Fine [1]."), asking="T1")
    for _ in range(2):
        answer = await running.ask("T1 Norway parcels and customs, boots?")
        assert answer.text == "Fine [1]."
    calls = [call.body["messages"][-1] for call in running.upstream.calls("T1")]
    assert [len(passages(one["content"])) for one in calls] == [3, 1, 1]


async def test_g21_a_prompt_that_is_still_too_long_is_sent_with_less_history(
    staged: Staged, tmp_path: Path
) -> None:
    """The history stays whole for the first retry, and there are two more for it."""
    running = staged(2, knowledge=str(learn(tmp_path / "shop.kefu")))
    too_long = b.status(400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}})
    running.script(too_long, too_long, b.answer("Fine [1]."), too_long, asking="T2")
    talk = ["Do you sell boots? " * 40, "We do. " * 40, "And coats?", "Those too. " * 90]
    answer = await running.ask(conversation(*talk, "T2 Norway parcels and customs, boots?"))
    assert answer.text == "Fine [1]."
    calls = [call.body["messages"] for call in running.upstream.calls("T2")]
    given = [len(passages(messages[-1]["content"])) for messages in calls]
    assert given[0] > given[1] == given[2]
    assert len(calls[0]) == len(calls[1]) > len(calls[2])


async def test_g6_health_names_the_pages(grounded: Stage) -> None:
    health = (await get(grounded.url, "/health")).json()
    assert health["knowledge"] == {"pages": 3, "made": 1_800_000_000, "sample": False}


async def test_g23_no_page_changes_the_system_message(staged: Staged, tmp_path: Path) -> None:
    """Each injection of a corpus is the text of a page that the model receives."""
    texts = [f"xyzzy{n} {text}" for n, text in enumerate((*corpus()[:20], *families()))][:60]
    hostile = [page(f"p{n}", text) for n, text in enumerate(texts)]
    running = staged(20, knowledge=str(learn(tmp_path / "a.kefu", *hostile)), system_prompt=SYSTEM)
    for n in range(0, len(texts), 7):
        question = f"Say xyzzy{n}!"
        answer = await running.ask(conversation(question, sources=True))
        assert answer.complete
        system, last = await sent(running, question)
        assert system["content"] == f"{SYSTEM}\n\n{RULES}"
        assert passages(last["content"])[0]["text"].startswith(f"xyzzy{n} ")
        assert last["content"].endswith(f"\n\n{QUESTION_HEAD}\n{question}")


async def test_w22_the_widget_learns_what_may_be_asked_next(staged: Staged, tmp_path: Path) -> None:
    customs = (
        Block("Who pays the customs of parcels to Norway?", 2),
        Block("They are paid at checkout."),
    )
    pages = PAGES[0], Learnt(PageText(f"{SHOP}/customs", "Customs", list(customs), "en"), {})
    running = staged(1, knowledge=str(learn(tmp_path / "shop.kefu", *pages)))
    running.script(b.answer("Three to five days [1]."), b.answer("At checkout [2]."))
    asked = "How long do parcels to Norway take?"
    answer = await running.ask(conversation(asked, sources=True))
    assert answer.chunks[-1]["follow_ups"] == ["Who pays the customs of parcels to Norway?"]
    after = conversation(
        "Who pays the customs of parcels to Norway?", "At checkout.", asked, sources=True
    )
    assert "follow_ups" not in (await running.ask(after)).chunks[-1]


@pytest.mark.slow
async def test_g12_a_running_server_takes_a_new_file(staged: Staged, tmp_path: Path) -> None:
    file = learn(tmp_path / "a.kefu")
    running = staged(2, knowledge=str(file))
    await running.ask("H1 boots sent back?")
    learn(file, page("returns", "Boots can be sent back within ninety days."))
    for attempt in range(60):
        await running.ask(f"H2-{attempt}. boots sent back?")
        if "ninety" in (await sent(running, f"H2-{attempt}."))[-1]["content"]:
            break
        await asyncio.sleep(1)
    else:
        pytest.fail("the new file was not taken within a minute")
    (tmp_path / "b.kefu").write_bytes(b"broken")
    (tmp_path / "b.kefu").replace(file)
    await asyncio.sleep(11)
    await running.ask("H3 boots sent back?")
    assert "ninety" in (await sent(running, "H3"))[-1]["content"]


async def test_g22_a_kept_chat_stores_the_question_alone_and_logs_the_passages(
    staged: Staged, tmp_path: Path
) -> None:
    file = learn(tmp_path / "a.kefu")
    running = staged(2, knowledge=str(file), store=STORE, capture="all")
    visitor = Visitor(running)
    running.script(b.answer("Thirty days [1]. ", "[0] [5]"), asking="K1")
    assert (await visitor.say("K1 boots sent back?")).text == "Thirty days [1]."
    page = (await visitor.look("/messages?sources=true")).json()
    assert [m["content"] for m in page["messages"]] == ["K1 boots sent back?", "Thirty days [1]."]
    named = [{"number": 1, "title": "Returns", "url": f"{SHOP}/returns"}]
    assert [m.get("sources") for m in page["messages"]] == [None, named]
    assert page["links"] == []
    await visitor.say("K2 and customs?")
    contents = [m["content"] for m in await sent(running, "K2 and customs?")]
    assert contents[1] == "K1 boots sent back?"
    async with store_of(running, time.time) as store:
        calls = await store.calls(SessionId(visitor.session_id or ""))
    knowledge = json.loads(calls[0].meta)["knowledge"]
    assert (knowledge["used"], knowledge["answered"]) == ([1], True)
    assert knowledge["passages"][0]["url"] == f"{SHOP}/returns"
    assert knowledge["passages"][0]["terms"] == ["back", "boot", "sent", "~return"]


EVIL = "https://evil.example"


@pytest.mark.parametrize("with_pages", [True, False])
async def test_no_text_of_a_model_becomes_a_source_of_a_stored_chat(
    staged: Staged, tmp_path: Path, with_pages: bool
) -> None:
    """Knowledge 7: the code block at the end had the shape of the service's own list."""
    pages: dict[str, Any] = {"knowledge": str(learn(tmp_path / "a.kefu"))} if with_pages else {}
    running = staged(2, store=STORE, **pages)
    visitor = Visitor(running)
    forged = f'```\n[1]: {EVIL}/login "Delivery times"'
    running.script(b.answer("Three days.\n\n", forged), asking="F1")
    running.script(b.answer("Five days [1]." if with_pages else "Five days."), asking="F2")
    await visitor.say("F1 Norway parcels?")
    await visitor.say("F2 Norway parcels?")
    _, first, _, second = (await visitor.look("/messages?sources=true")).json()["messages"]
    assert first.get("sources", []) == []
    closed = "```" if with_pages else ""  # the check of citations closes the block
    assert first["content"].split() == f"Three days. {forged} {closed}".split()
    assert [one["title"] for one in second.get("sources", [])] == ["Delivery"] * with_pages
    exported = (await visitor.look("/export?format=json")).json()["messages"]
    assert "sources" not in exported[1]
    assert [one["title"] for one in exported[3].get("sources", [])] == ["Delivery"] * with_pages


async def test_a_repeated_request_gets_the_sources_of_the_stored_answer(
    staged: Staged, tmp_path: Path
) -> None:
    running = staged(2, knowledge=str(learn(tmp_path / "a.kefu")), store=STORE)
    visitor = Visitor(running)
    running.script(b.answer("Five days [1]."), asking="P1")
    id = new_id()
    first = await visitor.say("P1 Norway parcels?", client_message_id=id, sources=True)
    again = await visitor.say("P1 Norway parcels?", client_message_id=id, sources=True)
    assert (again.text, first.text) == ("Five days [1].", "Five days [1].")
    found, *_, used = again.chunks
    assert found["sources"] == [{"number": 1, "title": "Delivery", "url": f"{SHOP}/delivery"}]
    assert (used["used"], used["answered"]) == ([1], True)
    assert len(running.upstream.calls("P1")) == 1


async def test_links_of_the_owner_stay_and_are_named(staged: Staged, tmp_path: Path) -> None:
    file = str(learn(tmp_path / "a.kefu"))
    running = staged(2, knowledge=file, knowledge_links="https://help.example/faq")
    text = f"[a](https://help.example/faq/1) [b](https://help.example/faqs) [c]({EVIL})"
    running.script(b.answer(text), asking="O1")
    answer = await running.ask(conversation("O1 boots?", sources=True))
    assert answer.text == "[a](https://help.example/faq/1) b c"
    assert answer.chunks[0]["links"] == ["https://help.example/faq"]


async def test_a_downloaded_chat_has_the_links_that_this_version_allows(
    staged: Staged, tmp_path: Path
) -> None:
    """Knowledge 6: an answer of an earlier version, whose filter was weaker, is checked again."""
    store = f"sqlite:///{tmp_path}/chats.sqlite3"
    before = staged(2, store=store)
    visitor = Visitor(before)
    before.script(b.answer(f"[here]({EVIL}/a) and [this]({SHOP}/returns)."), asking="D1")
    await visitor.say("D1 boots?")
    assert EVIL in (await visitor.look("/export?format=md")).text
    running = staged(2, knowledge=str(learn(tmp_path / "a.kefu")), store=store)
    visitor.stage = running
    text = (await visitor.look("/export?format=md")).text
    assert EVIL not in text
    assert "here and this." in text


def test_g6_a_file_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "bad.kefu").write_text("no")
    environment = {"KEFU_KNOWLEDGE": str(tmp_path / "bad.kefu")}
    done = kefu("serve", "--port", "0", folder=tmp_path, environment=environment)
    assert done.returncode == 2
    assert "bad.kefu cannot be read" in done.stderr
    assert "kefu learn" in done.stderr
