"""The answer of a stored chat goes on without its visitor, and other requests take it up."""

from __future__ import annotations

import asyncio

import pytest

from kefu.errors import AnswerCancelled, UpstreamUnavailable
from kefu.sessions.store.model import LEASE, BeginResult, NewMessage, Session, SessionId
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.in_process import Answer, Connection, Process
from tests.fakes.in_process_upstream import DONE, LOST, STOP, STREAM, InProcessUpstream, Reply, text
from tests.fakes.relaying import CLOCK, in_virtual_time

ID = "11111111-2222-4333-8444-555555555555"
WORDS = [f"word{number} " for number in range(100)]
WHOLE = "".join(WORDS).strip()
SPOKEN = STREAM.then(*map(text, WORDS), after=0.1).then(STOP, DONE)
"""An answer of ten seconds."""


class Site:
    """A model, and the processes that share a store."""

    def __init__(self, reply: Reply = SPOKEN) -> None:
        self.model = InProcessUpstream({"one key": reply})
        self.store = ChatsInMemory(CLOCK.now)
        self.one, self.other = (Process(self.store, self.model, CLOCK) for _ in range(2))

    async def ask(self, words: int) -> tuple[Connection, str]:
        """Ask, and wait for so many words. Returns the connection and the session's id."""
        asked = self.one.connect("question", client_message_id=ID)
        await asked.until(WORDS[words - 1])
        return asked, asked.record.answer_headers["X-Session-Id"]

    async def stored(self, session: str) -> list[tuple[str, str]]:
        messages = await self.store.messages(SessionId(session), now=CLOCK.now())
        return [(message.content, message.status) for message in messages]


@pytest.mark.parametrize("words", range(1, 101, 10))
@in_virtual_time
async def test_reload_at_every_tenth_chunk_gets_the_same_text_from_one_request_to_the_model(
    words: int,
) -> None:
    site = Site()
    asked, session = await site.ask(words)
    asked.leave()
    taken_up = await (await site.one.resume(session, ID)).answer()
    assert (taken_up.complete, taken_up.text.strip()) == (True, WHOLE)
    assert taken_up.events[0]["choices"][0]["delta"]["role"] == "assistant"
    assert {event["id"] for event in taken_up.events} == {"c"}
    await asked.ended()
    assert await site.stored(session) == [("question", "ok"), (WHOLE, "ok")]
    assert len(site.model.exchanges) == 1
    [call] = await site.store.calls(SessionId(session))
    assert (call.number, call.stream_complete) == (1, True)


@in_virtual_time
async def test_answer_without_any_reader_is_stored_whole() -> None:
    site = Site()
    asked, session = await site.ask(3)
    asked.leave()
    await asked.ended()
    assert await site.stored(session) == [("question", "ok"), (WHOLE, "ok")]
    stored = await (await site.other.resume(session, ID)).answer()
    assert (stored.complete, stored.text) == (True, WHOLE)
    assert len(site.model.exchanges) == 1


@in_virtual_time
async def test_two_tabs_read_one_answer_at_their_own_pace() -> None:
    """One of them pauses: it then receives all that it has missed in one piece."""
    site = Site()
    asked, session = await site.ask(10)
    slow, fast = [await site.one.resume(session, ID) for _ in range(2)]
    await slow.until(WORDS[9])
    slow.reads.clear()
    first, second = await asked.answer(), await fast.answer()
    slow.reads.set()
    third = await slow.answer()
    assert {answer.text.strip() for answer in (first, second, third)} == {WHOLE}
    assert len(third.events) < 10 < len(second.events)
    assert len(site.model.exchanges) == 1


@in_virtual_time
async def test_connection_that_takes_nothing_is_given_up_when_others_wait() -> None:
    """As when a phone changes its network: nobody closes the old connection."""
    site = Site()
    asked, session = await site.ask(10)
    asked.reads.clear()
    taken_up = await (await site.one.resume(session, ID)).answer()
    assert (taken_up.complete, taken_up.text.strip()) == (True, WHOLE)
    await asked.ended()
    assert WORDS[-1] not in asked.body
    assert await site.stored(session) == [("question", "ok"), (WHOLE, "ok")]
    assert len(site.model.exchanges) == 1


@in_virtual_time
async def test_connection_that_takes_nothing_can_still_be_cancelled() -> None:
    site = Site()
    asked, session = await site.ask(10)
    asked.reads.clear()
    await asyncio.sleep(1)
    assert site.one.cancel(ID)
    asked.leave()
    await asked.ended()
    assert [status for _, status in await site.stored(session)] == ["partial", "partial"]


@in_virtual_time
async def test_retry_of_a_message_that_is_being_answered_takes_up_the_answer() -> None:
    """W4: the widget sends it again when no byte came in time. It has no session yet."""
    site = Site()
    asked, session = await site.ask(5)
    asked.leave()
    again = await site.one.ask("question", client_message_id=ID)
    assert (again.complete, again.text.strip()) == (True, WHOLE)
    assert again.headers["x-session-id"] == session
    assert again.headers["x-session-token"]
    assert len(site.model.exchanges) == 1
    assert await site.stored(session) == [("question", "ok"), (WHOLE, "ok")]


class LateReplies(ChatsInMemory):
    """A store that saves at once; its first reply arrives late."""

    def __init__(self, late: float) -> None:
        super().__init__(CLOCK.now)
        self._late = late

    async def begin(self, session: Session, message: NewMessage, now: float) -> BeginResult:
        begun = await super().begin(session, message, now)
        late, self._late = self._late, 0.0
        await asyncio.sleep(late)
        return begun


async def three_at_once(site: Site, late: float) -> list[Answer]:
    site.store = LateReplies(late)
    site.one = Process(site.store, site.model, CLOCK)
    asked = [site.one.connect("question", client_message_id=ID) for _ in range(3)]
    return [await one.answer() for one in asked]


@in_virtual_time
async def test_d9_the_others_wait_for_the_one_whose_save_is_not_confirmed_yet() -> None:
    """They learn that the message is being answered before the request that answers it does."""
    site = Site()
    answers = await three_at_once(site, late=1)
    assert [answer.text.strip() for answer in answers] == [WHOLE] * 3
    assert len(site.model.exchanges) == 1


@in_virtual_time
async def test_d9_the_others_are_told_to_come_back_if_the_save_is_not_confirmed() -> None:
    site = Site()
    told = [(one.status, one.code) for one in await three_at_once(site, late=60)]
    assert told == [(503, "upstream_service_unavailable"), *[(409, "session_busy")] * 2]
    assert site.model.exchanges == []


@in_virtual_time
async def test_page_of_another_process_waits_for_the_stored_answer() -> None:
    """As on Lambda, where each request reaches another process."""
    site = Site()
    asked, session = await site.ask(5)
    asked.leave()
    busy = await (await site.other.resume(session, ID)).answer()
    assert (busy.status, busy.code) == (409, "session_busy")
    await asked.ended()
    stored = await (await site.other.resume(session, ID)).answer()
    assert (stored.complete, stored.text) == (True, WHOLE)
    assert len(site.model.exchanges) == 1


@in_virtual_time
async def test_message_of_a_killed_process_is_busy_until_its_lease_ends() -> None:
    """Then it has no answer, and nothing asks the model again."""
    site, now, session = Site(), CLOCK.now(), SessionId("a" * 32)
    await site.store.begin(
        Session(session, "", "default", now, now), NewMessage("question", ID), now
    )
    busy = await (await site.other.resume(session, ID)).answer()
    assert (busy.status, busy.code) == (409, "session_busy")
    await asyncio.sleep(LEASE)
    ended = await (await site.other.resume(session, ID)).answer()
    assert (ended.status, ended.code) == (503, "upstream_service_unavailable")
    assert await site.stored(session) == [("question", "interrupted")]
    assert not site.model.exchanges


@pytest.mark.parametrize("has_left", [False, True])
@in_virtual_time
async def test_cancel_ends_the_answer_for_all_its_readers(has_left: bool) -> None:
    site = Site()
    asked, session = await site.ask(5)
    if has_left:
        asked.leave()
    reader = await site.one.resume(session, ID)
    await reader.until(WORDS[7])
    assert site.one.cancel(ID)
    assert (await reader.answer()).code == AnswerCancelled.code
    await asked.ended()
    assert site.model.exchanges[0].closed_at is not None
    assert [status for _, status in await site.stored(session)] == ["partial", "partial"]


@in_virtual_time
async def test_deletion_of_the_chat_ends_the_answer_for_all_its_readers() -> None:
    site = Site()
    asked, session = await site.ask(5)
    asked.leave()
    reader = await site.one.resume(session, ID)
    await reader.until(WORDS[7])
    await site.one.delete(session)
    assert (await reader.answer()).code == AnswerCancelled.code
    await asked.ended()
    assert site.model.exchanges[0].closed_at is not None
    assert await site.stored(session) == []


@in_virtual_time
async def test_stopping_server_ends_the_answers_that_nobody_reads() -> None:
    site = Site()
    asked, session = await site.ask(5)
    asked.leave()
    reader = await site.one.resume(session, ID)
    await reader.until(WORDS[5])
    site.one.close()
    assert (await reader.answer()).code == UpstreamUnavailable.code
    await asked.ended()
    assert [status for _, status in await site.stored(session)] == ["partial", "partial"]


@in_virtual_time
async def test_answer_that_the_model_breaks_off_ends_with_its_error_for_all_its_readers() -> None:
    site = Site(STREAM.then(*map(text, WORDS[:20]), after=0.1).then(LOST))
    asked, session = await site.ask(5)
    reader = await site.one.resume(session, ID)
    first, second = await asked.answer(), await reader.answer()
    assert first.text == second.text == "".join(WORDS[:20])
    assert first.code == second.code == UpstreamUnavailable.code
    ended = await (await site.one.resume(session, ID)).answer()
    assert (ended.status, ended.code) == (503, UpstreamUnavailable.code)


@in_virtual_time
async def test_reader_that_leaves_ends_nothing_but_its_own_response() -> None:
    site = Site()
    asked, session = await site.ask(5)
    reader = await site.one.resume(session, ID)
    await reader.until(WORDS[5])
    reader.leave()
    await reader.ended()
    assert reader.record.code == "client_gone"
    assert (await asked.answer()).text.strip() == WHOLE


@in_virtual_time
async def test_reader_of_a_thinking_model_gets_pings() -> None:
    """The page gives up when no byte comes for five seconds."""
    site = Site(STREAM.then(text("at last"), after=20).then(STOP, DONE))
    asked = site.one.connect("question", client_message_id=ID)
    await asked.until(":")
    session = asked.record.answer_headers["X-Session-Id"]
    asked.leave()
    reader = await site.one.resume(session, ID)
    await asyncio.sleep(0.1)
    assert reader.body.startswith(":")
    answer = await reader.answer()
    assert (answer.complete, answer.text) == (True, "at last")
    assert answer.body.count(": ") >= 6


@in_virtual_time
async def test_message_that_the_chat_does_not_have_is_refused() -> None:
    site = Site()
    asked, session = await site.ask(5)
    await asked.ended()
    other = await (await site.one.resume(session, ID.replace("1", "2"))).answer()
    assert (other.status, other.code) == (400, "invalid_request")
