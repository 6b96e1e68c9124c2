"""C10, C19, T1, T3, T33, T34: rate limits, and the budget before any cost."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, conversation
from tests.fakes.fixtures import Staged
from tests.fakes.raw_client import RawClient, request
from tests.fakes.service import Service
from tests.fakes.stage import FAST, UNHURRIED, Stage, api_keys, stage
from tests.fakes.upstream import ScriptedUpstream


def limited(answer: Answer) -> int:
    """Check that the answer is a 429. Returns its Retry-After."""
    assert (answer.status, answer.error["code"]) == (429, "rate_limit_exceeded")
    assert answer.headers["Access-Control-Allow-Origin"]
    return int(answer.headers["Retry-After"])


async def test_c10_a_limit_admits_a_burst_and_then_returns_the_wait(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=3)
    answers = [await running.ask() for _ in range(6)]
    assert [answer.status for answer in answers] == [200] * 3 + [429] * 3
    waits = [limited(answer) for answer in answers[3:]]
    # A refused request does not extend the wait.
    assert all(17 <= wait <= 20 for wait in waits)
    assert len(running.upstream.journal) == 3


@pytest.mark.slow
async def test_c10_the_returned_wait_is_long_enough(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=60)
    # There are more requests than the burst, because a slow machine refills some of it meanwhile.
    answers = await asyncio.gather(*(running.ask() for _ in range(80)))
    wait = limited(next(answer for answer in answers if answer.status != 200))
    assert wait == 1
    await asyncio.sleep(wait)
    assert (await running.ask()).complete


async def test_c10_retries_with_other_keys_are_counted_once(staged: Staged) -> None:
    running = staged(4, ip_requests_per_minute=2)
    running.script(b.status(429), b.status(500), b.answer())
    assert [(await running.ask()).status for _ in range(3)] == [200, 200, 429]
    assert len(running.upstream.journal) == 4


async def test_t1_flood_from_three_addresses_stays_within_their_limits(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=5, max_streams_per_ip=0, **UNHURRIED)
    sources = ["127.0.0.2", "127.0.0.3", "127.0.0.4"] * 50
    began = time.monotonic()
    answers = await asyncio.gather(*(running.ask(source=source) for source in sources))
    # Each address has a burst of five, and one more request every 12 seconds.
    allowed = 3 * (5 + int((time.monotonic() - began) / 12))
    served = [answer for answer in answers if answer.status == 200]
    assert 15 <= len(served) <= allowed
    assert len(running.upstream.journal) == len(served)
    assert all(limited(answer) <= 12 for answer in answers if answer.status != 200)


async def test_t1_two_processes_share_one_count(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/shared.sqlite3"
    with ExitStack() as stack:
        upstream = stack.enter_context(ScriptedUpstream())
        settings = {**FAST, "store": store, "ip_requests_per_minute": 6}
        first, second = (
            stack.enter_context(stage(1, upstream=upstream, **settings)) for _ in range(2)
        )
        answers = await asyncio.gather(*(one.ask() for one in (first, second) * 10))
        assert sorted(answer.status for answer in answers) == [200] * 6 + [429] * 14
        assert len(upstream.journal) == 6


@pytest.mark.slow
async def test_c14_c15_two_processes_share_their_cooldowns(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/shared.sqlite3"
    with ExitStack() as stack:
        upstream = stack.enter_context(ScriptedUpstream())
        first, second = (
            stack.enter_context(stage(3, upstream=upstream, **{**FAST, "store": store}))
            for _ in range(2)
        )
        upstream.script("*", b.status(429))
        assert (await first.ask()).status == 429
        # The cooldowns are cached for two seconds.
        await asyncio.sleep(2.1)
        assert (await second.ask()).status == 429
        assert len(upstream.journal) == 3


async def test_t3_forwarded_for_does_not_change_the_bucket(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=2)
    spoofs = [f"203.0.113.{number}" for number in range(10)]
    names = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP")
    answers = [
        await running.ask(headers={names[number % 5]: spoof}) for number, spoof in enumerate(spoofs)
    ]
    assert [answer.status for answer in answers] == [200] * 2 + [429] * 8


async def test_t3_headers_of_the_lambda_adapter_mean_nothing_elsewhere(staged: Staged) -> None:
    """L1, C19: they change neither the counted address nor the deadline."""
    running = staged(1, ip_requests_per_minute=2)
    statuses = []
    for number in range(4):
        context = {"identity": {"sourceIp": f"203.0.113.{number}"}}
        headers = {
            "x-amzn-request-context": json.dumps(context),
            "x-amzn-lambda-context": json.dumps({"deadline": 1}),
        }
        statuses.append((await running.ask(headers=headers)).status)
    assert statuses == [200, 200, 429, 429]


async def test_t3_behind_own_proxies_only_their_entry_counts(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=1, trusted_proxy_hops=1)

    async def status(forwarded: str) -> int:
        return (await running.ask(headers={"X-Forwarded-For": forwarded})).status

    assert await status("198.51.100.1") == 200
    assert await status("203.0.113.9, 198.51.100.1") == 429
    assert await status("198.51.100.1, 198.51.100.2") == 200
    assert await status("198.51.100.2") == 429


async def test_t3_one_ipv6_network_is_one_visitor_however_it_is_written(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=5, trusted_proxy_hops=1)
    spellings = ("2001:db8::{}", "2001:0DB8::{}", "[2001:db8::{}]:443", "2001:db8::1:2:3:{}")
    forwarded = [spellings[number % 4].format(number) for number in range(20)]
    statuses = [(await running.ask(headers={"X-Forwarded-For": one})).status for one in forwarded]
    assert statuses == [200] * 5 + [429] * 15
    assert (await running.ask(headers={"X-Forwarded-For": "2001:db8:0:1::1"})).complete


async def test_t1_an_attacker_above_its_limit_takes_nothing_from_the_site(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=5, site_requests_per_minute=60)
    attacks = [await running.ask(source="127.0.0.9") for _ in range(100)]
    assert Counter(answer.status for answer in attacks)[200] <= 6
    visitors = [f"127.0.1.{number}" for number in range(1, 51)]
    answers = [await running.ask(source=source) for source in visitors]
    assert [answer.status for answer in answers] == [200] * 50


async def test_c19_whole_site_has_a_limit(staged: Staged) -> None:
    running = staged(1, site_requests_per_minute=4)
    sources = [f"127.0.0.{number}" for number in range(2, 12)]
    answers = await asyncio.gather(*(running.ask(source=source) for source in sources))
    assert sorted(answer.status for answer in answers) == [200] * 4 + [429] * 6
    assert len(running.upstream.journal) == 4


async def test_c19_t1_budget_is_reserved_before_the_model_is_called(staged: Staged) -> None:
    """Ten concurrent requests for up to 1,000 tokens each, and a budget for three: three calls."""
    running = staged(1, daily_tokens=3300)
    running.script(b.answer(delay=0.2))
    asked = conversation("Hello?", max_tokens=1000)
    answers = await asyncio.gather(*(running.ask(asked) for _ in range(10)))
    served = [answer for answer in answers if answer.status == 200]
    assert len(served) == len(running.upstream.journal) == 3
    for answer in answers:
        if answer.status != 200:
            assert (answer.status, answer.error["code"]) == (429, "budget_exhausted")
            assert 1 <= int(answer.headers["Retry-After"]) <= 86_400


async def test_c19_the_budget_is_settled_by_the_tokens_used(staged: Staged) -> None:
    running = staged(1, daily_tokens=1500)
    usage = {"prompt_tokens": 10, "completion_tokens": 90, "total_tokens": 100}
    running.script(b.answer(usage=usage))
    asked = conversation("Hello?", max_tokens=1000)
    # Without settling, the second request would be refused. The used tokens are not returned.
    statuses = [(await running.ask(asked)).status for _ in range(8)]
    assert statuses == [200] * 5 + [429] * 3


async def test_c19_failed_question_costs_no_budget(staged: Staged) -> None:
    running = staged(1, daily_tokens=1500)
    running.script(b.status(400), b.status(400), b.answer())
    asked = conversation("Hello?", max_tokens=1000)
    statuses = [(await running.ask(asked)).status for _ in range(3)]
    assert statuses == [400, 400, 200]


async def test_c19_an_abandoned_question_releases_its_unused_tokens(staged: Staged) -> None:
    running = staged(1, daily_tokens=1500)
    running.script(b.stall_after(2), b.answer())
    asked = conversation("Hello?", max_tokens=1000)
    async with await RawClient.connect(running.url) as visitor:
        await visitor.send(request(body=asked))
        assert await visitor.until(b"piece1")
    call = running.upstream.calls()[0]
    assert await running.upstream.until(lambda: call.closed_at is not None)
    assert (await running.ask(asked)).complete


async def open_stream(running: Stage, source: str = "127.0.0.1") -> RawClient:
    visitor = await RawClient.connect(running.url, source=source)
    await visitor.send(request(body=conversation("<open>")))
    assert await visitor.until(b"drop")
    return visitor


@pytest.mark.slow
async def test_t34_beyond_the_limit_of_open_files_requests_get_503_and_none_is_cut(
    staged: Staged,
) -> None:
    """The soft limit of 200 is raised to the hard limit of 256, which is enough for 64 streams.

    The model answers after the other requests were refused.
    """
    running = staged(1, open_files="200:256", **UNHURRIED)
    may_answer = threading.Event()

    async def held(exchange: b.Exchange) -> None:
        while not may_answer.is_set():  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.01)
        await b.drip(20, delay=0.01)(exchange)

    running.script(held)
    asked = [asyncio.create_task(running.ask()) for _ in range(100)]
    assert await running.upstream.until(lambda: sum(one.done() for one in asked) >= 36, 15)
    may_answer.set()
    answers = await asyncio.gather(*asked)
    assert Counter(answer.status for answer in answers) == {200: 64, 503: 36}
    assert all(answer.complete for answer in answers if answer.status == 200)
    for answer in answers:
        if answer.status == 503:
            assert answer.error["code"] == "upstream_service_unavailable"
    [notice] = [one for one in running.service.logs() if "files open" in str(one["message"])]
    assert "256 files" in notice["message"]
    assert "LimitNOFILE" in notice["message"]


@pytest.mark.slow
async def test_t34_seven_hundred_streams_at_a_limit_of_1024_files_are_answered_or_refused(
    staged: Staged,
) -> None:
    running = staged(1, open_files="1024:1024", **UNHURRIED)
    running.script(b.drip(20, delay=0.05))
    answers = await asyncio.gather(*(running.ask() for _ in range(700)))
    assert {answer.status for answer in answers} <= {200, 503}
    assert not any(answer.cut for answer in answers)
    assert [one for one in answers if one.status == 200 and not one.complete] == []
    assert sum(answer.complete for answer in answers) >= 100
    assert running.service.process.poll() is None


async def test_t34_streams_of_one_process_are_limited_before_headers(staged: Staged) -> None:
    running = staged(1, max_streams=2)
    running.script(b.drip(100, delay=0.1), asking="<open>")
    visitors = [await open_stream(running) for _ in range(2)]
    answer = await running.ask()
    assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    assert running.upstream.calls("Hello?") == []
    visitors[0].close()
    call = running.upstream.calls("<open>")[0]
    assert await running.upstream.until(lambda: call.closed_at is not None)
    assert (await running.ask()).complete
    visitors[1].close()


async def test_t34_streams_of_one_address_are_limited(staged: Staged) -> None:
    running = staged(1, max_streams_per_ip=2, ip_requests_per_minute=100)
    running.script(b.drip(100, delay=0.1), asking="<open>")
    visitors = [await open_stream(running, "127.0.0.2") for _ in range(2)]
    assert limited(await running.ask(source="127.0.0.2")) >= 1
    assert (await running.ask(source="127.0.0.3")).complete
    for visitor in visitors:
        visitor.close()


@pytest.mark.slow
async def test_t33_a_budget_whose_store_does_not_answer_refuses_requests(tmp_path: Path) -> None:
    """The database is locked by another process: a real fault of a real store."""
    file = tmp_path / "locked.sqlite3"
    settings = {**FAST, "store": f"sqlite:///{file}", "daily_tokens": 100_000}
    with stage(1, **settings) as running:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            answer = await running.ask("<locked>")
            assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
            assert running.upstream.calls("<locked>") == []
            other.execute("ROLLBACK")
        await asyncio.sleep(int(answer.headers["Retry-After"]))
        assert (await running.ask("<after>")).complete


async def test_t33_budget_without_its_store_goes_on_within_the_last_known_rest(
    tmp_path: Path,
) -> None:
    """No request is refused while tokens are left; after that, every one is."""
    file = tmp_path / "locked.sqlite3"
    settings = {**FAST, "store": f"sqlite:///{file}", "daily_tokens": 3500}
    asked = conversation("Hello?", max_tokens=1000)
    with stage(1, **settings) as running:
        running.script(b.answer(usage={"prompt_tokens": 10, "completion_tokens": 990}))
        assert (await running.ask(asked)).complete
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            statuses = [(await running.ask(asked)).status for _ in range(5)]
            other.execute("ROLLBACK")
    assert statuses == [200, 200, 429, 429, 429]


async def test_t33_d1_chat_works_without_the_store(tmp_path: Path) -> None:
    """Cooldowns and rates use this process's memory meanwhile, after the store's time limit."""
    file = tmp_path / "locked.sqlite3"
    settings = {**FAST, "store": f"sqlite:///{file}", "ip_requests_per_minute": 100}
    with stage(2, store_timeout=0.2, **settings) as running:
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            first, second = running.keys
            running.script(b.status(429), key=first)
            answers = [await running.ask() for _ in range(3)]
            other.execute("ROLLBACK")
        assert all(answer.complete for answer in answers)
        assert answers[1].head_at < 3
        assert running.upstream.keys() == [first, second, second, second]
        assert "degraded" in running.service.stderr


async def test_t33_store_that_cannot_be_opened_does_not_keep_the_service_down(
    tmp_path: Path,
) -> None:
    file = tmp_path / "broken.sqlite3"
    file.write_bytes(b"this is no database" * 500)
    with ScriptedUpstream() as upstream:
        service = Service(upstream.base_url, api_keys(1), store=f"sqlite:///{file}", **FAST)
        try:
            service.start()
        except AssertionError:
            # The service may also report the error at once, and exit.
            assert service.process.returncode not in (0, None)
            assert "sqlite" in service.stderr.lower() or "database" in service.stderr.lower()
            assert "Traceback" not in service.stderr
        else:
            running = Stage(upstream, service, api_keys(1))
            assert (await running.ask()).complete
        finally:
            service.close()
    assert file.read_bytes().startswith(b"this is no database")
