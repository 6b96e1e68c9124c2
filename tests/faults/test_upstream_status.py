"""The upstream refuses requests: rows U1 to U9, U20, U22, U27, U29 of the fault matrix."""

from __future__ import annotations

import asyncio
import itertools
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from kefu.relay.key_pool import fingerprint
from kefu.stores.sqlite.store import SqliteStore
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, conversation
from tests.fakes.fixtures import Staged
from tests.fakes.stage import UNHURRIED, Stage
from tests.fakes.upstream import ScriptedUpstream

ROTATING = [429, 456, 500, 502, 503, 504, 529]


def retry_after(answer: Answer) -> int:
    return int(answer.headers["Retry-After"])


@pytest.mark.parametrize("code", ROTATING)
async def test_u1_u2_failing_key_gives_way_to_the_next_unseen(
    shared: Stage, question: str, code: int
) -> None:
    shared.script(b.status(code), b.answer("fine"), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "fine"
    assert len(set(shared.upstream.keys(question))) == len(shared.upstream.keys(question)) == 2


async def test_u1_next_key_is_tried_at_once(shared: Stage, question: str) -> None:
    shared.script(b.status(429), b.status(503), b.status(429), b.answer(), asking=question)
    assert (await shared.ask(question)).complete
    calls = shared.upstream.calls(question)
    pairs = itertools.pairwise(calls)
    waits = sorted(later.asked_at - (first.answered_at or 0) for first, later in pairs)
    # The median of three, because a busy machine may delay a retry.
    assert len(waits) == 3
    assert waits[1] < 0.05


@pytest.mark.parametrize("code", [429, 503])
async def test_u1_u2_cooling_key_is_left_alone(staged: Staged, code: int) -> None:
    running = staged(2)
    first, second = running.keys
    running.script(b.status(code), b.answer("back too early"), key=first)
    answers = [await running.ask() for _ in range(3)]
    assert all(answer.complete for answer in answers)
    assert running.upstream.keys() == [first, second, second, second]


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        (429, 429, "rate_limit_exceeded"),
        (456, 429, "rate_limit_exceeded"),
        (500, 503, "upstream_service_unavailable"),
    ],
)
async def test_u3_u4_u5_an_exhausted_pool_is_an_error_without_more_requests(
    staged: Staged, code: int, status: int, error: str
) -> None:
    running = staged(3)
    running.script(b.status(code))
    began = time.monotonic()
    answer = await running.ask()
    assert (answer.status, answer.error["code"]) == (status, error)
    assert set(answer.error) == {"message", "type", "param", "code"}
    assert answer.headers["x-should-retry"] == "false"
    assert running.upstream.keys() == running.keys
    assert 58 <= retry_after(answer) <= 60

    again = await running.ask()
    elapsed = time.monotonic() - began
    assert (again.status, again.error["code"]) == (status, error)
    assert again.headers["x-should-retry"] == "false"
    assert len(running.upstream.journal) == 3
    assert 60 - elapsed - 1 <= retry_after(again) <= 60


@pytest.mark.slow
async def test_u3_retry_after_counts_down_and_the_pool_comes_back(staged: Staged) -> None:
    running = staged(2, cooldown=5)
    running.script(b.status(429), b.status(429), b.answer("back"))
    cooled_from = time.monotonic()
    seconds = retry_after(await running.ask())
    assert 1 <= seconds <= 5
    while time.monotonic() < cooled_from + 4.5:
        answer = await running.ask()
        # On a busy machine the answer may be of a time after the cooldown.
        if time.monotonic() > cooled_from + 4.5:
            break
        assert (answer.status, len(running.upstream.journal)) == (429, 2)
        assert retry_after(answer) <= seconds
        seconds = retry_after(answer)
        await asyncio.sleep(0.1)
    while (answer := await running.ask()).status == 429:
        await asyncio.sleep(0.02)
        assert time.monotonic() < cooled_from + 60
    assert answer.text == "back"
    assert time.monotonic() > cooled_from + 4.9


async def test_u5_one_rate_limited_key_among_failing_ones_makes_it_429(staged: Staged) -> None:
    running = staged(3)
    running.script(b.status(500))
    running.script(b.status(429, headers={"Retry-After": "300"}), key=running.keys[1])
    for _ in range(2):
        answer = await running.ask()
        assert (answer.status, answer.error["code"]) == (429, "rate_limit_exceeded")
        assert 55 <= retry_after(answer) <= 60


async def test_u6_at_most_four_different_keys_are_tried(staged: Staged) -> None:
    running = staged(10)
    running.script(b.status(429))
    first = await running.ask()
    assert first.status == 429
    assert running.upstream.keys() == running.keys[:4]
    await running.ask()
    assert running.upstream.keys() == running.keys[:8]
    last = await running.ask()
    assert running.upstream.keys() == running.keys
    assert last.headers["x-should-retry"] == "false"
    assert 55 <= retry_after(last) <= 60


async def test_u7_refused_keys_are_invalid_for_an_hour_not_cooling(staged: Staged) -> None:
    running = staged(4)
    for key, code in zip(running.keys, (401, 402, 403), strict=False):
        running.script(b.status(code), key=key)
    assert (await running.ask()).complete
    assert running.upstream.keys() == running.keys
    assert (await running.ask()).complete
    assert running.upstream.keys()[4:] == [running.keys[3]]

    running.script(b.status(401), key=running.keys[3])
    for _ in range(2):
        answer = await running.ask()
        assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
        assert answer.headers["x-should-retry"] == "false"
        assert 3500 <= retry_after(answer) <= 3600
    assert len(running.upstream.journal) == 6


async def test_u8_refused_request_is_the_clients_fault_and_costs_no_key(staged: Staged) -> None:
    running = staged(1)
    echo = {"error": {"message": "ECHOED-WORDS", "code": "bad", "param": "ECHOED-WORDS"}}
    codes = (400, 415, 422)
    running.script(*[b.status(code, echo) for code in codes], b.answer("still here"))
    for _ in codes:
        answer = await running.ask()
        assert (answer.status, answer.error["code"]) == (400, "invalid_request")
        assert b"ECHOED" not in answer.raw
    assert len(running.upstream.journal) == 3
    assert (await running.ask()).text == "still here"


async def test_u9_too_long_context_is_said_with_its_code(staged: Staged) -> None:
    running = staged(2)
    too_long = {"error": {"message": "ECHOED-WORDS", "code": "context_length_exceeded"}}
    running.script(b.status(400, too_long))
    answer = await running.ask(conversation("old", "older", "new"))
    assert (answer.status, answer.error["code"]) == (400, "context_length_exceeded")
    assert b"ECHOED" not in answer.raw
    calls = running.upstream.calls()
    assert len(calls) <= 2
    if len(calls) == 2:
        assert len(calls[1].body["messages"]) < len(calls[0].body["messages"])
    running.script(b.answer())
    assert (await running.ask()).complete
    assert (await running.ask()).complete
    assert set(running.upstream.keys()[-2:]) == set(running.keys)


@pytest.mark.parametrize("code", [429, "rate_limit_exceeded", 500, "overloaded", 401])
async def test_u20_error_as_the_first_event_rotates(
    shared: Stage, question: str, code: int | str
) -> None:
    shared.script(b.in_band_error(code), b.answer("fine"), asking=question)
    answer = await shared.ask(question)
    assert answer.complete
    assert answer.text == "fine"
    assert len(set(shared.upstream.keys(question))) == 2


async def test_u20_error_as_the_first_event_becomes_a_real_status(staged: Staged) -> None:
    """429 and 5xx start a cooldown of the key; a 400 is an error of the request."""
    running = staged(5, max_retries=1)
    table = [
        (429, 429, "rate_limit_exceeded"),
        (500, 503, "upstream_service_unavailable"),
        (400, 400, "invalid_request"),
    ]
    for code, status, error in table:
        running.script(b.in_band_error(code, message="ECHOED-WORDS"), asking=f"<{code}>")
        answer = await running.ask(f"<{code}>")
        assert (answer.status, answer.error["code"]) == (status, error)
        assert b"ECHOED" not in answer.raw
    assert running.upstream.keys() == running.keys
    assert (await running.ask()).complete
    assert running.upstream.keys()[5:] == [running.keys[4]]


WRONG = [b.json_200(), b.html_200(), b.malformed_json(), b.raw(b"")]


@pytest.mark.parametrize("wrong", WRONG, ids=["json", "html", "malformed", "empty"])
async def test_u22_two_hundred_without_an_event_stream_is_a_failed_try(
    shared: Stage, question: str, wrong: b.Behaviour
) -> None:
    shared.script(wrong, b.answer("fine"), asking=question)
    assert (await shared.ask(question)).text == "fine"
    shared.script(wrong, asking=question)
    answer = await shared.ask(question)
    assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
    assert b"HTMLPAGE" not in answer.raw
    assert b"MALFORMED" not in answer.raw
    assert len(set(shared.upstream.keys(question))) == len(shared.upstream.calls(question)) == 6


async def test_u22_key_that_answers_without_an_event_stream_rests(staged: Staged) -> None:
    running = staged(2)
    running.script(b.html_200(), b.answer("back too early"), key=running.keys[0])
    for _ in range(2):
        assert (await running.ask()).text == "Hello from the model."
    assert running.upstream.keys() == [*running.keys, running.keys[1]]


@pytest.mark.parametrize("code", [301, 302, 307, 308])
async def test_u27_redirect_is_not_followed_and_no_key_leaks(
    shared: Stage, question: str, code: int
) -> None:
    with ScriptedUpstream() as elsewhere:
        shared.script(b.redirect(elsewhere.base_url + "/chat/completions", code), asking=question)
        answer = await shared.ask(question)
        assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
        assert elsewhere.connections == 0
    assert elsewhere.base_url.encode() not in answer.raw
    assert len(shared.upstream.calls(question)) == 1


def soon(seconds: float) -> str:
    return formatdate(time.time() + seconds, usegmt=True)


def refusal_with(name: str, value: str | float) -> b.Behaviour:
    if name == "body":
        return b.status(429, {"error": {"message": "later", "retry_after": value}})
    return b.status(429, headers={name: str(value)})


async def test_u29_retry_after_lengthens_a_cooldown_within_bounds(
    staged: Staged, tmp_path: Path
) -> None:
    """Each form of Retry-After, with a key of its own: the cooldown lasts 60 s to one hour."""
    started = time.time()
    table: list[tuple[str, str | float, int]] = [
        ("Retry-After", "0", 60),
        ("Retry-After", "-5", 60),
        ("Retry-After", "30", 60),
        ("Retry-After", "120", 120),
        ("Retry-After", "1000000000", 3600),
        ("Retry-After", "abc", 60),
        ("Retry-After", "inf", 60),
        ("Retry-After", "nan", 60),
        ("Retry-After", soon(200), 200),
        ("Retry-After", soon(-200), 60),
        ("Retry-After", soon(1e9), 3600),
        ("retry-after-ms", "90500", 90),
        ("body", 300, 300),
        ("body", "300", 300),
        ("body", 1e300, 3600),
    ]
    file = tmp_path / "store.sqlite3"
    settings = {**UNHURRIED, "max_retries": 0, "store": f"sqlite:///{file}"}
    running = staged(len(table), **settings)
    for number, (name, value, _) in enumerate(table):
        running.script(refusal_with(name, value), asking=f"<{number}>")
        assert (await running.ask(f"<{number}>")).status == 429
    ended = time.time()
    store = SqliteStore(file, time.time)
    view = await store.cooldowns()
    await store.aclose()
    assert running.upstream.keys() == running.keys
    for key, (name, value, expected) in zip(running.keys, table, strict=True):
        refused_at = view[fingerprint(key)].until - expected
        assert started - 1 <= refused_at <= ended + 1, (name, value)


async def test_u29_the_client_receives_the_wait_of_the_upstream(staged: Staged) -> None:
    running = staged(1, **UNHURRIED)
    running.script(b.status(429, headers={"Retry-After": "120"}))
    for _ in range(2):
        assert 90 <= retry_after(await running.ask()) <= 120
