"""U1 to U29: the relay's decision table over real sockets, with the real service in front.

`tests/unit/relay/test_relay_outcomes.py` has the same rows in virtual time. A refused connection
needs a host of its own: `test_upstream_host.py`.
"""

from __future__ import annotations

import asyncio

import pytest

from kefu.relay.key_pool import fingerprint
from tests.fakes import behaviours as b
from tests.fakes import in_process_upstream as up
from tests.fakes.fixtures import Staged
from tests.fakes.in_process_upstream import Reply
from tests.fakes.stage import Stage
from tests.unit.relay.test_relay_outcomes import KEY, ROTATED, Case

ROWS = [case for case in ROTATED if case.reply is not up.REFUSED]
HASTE = 0.25
"""Pauses are shorter than in the table; in which second a key is asked is tested there."""

CODES = {429: "rate_limit_exceeded", 503: "upstream_service_unavailable"}


def sent(reply: Reply, key: str) -> b.Behaviour:
    """The reply of a scripted upstream without sockets, over a socket."""

    async def behave(exchange: b.Exchange) -> None:
        await asyncio.sleep(reply.headers_after * HASTE)
        if reply.error:
            exchange.reset()
            return
        if reply.status == 204:
            # It has no body, so no chunks either.
            await exchange.send(b"HTTP/1.1 204 No Content\r\n\r\n")
            return
        await exchange.head(reply.status, reply.headers)
        for after, part in reply.parts:
            await asyncio.sleep(after * HASTE)
            if isinstance(part, Exception):
                exchange.reset()
                return
            await exchange.part(part.replace(KEY.encode(), key.encode()))
        await exchange.end()

    return behave


async def outcomes(running: Stage, request_id: str) -> list[str]:
    """The attempts of a request in the log, as `fingerprint:outcome`."""
    record = await running.service.logged(message="request", request_id=request_id)
    return list(record["keys"])


async def row(running: Stage, number: int, case: Case) -> object:
    """What a visitor gets, and the attempts in the log, when this key fails and others answer."""
    key = running.keys[number]
    running.script(b.answer("good"), asking=f"<{case.name}>")
    # For each request of the key: a connection that was reset when reused is opened once more.
    running.script(sent(case.reply, key), key=key, asking=f"<{case.name}>")
    answer = await running.ask(f"<{case.name}>")
    said = answer.text if answer.complete else (answer.status, answer.error["code"])
    retries = answer.headers.get("x-should-retry")
    return said, retries, await outcomes(running, answer.headers["x-request-id"])


@pytest.mark.slow
async def test_each_failure_of_a_key_is_unseen_when_the_next_key_answers(staged: Staged) -> None:
    running = staged(2 * len(ROWS))
    seen, expected = {}, {}
    for number, case in enumerate(ROWS):
        first, second = map(fingerprint, running.keys[2 * number : 2 * number + 2])
        seen[case.name] = await row(running, 2 * number, case)
        expected[case.name] = ("good", None, [f"{first}:{case.outcome}", f"{second}:ok"])
    assert seen == expected


@pytest.mark.slow
async def test_each_failure_of_a_key_alone_has_its_status(staged: Staged) -> None:
    running = staged(len(ROWS), max_retries=0)
    seen, expected = {}, {}
    for number, case in enumerate(ROWS):
        key = fingerprint(running.keys[number])
        status, _ = case.alone
        seen[case.name] = await row(running, number, case)
        expected[case.name] = ((status, CODES[status]), "false", [f"{key}:{case.outcome}"])
    assert seen == expected
