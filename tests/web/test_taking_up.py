"""`POST /api/sessions/{id}/answer` of the real service: who leaves finds the same answer again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, ask, client
from tests.fakes.chatting import STORE, Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.stage import FAST, Stage, stage

WORDS = [f"word{number} " for number in range(40)]
WHOLE = "".join(WORDS).strip()


@pytest.fixture(scope="module")
def kept() -> Iterator[Stage]:
    with stage(20, **FAST, store=STORE) as running:
        yield running


async def left_at(visitor: Visitor, question: str, word: str, **more: Any) -> str:
    """Ask, and disconnect at this word of the answer. Returns the message's id."""
    mine = new_id()
    body = {"message": question, "client_message_id": mine, "session_id": visitor.session_id}
    asked = {name: value for name, value in {**body, **more}.items() if value}
    async with client() as browser:
        url = f"{visitor.stage.url}/api/chat"
        async with browser.stream("POST", url, json=asked, headers=visitor.headers) as response:
            visitor.session_id = response.headers["X-Session-Id"]
            visitor.token = response.headers["X-Session-Token"]
            async for line in response.aiter_lines():
                if word in line:
                    break
    return mine


async def taken_up(visitor: Visitor, client_message_id: str, **more: Any) -> Answer:
    body = {"client_message_id": client_message_id, **more}
    path = f"/api/sessions/{visitor.session_id}/answer"
    return await ask(visitor.stage.url, body, path=path, headers=visitor.headers)


@pytest.mark.slow
@pytest.mark.parametrize("word", WORDS[::10])
async def test_who_leaves_at_every_tenth_chunk_finds_the_same_text_of_one_request_to_the_model(
    kept: Stage, question: str, word: str
) -> None:
    kept.script(b.answer(*WORDS, delay=0.05), asking=question)
    visitor = Visitor(kept)
    mine = await left_at(visitor, question, word)
    answer = await taken_up(visitor, mine)
    assert (answer.complete, answer.text.strip()) == (True, WHOLE)
    assert await visitor.shown() == [("user", question, "ok"), ("assistant", WHOLE, "ok")]
    # Afterwards the stored answer is the same, for a retry as well.
    assert (await taken_up(visitor, mine)).text == WHOLE
    assert (await visitor.say(question, client_message_id=mine)).text == WHOLE
    assert len(kept.upstream.calls(question)) == 1


async def test_new_answer_to_an_earlier_message_is_taken_up_by_both_ids(
    kept: Stage, question: str
) -> None:
    kept.script(b.answer("a former answer"), asking=question)
    visitor, first = Visitor(kept), new_id()
    await visitor.say(question, client_message_id=first)
    kept.script(b.answer(*WORDS, delay=0.02), asking=question)
    second = await left_at(visitor, question, WORDS[3], again=first)
    assert (await taken_up(visitor, second, again=first)).text.strip() == WHOLE
    assert (await taken_up(visitor, second, again=first)).text == WHOLE
    assert await visitor.shown() == [("user", question, "ok"), ("assistant", WHOLE, "ok")]


@pytest.mark.slow
async def test_only_the_visitor_of_the_chat_takes_its_answer_up(kept: Stage, question: str) -> None:
    """Another visitor with a chat of their own, an invalid token, and none at all."""
    kept.script(b.answer(*WORDS, delay=0.05), asking=question)
    visitor, other = Visitor(kept), Visitor(kept)
    await other.say("hello")
    mine = await left_at(visitor, question, WORDS[3])
    for token in (other.token, f"{visitor.token}x", ""):
        stranger = Visitor(kept)
        stranger.session_id, stranger.token = visitor.session_id, token
        refused = await taken_up(stranger, mine)
        assert (refused.status, refused.error["code"]) == (404, "session_not_found")
    # Nor does the own chat lead to the answer of another.
    found = await taken_up(other, mine)
    assert (found.status, found.error["code"]) == (400, "invalid_request")
    assert (await taken_up(visitor, mine)).text.strip() == WHOLE


async def test_message_of_a_killed_server_is_free_when_the_server_is_back(
    staged: Staged, question: str
) -> None:
    """D10, H17: it has no answer, and the model is asked again only when it is sent again."""
    running = staged(4, store=STORE)
    running.script(b.answer(*WORDS, delay=0.2), asking=question)
    visitor = Visitor(running)
    mine = await left_at(visitor, question, WORDS[2])
    running.service.restart(kill=True)
    gone = await taken_up(visitor, mine)
    assert (gone.status, gone.error["code"]) == (503, "upstream_service_unavailable")
    assert await visitor.shown() == [("user", question, "interrupted")]
    assert len(running.upstream.calls(question)) == 1
    running.script(b.answer("the answer"), asking=question)
    assert (await visitor.say(question, client_message_id=mine)).text == "the answer"
    assert await visitor.shown() == [("user", question, "ok"), ("assistant", "the answer", "ok")]


async def test_deletion_of_the_chat_ends_an_answer_that_nobody_reads(
    kept: Stage, question: str
) -> None:
    kept.script(b.answer(*WORDS, delay=0.5), asking=question)
    visitor = Visitor(kept)
    mine = await left_at(visitor, question, WORDS[2])
    reading = asyncio.create_task(taken_up(visitor, mine))
    call = await kept.upstream.asked(question)
    assert (await visitor.look("", "DELETE")).status_code == 204
    assert await kept.upstream.until(lambda: call.closed_at is not None)
    ended = await reading
    # The deletion may come before the request.
    assert ended.error["code"] in {"answer_cancelled", "session_not_found"}
    assert (await taken_up(visitor, mine)).status == 404
