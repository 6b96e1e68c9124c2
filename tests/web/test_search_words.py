"""G16: the model writes search words for a question whose own words fit the pages badly."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.chat.search_words import MAX_REPLY_TOKENS
from kefu.sessions.store.model import SessionId
from tests.fakes import behaviours as b
from tests.fakes.asking import conversation
from tests.fakes.chatting import STORE, Visitor, store_of
from tests.fakes.fixtures import Staged
from tests.fakes.stage import FAST, Stage, stage
from tests.web.test_knowledge import SYSTEM, learn, passages

SEARCH = '{"questions":'
"""How the message of a call for search words begins."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    file = learn(tmp_path_factory.mktemp("pages") / "shop.kefu")
    with stage(
        20, **FAST, knowledge=str(file), knowledge_rewrite="auto", system_prompt=SYSTEM
    ) as running:
        yield running


def titles(running: Stage, question: str) -> list[str]:
    """Of the passages that the answer to a question was given."""
    [call] = [one for one in running.upstream.calls(question) if SEARCH not in one.question]
    return [one["title"] for one in passages(call.body["messages"][-1]["content"])]


async def test_g16_words_of_the_model_find_the_page_that_the_question_misses(shop: Stage) -> None:
    shop.script(b.answer("boots return ", "\nsent back <|im_start|> days"), asking=SEARCH)
    assert (await shop.ask("My shoes hurt, what now?")).complete
    assert titles(shop, "shoes hurt")[0] == "Returns"
    call, answer = shop.upstream.calls("shoes hurt")
    assert call.body["max_tokens"] == MAX_REPLY_TOKENS
    asked = call.body["messages"][-1]["content"]
    assert json.loads(asked) == {"questions": ["My shoes hurt, what now?"]}
    assert "language of the pages, which is: en" in call.body["messages"][0]["content"]
    # The reply becomes terms, and nothing of it reaches the model again.
    assert "im_start" not in json.dumps(answer.body)


async def test_g16_a_question_that_fits_is_searched_in_its_own_words(shop: Stage) -> None:
    await shop.ask("Are customs for Norway paid at checkout?")
    assert len(shop.upstream.calls("Are customs")) == 1


async def test_g16_a_short_question_is_put_into_words_too(shop: Stage) -> None:
    shop.script(b.answer("parcels Norway days"), asking=SEARCH)
    await shop.ask("Customs slow?")
    assert "Delivery" in titles(shop, "Customs slow?")


async def test_g16_a_short_question_that_a_title_answers_is_searched_alone(shop: Stage) -> None:
    await shop.ask("Customs for Norway?")
    assert len(shop.upstream.calls("Customs for Norway?")) == 1


async def test_g16_a_question_in_another_language_finds_the_page(shop: Stage) -> None:
    shop.script(b.answer("customs Norway paid"), asking=SEARCH)
    await shop.ask("挪威的关税谁来付？")
    assert titles(shop, "挪威")[0] == "Customs"


async def test_g16_a_short_follow_up_is_put_into_words_with_the_question_before(
    shop: Stage,
) -> None:
    shop.script(b.answer("boots sent back"), asking=SEARCH)
    await shop.ask(conversation("Parcels to Norway, boots?", "Yes.", "And how long after?"))
    call, _ = shop.upstream.calls("And how long after?")
    assert json.loads(call.body["messages"][-1]["content"]) == {
        "questions": ["Parcels to Norway, boots?", "And how long after?"]
    }


@pytest.mark.parametrize("failure", [b.status(500), b.silent, b.stall_after(2)])
async def test_g16_without_words_in_time_the_question_is_searched_alone(
    staged: Staged, tmp_path: Path, failure: b.Behaviour
) -> None:
    """Later questions do not wait for words: a slow model is not asked for a while."""
    running = staged(
        20, **FAST, knowledge=str(learn(tmp_path / "shop.kefu")), knowledge_rewrite="auto"
    )
    running.script(*[failure] * 9, asking=SEARCH)
    assert (await running.ask("Z1 qwert Norway asdfg yxcvb?")).complete
    assert titles(running, "Z1 ") == ["Customs", "Delivery"]
    calls = len(running.upstream.calls(SEARCH))
    assert calls
    assert (await running.ask("Z2 qwert Norway asdfg yxcvb?")).complete
    assert len(running.upstream.calls(SEARCH)) == calls


async def test_g16_the_call_log_has_the_words_and_their_call(
    staged: Staged, tmp_path: Path
) -> None:
    file = learn(tmp_path / "a.kefu")
    running = staged(2, knowledge=str(file), knowledge_rewrite="auto", store=STORE, capture="all")
    running.script(b.answer("boots returns"), asking=SEARCH)
    visitor = Visitor(running)
    await visitor.say("My shoes hurt, what now?")
    async with store_of(running, time.time) as store:
        calls = await store.calls(SessionId(visitor.session_id or ""))
    metas = [json.loads(call.meta) for call in calls]
    assert sorted(meta.get("purpose", "") for meta in metas) == ["", "search"]
    [answer] = [meta for meta in metas if "purpose" not in meta]
    assert answer["knowledge"]["words"] == "boots returns"
