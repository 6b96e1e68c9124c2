"""The built package with the real Lambda Web Adapter, behind a gateway that streams.

Rows L1 to L4 and L7 of the fault matrix, and the usual requests.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from itertools import pairwise
from statistics import median

import httpx
import pytest

from tests.aws_lambda.conftest import Deploy, Deployed, frozen
from tests.fakes import behaviours as b
from tests.fakes.asking import ask, client, conversation, get
from tests.fakes.behaviours import Behaviour
from tests.fakes.stage import FAST, ORIGIN

PAGE = {"Origin": ORIGIN}


@pytest.fixture(scope="module")
def site(deploy: Deploy) -> Deployed:
    """A function with many keys, for tests in which some of them may cool down."""
    return deploy(150, **FAST)


@pytest.mark.slow
async def test_c5_every_chunk_arrives_before_the_model_makes_the_next(
    site: Deployed, question: str
) -> None:
    site.upstream.script("*", b.answer(*"abcdef", delay=0.4), asking=question)
    await get(site.url, "/health")  # another test measures the cold start
    answer = await ask(site.url, question, headers=PAGE)
    assert answer.complete
    assert answer.text == "abcdef"
    made = site.upstream.calls(question)[0].parts_at
    came = [answer.asked_at + at for at, _ in answer.events]
    assert len(came) == len(made)
    late = [arrival - sending for arrival, sending in zip(came, made, strict=True)]
    print("ms from the model to the visitor:", [round(1000 * seconds, 1) for seconds in late])
    gaps = zip(pairwise(came[1:7]), pairwise(made[1:7]), strict=True)
    differences = [(b - a) / (d - c) - 1 for (a, b), (c, d) in gaps]
    print("gaps, to those of the model:", [f"{part:+.1%}" for part in differences])
    assert median(map(abs, differences)) <= 0.25
    # The first chunk has only a role. It is sent together with the first content, as the headers
    # are.
    for arrival, next_sending in zip(came[1:], made[2:], strict=False):
        assert arrival < next_sending
    assert answer.head_at <= answer.events[0][0]


@pytest.mark.slow
async def test_l7_comments_keep_the_gateway_from_cutting_a_model_that_thinks(
    deploy: Deploy,
) -> None:
    """The gateway's limit is five minutes of silence; here it is 3.5 seconds."""
    site = deploy(idle_timeout=3.5)
    site.upstream.script("*", b.answer("a", delay=6))
    answer = await ask(site.url, headers=PAGE)
    assert answer.complete
    assert len(answer.comments) >= 3


async def test_c5_answer_has_its_headers_and_no_others_of_the_way(
    site: Deployed, question: str
) -> None:
    site.upstream.script("*", b.answer("hi"), asking=question)
    answer = await ask(site.url, question, headers=PAGE)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["x-request-id"]
    assert answer.foreign == []
    sent = site.upstream.calls(question)[0].headers
    assert not [name for name in sent if name.startswith(("x-amzn", "x-forwarded", "cookie"))]


@pytest.mark.parametrize(
    ("behaviour", "status", "code"),
    [
        (b.status(400), 400, "invalid_request"),
        (b.status(429), 429, "rate_limit_exceeded"),
        (b.status(500), 503, "upstream_service_unavailable"),
        (b.silent, 504, "gateway_timeout"),
    ],
)
async def test_c8_errors_before_the_stream_keep_their_status_and_headers(
    site: Deployed, question: str, behaviour: Behaviour, status: int, code: str
) -> None:
    site.upstream.script("*", behaviour, asking=question)
    answer = await ask(site.url, question, headers=PAGE)
    assert (answer.status, answer.error["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert ("retry-after" in answer.headers) == (status in (429, 503))


async def test_u15_error_in_the_stream_is_its_last_event(site: Deployed, question: str) -> None:
    site.upstream.script("*", b.reset_after(3, delay=0.05), asking=question)
    answer = await ask(site.url, question, headers=PAGE)
    assert answer.status == 200
    assert answer.text == b.pieces_text(3)
    assert answer.error["code"] == "upstream_service_unavailable"
    assert not answer.done
    assert not answer.cut


async def test_c16_c18_other_routes_pass_through_too(site: Deployed) -> None:
    assert (await get(site.url, "/health")).json()["status"] == "ok"
    script = await get(site.url, "/chat-widget.js", accept_encoding="br")
    assert script.status_code == 200
    assert script.headers["content-encoding"] == "br"
    preflight = await get(
        site.url,
        "/api/chat",
        method="OPTIONS",
        origin=ORIGIN,
        access_control_request_method="POST",
    )
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == ORIGIN
    assert (await get(site.url, "/nothing")).status_code == 404


async def test_l7_request_of_megabytes_is_400(site: Deployed) -> None:
    """Events below 6 MB reach the function, which refuses them by their length."""
    answer = await ask(site.url, conversation("x" * 5_000_000), headers=PAGE)
    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert "longer than" in answer.error["message"]


@pytest.mark.slow
async def test_l1_answer_ends_by_itself_two_seconds_before_the_function_does(
    deploy: Deploy,
) -> None:
    site = deploy(timeout=5)
    site.upstream.script("*", b.drip(100, delay=0.1), asking="<long>")
    site.upstream.script("*", b.silent, asking="<silent>")
    site.upstream.script("*", b.answer("again"), asking="<next>")
    await get(site.url, "/health")
    answer = await ask(site.url, "<long>", headers=PAGE)
    assert answer.status == 200
    assert answer.text.startswith("drop drop ")
    assert answer.error["code"] == "gateway_timeout"
    assert not answer.done
    assert not answer.cut
    assert answer.ended_at > 2.5
    # The function returned normally and continues.
    assert (await ask(site.url, "<next>", headers=PAGE)).text == "again"
    assert len(site.front.instances) == 1
    assert [line["code"] for line in await site.function.logged(2)] == ["gateway_timeout", "ok"]


@pytest.mark.slow
async def test_c4_who_leaves_costs_no_more_than_the_deadline_allows(deploy: Deploy) -> None:
    """L1: a function does not learn that its client has disconnected."""
    site = deploy(timeout=5, max_output_tokens=77)
    site.upstream.script("*", b.drip(1000, delay=0.1))
    await get(site.url, "/health")
    body = json.dumps(conversation("<leaving>")).encode()
    began = time.monotonic()
    async with client() as visitor:
        headers = {"Content-Type": "application/json", **PAGE}
        call = visitor.stream("POST", f"{site.url}/api/chat", content=body, headers=headers)
        async with call as response:
            await anext(response.aiter_raw())
    left = time.monotonic()
    call_made = await site.upstream.asked("<leaving>")
    assert call_made.body["max_tokens"] == 77
    assert await site.upstream.until(lambda: call_made.closed_at is not None)
    assert call_made.closed_at
    assert call_made.closed_at - began < 20
    assert call_made.closed_at > left + 0.5


@pytest.mark.slow
async def test_l2_killed_function_is_an_end_without_done_and_the_next_request_works(
    deploy: Deploy,
) -> None:
    site = deploy(timeout=30)
    site.upstream.script("*", b.drip(100, delay=0.1), asking="<killed>")
    site.upstream.script("*", b.answer("alive"), asking="<next>")
    asked = asyncio.create_task(ask(site.url, "<killed>", headers=PAGE))
    await site.upstream.asked("<killed>", timeout=15)
    await asyncio.sleep(0.5)
    instance = site.front.instances[0]
    instance.kill("Task timed out")
    answer = await asked
    assert answer.cut
    assert not answer.done
    assert answer.error is None
    assert answer.text.startswith("drop ")
    following = await ask(site.url, "<next>", headers=PAGE)
    assert following.text == "alive"
    assert len(site.front.instances) == 2


@pytest.mark.slow
async def test_l2_crashed_server_is_no_whole_answer_and_the_next_request_works(
    deploy: Deploy,
) -> None:
    """The adapter runs a moment longer than the server, and writes its report into the stream."""
    site = deploy(timeout=30)
    site.upstream.script("*", b.drip(100, delay=0.1), asking="<crashed>")
    site.upstream.script("*", b.answer("alive"), asking="<next>")
    asked = asyncio.create_task(ask(site.url, "<crashed>", headers=PAGE))
    await site.upstream.asked("<crashed>", timeout=15)
    await asyncio.sleep(0.5)
    _adapter, server = site.front.instances[0].processes
    os.kill(server.pid, signal.SIGKILL)
    answer = await asked
    await asyncio.to_thread(server.wait)  # its connections are closed a moment earlier
    assert not answer.done
    assert answer.finish is None
    assert answer.text.startswith("drop ")
    # Parsers of event streams skip fields that they do not know.
    assert all(line.startswith("Lambda-Runtime-Function-Error") for line in answer.foreign)
    assert (await ask(site.url, "<next>", headers=PAGE)).text == "alive"


async def test_l3_idle_instance_ends_at_once_when_lambda_shuts_it_down(deploy: Deploy) -> None:
    site = deploy()
    await get(site.url, "/health")
    [instance] = site.front.instances
    codes = await asyncio.to_thread(site.front.stop)
    assert all(code in (0, -signal.SIGTERM) for code in codes[0]), codes
    assert not instance.alive
    assert "Traceback" not in site.function.log


@pytest.mark.slow
async def test_l4_instance_that_was_frozen_between_requests_answers_and_no_key_rests(
    deploy: Deploy,
) -> None:
    site = deploy(1, freezing=True)
    site.upstream.script("*", b.answer("hi"))
    assert (await ask(site.url, "<first>", headers=PAGE)).complete
    [instance] = site.front.instances
    processes = instance.processes
    assert await site.upstream.until(lambda: all(frozen(one.pid) for one in processes))
    opened = site.upstream.connections
    site.upstream.close_idle()
    # The adapter keeps its idle connections for this time.
    await asyncio.sleep(4.5)
    thawed = await ask(site.url, "<second>", headers=PAGE)
    assert thawed.complete
    assert len(site.upstream.calls("<second>")) == 1
    assert site.upstream.connections == opened + 1
    assert (await ask(site.url, "<third>", headers=PAGE)).complete
    assert len(site.front.instances) == 1
    assert [line["attempts"] for line in await site.function.logged(3)] == [1, 1, 1]


async def test_t3_c19_limits_count_by_the_address_that_the_gateway_saw(deploy: Deploy) -> None:
    site = deploy(ip_requests_per_minute=2)
    site.upstream.script("*", b.answer("hi"))

    async def status(number: int, source: str) -> int:
        spoof = json.dumps({"identity": {"sourceIp": f"203.0.113.{number}"}})
        headers = {"x-amzn-request-context": spoof, "X-Forwarded-For": f"198.51.100.{number}"}
        answer = await ask(site.url, headers={**PAGE, **headers}, source=source)
        return answer.status

    assert [await status(number, "127.0.0.1") for number in range(4)] == [200, 200, 429, 429]
    assert [await status(number, "127.0.0.2") for number in range(3)] == [200, 200, 429]


async def test_l5_function_without_keys_starts_degraded_and_says_503(deploy: Deploy) -> None:
    site = deploy(0, upstream_url="")
    health = await get(site.url, "/health")
    assert (health.status_code, health.json()["status"]) == (200, "degraded")
    answer = await ask(site.url, headers=PAGE)
    assert (answer.status, answer.error["code"]) == (503, "upstream_service_unavailable")


@pytest.mark.slow
async def test_c4_two_requests_at_once_are_two_instances(deploy: Deploy) -> None:
    """So on Lambda a cancel request never reaches the instance that runs the answer."""
    site = deploy()
    site.upstream.script("*", b.answer(*"abcdef", delay=0.3))
    question = conversation("<one>", client_message_id="0123456789")
    asked = asyncio.create_task(ask(site.url, question, headers=PAGE))
    await site.upstream.asked("<one>", timeout=15)
    async with httpx.AsyncClient(trust_env=False, timeout=20) as visitor:
        cancel = {"client_message_id": "0123456789"}
        done = await visitor.post(f"{site.url}/api/chat/cancel", json=cancel, headers=PAGE)
    assert done.status_code == 204
    assert len(site.front.instances) == 2
    assert (await asked).complete


@pytest.mark.slow
async def test_managed_instance_streams_many_answers_side_by_side(deploy: Deploy) -> None:
    """C4: one process serves all requests, so a cancel request reaches its answer."""
    many = {"AWS_LAMBDA_MAX_CONCURRENCY": "6"}
    site = deploy(6, slots=6, environment=many)
    site.upstream.script("*", b.answer(*"abcdefgh", delay=0.2))
    await get(site.url, "/health")
    mine = conversation("<left>", client_message_id="0123456789")
    asked = [asyncio.create_task(ask(site.url, f"<{n}>", headers=PAGE)) for n in range(4)]
    left = asyncio.create_task(ask(site.url, mine, headers=PAGE))
    await site.upstream.asked(count=5, timeout=15)
    async with httpx.AsyncClient(trust_env=False, timeout=20) as visitor:
        cancel = {"client_message_id": "0123456789"}
        done = await visitor.post(f"{site.url}/api/chat/cancel", json=cancel, headers=PAGE)
    assert done.status_code == 204
    assert not (await left).done
    answers = await asyncio.gather(*asked)
    assert [answer.text for answer in answers] == ["abcdefgh"] * 4
    # All answers had begun before the first one ended.
    began = [answer.asked_at + answer.head_at for answer in answers]
    assert max(began) < min(answer.asked_at + answer.ended_at for answer in answers)
    assert len(site.front.instances) == 1
