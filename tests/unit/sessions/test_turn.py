"""P3 to P17: every outcome of a stored chat's turn, as its visitor and its store see it.

A process, a model and a store in virtual time: seconds of waiting take no time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from kefu.chat.grounding import Grounder, PassageBudget
from kefu.errors import SessionNotFound, StoreUnavailable, UpstreamUnavailable
from kefu.knowledge.finding import PassageHit
from kefu.knowledge.sources import parted
from kefu.sessions import hooks
from kefu.sessions.capacity import FROM, RETRY_AFTER, Capacity
from kefu.sessions.hooks import EndedTurn, Hook, Visit
from kefu.sessions.model import (
    LEASE,
    CallRecord,
    NewMessage,
    Retention,
    Session,
    SessionId,
    StoredMessage,
)
from kefu.sessions.overview import Day, Wanted
from kefu.sessions.people import Attendance
from kefu.sessions.turn import STORE_PATIENCE, TITLE_LENGTH
from kefu.stores.memory.sessions import MemorySessions
from kefu.stores.turns import date_of
from tests.fakes.in_process import Answer, Connection, Process
from tests.fakes.in_process_upstream import (
    DONE,
    LOST,
    SILENT,
    STOP,
    STREAM,
    InProcessUpstream,
    Reply,
    answer,
    refusal,
    text,
    usage,
)
from tests.fakes.relaying import CLOCK, in_virtual_time

ID = "11111111-2222-4333-8444-555555555555"
SLOW = STREAM.then(*(text(f"word{number} ") for number in range(60)), after=1).then(STOP, DONE)
"""An answer of a minute."""
CUT = STREAM.then(text("half an "), text("answer"), LOST)
COUNTED = STREAM.then(text("hello"), STOP, usage(20, 5), DONE)


class Followed(Hook):
    """A hook that keeps the outcomes of turns."""

    def __init__(self) -> None:
        self.turns: list[EndedTurn] = []
        self.rated_turns: list[EndedTurn] = []

    async def after(self, turn: EndedTurn) -> None:
        self.turns.append(turn)

    async def rated(self, turn: EndedTurn) -> None:
        self.rated_turns.append(turn)


class Site:
    """A model that answers by a script, and a process with its store."""

    def __init__(self, *replies: Reply, store: MemorySessions | None = None, **options: Any):
        self.model = InProcessUpstream({"one key": replies or [answer()]})
        self.store = store or MemorySessions(CLOCK.now, Retention())
        self.followed = Followed()
        options["hooks"] = {"followed": self.followed, **options.get("hooks", {})}
        self.process = Process(self.store, self.model, CLOCK, **options)
        self.last: Answer | None = None

    async def ask(self, words: str = "question", *, id: str | None = ID, **more: Any) -> Answer:
        """Send a message of the site's only chat."""
        given = await self.process.ask(words, self.last, client_message_id=id, **more)
        if "x-session-id" in given.headers:
            self.last = given
        return given

    async def began(self, seconds: float) -> Connection:
        """Send a message, and wait for so many seconds."""
        asked = self.process.connect("question", client_message_id=ID)
        await asyncio.sleep(seconds)
        return asked

    @property
    def session(self) -> SessionId:
        [chat] = self.store._chats
        return chat

    async def stored(self) -> list[tuple[str, str]]:
        return [(one.content, one.status) for one in await self.messages()]

    async def messages(self) -> Sequence[StoredMessage]:
        return await self.store.messages(self.session, now=CLOCK.now())

    async def calls(self) -> Sequence[CallRecord]:
        return await self.store.calls(self.session)

    async def day(self) -> Day:
        today = date_of(CLOCK.now())
        days = await self.store.days(today, today)
        return days[0] if days else Day(today)

    async def errors(self) -> int:
        page = await self.store.newest(Wanted(), None, 9, CLOCK.now())
        return sum(row.errors for row in page.rows)

    @property
    def asked(self) -> int:
        """The requests to the model."""
        return len(self.model.exchanges)

    @property
    def outcomes(self) -> list[tuple[str, str]]:
        """What the hooks were given after each turn."""
        return [(turn.status, turn.answer) for turn in self.followed.turns]


def facts(given: Answer) -> tuple[int, str, str | None]:
    """Its status, its error, and `Retry-After`."""
    return given.status, given.code, given.headers.get("retry-after")


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
    assert [call.stream_complete for call in await site.calls()] == [False]
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
    assert site.process.runtime.running.cancel(ID)
    assert facts(await asked.answer())[:2] == (409, "answer_cancelled")
    assert await site.stored() == [("question", "partial")]
    assert site.outcomes == [("partial", "")]


@in_virtual_time
async def test_p13_a_cancelled_answer_keeps_its_text_as_partial() -> None:
    site = Site(SLOW)
    asked = await site.began(3.5)
    assert site.process.runtime.running.cancel(ID)
    given = await asked.answer()
    assert (given.text, given.code) == ("word0 word1 word2 ", "answer_cancelled")
    assert await site.stored() == [("question", "partial"), ("word0 word1 word2", "partial")]
    [call] = await site.calls()
    assert json.loads(call.error or "")["code"] == "answer_cancelled"
    assert site.model.exchanges[0].closed_at == pytest.approx(3.5)


@in_virtual_time
async def test_p13_an_error_of_the_service_before_any_text_is_a_failure_also_when_it_stops() -> (
    None
):
    """A deadline or a restart is no wish of the visitor."""
    site = Site(SILENT)
    asked = await site.began(0.5)
    site.process.runtime.close()
    assert facts(await asked.answer())[:2] == (503, "upstream_service_unavailable")
    assert await site.stored() == [("question", "failed")]


@in_virtual_time
async def test_p17_a_lost_lease_ends_the_answer_and_leaves_the_turn_to_its_new_owner() -> None:
    """Another process, whose clock is ahead, takes the turn."""
    site = Site(SLOW)
    asked = await site.began(3.5)
    session = await site.store.session(site.session)
    assert session
    later = CLOCK.now() + LEASE + 1
    begun = await site.store.begin(session, NewMessage("question", ID), later)
    assert begun.again == 1
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
    assert not site.store._chats
    assert await site.store.calls(session) == []
    assert site.model.exchanges[0].closed_at == pytest.approx(LEASE / 2)


@in_virtual_time
async def test_p17_a_message_to_a_deleted_chat_is_not_found_and_creates_none() -> None:
    site = Site()
    await site.ask()
    await site.store.delete(site.session)
    assert facts(await site.ask("more", id=None)) == (404, "session_not_found", None)
    assert not site.store._chats


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
    token = await site.process.turns.token(session)
    await asyncio.sleep(after)
    busy = await site.ask(session_id=session, token=token)
    assert facts(busy) == (409, "session_busy", str(wait))
    assert site.asked == 0


@in_virtual_time
async def test_p17_a_new_answer_replaces_the_former_one_with_its_rating() -> None:
    site = Site(answer("first"), answer("second"))
    await site.ask()
    await site.store.rate(site.session, ID, "down", "wrong")
    given = await site.ask(again=True, attempt="one")
    assert (given.text, site.asked) == ("second", 2)
    [_, message] = await site.messages()
    assert (message.content, message.rating, message.comment) == ("second", None, "")
    assert (await site.day()).downs == 0
    repeated = await site.ask(again=True, attempt="one")
    assert (repeated.text, site.asked) == ("second", 2)


@in_virtual_time
async def test_p10_calls_of_a_replaced_answer_keep_what_the_model_said() -> None:
    site = Site(answer("first answer of the model"), answer("second answer of the model"))
    await site.ask()
    await site.ask(again=True, attempt="one")
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
    more: dict[str, Any] = {"client_message_id": ID, "again": True, "attempt": "one"}
    asked = site.process.connect("question", site.last, **more)
    await asyncio.sleep(0.5)
    if how == "cancelled":
        assert site.process.runtime.running.cancel(ID)
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
    [(FROM[1], 200, 200), (FROM[2], 503, 200), (FROM[3], 503, 503)],
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

    async def user_message(self, text: str, visit: Visit) -> str:
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
    assert (site.asked, len(site.store._chats), site.outcomes) == (0, 0, [])
    assert "x-session-id" not in given.headers


@in_virtual_time
async def test_h4_a_message_to_a_person_is_stored_without_an_answer_of_the_model() -> None:
    site = Site(answer("first"))
    await site.ask(id="first")
    await site.store.attend(site.session, Attendance("waiting", "", CLOCK.now()))
    await site.store.attend(site.session, Attendance("person", "Ingrid", CLOCK.now()))
    for _ in range(2):
        given = await site.ask("hello Ingrid")
        assert (given.complete, given.text, site.asked) == (True, "", 1)
    assert (await site.stored())[2:] == [("hello Ingrid", "ok")]
    await site.store.attend(site.session, Attendance("closed", "Ingrid", CLOCK.now()))
    given = await site.ask("hello Ingrid")  # a retry of the former request
    assert (given.complete, given.text, site.asked) == (True, "", 1)


class Away(MemorySessions):
    """A store whose operations of one name fail, or wait for so many seconds."""

    def __init__(self, name: str, pause: float = 0.0) -> None:
        super().__init__(CLOCK.now, Retention())
        self.name = name
        self.pause = pause

    async def _late(self, name: str) -> None:
        if name == self.name:
            await asyncio.sleep(self.pause)
            if not self.pause:
                raise StoreUnavailable("away")

    async def begin(self, *given: Any) -> Any:
        await self._late("begin")
        return await super().begin(*given)

    async def messages(self, *given: Any, **more: Any) -> Any:
        await self._late("messages")
        return await super().messages(*given, **more)

    async def finish(self, *given: Any) -> Any:
        await self._late("finish")
        return await super().finish(*given)

    async def delete(self, session_id: SessionId) -> None:
        await self._late("delete")
        await super().delete(session_id)


@pytest.mark.parametrize("pause", [0.0, 60.0])
@pytest.mark.parametrize("name", ["begin", "messages"])
@in_virtual_time
async def test_d6_an_answer_that_cannot_be_saved_is_not_paid_for(name: str, pause: float) -> None:
    """A store that fails, or that is slower than a page waits for its first byte."""
    site = Site(store=Away(name, pause))
    given = await site.process.ask("question")
    assert facts(given)[:2] == (503, "upstream_service_unavailable")
    assert site.asked == 0
    assert CLOCK.monotonic() == pytest.approx(STORE_PATIENCE if pause else 0)
    if isinstance(site.store, Away):
        site.store.name = ""
    if name == "messages":
        assert await site.stored() == [("question", "failed")]


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
    site = Site(store=Away("finish", 3.0))
    given = await site.process.connect("question", seconds=seconds).answer()
    assert given.complete
    assert CLOCK.monotonic() == pytest.approx(ends)
    await asyncio.sleep(5)
    assert (await site.stored())[1:] == [("hello", "ok")]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("short", "short"),
        ("two\n lines", "two lines"),
        ("x" * TITLE_LENGTH, "x" * TITLE_LENGTH),
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
    site = Site(answer(said))
    runtime = site.process.runtime
    grounder = Grounder(Pages(), PassageBudget(100, 1000))
    runtime.services = runtime.services._replace(grounder=grounder)
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
    turns = site.process.turns
    with pytest.raises(SessionNotFound):
        await turns.rate(session, "another id", "up")
    await turns.rate(session, ID, "down", " not\nso ")
    [_, message] = await site.messages()
    assert (message.rating, message.comment) == ("down", "not so")
    await asyncio.sleep(1)
    [rated] = site.followed.rated_turns
    assert (rated.question, rated.answer, rated.rating) == ("question", "hello", "down")
    assert rated.comment == "not so"


@in_virtual_time
async def test_s7_a_deletion_that_fails_is_refused_and_done_later() -> None:
    site = Site(store=(store := Away("delete")))
    await site.ask()
    with pytest.raises(UpstreamUnavailable) as refused:
        await site.process.turns.forget(site.session)
    assert refused.value.retry_after == 5
    assert len(store._chats) == 1
    store.name = ""
    await asyncio.sleep(1)
    assert not store._chats
