"""P3 to P17: every outcome of a stored chat's turn, as its visitor and its store see it.

A process, a model and a store in virtual time: seconds of waiting take no time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.requests import Request

from kefu.bootstrap.clock import SystemClock
from kefu.chat.admission import Allowance
from kefu.chat.grounding import Grounder, PassageBudget
from kefu.chat.limits import Rate
from kefu.errors import SessionNotFound, UpstreamUnavailable
from kefu.knowledge.finding import PassageHit
from kefu.knowledge.sources import parted
from kefu.sessions import hooks
from kefu.sessions.hooks import EndedTurn, Hook, HookContext
from kefu.sessions.store.attendance import Attendance
from kefu.sessions.store.capacity import LEVEL_STARTS, RETRY_AFTER, Capacity
from kefu.sessions.store.model import LEASE, BeginResult, NewMessage, Session, SessionId
from kefu.web.request_record import Record
from kefu.web.schemas import MessageRequest
from kefu.web.session_chat import KeptChats
from tests.fakes.chats_in_memory import ChatsInMemory
from tests.fakes.daily_budget import budget_left
from tests.fakes.in_process import Connection, Process
from tests.fakes.in_process_upstream import (
    DONE,
    LOST,
    SILENT,
    STOP,
    STREAM,
    Reply,
    answer,
    refusal,
    text,
    usage,
)
from tests.fakes.kept_site import ID, Site, facts
from tests.fakes.pictures import png, url
from tests.fakes.relaying import CLOCK, in_virtual_time
from tests.fakes.spoken import Spoken

SLOW = STREAM.then(*(text(f"word{number} ") for number in range(60)), after=1).then(STOP, DONE)
"""An answer of a minute."""
CUT = STREAM.then(text("half an "), text("answer"), LOST)
COUNTED = STREAM.then(text("hello"), STOP, usage(20, 5), DONE)


@in_virtual_time
async def test_p13_a_complete_answer_is_stored_with_its_call_and_counted() -> None:
    site = Site(COUNTED)
    given = await site.ask()
    assert (given.complete, given.text) == (True, "hello")
    assert await site.stored() == [("question", "ok"), ("hello", "ok")]
    [call] = await site.calls()
    assert (call.stream_complete, call.error, call.finish_reason) == (True, None, "stop")
    day = await site.day()
    counted = (day.turns, day.chats, day.errors, day.prompt_tokens, day.completion_tokens)
    assert counted == (1, 1, 0, 20, 5)
    assert day.first_words == 1
    assert site.outcomes == [("ok", "hello")]


@in_virtual_time
async def test_p13_a_cut_answer_is_stored_as_partial_with_the_text_that_was_shown() -> None:
    site = Site(CUT)
    given = await site.ask()
    assert (given.text, facts(given)[:2]) == (
        "half an answer",
        (200, "upstream_service_unavailable"),
    )
    assert await site.stored() == [("question", "partial"), ("half an answer", "partial")]
    [call] = await site.calls()
    assert call.stream_complete is False
    assert json.loads(call.error or "")["code"] == "upstream_service_unavailable"
    assert await site.errors() == (await site.day()).errors == 1
    assert site.outcomes == [("partial", "half an answer")]


@in_virtual_time
async def test_p13_a_refused_question_is_stored_as_failed_and_has_no_answer() -> None:
    site = Site(refusal(500))
    given = await site.ask()
    assert facts(given)[:2] == (503, "upstream_service_unavailable")
    assert await site.stored() == [("question", "failed")]
    [call] = await site.calls()
    assert call.stream_complete is False
    [attempt] = json.loads(call.meta)["attempts"]
    assert (attempt["outcome"], attempt["said"]) == ("http_500", '{"error": {"message": "no"}}')
    assert (await site.day()).errors == 1
    assert site.outcomes == [("failed", "")]


@in_virtual_time
async def test_p13_an_answer_without_text_is_stored_as_failed() -> None:
    site = Site(STREAM.then(text("  \n"), STOP, DONE))
    assert facts(await site.ask())[:2] == (503, "upstream_service_unavailable")
    assert await site.stored() == [("question", "failed")]


@in_virtual_time
async def test_p13_a_cancel_before_any_text_is_no_failure_of_the_service() -> None:
    """M3: the status `failed` is for errors; the visitor has only stopped waiting."""
    site = Site(SILENT)
    asked = await site.began(0.5)
    assert site.process.cancel(ID)
    assert facts(await asked.answer())[:2] == (409, "answer_cancelled")
    assert await site.stored() == [("question", "partial")]
    assert site.outcomes == [("partial", "")]


@in_virtual_time
async def test_p13_a_cancelled_answer_keeps_its_text_as_partial() -> None:
    site = Site(SLOW)
    asked = await site.began(3.5)
    assert site.process.cancel(ID)
    given = await asked.answer()
    assert (given.text, given.code) == ("word0 word1 word2 ", "answer_cancelled")
    assert await site.stored() == [("question", "partial"), ("word0 word1 word2", "partial")]
    [call] = await site.calls()
    assert json.loads(call.error or "")["code"] == "answer_cancelled"
    assert site.model.exchanges[0].closed_at == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("reply", "told"), [(SLOW, "word0 word1 word2 "), (SILENT, "")], ids=["answering", "silent"]
)
@in_virtual_time
async def test_h4_a_person_who_takes_over_ends_the_answer_as_if_it_were_complete(
    reply: Reply, told: str
) -> None:
    """The page then looks for the person at once, and the model knows the question later."""
    site = Site(reply)
    asked = await site.began(3.5)
    reader = await site.process.resume(site.session, ID)
    site.process.runtime.running.take_over(site.session)
    for given in (await asked.answer(), await reader.answer()):
        assert (given.status, given.text, given.complete) == (200, told, True)
    stored = [("question", "ok"), (told.strip(), "ok")]
    assert await site.stored() == [one for one in stored if one[0]]
    [call] = await site.calls()
    assert json.loads(call.error or "")["message"] == "A person has taken the chat over."
    assert site.model.exchanges[0].closed_at == pytest.approx(3.5)


@in_virtual_time
async def test_h4_a_message_that_is_not_saved_yet_is_not_ended_by_a_person() -> None:
    site = Site(COUNTED)
    site.store.seconds["begin"] = 2
    asked = await site.began(1)
    site.process.runtime.running.take_over(site.session)
    assert (await asked.answer()).text == "hello"
    assert await site.stored() == [("question", "ok"), ("hello", "ok")]


@in_virtual_time
async def test_p13_an_error_of_the_service_before_any_text_is_a_failure_also_when_it_stops() -> (
    None
):
    """A deadline or a restart is no wish of the visitor."""
    site = Site(SILENT)
    asked = await site.began(0.5)
    site.process.close()
    assert facts(await asked.answer())[:2] == (503, "upstream_service_unavailable")
    assert await site.stored() == [("question", "failed")]


@in_virtual_time
async def test_p13_a_stopping_server_keeps_the_text_as_partial() -> None:
    site = Site(SLOW)
    asked = await site.began(2.5)
    site.process.close()
    given = await asked.answer()
    assert (given.text, given.code) == ("word0 word1 ", "upstream_service_unavailable")
    assert await site.stored() == [("question", "partial"), ("word0 word1", "partial")]


@in_virtual_time
async def test_p13_a_bug_keeps_the_text_as_partial_and_says_nothing_of_its_cause() -> None:
    """Its text may hold private data, which only the log may have."""
    site = Site(STREAM.then(text("half"), ValueError("a private word")))
    asked = await site.began(0)
    with pytest.raises(ValueError, match="private"):
        await asked.ended()
    assert await site.stored() == [("question", "partial"), ("half", "partial")]
    [call] = await site.calls()
    assert json.loads(call.error or "")["code"] == "internal_error"
    assert "private" not in asked.body + (call.error or "") + call.meta


@pytest.mark.parametrize("seconds", [0.5, 2.5])
@in_virtual_time
async def test_c2_an_answer_goes_on_and_is_stored_whole_when_its_visitor_leaves(
    seconds: float,
) -> None:
    """Before its first text, and after."""
    site = Site(STREAM.then(*map(text, "abc"), after=1).then(STOP, DONE))
    asked = await site.began(seconds)
    asked.leave()
    await asked.ended()
    assert await site.stored() == [("question", "ok"), ("abc", "ok")]
    assert site.outcomes == [("ok", "abc")]
    assert site.model.exchanges[0].closed_at is None


@in_virtual_time
async def test_c2_a_visitor_who_leaves_before_the_message_is_stored_gets_no_answer() -> None:
    site = Site()
    site.store.seconds["begin"] = 1
    asked = await site.began(0.5)
    asked.leave()
    await asked.ended()
    assert (asked.record.code, site.asked, asked.body) == ("client_gone", 0, "")
    assert CLOCK.monotonic() == pytest.approx(0.5)


@in_virtual_time
async def test_p6_p13_the_steps_of_a_turn_are_taken_in_their_order() -> None:
    """Nothing is paid before it is stored, and `[DONE]` follows what was stored."""
    site = Site()
    names = "begin", "messages", "finish", "record"
    site.store.seconds = dict.fromkeys(names, 0.25)
    asked = await site.began(0)
    await asked.until("[DONE]")
    assert site.store.steps == [
        ("begin", 0.0),
        ("messages", 0.25),
        ("finish", 0.5),
        ("record", 0.5),
    ]
    assert [one.at for one in site.model.exchanges] == [0.5]
    assert CLOCK.monotonic() == pytest.approx(0.75)
    await asked.ended()


@pytest.mark.parametrize(
    "allowance",
    [
        Allowance(per_ip=Rate(1, 60)),
        Allowance(per_session=Rate(1, 60)),
        Allowance(site=Rate(1, 60)),
    ],
)
@in_virtual_time
async def test_t1_each_limit_refuses_a_message_before_it_is_stored(allowance: Allowance) -> None:
    site = Site(allowance=allowance)
    await site.ask(id="one")
    if allowance.per_session:  # the message of a new chat does not count
        await site.ask(id="two")
    before, asked = await site.stored(), site.asked
    given = await site.ask("more", id="three")
    assert (given.status, json.loads(given.body)["error"]["type"]) == (429, "rate_limit_error")
    assert (await site.stored(), site.asked) == (before, asked)


@in_virtual_time
async def test_t4_a_spent_budget_is_a_failure_of_a_stored_question_and_costs_nothing() -> None:
    site = Site(allowance=Allowance(daily_tokens=10))
    given = await site.ask()
    assert (given.status, given.code, site.asked) == (429, "budget_exhausted", 0)
    assert await site.stored() == [("question", "failed")]
    assert await budget_left(site.process.admission, 10) == 10


@pytest.mark.parametrize("how", ["cancel", "close", "delete", "leave"])
@in_virtual_time
async def test_c2_however_an_answer_ends_its_budget_is_settled_and_its_slot_is_free(
    how: str,
) -> None:
    site = Site(COUNTED, SLOW, allowance=Allowance(daily_tokens=5000, streams=1))
    await site.ask(id="first")
    left = await budget_left(site.process.admission, 5000)
    assert left == 5000 - 25
    asked = await site.began(3.5)
    busy = await site.process.ask("another", client_message_id="another")
    assert (busy.status, busy.code) == (503, "upstream_service_unavailable")
    if how == "cancel":
        assert site.process.cancel(ID)
    elif how == "close":
        site.process.close()
    elif how == "delete":
        await site.process.delete(site.session)
    else:
        asked.leave()
    await asked.ended()
    spent = left - await budget_left(site.process.admission, 5000)
    assert 0 < spent < (200 if how == "leave" else 50), "what was said, not what was reserved"
    if how != "close":
        with site.process.admission.slot("1.2.3.4"):
            pass


@in_virtual_time
async def test_p13_the_time_to_the_first_word_counts_from_the_visitors_request() -> None:
    site = Site(STREAM.then(text("word"), after=0.75).then(STOP, DONE))
    site.store.seconds["begin"] = 0.5
    await site.ask()
    day = await site.day()
    assert (day.first_words, day.first_word_ms) == (1, 1250)
    [call] = await site.calls()
    assert call.ttft == pytest.approx(1.25)


@in_virtual_time
async def test_p13_an_answer_without_a_first_word_does_not_count_in_its_time() -> None:
    site = Site(refusal(500))
    await site.ask()
    day = await site.day()
    assert (day.first_words, day.first_word_ms) == (0, 0)


@in_virtual_time
async def test_p10_a_call_says_what_was_asked_and_for_whom() -> None:
    site = Site(COUNTED)
    await site.ask("first", id="first")
    await site.ask("second", page={"url": "https://shop.example/hats", "title": "Hats"})
    [_, call] = await site.calls()
    meta = json.loads(call.meta)
    assert (meta["request_id"], meta["config_id"]) == ("request", "default")
    assert meta["history"] == {"read": 2, "told": 2}
    assert meta["page"]["title"] == "Hats"
    assert meta["timings"] == {"started": CLOCK.now(), "first_event_ms": 0.0, "chunk_count": 3}
    [attempt] = meta["attempts"]
    assert (attempt["outcome"], attempt["at"], attempt["ms"]) == ("ok", 0.0, 0.0)
    assert (call.prompt_tokens, call.completion_tokens, call.attempt) == (20, 5, 1)
    said = json.loads(call.request or b"")["messages"]
    assert [one["content"] for one in said if one["role"] != "system"] == [
        "first",
        "hello",
        "second",
    ]
    assert json.loads(call.response or "")["choices"][0]["message"]["content"] == "hello"


@in_virtual_time
async def test_p10_a_call_has_the_times_of_its_attempt_and_of_its_first_text() -> None:
    site = Site(STREAM.then(text("a"), after=0.75).then(text("b"), STOP, DONE, after=1))
    site.store.seconds["begin"] = 0.5
    await site.ask()
    [call] = await site.calls()
    meta = json.loads(call.meta)
    [attempt] = meta["attempts"]
    assert (attempt["at"], attempt["ms"], attempt["rested"]) == (500.0, 750.0, False)
    assert (meta["timings"]["first_event_ms"], call.duration) == (1250.0, 4.25)
    assert call.created_at == CLOCK.now() - 4.25


@in_virtual_time
async def test_p17_a_lost_lease_ends_the_answer_and_leaves_the_turn_to_its_new_owner() -> None:
    """Another process, whose clock is ahead, takes the turn."""
    site = Site(SLOW)
    asked = await site.began(3.5)
    session = await site.store.session(site.session)
    assert session
    later = CLOCK.now() + LEASE + 1
    begun = await site.store.begin(session, NewMessage("question", ID), later)
    assert begun.retries == 1
    assert (await asked.answer()).code == "session_busy"
    assert CLOCK.monotonic() == pytest.approx(LEASE / 2)
    assert await site.stored() == [("question", "pending")]
    assert (await site.day()).turns == 0


@in_virtual_time
async def test_p17_a_deletion_by_another_process_ends_the_answer_and_nothing_is_saved() -> None:
    site = Site(SLOW)
    asked = await site.began(3.5)
    session = site.session
    await site.store.delete(session)
    assert (await asked.answer()).code == "session_busy"
    assert CLOCK.monotonic() == pytest.approx(LEASE / 2)
    assert await site.store.session(session) is None
    assert await site.chats() == []
    assert await site.store.calls(session) == []
    assert site.model.exchanges[0].closed_at == pytest.approx(LEASE / 2)


@in_virtual_time
async def test_p17_a_message_to_a_deleted_chat_is_not_found_and_creates_none() -> None:
    site = Site()
    await site.ask()
    await site.store.delete(site.session)
    assert facts(await site.ask("more", id=None)) == (404, "session_not_found", None)
    assert await site.chats() == []


@in_virtual_time
async def test_p17_a_retry_of_an_answered_message_gets_its_answer_without_the_model() -> None:
    site = Site(COUNTED)
    await site.ask()
    again = await site.ask()
    assert (again.complete, again.text, site.asked) == (True, "hello", 1)
    assert len(await site.messages()) == 2
    assert (await site.day()).turns == 1


@pytest.mark.parametrize(("first", "stored"), [(refusal(500), 1), (CUT, 2)])
@in_virtual_time
async def test_p17_a_retry_of_a_failed_first_message_is_the_same_chat_counted_once(
    first: Reply, stored: int
) -> None:
    """M3: the panel's numbers of chats and of turns."""
    site = Site(first, COUNTED)
    await site.ask()
    assert len(await site.messages()) == stored
    await asyncio.sleep(60)  # the key cools down
    again = await site.process.ask("question", client_message_id=ID)
    assert (again.complete, again.text) == (True, "hello")
    assert await site.stored() == [("question", "ok"), ("hello", "ok")]
    day = await site.day()
    assert (day.chats, day.turns, day.errors) == (1, 2, 1)
    assert [json.loads(call.meta).get("again") for call in await site.calls()] == [None, 1]


@in_virtual_time
async def test_p17_a_known_message_with_another_text_is_refused_and_may_be_sent_again() -> None:
    site = Site(refusal(500), COUNTED)
    await site.ask("question")
    changed = await site.ask("another question")
    assert facts(changed) == (422, "message_changed", None)
    assert json.loads(changed.body)["error"]["param"] == "client_message_id"
    assert await site.stored() == [("question", "failed")]
    await asyncio.sleep(60)  # the key cools down
    assert (await site.ask("question")).text == "hello"


@in_virtual_time
async def test_p17_another_text_ends_neither_an_answer_nor_one_that_is_being_made() -> None:
    site = Site(STREAM.then(text("a")).then(text("b"), after=5).then(STOP, DONE))
    asked = await site.began(2)
    assert (await site.process.ask("another", client_message_id=ID)).code == "message_changed"
    assert (await asked.answer()).complete
    site.last = await asked.answer()
    assert (await site.ask("another")).code == "message_changed"
    assert await site.stored() == [("question", "ok"), ("ab", "ok")]
    assert site.asked == 1


@pytest.mark.parametrize(
    ("after", "wait"), [(0.0, 3), (LEASE - 3, 3), (LEASE - 1.5, 2), (LEASE - 0.5, 1)]
)
@in_virtual_time
async def test_p17_a_busy_message_may_be_asked_again_after_three_seconds_at_most(
    after: float, wait: int
) -> None:
    """M3: the lease lasts 15 seconds, but most answers end long before."""
    site, now, session = Site(), CLOCK.now(), SessionId("a" * 32)
    chat = Session(session, "", "default", now, now)
    await site.store.begin(chat, NewMessage("question", ID), now)
    token = await site.process.sessions.token(session)
    await asyncio.sleep(after)
    busy = await site.ask(session_id=session, token=token)
    assert facts(busy) == (409, "session_busy", str(wait))
    another = await site.ask("another", session_id=session, token=token)
    assert (another.code, site.asked) == ("message_changed", 0)
    assert await site.stored() == [("question", "pending")], "another text does not end it"


@in_virtual_time
async def test_p17_a_new_answer_replaces_the_former_one_with_its_rating() -> None:
    site = Site(answer("first"), answer("second"))
    await site.ask()
    await site.store.rate(site.session, ID, "down", "wrong")
    given = await site.ask(replaces=True, attempt="one")
    assert (given.text, site.asked) == ("second", 2)
    [_, message] = await site.messages()
    assert (message.content, message.rating, message.comment) == ("second", None, "")
    assert (await site.day()).downs == 0
    repeated = await site.ask(replaces=True, attempt="one")
    assert (repeated.text, site.asked) == ("second", 2)


@in_virtual_time
async def test_w24_a_changed_question_replaces_the_former_one_when_it_has_an_answer() -> None:
    site = Site(answer("first"), refusal(500), answer("second"))
    await site.ask()
    failed = await site.ask("another", replaces=True, attempt="one")
    assert failed.code == "upstream_service_unavailable"
    assert await site.stored() == [("question", "ok"), ("first", "ok")]
    await asyncio.sleep(60)  # the key cools down
    given = await site.ask("another", replaces=True, attempt="two")
    assert given.text == "second"
    assert await site.stored() == [("another", "ok"), ("second", "ok")]
    asked = json.loads((await site.calls())[-1].request or b"")["messages"]
    assert [one["content"] for one in asked if one["role"] == "user"] == ["another"]
    repeated = await site.ask("another", replaces=True, attempt="two")
    assert (repeated.text, site.asked) == ("second", 3)


@in_virtual_time
async def test_w24_a_question_is_not_changed_while_a_person_has_the_chat() -> None:
    site = Site(answer("first"))
    await site.ask()
    await site.store.set_attendance(site.session, Attendance("person", "Ingrid", CLOCK.now()))
    assert (await site.ask("another", replaces=True, attempt="one")).code == "message_changed"
    assert await site.stored() == [("question", "ok"), ("first", "ok")]


@in_virtual_time
async def test_p10_calls_of_a_replaced_answer_keep_what_the_model_said() -> None:
    site = Site(answer("first answer of the model"), answer("second answer of the model"))
    await site.ask()
    await site.ask(replaces=True, attempt="one")
    said = [
        json.loads(call.response or "")["choices"][0]["message"]["content"]
        for call in await site.calls()
    ]
    assert said == ["first answer of the model", "second answer of the model"]


@pytest.mark.parametrize("how", ["refused", "cancelled"])
@in_virtual_time
async def test_p17_a_new_answer_that_fails_leaves_the_former_one(how: str) -> None:
    """Cancelled or refused, without any text: the message still has a complete answer."""
    site = Site(answer("first"), refusal(500) if how == "refused" else SILENT)
    await site.ask()
    more: dict[str, Any] = {"client_message_id": ID, "replaces": True, "attempt": "one"}
    asked = site.process.connect("question", site.last, **more)
    await asyncio.sleep(0.5)
    if how == "cancelled":
        assert site.process.cancel(ID)
    await asked.ended()
    assert await site.stored() == [("question", "ok"), ("first", "ok")]
    assert [status for status, _ in site.outcomes] == ["ok", "failed"]


def full(part: float) -> Capacity:
    """Of a store that is full to this part."""

    async def used() -> int:
        return round(100 * part)

    return Capacity(used, 100, CLOCK.monotonic, lambda _: None)


@pytest.mark.parametrize(
    ("part", "new", "known"),
    [(LEVEL_STARTS[1], 200, 200), (LEVEL_STARTS[2], 503, 200), (LEVEL_STARTS[3], 503, 503)],
)
@in_virtual_time
async def test_d19_a_full_store_refuses_messages_before_the_model_is_paid(
    part: float, new: int, known: int
) -> None:
    """First those of new chats. The client learns when to try again, and no session's id."""
    site = Site()
    await site.ask(id="known")
    site.process = Process(site.store, site.model, CLOCK, capacity=(capacity := full(part)))
    await capacity.room()
    for after, expected in ((None, new), (site.last, known)):
        asked = site.asked
        given = await site.process.ask("question", after)
        assert (given.status, site.asked) == (expected, asked + (expected == 200))
        if expected == 503:
            assert facts(given)[1:] == ("store_full", str(RETRY_AFTER))
            assert after or "x-session-id" not in given.headers
    await capacity.aclose()


class SiteHook(Hook):
    """A hook of the site that replies, or returns another text."""

    def __init__(self, said: str) -> None:
        self.said = said

    async def user_message(self, text: str, visit: HookContext) -> str:
        return self.said


@in_virtual_time
async def test_p5_the_reply_of_a_hook_is_the_answer_and_no_model_is_asked() -> None:
    site = Site(hooks={"own": SiteHook(hooks.Reply(" We are closed. "))})
    given = await site.ask()
    assert (given.complete, given.text.strip(), site.asked) == (True, "We are closed.", 0)
    assert await site.stored() == [("question", "ok"), ("We are closed.", "ok")]
    assert site.outcomes == [("ok", "We are closed.")]
    assert await site.calls() == []
    assert (await site.ask()).text == "We are closed."
    assert (await site.day()).turns == 1


@in_virtual_time
async def test_p5_a_text_that_a_hook_empties_is_refused_and_nothing_is_saved() -> None:
    site = Site(hooks={"own": SiteHook("")})
    given = await site.ask()
    assert facts(given) == (400, "invalid_request", None)
    assert json.loads(given.body)["error"]["param"] == "message"
    assert (site.asked, await site.chats(), site.outcomes) == (0, [], [])
    assert "x-session-id" not in given.headers


@in_virtual_time
async def test_h4_a_message_to_a_person_is_stored_without_an_answer_of_the_model() -> None:
    site = Site(answer("first"))
    await site.ask(id="first")
    await site.store.set_attendance(site.session, Attendance("waiting", "", CLOCK.now()))
    await site.store.set_attendance(site.session, Attendance("person", "Ingrid", CLOCK.now()))
    for _ in range(2):
        given = await site.ask("hello Ingrid")
        assert (given.complete, given.text, site.asked) == (True, "", 1)
    assert (await site.stored())[2:] == [("hello Ingrid", "ok")]
    await site.store.set_attendance(site.session, Attendance("closed", "Ingrid", CLOCK.now()))
    given = await site.ask("hello Ingrid")  # a retry of the former request
    assert (given.complete, given.text, site.asked) == (True, "", 1)


@pytest.mark.parametrize("pause", [0.0, 60.0])
@pytest.mark.parametrize("name", ["begin", "messages"])
@in_virtual_time
async def test_d6_an_answer_that_cannot_be_saved_is_not_paid_for(name: str, pause: float) -> None:
    """A store that fails, or that is slower than a page waits for its first byte."""
    site = Site()
    site.store.seconds[name] = pause
    site.store.away_until[name] = 0 if pause else 60
    given = await site.process.ask("question")
    assert facts(given)[:2] == (503, "upstream_service_unavailable")
    assert site.asked == 0
    assert CLOCK.monotonic() == pytest.approx(4 if pause else 0)
    assert await site.stored() == ([("question", "failed")] if name == "messages" else [])


@in_virtual_time
async def test_c6_an_answer_that_its_deadline_ends_keeps_the_text_as_partial() -> None:
    """On Lambda, where the process is frozen after it."""
    site = Site(SLOW)
    given = await site.process.connect("question", seconds=2.5).answer()
    assert (given.text, given.code) == ("word0 word1 ", "gateway_timeout")
    assert await site.stored() == [("question", "partial"), ("word0 word1", "partial")]


@pytest.mark.parametrize(("seconds", "ends"), [(20.0, 3.0), (2.0, 2.0), (None, 1.0)])
@in_virtual_time
async def test_d6_on_lambda_a_response_waits_for_its_data_until_the_deadline(
    seconds: float | None, ends: float
) -> None:
    """The process is frozen after it. Elsewhere a response waits one second."""
    site = Site()
    site.store.seconds["finish"] = 3
    given = await site.process.connect("question", seconds=seconds).answer()
    assert given.complete
    assert CLOCK.monotonic() == pytest.approx(ends)
    await asyncio.sleep(5)
    assert (await site.stored())[1:] == [("hello", "ok")]


class SlowlyFollowed(Hook):
    """A hook that needs three seconds after each turn."""

    def __init__(self) -> None:
        self.ended_at: list[float] = []

    async def after(self, turn: EndedTurn) -> None:
        await asyncio.sleep(3)
        self.ended_at.append(CLOCK.monotonic())


@pytest.mark.parametrize(("seconds", "ends"), [(20.0, 3.0), (2.0, 2.0), (None, 0.0)])
@in_virtual_time
async def test_h11_on_lambda_a_response_waits_for_the_hooks_that_follow_it(
    seconds: float | None, ends: float
) -> None:
    """Its process is frozen after the response. Elsewhere nobody waits for them."""
    slow = SlowlyFollowed()
    site = Site(hooks={"slow": slow})
    given = await site.process.connect("question", seconds=seconds).answer()
    assert given.complete
    assert CLOCK.monotonic() == pytest.approx(ends)
    await asyncio.sleep(5)
    assert slow.ended_at == [3.0]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("short", "short"),
        ("two\n lines", "two lines"),
        ("x" * 40, "x" * 40),
        ("x" * 41, "x" * 39 + "…"),
        ("word " * 20, "word word word word word word word word…"),
    ],
)
@in_virtual_time
async def test_p6_the_title_of_a_chat_is_the_start_of_its_first_message(
    words: str, title: str
) -> None:
    site = Site()
    await site.ask(words)
    await site.ask("more", id=None)
    session = await site.store.session(site.session)
    assert session
    assert session.title == title


class Pages:
    """Learnt pages with one passage."""

    languages = ("en",)

    async def find(self, question: str, before: Sequence[str], limit: int) -> Sequence[PassageHit]:
        url = "https://shop.example/hats"
        return [PassageHit(url, url, "Hats", (), "A hat costs five euros.", 9.0)]


@pytest.mark.parametrize(
    ("said", "shown", "unanswered"),
    [("Five euros [1].", "Five euros [1].", 0), ("[0] I cannot say.", "I cannot say.", 1)],
)
@in_virtual_time
async def test_h6_a_grounded_answer_is_stored_with_its_sources_or_counted_as_a_gap(
    said: str, shown: str, unanswered: int
) -> None:
    site = Site(answer(said), grounder=Grounder(Pages(), PassageBudget(100, 1000)))
    given = await site.ask("What does a hat cost?")
    assert (given.complete, given.text) == (True, shown)
    [_, message] = await site.messages()
    text, cited = parted(message.content)
    assert (text, [one.url for one in cited]) == (
        shown,
        [] if unanswered else ["https://shop.example/hats"],
    )
    assert (await site.day()).unanswered == unanswered
    assert [turn.answered for turn in site.followed.turns] == [not unanswered]
    [call] = await site.calls()
    assert json.loads(call.meta)["knowledge"]["answered"] is not bool(unanswered)


@pytest.mark.parametrize("said", ["", "  \n"])
@in_virtual_time
async def test_h6_a_grounded_answer_without_text_is_refused_with_a_status(said: str) -> None:
    """The sources, which are found before, must not send the headers."""
    site = Site(answer(said), grounder=Grounder(Pages(), PassageBudget(100, 1000)))
    given = await site.ask("What does a hat cost?")
    assert facts(given)[:2] == (503, "upstream_service_unavailable")
    assert await site.stored() == [("What does a hat cost?", "failed")]


@in_virtual_time
async def test_p7_the_model_gets_the_newest_ten_turns_that_have_an_answer() -> None:
    """Failed ones are left out. They are looked for in up to three reads."""
    replies = [*[answer(f"answer {at}") for at in range(12)], refusal(400), answer("last")]
    site = Site(*replies)
    for at in range(13):
        await site.ask(f"question {at}", id=None)
    await site.ask("the last question", id=None)
    messages = json.loads(site.model.exchanges[-1].body)["messages"]
    told = [one["content"] for one in messages if one["role"] != "system"]
    expected = [text for at in range(2, 12) for text in (f"question {at}", f"answer {at}")]
    assert told == [*expected, "the last question"]


@in_virtual_time
async def test_p20_a_rating_of_no_answer_is_not_found_and_one_of_an_answer_is_followed() -> None:
    site = Site()
    await site.ask()
    session = await site.store.session(site.session)
    assert session
    turns = site.process.sessions
    with pytest.raises(SessionNotFound):
        await turns.rate(session, "another id", "up")
    await turns.rate(session, ID, "down", " not\nso ")
    [_, message] = await site.messages()
    assert (message.rating, message.comment) == ("down", "not so")
    await asyncio.sleep(1)
    [rated] = site.followed.rated_turns
    assert (rated.question, rated.answer, rated.rating) == ("question", "hello", "down")
    assert rated.comment == "not so"


@pytest.mark.parametrize(("more", "is_found"), [(148, True), (155, False)])
@in_virtual_time
async def test_p20_hooks_follow_the_rating_of_one_of_the_newest_three_hundred_messages(
    more: int, is_found: bool
) -> None:
    site = Site()
    await site.ask()
    for number in range(more):
        await site.ask("more", id=f"id-{number:08}")
    session = await site.store.session(site.session)
    assert session
    await site.process.sessions.rate(session, ID, "up", "")
    messages = await site.store.messages(site.session, limit=1000, now=CLOCK.now())
    assert [one.rating for one in messages if one.id == 2] == ["up"]
    await asyncio.sleep(1)
    rated = [(turn.question, turn.rating) for turn in site.followed.rated_turns]
    assert rated == ([("question", "up")] if is_found else [])


@in_virtual_time
async def test_s7_a_deletion_that_fails_is_refused_and_done_later() -> None:
    site = Site()
    site.store.away_until["delete"] = 0.5
    await site.ask()
    with pytest.raises(UpstreamUnavailable) as refused:
        await site.process.sessions.forget(site.session)
    assert refused.value.retry_after == 5
    assert await site.chats() == [site.session]
    await asyncio.sleep(1)
    assert await site.chats() == []


async def test_m4_each_field_of_a_new_message_comes_from_the_request() -> None:
    """A field that a step of the way forgets has its default."""
    began: list[NewMessage] = []

    class Recorded(ChatsInMemory):
        async def begin(self, session: Session, asked: NewMessage, now: float) -> BeginResult:
            began.append(asked)
            return await super().begin(session, asked, now)

    clock = SystemClock()
    process = Process(Recorded(clock.now), Spoken("first", "second"), clock)
    process.runtime.options = process.runtime.options._replace(images=True)
    chats = KeptChats(process.runtime, process.sessions, None)

    async def sent(headers: dict[str, str], **fields: Any) -> dict[str, str]:
        record = Record("request", "POST", "/api/chat", clock.monotonic())
        named = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "headers": named, "client": None, "state": {"record": record}}
        asked = {"message": "question", "images": [url(png())]}
        body = MessageRequest.model_validate({**asked, **fields})
        response = await chats.answer(Request(scope), body)
        await Connection(response, record).ended()
        return record.answer_headers

    first = await sent({}, client_message_id=ID)
    token = {"X-Session-Token": first["X-Session-Token"]}
    other = "99999999-2222-4333-8444-555555555555"
    await sent(token, client_message_id=other, again=ID, session_id=first["X-Session-Id"])
    defaults = NewMessage("")
    same = {n for n in NewMessage._fields if getattr(began[1], n) == getattr(defaults, n)}
    assert same == set()
