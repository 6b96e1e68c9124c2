"""C10, C19, T1, T3, T33, T34: nobody asks more than they may, and money is counted first."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, conversation
from tests.fakes.fixtures import Staged
from tests.fakes.raw_client import RawClient, request
from tests.fakes.service import Service
from tests.fakes.stage import FAST, Stage, api_keys, stage
from tests.fakes.upstream import ScriptedUpstream


def limited(answer: Answer) -> int:
    """Asserts a proper 429; its Retry-After."""
    assert (answer.status, answer.error["code"]) == (429, "rate_limit_exceeded")
    assert answer.headers["Access-Control-Allow-Origin"]
    return int(answer.headers["Retry-After"])


async def test_c10_limit_lets_a_burst_through_then_says_when(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=3)
    answers = [await running.ask() for _ in range(6)]
    assert [answer.status for answer in answers] == [200] * 3 + [429] * 3
    waits = [limited(answer) for answer in answers[3:]]
    # A refused request costs nothing: the wait does not grow.
    assert all(17 <= wait <= 20 for wait in waits)
    assert len(running.upstream.journal) == 3


async def test_c10_wait_that_was_told_is_long_enough(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=60)
    # On a busy machine a place or two is free again before the last one asks.
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
    running = staged(1, ip_requests_per_minute=5, max_streams_per_ip=0)
    sources = ["127.0.0.2", "127.0.0.3", "127.0.0.4"] * 50
    began = time.monotonic()
    answers = await asyncio.gather(*(running.ask(source=source) for source in sources))
    # Five at once for each, and one more every 12 seconds.
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
        # A view may be cached for two seconds.
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
    """L1, C19: neither whose the request is, nor until when it is to be answered."""
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


async def test_c19_whole_site_has_a_limit(staged: Staged) -> None:
    running = staged(1, site_requests_per_minute=4)
    sources = [f"127.0.0.{number}" for number in range(2, 12)]
    answers = await asyncio.gather(*(running.ask(source=source) for source in sources))
    assert sorted(answer.status for answer in answers) == [200] * 4 + [429] * 6
    assert len(running.upstream.journal) == 4


async def test_c19_t1_budget_is_reserved_before_the_model_is_called(staged: Staged) -> None:
    """Ten at once, of up to ~1,000 tokens each, on a budget for three: three calls."""
    running = staged(1, daily_tokens=3300)
    running.script(b.answer(delay=0.2))
    asked = conversation("Hello?", max_tokens=1000)
    answers = await asyncio.gather(*(running.ask(asked) for _ in range(10)))
    served = [answer for answer in answers if answer.status == 200]
    assert len(served) == len(running.upstream.journal) == 3
    for answer in answers:
        if answer.status != 200:
            assert 1 <= limited(answer) <= 86_400


async def test_c19_budget_is_settled_by_what_was_really_used(staged: Staged) -> None:
    running = staged(1, daily_tokens=1500)
    usage = {"prompt_tokens": 10, "completion_tokens": 90, "total_tokens": 100}
    running.script(b.answer(usage=usage))
    asked = conversation("Hello?", max_tokens=1000)
    # Without settling, the second would not fit; the used 100 a question do not come back.
    statuses = [(await running.ask(asked)).status for _ in range(8)]
    assert statuses == [200] * 5 + [429] * 3


async def test_c19_failed_question_costs_no_budget(staged: Staged) -> None:
    running = staged(1, daily_tokens=1500)
    running.script(b.status(400), b.status(400), b.answer())
    asked = conversation("Hello?", max_tokens=1000)
    statuses = [(await running.ask(asked)).status for _ in range(3)]
    assert statuses == [400, 400, 200]


async def test_c19_abandoned_question_gives_back_what_it_did_not_use(staged: Staged) -> None:
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
    running = staged(1, max_streams_per_ip=2)
    running.script(b.drip(100, delay=0.1), asking="<open>")
    visitors = [await open_stream(running, "127.0.0.2") for _ in range(2)]
    assert limited(await running.ask(source="127.0.0.2")) >= 1
    assert (await running.ask(source="127.0.0.3")).complete
    for visitor in visitors:
        visitor.close()


@pytest.mark.parametrize(("policy", "status"), [("closed", 503), ("local", 200)])
async def test_t33_budget_without_its_store_does_as_the_setting_says(
    tmp_path: Path, policy: str, status: int
) -> None:
    """The database is locked by another process: a real fault of a real store."""
    file = tmp_path / "locked.sqlite3"
    settings = {**FAST, "store": f"sqlite:///{file}", "daily_tokens": 100_000}
    with stage(1, budget_without_store=policy, **settings) as running:
        assert (await running.ask("<before>")).complete
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            answer = await running.ask("<locked>")
            assert answer.status == status
            assert len(running.upstream.calls("<locked>")) == (1 if status == 200 else 0)
            if status == 503:
                assert answer.error["code"] == "upstream_service_unavailable"
                assert "Retry-After" in answer.headers
            other.execute("ROLLBACK")
        # At the latest when a refused visitor was told to come back.
        await asyncio.sleep(int(answer.headers.get("Retry-After", 0)))
        assert (await running.ask("<after>")).complete


async def test_t33_d1_chat_goes_on_without_the_store(tmp_path: Path) -> None:
    """Cooldowns and rates are kept in the process meanwhile, within the store's time limit."""
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
        assert answers[1].head_at < 0.8
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
            # Or it says at once what is wrong, and ends.
            assert service.process.returncode not in (0, None)
            assert "sqlite" in service.stderr.lower() or "database" in service.stderr.lower()
            assert "Traceback" not in service.stderr
        else:
            running = Stage(upstream, service, api_keys(1))
            assert (await running.ask()).complete
        finally:
            service.close()
    assert file.read_bytes().startswith(b"this is no database")
