"""H6, H7: an operator finds bad chats and words in a real Chromium, and sees what is asked."""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from kefu.auth.admin_tokens import AdminTokens
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import NewMessage, Rating, Session, SessionId, TurnOutcome
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from tests.fakes.browser import told_by
from tests.fakes.chatting import STORE, Visitor, new_id, store_of
from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.web.test_contact import send, settings

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
SHOTS = os.environ.get("SHOTS")
CHATS, DOWN, UNANSWERED = 1000, 12, 8

QUESTIONS = (
    "Where is my parcel?",
    "Can I return a sale item?",
    "退款需要多长时间？",
    "How long does delivery to Norway take?",
    "尺码怎么选",
)
COMMENT = "It is <b>{}</b> days late."
VAIN = ("Do you ship to Svalbard?", "你们的保修期是多久？")
ANSWER = """Parcels leave **the same day**. Standard delivery takes 3 to 5 working days.

| Country | Days |
|---|---|
| Norway | 3 |

1. Open [your orders](https://shop.example/orders).
2. Choose `Track`."""


class Seeded(NamedTuple):
    stage: Stage
    down: list[str]
    unanswered: list[str]


def ids(number: int) -> SessionId:
    return SessionId(f"{number:032x}")


async def seed(store: Sessions, now: float) -> tuple[list[str], list[str]]:
    """1,000 chats of four weeks, with 20 bad ones. Returns the ids of the bad ones."""
    down, unanswered = list[str](), list[str]()
    for number in range(CHATS):
        at = now - (CHATS - number) * 28 * 86400 / CHATS
        is_down, is_vain = number % 83 == 40, number % 125 == 60
        text = QUESTIONS[(number * number + number // 7) % len(QUESTIONS)]
        text = VAIN[number % 3 % 2] if is_vain else text
        text += " (the zebra)" if number % 200 == 17 else ""
        session = Session(ids(number), text[:40], "default", at, at, user="anna" * (number == 999))
        begun = await store.begin(session, NewMessage(text, f"client {number}"), at)
        first = 0.4 + number % 9 / 10
        ended = TurnOutcome("ok", ANSWER, 900, 120, is_vain, first, proved=number % 2 == 0)
        if number % 100 == 99:
            ended = TurnOutcome("failed", "", 900, 0)
        await store.finish(session.id, begun.message.id, ended, at + 2)
        if is_down or number % 6 == 0:
            comment = COMMENT.format(number) if is_down else ""
            rating: Rating = "down" if is_down else "up"
            await store.rate(session.id, f"client {number}", rating, comment)
        if number % 50 == 3:
            request = ContactRequest(
                f"{number}", session.id, "", "a@example.org", "", at, due_at=at
            )
            await store.add_contact(request)
        down += [session.id] * is_down
        unanswered += [session.id] * is_vain
    return down, unanswered


@pytest.fixture
async def seeded(staged: Staged) -> AsyncIterator[Seeded]:
    stage = staged(
        1,
        environment={"ADMIN_TOKEN": TOKEN},
        sessions="true",
        store=STORE,
        contact_form="email",
        prices="1,2",
    )
    async with store_of(stage, time.time) as store:
        bad = await seed(store, time.time())
        while (await store.newest(SessionFilter(text="zebra"), None, 1, time.time())).waiting:
            pass  # each search adds some turns to the index
        yield Seeded(stage, *bad)


def link(stage: Stage) -> str:
    return f"{stage.url}/admin#ticket={AdminTokens(TOKEN).ticket(os.urandom(8).hex(), time.time())}"


def visit(stage: Stage, *steps: tuple[str, Any], **context: Any) -> dict[str, Any]:
    asked = {"url": stage.url, "steps": [["open", link(stage)], *steps], "context": context}
    script = Path(__file__).with_name("panel_visit.mjs")
    told = told_by(script, json.dumps(asked), timeout=180)
    assert (told["dialogs"], told["foreign"], told["errors"]) == ([], [], [])
    return told


def shot(name: str, at: str = "body") -> list[tuple[str, Any]]:
    """A picture that begins at an element."""
    return [("top", at), ("shot", f"{SHOTS}/{name}.png")] if SHOTS else []


async def test_h7_twenty_bad_chats_in_a_thousand_are_found_with_a_choice_and_a_click(
    seeded: Seeded,
) -> None:
    """One choice in a list shows them all; one click opens the first."""
    assert (len(seeded.down), len(seeded.unanswered)) == (DOWN, UNANSWERED)
    down = [f".loading:has-text('{DOWN} chats found')", f".rows a[href='#s={seeded.down[-1]}']"]
    seen = visit(
        seeded.stage,
        ("wait", ".rows a"),
        *shot("list"),
        ("select", ["select[name=only]", "down"]),
        ("wait", down[0]),
        ("count", ["down", ".rows a"]),
        ("texts", ["marks", ".rows .status"]),
        ("texts", ["comments", ".rows .comment q"]),
        *shot("down"),
        ("axe", "down"),
        ("click", down[1]),
        ("wait", ".bubble .rating.down"),
        ("texts", ["bold", ".answer.rendered strong"]),
        ("texts", ["comment", ".bubble .comment q"]),
        ("count", ["cells", ".answer.rendered td"]),
        ("count", ["links", ".content a"]),
        ("axe", "rendered"),
        *shot("rendered"),
        ("click", ".head button[aria-pressed=false]"),
        ("wait", ".answer:not(.rendered)"),
        ("texts", ["source", ".answer"]),
        ("select", ["select[name=only]", "unanswered"]),
        ("wait", f".loading:has-text('{UNANSWERED} chats found')"),
        ("count", ["unanswered", ".rows a"]),
    )
    assert (seen["down"], seen["unanswered"]) == (DOWN, UNANSWERED)
    assert seen["marks"] == ["1 rated down"] * DOWN
    comments = [COMMENT.format(int(name, 16)) for name in reversed(seeded.down)]
    assert (seen["comments"], seen["comment"]) == (comments, comments[:1])
    assert seen["bold"] == ["the same day"]
    assert (seen["cells"], seen["links"]) == (2, 0)
    assert seen["source"] == [ANSWER]
    assert seen["axe"] == []


@pytest.mark.slow
async def test_h7_words_are_found_in_two_languages_and_the_user_by_id(seeded: Seeded) -> None:
    """All matches, over all pages of the list. A new chat appears without a click."""
    more = ".rows li:nth-child(51)"
    seen = visit(
        seeded.stage,
        ("wait", ".rows a"),
        ("fill", ["input[name=text]", "zebras"]),
        ("press", ["input[name=text]", "Enter"]),
        ("wait", ".loading:has-text('5 chats found')"),
        ("texts", ["zebras", ".rows strong"]),
        ("click", ".rows a"),
        ("wait", ".conversation .turn"),
        ("marked", "marked"),
        *shot("marked"),
        ("fill", ["input[name=text]", "退款"]),
        ("press", ["input[name=text]", "Enter"]),
        ("wait", ".loading:has-text('50 or more')"),
        ("click", ".pill"),
        ("wait", more),
        ("texts", ["refunds", ".rows strong"]),
        ("axe", "search"),
        ("fill", ["input[name=text]", ""]),
        ("click", ".filters summary"),
        ("fill", ["input[name=user]", "anna"]),
        ("click", ".filters .accent"),
        ("wait", ".loading:has-text('1 chat found')"),
        ("axe", "filters"),
        *shot("filters"),
    )
    assert len(seen["zebras"]) == 5
    assert seen["marked"] == ["zebra"]
    assert len(seen["refunds"]) == 100
    assert all("退款" in title for title in seen["refunds"])
    assert seen["axe"] == []


@pytest.mark.slow
def test_h7_a_new_chat_appears_without_a_click(staged: Staged) -> None:
    stage = staged(1, environment={"ADMIN_TOKEN": TOKEN}, sessions="true")
    url = f"{stage.url}/api/chat"
    first = httpx.post(url, json={"message": "The first question"}, timeout=20)
    assert first.is_success
    seen = visit(
        stage,
        ("wait", ".rows a:has-text('The first question')"),
        ("post", [url, {"message": "The second question"}]),
        ("wait", ".rows li:first-child a:has-text('The second question')"),
        ("texts", ["rows", ".rows strong"]),
        ("texts", ["times", ".rows time"]),
    )
    assert seen["rows"] == ["The second question", "The first question"]
    assert all("now" in one or "min" in one for one in seen["times"])


@pytest.mark.slow
async def test_h7_a_list_of_waiting_chats_drops_one_that_a_person_has_taken(
    staged: Staged,
) -> None:
    """Taken in another window, and without a new message: only the state of the chat changes."""
    stage = staged(1, **settings())
    visitors = [Visitor(stage) for _ in range(4)]
    for number, visitor in enumerate(visitors):
        await visitor.say(f"Question {number}")
        if number:
            assert (await send(visitor, new_id())).status_code == 204
    url = f"{stage.url}/admin/api/sessions/{visitors[2].session_id}/state"
    taken = {"state": "person", "operator": "Ingrid"}
    seen = visit(
        stage,
        ("wait", ".rows li:nth-child(4)"),
        ("select", ["select[name=only]", "waiting"]),
        ("gone", ".rows li:nth-child(4)"),
        ("wait", ".rows li:nth-child(3)"),
        ("texts", ["before", ".rows strong"]),
        ("post", [url, taken, {"Authorization": f"Bearer {TOKEN}"}]),
        ("gone", f"#row-{visitors[2].session_id}"),
        ("texts", ["after", ".rows strong"]),
        ("select", ["select[name=only]", "person"]),
        ("wait", f"#row-{visitors[2].session_id}"),
        ("texts", ["person", ".rows strong"]),
    )
    assert seen["before"] == ["Question 3", "Question 2", "Question 1"]
    assert seen["after"] == ["Question 3", "Question 1"]
    assert seen["person"] == ["Question 2"]


@pytest.mark.slow
async def test_h6_insights_show_numbers_gaps_questions_and_days(seeded: Seeded) -> None:
    seen = visit(
        seeded.stage,
        ("wait", ".rows a"),
        ("click", "nav a[href='#insights']"),
        ("wait", ".gaps li"),
        ("texts", ["tiles", ".tiles:not(.outcomes) dd"]),
        ("texts", ["names", ".tiles:not(.outcomes) dt"]),
        ("texts", ["outcomes", ".outcomes dt, .outcomes dd:not(.muted)"]),
        ("count", ["meanings", ".outcomes dd.muted"]),
        ("texts", ["gaps", ".gaps li a"]),
        ("texts", ["asked", ".asked li a"]),
        ("count", ["comments", ".gaps .comment q"]),
        ("count", ["bars", ".plot g"]),
        ("count", ["titles", ".plot g title"]),
        ("wait", ".plot[role=img][aria-label*='1,000 in total']"),
        ("axe", "insights"),
        *shot("insights"),
        *shot("insights-chart", ".plot"),
        ("download", ["csv", ".gaps .save"]),
        ("download", ["days", ".insights > section .save"]),
        ("click", ".periods a[href='#insights=7']"),
        ("wait", ".periods a[href='#insights=7'][aria-current]"),
        ("texts", ["week", ".tiles:not(.outcomes) dd"]),
        ("scheme", "dark"),
        ("axe", "dark"),
        *shot("insights-dark"),
        ("size", [390, 844]),
        ("overflow", "overflow"),
        ("axe", "phone"),
        *shot("insights-phone"),
        ("click", ".gaps li a"),
        ("wait", ".conversation .turn"),
    )
    facts = dict(zip(seen["names"], seen["tiles"], strict=True))
    assert facts["Chats"] == f"{CHATS:,}"
    assert facts["Asked for a person"] == "20"
    assert facts["Failed"] == "1.0 %"
    assert facts["First word, mean"].endswith("ms")
    assert facts["Cost"] == "1.14"
    assert seen["outcomes"] == [
        *("Confirmed", "17 %", "Left", "98 %", "Asked again", "0.0 %"),
        *("Went to a person", "2.0 %", "Proved by sources", "51 %"),
    ]
    assert seen["meanings"] == 5
    assert set(VAIN) <= set(seen["gaps"])
    assert set(QUESTIONS) <= {text.removesuffix(" (the zebra)") for text in seen["asked"]}
    assert 28 <= seen["bars"] == seen["titles"] <= 30
    rows = list(csv.DictReader(io.StringIO(seen["csv"].removeprefix("\ufeff"))))
    assert {row["Question"] for row in rows} >= set(VAIN)
    assert sum(row["Comments"].count("days late") for row in rows) > seen["comments"] > 3
    days = list(csv.DictReader(io.StringIO(seen["days"].removeprefix("\ufeff"))))
    assert sum(int(day["chats"]) for day in days) == CHATS
    assert sum(int(day["not_answered"]) for day in days) == UNANSWERED
    assert seen["overflow"] == 0
    assert seen["axe"] == []


@pytest.mark.slow
async def test_h7_the_list_does_not_overflow_with_wide_letters(seeded: Seeded) -> None:
    """Also in Chinese, in the dark."""
    seen = visit(
        seeded.stage,
        ("wait", ".rows a"),
        ("click", ".filters summary"),
        ("letters", "22px"),
        ("over", ["over", "aside"]),
        ("letters", ""),
        ("scheme", "dark"),
        ("axe", "list"),
        *shot("list-zh"),
        ("open", f"{seeded.stage.url}/admin#insights"),
        ("wait", ".gaps li"),
        ("axe", "insights"),
        *shot("insights-zh"),
        locale="zh-CN",
    )
    assert seen["over"] == 0
    assert seen["axe"] == []
