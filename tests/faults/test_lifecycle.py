"""The process starts, gets SIGTERM, or is killed: rows L3 and L5, and T18 at the start."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path

import httpx
import pytest

from kefu.chat.limits import Rate
from kefu.relay.key_pool import Cooldown, Reason, fingerprint
from kefu.stores.sqlite.store import SqliteStore
from tests.fakes import behaviours as b
from tests.fakes.asking import Answer, ask, get
from tests.fakes.fixtures import Staged
from tests.fakes.forked import kefu
from tests.fakes.service import Service
from tests.fakes.stage import Stage, api_keys
from tests.fakes.upstream import ScriptedUpstream


async def refused_or_503(running: Stage) -> bool:
    with contextlib.suppress(httpx.TransportError):
        answer = await ask(running.url, "<late>", timeout=20)
        return answer.status == 503
    return True


async def test_l3_sigterm_ends_open_streams_properly_and_exits_0(staged: Staged) -> None:
    running = staged(8)
    running.script(b.drip(500, delay=0.1))
    running.script(b.answer("a", "b", delay=0.3), asking="<short>")
    open_streams = [asyncio.create_task(running.ask(f"<{n}>")) for n in range(4)]
    await running.upstream.asked(count=4)
    short = asyncio.create_task(running.ask("<short>"))
    await running.upstream.asked("<short>")
    await asyncio.sleep(0.3)

    ended_at = time.monotonic()
    running.service.terminate()
    late = asyncio.create_task(refused_or_503(running))
    answers: list[Answer] = await asyncio.gather(*open_streams)
    assert time.monotonic() - ended_at < 20
    for answer in answers:
        assert not answer.cut
        assert not answer.done
        assert answer.error["code"] == "upstream_service_unavailable"
        assert answer.text.startswith("drop ")
    finished = await short
    assert finished.complete or finished.error["code"] == "upstream_service_unavailable"
    assert await late
    assert running.upstream.calls("<late>") == []
    assert await asyncio.to_thread(running.service.process.wait, 20) == 0
    assert all(
        call.closed_at for call in running.upstream.calls() if "<short>" not in call.question
    )


async def test_l3_idle_service_ends_at_once(staged: Staged) -> None:
    running = staged(1)
    # The service closes idle connections without waiting.
    async with httpx.AsyncClient(trust_env=False) as visitor:
        assert (await visitor.get(running.url + "/health")).status_code == 200
        began = time.monotonic()
        assert await asyncio.to_thread(running.service.stop) == 0
    assert time.monotonic() - began < 20


async def test_l3_a_waiting_request_is_answered_before_the_end(staged: Staged) -> None:
    """A request that waits for its first byte gets an error status."""
    running = staged(3)
    running.script(b.silent)
    waiting = asyncio.create_task(running.ask())
    await running.upstream.asked()
    running.service.terminate()
    answer = await waiting
    assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
    assert answer.ended_at < 20


async def test_l5_a_service_without_keys_starts_and_reports_it() -> None:
    with ScriptedUpstream() as upstream, Service(upstream.base_url, keys=(",",)) as service:
        health = await get(service.url, "/health")
        assert health.status_code == 200
        assert health.json()["status"] == "degraded"
        answer = await ask(service.url)
        assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")
        assert answer.headers["x-should-retry"] == "false"
        assert upstream.journal == []
        assert service.stop() == 0


async def test_l8_data_of_a_clock_an_hour_ahead_blocks_no_visitor(
    staged: Staged, tmp_path: Path
) -> None:
    """A cooldown and a full rate limit were stored before the clock was set back."""
    file = tmp_path / "kefu.sqlite3"
    ahead = SqliteStore(file, lambda: time.time() + 3600)
    [key] = api_keys(1)
    await ahead.cool(fingerprint(key), Cooldown(time.time() + 2 * 3600, Reason.INVALID))
    rate = Rate(2, 60)
    assert [await ahead.take("ip:127.0.0.1", rate) == 0 for _ in range(3)] == [True, True, False]
    await ahead.aclose()

    running = staged(1, store=f"sqlite:///{file}", ip_requests_per_minute=2)
    running.script(b.answer("hi"))
    assert [(await running.ask()).status for _ in range(3)] == [200, 200, 429]


async def test_c13_keys_are_split_trimmed_and_empties_dropped() -> None:
    with ScriptedUpstream() as upstream:
        upstream.script("*", b.status(429))
        text = " , key-a-12345678 ,, key-b-12345678,key-a-12345678 ,\t"
        environment = {"LONGCAT_API_KEYS": text}
        with Service(upstream.base_url, environment=environment) as service:
            assert (await ask(service.url)).status == 429
        assert upstream.keys() == ["key-a-12345678", "key-b-12345678"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LONGCAT_API_KEYS", "sk-canary-\u4f60"),
        ("KEFU_STORE", "postgres://sk-canary"),
        ("KEFU_MAX_HISTORY_TURNS", "many"),
        ("KEFU_UPSTREAM_URL", "http://user:sk-canary@host/v1"),
        ("KEFU_ALLOWED_ORIGINS", "shop.example"),
        ("KEFU_SYSTEM_PROMPT", "@nowhere.txt"),
        ("KEFU_TRIM", "fifi"),
        ("KEFU_COUNTER", "abacus"),
        ("KEFU_MAX_PROMPT_TOKENS", "900"),  # not with the default KEFU_TRIM
    ],
)
def test_l5_an_invalid_setting_stops_the_start_with_a_message_that_names_it(
    tmp_path: Path, name: str, value: str
) -> None:
    """T18: the message contains no value, because it might be a key."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    environment |= {"KEFU_UPSTREAM_URL": "http://127.0.0.1:9/v1", name: value}
    serve = ("serve", "--host", "127.0.0.1", "--port", "0")
    done = kefu(*serve, folder=tmp_path, environment=environment)
    assert done.returncode != 0
    assert name in done.stderr
    assert "Traceback" not in done.stderr
    if name != "KEFU_STORE":
        assert "sk-canary" not in done.stderr + done.stdout
    assert "Kefu is ready" not in done.stdout


async def test_a_variable_that_no_setting_reads_is_named_at_the_start(staged: Staged) -> None:
    """Also one that an earlier version read."""
    running = staged(1, environment={"KEFU_MAX_RETRIES": "5", "KEFU_DAILY_TOKEN": "5"})
    named = [str(one["message"]) for one in running.service.logs()]
    start = "The environment variable KEFU_{} is set, but Kefu has no such setting."
    assert start.format("MAX_RETRIES") in "\n".join(named)
    assert f"{start.format('DAILY_TOKEN')} Did you mean KEFU_DAILY_TOKENS?" in named
