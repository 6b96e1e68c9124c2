"""P10, P13, P17: the lease of a turn, and its outcome in a store that is slow or away.

All in virtual time, as the visitor and the store see it.
"""

from __future__ import annotations

import asyncio

import pytest

from kefu.chat.prompt import PromptPolicy, TrimPolicy
from kefu.context import CALIBRATED, Budget, TrimState
from kefu.sessions.hooks import Filter, Hook, HookContext, Reply
from kefu.sessions.store.model import LEASE, NewMessage
from tests.fakes.in_process_upstream import (
    DONE,
    LOST,
    SILENT,
    STOP,
    STREAM,
    InProcessUpstream,
    ScriptedResponse,
    answer,
    refusal,
    text,
)
from tests.fakes.in_process_upstream import Reply as ModelReply
from tests.fakes.kept_site import ID, Site, facts
from tests.fakes.relaying import CLOCK, in_virtual_time

HALF = LEASE / 2
"""Seconds after which a lease is renewed."""
SOON = LEASE / 12
"""Seconds after which a failed renewal is retried."""


def lasting(seconds: float) -> ModelReply:
    """An answer that ends after so many seconds."""
    pieces = [text(character) for character in " answer"]
    return STREAM.then(text("an")).then(*pieces, after=seconds / 7).then(STOP, DONE)


async def take_over(site: Site) -> int:
    """Begin the turn of the running answer in another process, whose clock is ahead.

    Returns the number of its try.
    """
    session = await site.store.session(site.session)
    assert session
    later = CLOCK.now() + LEASE + 1
    begun = await super(type(site.store), site.store).begin(
        session, NewMessage("question", ID), later
    )
    return begun.retries


@in_virtual_time
async def test_p17_the_lease_is_renewed_each_half_of_its_time_until_the_answer_has_ended() -> None:
    site = Site(lasting(3.5 * HALF))
    asked = await site.began(3.2 * HALF)
    assert [status for _, status in await site.stored()] == ["pending"]
    assert (await asked.answer()).complete
    await asyncio.sleep(LEASE)
    assert site.store.times("renew") == [HALF, 2 * HALF, 3 * HALF]
    assert await site.stored() == [("question", "ok"), ("an answer", "ok")]


@pytest.mark.parametrize("reply", [answer(), refusal(500)])
@in_virtual_time
async def test_p17_the_lease_of_a_short_answer_is_not_renewed(reply: ModelReply) -> None:
    site = Site(reply)
    await site.ask()
    await asyncio.sleep(LEASE)
    assert site.store.times("renew") == []


@in_virtual_time
async def test_p17_a_failed_renewal_is_retried_soon_and_ends_nothing() -> None:
    site = Site(lasting(25))
    site.store.away_until["renew"] = HALF + 3.5 * SOON
    assert (await site.ask()).complete
    back = HALF + 4 * SOON
    tries = [HALF + number * SOON for number in range(5)]
    assert site.store.times("renew") == pytest.approx([*tries, back + HALF])
    assert back < LEASE, "the lease has not ended meanwhile"


@pytest.mark.parametrize("how", ["deleted", "taken"])
@in_virtual_time
async def test_p17_a_lost_turn_ends_the_answer_and_is_not_renewed_again(how: str) -> None:
    site = Site(lasting(60))
    asked = await site.began(1)
    if how == "deleted":
        await site.store.delete(site.session)
    else:
        assert await take_over(site) == 1
    given = await asked.answer()
    assert (given.code, given.text) == ("session_busy", "an")
    await asyncio.sleep(60)
    assert site.store.times("renew") == [HALF]
    assert await site.stored() == ([] if how == "deleted" else [("question", "interrupted")])
    assert site.unsaved == []


@pytest.mark.parametrize("ends", [HALF + 1, HALF + 0.5])
@in_virtual_time
async def test_p17_an_answer_is_not_lost_when_it_ends_during_a_renewal(ends: float) -> None:
    """M3: a renewal that is under way then finds the turn ended."""
    site = Site(lasting(ends))
    site.store.seconds = {"renew": 2, "finish": 0.75}
    given = await site.ask()
    assert (given.complete, given.text) == (True, "an answer")
    await asyncio.sleep(LEASE)
    assert len(site.store.times("renew")) == 1
    assert await site.stored() == [("question", "ok"), ("an answer", "ok")]


@pytest.mark.parametrize("how", ["deleted", "taken"])
@in_virtual_time
async def test_p17_the_outcome_of_a_lost_turn_is_not_saved(how: str) -> None:
    """Lost while the answer is being saved, or just before: its visitor has read it whole."""
    site = Site(lasting(2))
    site.store.seconds["finish"] = 0.5
    asked = await site.began(2.25)
    if how == "deleted":
        await site.store.delete(site.session)
    else:
        assert await take_over(site) == 1
    assert (await asked.answer()).complete
    assert await site.stored() == ([] if how == "deleted" else [("question", "pending")])
    assert (site.unsaved, len(site.store.times("finish"))) == ([], 1)


@in_virtual_time
async def test_p13_a_cancel_while_the_answer_is_saved_changes_nothing_of_it() -> None:
    site = Site(answer("hello"))
    site.store.seconds["finish"] = 0.5
    asked = await site.began(0.25)
    assert site.process.cancel(ID)
    await asked.ended()
    await asyncio.sleep(1)
    assert await site.stored() == [("question", "ok"), ("hello", "ok")]
    assert (site.outcomes, len(site.store.times("finish"))) == ([("ok", "hello")], 1)
    assert await site.errors_of_calls() == [None]


@pytest.mark.parametrize("away", [1.0, 60.0])
@in_virtual_time
async def test_d6_a_failed_write_is_retried_and_reported_without_texts(away: float) -> None:
    """The visitor has the answer meanwhile."""
    site = Site(answer("hello"))
    site.store.away_until["finish"] = away
    assert (await site.ask()).complete
    assert CLOCK.monotonic() == pytest.approx(1)
    await asyncio.sleep(60)
    tries = site.store.times("finish")
    assert tries == pytest.approx([0.0, 0.5, 2.5, 10.5][: len(tries)])
    if away < 2:
        assert (len(tries), site.unsaved) == (3, [])
        assert await site.stored() == [("question", "ok"), ("hello", "ok")]
    else:
        assert (len(tries), site.unsaved) == (
            4,
            [f"the end of message 1 of session {site.session}"],
        )
        assert await site.stored() == [("question", "interrupted")]


@in_virtual_time
async def test_d6_a_write_that_hangs_is_given_up_and_tried_again() -> None:
    site = Site(answer("hello"))
    site.store.seconds["finish"] = 1000
    assert (await site.ask()).complete
    site.store.seconds.clear()
    await asyncio.sleep(60)
    assert site.store.times("finish") == pytest.approx([0, 10.5])
    assert site.unsaved == []
    assert await site.stored() == [("question", "ok"), ("hello", "ok")]


@in_virtual_time
async def test_d6_a_call_that_cannot_be_saved_is_reported_and_the_answer_is_kept() -> None:
    site = Site(answer("hello"))
    site.store.away_until["record"] = 60
    assert (await site.ask()).complete
    await asyncio.sleep(60)
    assert site.unsaved == [f"call 1 of message 1 of session {site.session}"]
    assert await site.stored() == [("question", "ok"), ("hello", "ok")]


class Held(Filter):
    """A filter that holds all text to the end, and then fails if `error` is set."""

    def __init__(self, error: Exception | None) -> None:
        self.held = ""
        self.error = error

    def feed(self, text: str) -> str:
        self.held += text
        return ""

    def close(self) -> str:
        if self.error:
            raise self.error
        return self.held.upper()


class Holding(Hook):
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def output(self, visit: HookContext) -> Filter:
        return Held(self.error)


@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (answer("held"), "ok", None),
        (STREAM.then(text("he"), text("ld"), LOST), "partial", "upstream_service_unavailable"),
        (STREAM.then(text("held")).then_silence(), "partial", "answer_cancelled"),
    ],
)
@in_virtual_time
async def test_p26_text_that_filters_hold_is_released_and_saved_also_when_the_answer_is_cut(
    reply: ModelReply, status: str, code: str | None
) -> None:
    """A visitor who has cancelled does not see it any more, but it is in the chat."""
    site = Site(reply, hooks={"holding": Holding()})
    asked = await site.began(2)
    assert "HELD" not in asked.body or code != "answer_cancelled"
    site.process.cancel(ID)
    given = await asked.answer()
    assert given.text == ("" if code == "answer_cancelled" else "HELD")
    assert (given.complete, given.events[-1].get("error", {}).get("code")) == (not code, code)
    assert await site.stored() == [("question", status), ("HELD", status)]
    assert await site.errors_of_calls() == [code]


@in_virtual_time
async def test_p13_the_outcome_is_saved_also_when_a_filter_of_kefu_fails() -> None:
    """Otherwise the message would be busy until its lease ends."""
    site = Site(answer("half"), hooks={"holding": Holding(ValueError("a bug"))})
    asked = await site.began(0)
    with pytest.raises(ValueError, match="a bug"):
        await asked.ended()
    await asyncio.sleep(1)
    assert await site.stored() == [("question", "failed")]


@pytest.mark.parametrize(
    ("pieces", "saved"),
    [
        (["\ud83d", "\ude00"], "😀"),
        (["a", "\ud83d"], "a\ufffd"),
        (["my sec", "ret"], "my [key]"),
        (["  text \n"], "text"),
        (["one ", "two"], "one two"),
    ],
)
@in_virtual_time
async def test_p12_the_saved_answer_is_text_of_whole_characters_without_secrets(
    pieces: list[str], saved: str
) -> None:
    reply = STREAM.then(*map(text, pieces)).then(STOP, DONE)
    site = Site(reply, redact=lambda words: words.replace("secret", "[key]"))
    await site.ask("my secret question")
    assert await site.stored() == [("my [key] question", "ok"), (saved, "ok")]
    assert site.outcomes == [("ok", saved)]
    [call] = await site.calls()
    assert b"secret" not in (call.request or b"")
    assert "secret" not in (call.response or "") + call.meta


class Closed(Hook):
    async def user_message(self, text: str, visit: HookContext) -> str:
        return Reply("my secret reply")


@in_virtual_time
async def test_p12_the_reply_of_a_hook_is_saved_without_secrets() -> None:
    site = Site(hooks={"closed": Closed()}, redact=lambda words: words.replace("secret", "[key]"))
    await site.ask()
    assert await site.stored() == [("question", "ok"), ("my [key] reply", "ok")]
    assert site.outcomes == [("ok", "my [key] reply")]


QUESTION = "Where is my order? I have been waiting for it since last week, as I wrote. "
ANSWER = "It left the warehouse on Tuesday, and is with you by the weekend."
FIFO = PromptPolicy(trim=TrimPolicy("fifo", Budget(300, 0, 0.5), CALIBRATED))
SUMMARIZING = PromptPolicy(trim=TrimPolicy("summary", Budget(300, reserve=0), CALIBRATED))


@in_virtual_time
async def test_x9_a_changed_state_of_trimming_is_saved_with_retries_and_then_used() -> None:
    site = Site(answer(ANSWER), policy=FIFO)
    for number in range(20):
        site.store.away_until["save_trim_state"] = CLOCK.monotonic() + 0.25
        assert (await site.ask(QUESTION, id=f"message {number}")).complete
        await asyncio.sleep(1)
    session = await site.store.session(site.session)
    assert session
    assert TrimState.load(session.trim_state).cut > 1
    tries = site.store.times("save_trim_state")
    assert 2 <= len(tries) <= 20, "not with each message"
    assert [tries[at + 1] - tries[at] for at in range(0, len(tries), 2)] == pytest.approx(
        [0.5] * (len(tries) // 2)
    )


class Summarizing(InProcessUpstream):
    """A model that writes summaries slowly, or not at all."""

    fails = False

    async def send(self, body: bytes, secret: str) -> ScriptedResponse:
        if b"<conversation>" not in body:
            return await super().send(body, secret)
        self.script = {secret: refusal(400) if self.fails else answer("A summary.", after=3)}
        try:
            return await super().send(body, secret)
        finally:
            self.script = {secret: answer(ANSWER)}


@pytest.mark.parametrize("fails", [False, True])
@in_virtual_time
async def test_p10_the_call_for_a_summary_is_saved_beside_the_answer_it_was_made_for(
    fails: bool,
) -> None:
    """It ends after the answer."""
    model = Summarizing({"one key": answer(ANSWER)})
    model.fails = fails
    site = Site(model=model, policy=SUMMARIZING)
    for number in range(8):
        assert (await site.ask(2 * QUESTION, id=f"message {number}")).complete
        await asyncio.sleep(5)
    calls = await site.calls()
    own = [call for call in calls if '"purpose"' in call.meta]
    assert len(calls) > len(own) >= 1
    first = own[0]
    assert first.stream_complete is not fails
    assert (first.error is not None) is fails
    assert first.message_id in [call.message_id for call in calls if call.number == 1]
    assert first.number > 1
    if not fails:
        assert first.duration == pytest.approx(3)


@in_virtual_time
async def test_p13_a_turn_that_was_silent_until_its_deadline_is_a_failure() -> None:
    """On Lambda."""
    site = Site(SILENT)
    given = await site.process.connect("question", client_message_id=ID, seconds=2.5).answer()
    assert facts(given)[:2] == (504, "gateway_timeout")
    assert await site.stored() == [("question", "failed")]
    assert site.outcomes == [("failed", "")]


@in_virtual_time
async def test_p13_an_answer_that_cannot_be_sent_whole_ends_with_that_reason() -> None:
    """A buffered response is limited. It is not the visitor who has left."""
    site = Site(answer("hello" * 99))
    asked = site.process.connect("question", client_message_id=ID, largest=300)
    given = await asked.answer()
    assert (given.status, given.code) == (503, "upstream_service_unavailable")
    assert await site.errors_of_calls() == ["upstream_service_unavailable"]
