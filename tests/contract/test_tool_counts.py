"""The contract of the numbers of tools: by chat for the filters, and by day (A15)."""

from __future__ import annotations

import pytest

from kefu.sessions.store.model import LEASE, NewMessage, Retention, TurnOutcome
from kefu.sessions.store.overview import SessionFilter, ToolDay, ToolFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb.store import DynamoStore
from kefu.tools.use import State, Use, stored
from tests.contract.chats import DAY, ONE, new
from tests.contract.engines import HandClock, new_table
from tests.contract.test_insights import chat, found, ids, numbers
from tests.fakes.metering_front import MeteringFront

ALL = ("2000-01-01", "2999-01-01")
TODAY, TOMORROW = "2096-10-02", "2096-10-03"
FAILED: SessionFilter = SessionFilter(tool="failed")


def use(state: State, name: str = "order_status", card: str = "", title: str = "Looking") -> Use:
    return Use("s0c0", name, '{"order_id":"5"}', state=state, card=card, title=title)


def ended(*uses: Use, text: str = "answer") -> TurnOutcome:
    return TurnOutcome("ok" if text else "failed", text, steps=stored(uses))


ASKED = use("asked", "cancel_order", "Cancel it?")


async def test_a15_filters_find_chats_by_what_their_tools_did(
    sessions: Sessions, clock: HandClock
) -> None:
    """A card that nobody clicks is a call, and is not declined."""
    write = ASKED._replace
    endings = (
        ended(),
        ended(use("done"), use("done", "stock")),
        ended(use("failed"), use("done")),
        ended(write(state="unsure")),
        ended(ASKED),
        ended(write(state="denied")),
    )
    for number, one in enumerate(endings):
        await chat(sessions, clock, number, "question", one)
    expected: dict[ToolFilter, list[int]] = {
        "used": [4, 2, 1],
        "failed": [3, 2],
        "declined": [5],
    }
    for wanted, rows in expected.items():
        listed = await found(sessions, SessionFilter(tool=wanted), clock.now, limit=2)
        assert numbers(listed) == rows, wanted
    both = SessionFilter(tool="used", has_error=True)
    assert await found(sessions, both, clock.now) == []
    every = [
        (row.tool_calls, row.tool_failures, row.declined)
        for row in await found(sessions, SessionFilter(), clock.now)
    ]
    assert every == [(0, 0, 1), (1, 0, 0), (0, 1, 0), (2, 1, 0), (2, 0, 0), (0, 0, 0)]


async def test_a15_a_call_that_a_click_approves_is_one_call_of_its_chat(
    sessions: Sessions, clock: HandClock
) -> None:
    session = new(ONE, clock.now)
    for message, one in (("Cancel 5", ASKED), ("✓ Cancel it?", ASKED._replace(state="done"))):
        begun = await sessions.begin(session, NewMessage(message), clock.now)
        await sessions.finish(ONE, begun.message.id, ended(one), clock.now)
    [row] = await found(sessions, SessionFilter(tool="used"), clock.now)
    assert (row.tool_calls, row.tool_failures) == (1, 0)
    assert await sessions.tool_days(*ALL) == [
        ToolDay(TODAY, "cancel_order", uses=1, asked=1, approved=1)
    ]


async def test_a15_a_click_is_no_question_of_a_visitor(
    sessions: Sessions, clock: HandClock
) -> None:
    """It is found by its words, and is not among the questions that are asked most."""
    session = new(ONE, clock.now)
    for asked in (NewMessage("Cancel 5"), NewMessage("✓ Cancel it?", ASKED.approval_id(1))):
        begun = await sessions.begin(session, asked, clock.now)
        await sessions.finish(ONE, begun.message.id, ended(ASKED), clock.now)
    assert len(await found(sessions, SessionFilter(text="cancel it"), clock.now)) == 1
    asked_most = await sessions.questions(0, clock.now + 1, 9, clock.now)
    assert [one.text for one in asked_most.questions] == ["Cancel 5"]


async def test_a15_days_count_uses_failures_and_cards_by_tool(
    sessions: Sessions, clock: HandClock
) -> None:
    """On the day on which the turn ended. The sums stay when the chat is deleted."""
    stock = use("failed", "stock")
    await chat(sessions, clock, 1, "a", ended(use("done"), use("failed"), stock))
    await chat(sessions, clock, 2, "b", ended(use("done"), ASKED))
    clock.now += DAY
    await chat(sessions, clock, 3, "c", ended(ASKED._replace(state="denied")))
    await chat(sessions, clock, 4, "d", ended(ASKED._replace(state="sending"), text=""))
    expected = [
        ToolDay(TODAY, "cancel_order", asked=1),
        ToolDay(TODAY, "order_status", uses=3, failures=1),
        ToolDay(TODAY, "stock", uses=1, failures=1),
        ToolDay(TOMORROW, "cancel_order", uses=1, unsure=1, approved=1, declined=1),
    ]
    assert await sessions.tool_days(*ALL) == expected
    assert await sessions.tool_days(TOMORROW, TOMORROW) == expected[3:]
    assert await sessions.tool_days(TOMORROW, TODAY) == []
    await sessions.delete(ids(1))
    assert await sessions.tool_days(*ALL) == expected
    assert numbers(await found(sessions, FAILED, clock.now)) == [4]


async def test_a15_an_outcome_that_is_saved_twice_counts_once(
    sessions: Sessions, clock: HandClock
) -> None:
    """A retry counts again, as for errors."""
    session, asked = new(ONE, clock.now), NewMessage("Where is 5?", "client")
    begun = await sessions.begin(session, asked, clock.now)
    partial = TurnOutcome("partial", "It", steps=stored([use("failed")]))
    for _ in range(2):
        await sessions.finish(ONE, begun.message.id, partial, clock.now)
    clock.now += LEASE + 1
    begun = await sessions.begin(session, asked, clock.now)
    await sessions.renew(ONE, begun.message.id, begun.retries, clock.now, stored([use("failed")]))
    await sessions.finish(ONE, begun.message.id, ended(use("done")), clock.now, begun.retries)
    assert await sessions.tool_days(*ALL) == [ToolDay(TODAY, "order_status", uses=2, failures=1)]


async def test_a15_names_that_the_model_made_up_are_counted_as_one(
    sessions: Sessions, clock: HandClock
) -> None:
    """They may be a visitor's words, and without end."""
    made_up = [use("failed", f"get anna's order {n}", title="") for n in range(3)]
    await chat(sessions, clock, 1, "a", ended(*made_up, use("done")))
    assert await sessions.tool_days(*ALL) == [
        ToolDay(TODAY, "?", uses=3, failures=3),
        ToolDay(TODAY, "order_status", uses=1),
    ]


@pytest.mark.parametrize(("steps", "calls"), [("", 3), (stored([use("done")]), 5)])
async def test_a15_a_turn_without_tools_costs_dynamodb_no_call_more(
    dynamodb_endpoint: str, aws_environment: None, clock: HandClock, steps: str, calls: int
) -> None:
    """A turn with tools: an item of its queue, and one of its day."""
    table = await new_table(dynamodb_endpoint, clock, with_ttl=False)
    with MeteringFront(dynamodb_endpoint) as front:
        store = DynamoStore(table.table, clock, endpoint=front.url)
        sessions = store.sessions(Retention())
        begun = await sessions.begin(new(ONE, clock.now), NewMessage("hats"), clock.now)
        front.settle()
        outcome = TurnOutcome("ok", "yes", steps=steps)
        await sessions.finish(ONE, begun.message.id, outcome, clock.now)
        assert front.settle().calls.total() == calls
        await store.aclose()
    await table.aclose()
