"""The contract of every SessionStore (P1, P6, P7, P16, P17, P35, P36, D9, D10, T29)."""

from __future__ import annotations

import asyncio

import pytest

from kefu.sessions.store.model import LEASE, BeginResult, NewMessage, TurnOutcome
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions, SessionStore
from tests.contract.chats import DAY, ONE, TWO, ask, call, new, response, turn
from tests.contract.engines import HandClock


async def test_the_first_secret_ever_offered_stays(sessions: SessionStore) -> None:
    """P35: the first secret is stored, and all processes sign with it."""
    secrets = await asyncio.gather(*(sessions.secret(f"candidate {n}") for n in range(5)))
    assert len(set(secrets)) == 1
    assert secrets[0].startswith("candidate ")
    assert await sessions.secret("later") == secrets[0]


async def test_a_session_that_was_never_begun_is_not_there(sessions: SessionStore) -> None:
    assert await sessions.session(ONE) is None
    assert await sessions.messages(ONE, now=0.0) == []


async def test_p6_the_visitors_message_is_saved_before_it_is_answered(
    sessions: SessionStore, clock: HandClock
) -> None:
    """P3: the session is stored together with its first message, not before."""
    asked = await ask(sessions, clock, "你好", "client 1")
    assert (asked.id, asked.role, asked.content, asked.status) == (1, "user", "你好", "pending")
    assert (asked.session_id, asked.client_message_id) == (ONE, "client 1")
    assert asked.created_at == clock.now
    assert await sessions.session(ONE) == new(ONE, clock.now)
    assert await sessions.messages(ONE, now=clock.now) == [asked]


async def test_an_answer_is_kept_with_its_question(
    sessions: SessionStore, clock: HandClock
) -> None:
    asked = await ask(sessions, clock, "你好", "client 1")
    clock.now += 2.5
    answered = await sessions.finish(ONE, asked.id, TurnOutcome("ok", "您好！\n🙂"), clock.now)
    assert answered
    assert (answered.id, answered.role, answered.content) == (2, "assistant", "您好！\n🙂")
    assert (answered.status, answered.reply_to, answered.created_at) == ("ok", 1, clock.now)
    kept = await sessions.messages(ONE, now=clock.now)
    assert kept == [asked._replace(status="ok"), answered]


async def test_p15_three_turns_have_the_ids_one_to_six(
    sessions: SessionStore, clock: HandClock
) -> None:
    for number in range(3):
        await turn(sessions, clock, f"question {number}", f"answer {number}")
    kept = await sessions.messages(ONE, now=clock.now)
    assert [message.id for message in kept] == [1, 2, 3, 4, 5, 6]
    assert [message.role for message in kept] == ["user", "assistant"] * 3


async def test_a_session_keeps_its_first_title_and_config_and_learns_the_last_activity(
    sessions: SessionStore, clock: HandClock
) -> None:
    began = clock.now
    await turn(sessions, clock, "first", "yes")
    session = await sessions.session(ONE)
    assert session
    clock.now += 60
    renamed = session._replace(title="other", config_id="other")
    await sessions.begin(renamed, NewMessage("second"), clock.now)
    kept = await sessions.session(ONE)
    assert kept == session._replace(created_at=began + 1, updated_at=clock.now)


async def test_the_newest_messages_come_oldest_first_page_by_page(
    sessions: SessionStore, clock: HandClock
) -> None:
    """P14: a page may begin with an answer."""
    for number in range(30):
        await turn(sessions, clock, f"question {number}", f"answer {number}")
    kept = await sessions.messages(ONE, now=clock.now)
    assert [message.id for message in kept] == list(range(41, 61))
    seen: list[int] = []
    before: int | None = None
    while page := await sessions.messages(ONE, before=before, limit=7, now=clock.now):
        assert len(page) == 7 or page[0].id == 1
        seen = [message.id for message in page] + seen
        before = seen[0]
    assert seen == list(range(1, 61))


async def test_p16_failed_turns_have_no_answer_and_do_not_shorten_a_page(
    sessions: SessionStore, clock: HandClock
) -> None:
    await turn(sessions, clock, "first", "yes")
    for number in range(8):
        asked = await ask(sessions, clock, f"question {number}")
        assert await sessions.finish(ONE, asked.id, TurnOutcome("failed"), clock.now) is None
    kept = await sessions.messages(ONE, limit=10, now=clock.now)
    assert [message.status for message in kept] == ["ok", "ok", *["failed"] * 8]
    assert [message.role for message in kept] == ["user", "assistant", *["user"] * 8]


async def test_p16_a_cut_answer_is_kept_as_partial(
    sessions: SessionStore, clock: HandClock
) -> None:
    asked = await ask(sessions, clock, "question")
    partial = await sessions.finish(ONE, asked.id, TurnOutcome("partial", "half an ans"), clock.now)
    assert partial
    kept = await sessions.messages(ONE, now=clock.now)
    assert [message.status for message in kept] == ["partial", "partial"]
    assert kept[1] == partial


async def test_d10_an_unended_turn_reads_as_interrupted(
    sessions: SessionStore, clock: HandClock
) -> None:
    asked = await ask(sessions, clock, "question", "client 1")
    clock.now += LEASE - 1
    assert await sessions.messages(ONE, now=clock.now) == [asked]
    clock.now += 1
    assert await sessions.messages(ONE, now=clock.now) == [asked._replace(status="interrupted")]
    assert await ask(sessions, clock, "question", "client 1") == asked
    await sessions.finish(ONE, asked.id, TurnOutcome("ok", "late but here"), clock.now, retries=1)
    kept = await sessions.messages(ONE, now=clock.now)
    assert [message.status for message in kept] == ["ok", "ok"]


async def test_finished_blocks_stay_unchanged(sessions: SessionStore, clock: HandClock) -> None:
    _, answered = await turn(sessions, clock, "question", "answer")
    for ended in (
        TurnOutcome("ok", "answer"),
        TurnOutcome("failed"),
        TurnOutcome("partial", "ans"),
    ):
        assert await sessions.finish(ONE, 1, ended, clock.now + 1) == answered
    kept = await sessions.messages(ONE, now=clock.now)
    assert [message.content for message in kept] == ["question", "answer"]


async def test_an_answer_later_than_its_lease_is_kept(
    sessions: SessionStore, clock: HandClock
) -> None:
    asked = await ask(sessions, clock, "question")
    clock.now += 2 * LEASE
    assert await sessions.finish(ONE, asked.id, TurnOutcome("ok", "at last"), clock.now)
    assert (await sessions.messages(ONE, now=clock.now))[1].content == "at last"


async def test_d9_one_message_sent_three_times_at_once_is_one_turn(
    sessions: SessionStore, clock: HandClock
) -> None:
    """D9, P17: also if the session does not exist yet."""
    asked = NewMessage("你好", "client 1")
    begun = await asyncio.gather(
        *(sessions.begin(new(ONE, clock.now), asked, clock.now) for _ in range(3))
    )
    mine = [one for one in begun if not one.busy_for]
    assert len(mine) == 1
    assert all(one.message == mine[0].message for one in begun)
    assert all(0 < one.busy_for <= LEASE for one in begun if one is not mine[0])
    clock.now += 5
    await sessions.finish(ONE, mine[0].message.id, TurnOutcome("ok", "您好"), clock.now)
    assert len(await sessions.messages(ONE, now=clock.now)) == 2
    await turn(sessions, clock, "next", "yes")
    kept = await sessions.messages(ONE, now=clock.now)
    assert [message.content for message in kept] == ["你好", "您好", "next", "yes"]


async def test_p17_an_answered_message_sent_again_brings_the_stored_answer(
    sessions: SessionStore, clock: HandClock
) -> None:
    asked, answered = await turn(sessions, clock, "question", "answer", "client 1")
    await turn(sessions, clock, "another", "yes", "client 2")
    clock.now += DAY
    again = await sessions.begin(new(ONE, 0.0), NewMessage("question", "client 1"), clock.now)
    assert (again.message, again.answer) == (asked._replace(status="ok"), answered)
    assert again.busy_for == 0
    assert len(await sessions.messages(ONE, now=clock.now)) == 4


async def test_p17_a_retry_of_a_running_message_is_busy_until_its_lease_ends(
    sessions: SessionStore, clock: HandClock
) -> None:
    asked = await ask(sessions, clock, "question", "client 1")
    clock.now += 10
    again = await sessions.begin(new(ONE, 0.0), NewMessage("question", "client 1"), clock.now)
    assert again.message == asked
    assert again.answer is None
    assert again.busy_for == pytest.approx(LEASE - 10)


async def test_h17_a_lease_from_a_clock_ahead_ends_after_the_length_of_a_lease(
    sessions: Sessions, clock: HandClock
) -> None:
    """H17: the clock was an hour ahead. The first retry cuts the lease, the others do not."""

    async def statuses() -> set[str]:
        rows = (await sessions.newest(SessionFilter(), None, 9, clock.now)).rows
        kept = await sessions.messages(ONE, now=clock.now)
        return {*(m.status for m in kept), *(row.status for row in rows)}

    clock.now += 3600
    asked = await ask(sessions, clock, "question", "client 1")
    clock.now -= 3600
    same = NewMessage("question", "client 1")
    for waited in (0, 5, 9):
        clock.now += waited
        again = await sessions.begin(new(ONE, 0.0), same, clock.now)
        assert (again.message, again.retries) == (asked, 0)
        assert 0 < again.busy_for <= LEASE
    clock.now += LEASE - 14
    assert await statuses() == {"interrupted"}
    again = await sessions.begin(new(ONE, 0.0), same, clock.now)
    assert (again.busy_for, again.retries) == (0.0, 1)
    assert await statuses() == {"pending"}


async def test_h17_a_cut_lease_stays_its_owners(sessions: Sessions, clock: HandClock) -> None:
    """H17: a running process whose clock is seconds or minutes ahead keeps its turn."""
    asked = await ask(sessions, clock, "question", "client 1")
    same = NewMessage("question", "client 1")
    for ahead in (2, LEASE, 2 * LEASE, 600):
        assert (await sessions.begin(new(ONE, 0.0), same, clock.now - ahead)).busy_for == LEASE
        clock.now += LEASE / 2
        assert await sessions.renew(ONE, asked.id, 0, clock.now)
    assert await sessions.finish(ONE, asked.id, TurnOutcome("ok", "answer"), clock.now)


@pytest.mark.parametrize("ended", [TurnOutcome("failed"), TurnOutcome("partial", "half an ans")])
async def test_p17_a_failed_or_cut_message_sent_again_is_begun_again(
    sessions: SessionStore, clock: HandClock, ended: TurnOutcome
) -> None:
    """P17: of three concurrent attempts one gets the turn. There is still only one message."""
    asked = await ask(sessions, clock, "question", "client 1")
    await sessions.finish(ONE, asked.id, ended, clock.now)
    clock.now += 5
    same = NewMessage("question", "client 1")
    begun = await asyncio.gather(
        *(sessions.begin(new(ONE, 0.0), same, clock.now) for _ in range(3))
    )
    assert sorted(one.busy_for for one in begun) == [0.0, LEASE, LEASE]
    assert all(one.message == asked for one in begun)
    assert await sessions.messages(ONE, now=clock.now) == [asked]
    clock.now += 5
    mine = next(one for one in begun if not one.busy_for)
    assert mine.retries == 1
    await sessions.finish(ONE, asked.id, TurnOutcome("ok", "answer"), clock.now, mine.retries)
    kept = await sessions.messages(ONE, now=clock.now)
    assert [(message.content, message.status) for message in kept] == [
        ("question", "ok"),
        ("answer", "ok"),
    ]


async def test_w8_a_new_answer_replaces_the_old_one_and_its_rating(
    sessions: SessionStore, clock: HandClock
) -> None:
    """W8: of three concurrent requests one gets the turn. There is one question and one answer."""
    asked, former = await turn(sessions, clock, "question", "the first answer", "client 1")
    await sessions.rate(ONE, "client 1", "down")
    clock.now += 5
    same = NewMessage("question", "client 1", replaces=True)
    begun = await asyncio.gather(
        *(sessions.begin(new(ONE, 0.0), same, clock.now) for _ in range(3))
    )
    assert sorted(one.busy_for for one in begun) == [0.0, LEASE, LEASE]
    mine = next(one for one in begun if not one.busy_for)
    assert (mine.answer, mine.retries, mine.replaces) == (None, 1, True)
    awaited = [asked._replace(status="ok"), former._replace(rating="down")]
    assert await sessions.messages(ONE, now=clock.now) == awaited
    clock.now += 5
    ended = TurnOutcome("ok", "the second answer")
    answered = await sessions.finish(ONE, asked.id, ended, clock.now, 1)
    assert answered == former._replace(content="the second answer", created_at=clock.now)
    assert await sessions.messages(ONE, now=clock.now) == [asked._replace(status="ok"), answered]
    assert (await sessions.begin(new(ONE, 0.0), NewMessage("?", "client 1"), clock.now)) == (
        BeginResult(asked._replace(status="ok"), answer=answered)
    )


async def test_w24_a_changed_question_is_saved_with_its_answer(
    sessions: SessionStore, clock: HandClock
) -> None:
    """W24: a failure leaves the earlier question with its answer."""
    asked, former = await turn(sessions, clock, "question", "the first answer", "client 1")
    complete = [asked._replace(status="ok"), former]
    changed = NewMessage("another", "client 1", replaces=True)
    await sessions.begin(new(ONE, 0.0), changed, clock.now)
    assert await sessions.messages(ONE, now=clock.now) == complete
    failed = TurnOutcome("failed", question="another")
    await sessions.finish(ONE, asked.id, failed, clock.now, 1)
    assert await sessions.messages(ONE, now=clock.now) == complete
    await sessions.begin(new(ONE, 0.0), changed, clock.now)
    ended = TurnOutcome("ok", "the second answer", question="another")
    await sessions.finish(ONE, asked.id, ended, clock.now, 2)
    kept = await sessions.messages(ONE, now=clock.now)
    assert [one.content for one in kept] == ["another", "the second answer"]


async def test_w8_an_answer_stays_if_no_new_one_comes(
    sessions: SessionStore, clock: HandClock
) -> None:
    """W8: after a failure, and after the end of the process. A later attempt replaces it."""
    asked, former = await turn(sessions, clock, "question", "the first answer", "client 1")
    complete = [asked._replace(status="ok"), former]
    same = NewMessage("question", "client 1", replaces=True)
    assert (await sessions.begin(new(ONE, 0.0), same, clock.now)).retries == 1
    assert await sessions.finish(ONE, asked.id, TurnOutcome("failed"), clock.now, 1) == former
    assert await sessions.messages(ONE, now=clock.now) == complete
    assert (await sessions.begin(new(ONE, 0.0), same, clock.now)).retries == 2
    clock.now += LEASE
    assert await sessions.messages(ONE, now=clock.now) == complete
    assert (await sessions.begin(new(ONE, 0.0), same, clock.now)).retries == 3
    ended = TurnOutcome("partial", "the sec")
    assert await sessions.finish(ONE, asked.id, ended, clock.now, 3)
    kept = await sessions.messages(ONE, now=clock.now)
    assert [(one.content, one.status) for one in kept] == [
        ("question", "partial"),
        ("the sec", "partial"),
    ]
    begun = await sessions.begin(new(ONE, 0.0), same, clock.now)
    assert (begun.retries, begun.replaces) == (4, False)
    assert [one.status for one in await sessions.messages(ONE, now=clock.now)] == ["pending"]


async def test_w8_a_call_keeps_what_the_model_said_after_a_later_answer(
    sessions: Sessions, clock: HandClock
) -> None:
    asked, _ = await turn(sessions, clock, "question", "the first answer of this turn", "client 1")
    first = call(asked.id, clock.now, answer=response("the first answer of this turn"))
    await sessions.record(first)
    assert [one.response for one in await sessions.calls(ONE)] == [first.response]
    again = NewMessage("question", "client 1", replaces=True)
    await sessions.begin(new(ONE, 0.0), again, clock.now)
    await sessions.finish(ONE, asked.id, TurnOutcome("ok", "the second"), clock.now, 1)
    second = call(asked.id, clock.now, 2, answer=response("the second"))
    await sessions.record(second)
    assert [one.response for one in await sessions.calls(ONE)] == [
        first.response,
        second.response,
    ]


async def test_p17_a_turn_that_renews_its_lease_counts_as_running(
    sessions: Sessions, clock: HandClock
) -> None:
    """P17: for any duration of the answer; the list of sessions shows the same status."""
    asked = await ask(sessions, clock, "question", "client 1")
    for _ in range(4):
        clock.now += LEASE / 2
        assert await sessions.renew(ONE, asked.id, 0, clock.now)
    clock.now += LEASE - 1
    assert await sessions.messages(ONE, now=clock.now) == [asked]
    assert [
        row.status for row in (await sessions.newest(SessionFilter(), None, 9, clock.now)).rows
    ] == ["pending"]
    again = await sessions.begin(new(ONE, 0.0), NewMessage("question", "client 1"), clock.now)
    assert again.busy_for == pytest.approx(1)
    clock.now += 1
    assert [m.status for m in await sessions.messages(ONE, now=clock.now)] == ["interrupted"]
    clock.now += 2 * LEASE
    assert await sessions.renew(ONE, asked.id, 0, clock.now), "late, but nobody was faster"
    assert await sessions.messages(ONE, now=clock.now) == [asked]


async def test_p17_a_turn_that_is_the_callers_no_longer_cannot_be_renewed(
    sessions: SessionStore, clock: HandClock
) -> None:
    assert not await sessions.renew(ONE, 1, 0, clock.now)
    await turn(sessions, clock, "first", "yes")
    assert not await sessions.renew(ONE, 1, 0, clock.now)
    asked = await ask(sessions, clock, "question")
    assert not await sessions.renew(ONE, asked.id, 1, clock.now)
    assert not await sessions.renew(TWO, asked.id, 0, clock.now)
    asked = await ask(sessions, clock, "another")
    await sessions.delete(ONE)
    assert not await sessions.renew(ONE, asked.id, 0, clock.now)


async def test_p17_a_turn_that_was_begun_again_ignores_its_first_attempt(
    sessions: SessionStore, clock: HandClock
) -> None:
    """P17: for example after a suspension, when another process has begun the turn again."""
    asked = await ask(sessions, clock, "question", "client 1")
    for again in range(1, 4):
        clock.now += LEASE
        begun = await sessions.begin(new(ONE, 0.0), NewMessage("question", "client 1"), clock.now)
        assert (begun.busy_for, begun.retries) == (0.0, again)
        assert not await sessions.renew(ONE, asked.id, again - 1, clock.now)
        late = TurnOutcome("partial", "half an ans")
        assert await sessions.finish(ONE, asked.id, late, clock.now, again - 1) is None
        assert await sessions.messages(ONE, now=clock.now) == [asked]
        assert await sessions.renew(ONE, asked.id, again, clock.now)
    await sessions.finish(ONE, asked.id, TurnOutcome("ok", "answer"), clock.now, 3)
    answered = await sessions.finish(ONE, asked.id, TurnOutcome("failed"), clock.now, 2)
    assert answered
    assert answered.content == "answer"


async def test_p7_with_two_tabs_each_answer_follows_its_question(
    sessions: SessionStore, clock: HandClock
) -> None:
    """W11: for any order in which the answers end."""
    await turn(sessions, clock, "first", "yes")
    session = await sessions.session(ONE)
    assert session
    begun = await asyncio.gather(
        *(sessions.begin(session, NewMessage(f"tab {tab}"), clock.now) for tab in range(6))
    )
    ids = [one.message.id for one in begun]
    assert len(set(ids)) == 6
    for one in reversed(begun):
        text = f"for {one.message.content}"
        await sessions.finish(ONE, one.message.id, TurnOutcome("ok", text), clock.now)
    kept = (await sessions.messages(ONE, now=clock.now))[2:]
    assert [message.role for message in kept] == ["user", "assistant"] * 6
    for question, answer in zip(kept[::2], kept[1::2], strict=True):
        assert answer.content == f"for {question.content}"
        assert answer.reply_to == question.id
        assert answer.id == question.id + 1
    assert [message.id for message in kept] == sorted(message.id for message in kept)


async def test_sessions_do_not_know_each_other(sessions: SessionStore, clock: HandClock) -> None:
    """T15: the same client id in two sessions refers to two turns."""
    await turn(sessions, clock, "mine", "yes", "client 1")
    begun = await sessions.begin(new(TWO, clock.now), NewMessage("other", "client 1"), clock.now)
    assert begun.answer is None
    assert begun.busy_for == 0
    assert [m.content for m in await sessions.messages(TWO, now=clock.now)] == ["other"]
    assert not await sessions.rate(TWO, "client 2", "up")


async def test_an_answer_is_rated_rated_anew_and_not_at_all(
    sessions: SessionStore, clock: HandClock
) -> None:
    _, answered = await turn(sessions, clock, "question", "answer", "client 1")
    await turn(sessions, clock, "another", "yes", "client 2")
    for rating in ("up", "down", None):
        assert await sessions.rate(ONE, "client 1", rating)
        kept = await sessions.messages(ONE, now=clock.now)
        assert [message.rating for message in kept] == [None, rating, None, None]
        assert kept[1]._replace(rating=None) == answered


async def test_w8_a_new_answer_whose_response_was_lost_is_returned_to_the_repeated_request(
    sessions: SessionStore, clock: HandClock
) -> None:
    await turn(sessions, clock, "question", "the first answer", "client 1")
    same = NewMessage("question", "client 1", replaces=True, attempt="attempt 1")
    begun = await sessions.begin(new(ONE, 0.0), same, clock.now)
    assert begun.replaces
    await sessions.finish(ONE, 1, TurnOutcome("failed"), clock.now, begun.retries)
    begun = await sessions.begin(new(ONE, 0.0), same, clock.now)
    assert (begun.retries, begun.answer, begun.busy_for) == (2, None, 0.0)
    ended = TurnOutcome("ok", "the second answer")
    answer = await sessions.finish(ONE, 1, ended, clock.now, begun.retries)
    repeated = await sessions.begin(new(ONE, 0.0), same, clock.now)
    assert repeated.answer == answer
    another = same._replace(attempt="attempt 2")
    assert (await sessions.begin(new(ONE, 0.0), another, clock.now)).retries == 3


async def test_h8_a_comment_stays_with_its_rating_and_goes_with_it(
    sessions: Sessions, clock: HandClock
) -> None:
    """The list of chats shows the newest one."""

    async def shown() -> tuple[list[str], str]:
        kept = await sessions.messages(ONE, now=clock.now)
        [row] = (await sessions.newest(SessionFilter(), None, 5, clock.now)).rows
        return [message.comment for message in kept], row.comment

    await turn(sessions, clock, "question", "answer", "client 1")
    await turn(sessions, clock, "another", "yes", "client 2")
    await sessions.rate(ONE, "client 2", "down", "too short 🙂")
    assert await shown() == (["", "", "", "too short 🙂"], "too short 🙂")
    await sessions.rate(ONE, "client 1", "down", "wrong")
    assert await shown() == (["", "wrong", "", "too short 🙂"], "too short 🙂")
    await sessions.rate(ONE, "client 2", "down")
    assert await shown() == (["", "wrong", "", ""], "wrong")
    await sessions.rate(ONE, "client 1", None)
    assert await shown() == (["", "", "", ""], "")
    await sessions.rate(ONE, "client 2", "down", "old")
    same = NewMessage("another", "client 2", replaces=True)
    begun = await sessions.begin(new(ONE, 0.0), same, clock.now)
    ended = TurnOutcome("ok", "a longer answer")
    await sessions.finish(ONE, begun.message.id, ended, clock.now, begun.retries)
    assert await shown() == (["", "", "", ""], "")


async def test_a_missing_answer_cannot_be_rated(sessions: SessionStore, clock: HandClock) -> None:
    assert not await sessions.rate(ONE, "client 1", "up")
    asked = await ask(sessions, clock, "question", "client 1")
    assert not await sessions.rate(ONE, "client 1", "up")
    assert not await sessions.rate(ONE, "client 2", "up")
    await sessions.finish(ONE, asked.id, TurnOutcome("failed"), clock.now)
    assert not await sessions.rate(ONE, "client 1", "up")


async def test_the_state_of_trimming_is_read_with_its_session_and_the_last_one_is_kept(
    sessions: SessionStore, clock: HandClock
) -> None:
    await sessions.save_trim_state(ONE, "before there was a session")
    await turn(sessions, clock, "question", "answer")
    session = await sessions.session(ONE)
    assert session
    assert session.trim_state == ""
    for state in ('{"cut": 3}', '{"summary": "他问签证。"}'):
        await sessions.save_trim_state(ONE, state)
        assert await sessions.session(ONE) == session._replace(trim_state=state)
    await turn(sessions, clock, "another question", "answer")
    kept = await sessions.session(ONE)
    assert kept
    assert kept.trim_state == '{"summary": "他问签证。"}'
    assert len(await sessions.messages(ONE, now=clock.now)) == 4


async def test_the_state_of_trimming_ends_with_its_session(
    sessions: Sessions, clock: HandClock
) -> None:
    """And a chat that gets the same id later starts without one."""
    for end in ("deleted", "expired"):
        await turn(sessions, clock, "question", "answer")
        await sessions.save_trim_state(ONE, "a summary")
        if end == "deleted":
            await sessions.delete(ONE)
        else:
            clock.now += 31 * DAY
        await sessions.save_trim_state(ONE, "a late summary")
        assert await sessions.session(ONE) is None
        await turn(sessions, clock, "question", "answer")
        session = await sessions.session(ONE)
        assert session
        assert session.trim_state == ""
        await sessions.delete(ONE)


async def test_p36_a_deleted_session_is_gone_and_stays_so(
    sessions: Sessions, clock: HandClock
) -> None:
    await turn(sessions, clock, "question", "answer", "client 1")
    session = await sessions.session(ONE)
    assert session
    asked = await ask(sessions, clock, "another", "client 2")
    await sessions.record(call(asked.id, clock.now))
    for _ in range(2):
        await sessions.delete(ONE)
        assert await sessions.session(ONE) is None
        assert await sessions.messages(ONE, now=clock.now) == []
        assert await sessions.calls(ONE) == []
        assert not await sessions.rate(ONE, "client 1", "up")
    assert await sessions.finish(ONE, asked.id, TurnOutcome("ok", "too late"), clock.now) is None
    await sessions.record(call(asked.id, clock.now))
    clock.now += 1
    with pytest.raises(KeyError):
        await sessions.begin(session, NewMessage("hello?"), clock.now)
    assert await sessions.session(ONE) is None
    assert await sessions.messages(ONE, now=clock.now) == []
    assert await sessions.calls(ONE) == []


async def test_deleting_one_session_leaves_the_others(
    sessions: SessionStore, clock: HandClock
) -> None:
    await turn(sessions, clock, "mine", "yes")
    await sessions.begin(new(TWO, clock.now), NewMessage("other"), clock.now)
    await sessions.delete(ONE)
    assert [m.content for m in await sessions.messages(TWO, now=clock.now)] == ["other"]


async def test_t29_an_expired_session_is_not_seen_before_it_is_deleted(
    sessions: Sessions, clock: HandClock
) -> None:
    asked, _ = await turn(sessions, clock, "question", "answer", "client 1")
    session = await sessions.session(ONE)
    assert session
    clock.now = asked.created_at + 30 * DAY - 1
    assert len(await sessions.messages(ONE, now=clock.now)) == 2
    clock.now += 1
    assert await sessions.session(ONE) is None
    assert await sessions.messages(ONE, now=clock.now) == []
    assert not await sessions.rate(ONE, "client 1", "up")
    assert await sessions.finish(ONE, asked.id, TurnOutcome("ok", "late"), clock.now) is None
    with pytest.raises(KeyError):
        await sessions.begin(session, NewMessage("hello?"), clock.now)


async def test_a_session_in_use_keeps_its_oldest_message(
    sessions: SessionStore, clock: HandClock
) -> None:
    """P33: the 30 days start at the last activity, not at the first."""
    await turn(sessions, clock, "first", "yes")
    for number in range(8):
        clock.now += 20 * DAY
        await turn(sessions, clock, f"question {number}", "yes")
    kept = await sessions.messages(ONE, limit=100, now=clock.now)
    assert len(kept) == 18
    assert kept[0].content == "first"
