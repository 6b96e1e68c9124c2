"""T20, C13: keys by reference are read again in time, and a failed reading changes nothing."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import pytest
from botocore.exceptions import ClientError

from kefu.stores.referenced_keys import (
    FIRST_RETRY,
    RETRY_SECONDS,
    ReferencedKeys,
    cause_of,
    secrets_in,
)

CANARY = "sk-canary-kept-5f3c9a7e1b"
ROTATED = "sk-canary-rotated-9d21c07b"


async def test_keys_of_a_json_secret_are_its_values() -> None:
    text = json.dumps({"one": CANARY, "more": f"{ROTATED},", "number": 7})
    told: list[tuple[str, ...]] = []
    keys = ReferencedKeys(lambda: text, told.append, lambda: 0.0, ttl=1, on_degraded=print)
    keys.prefetch()
    await keys.ready()
    await keys.aclose()
    assert told == [(CANARY, ROTATED)]


async def test_unknown_keys_are_read_again_within_half_a_second_to_two() -> None:
    clock, readings = Ticking(), list[float]()

    def read() -> str:
        readings.append(clock.now)
        raise ValueError("contains no text")

    keys = ReferencedKeys(read, lambda _: None, clock, ttl=300, on_degraded=lambda _: None)
    start = clock.now
    for tenth in range(600):
        clock.now = start + tenth / 10
        await keys.ready()
    await keys.aclose()
    pauses = [later - earlier for earlier, later in pairwise(readings)]
    assert len(pauses) > 20
    assert all(0.5 <= pause <= 2 for pause in pauses), pauses
    # The pause is random, so that instances that were throttled together retry at different times.
    assert len({round(pause, 1) for pause in pauses}) > 3


class Ticking:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def test_rotated_keys_arrive_within_the_ttl_and_a_failing_reading_changes_nothing() -> None:
    clock, told, said = Ticking(), list[tuple[str, ...]](), list[str]()
    texts: list[str | Exception] = [
        CANARY,
        ValueError("contains no text"),
        f"{ROTATED},x\n,y",
        ROTATED,
    ]

    def read() -> str:
        text = texts.pop(0)
        if isinstance(text, Exception):
            raise text
        return text

    keys = ReferencedKeys(read, told.append, clock, ttl=300, on_degraded=said.append)

    async def at(seconds: float) -> list[tuple[str, ...]]:
        clock.now = 1_000_000.0 + seconds
        keys.prefetch()
        for _ in range(100):
            await asyncio.sleep(0.001)
        return told

    assert await at(0) == [(CANARY,)]
    assert await at(299) == [(CANARY,)]
    assert await at(301) == [(CANARY,)]  # the read failed
    assert await at(302) == [(CANARY,)]  # during the pause no read is started
    assert await at(312) == [(CANARY,), (ROTATED, "x", "y")]
    assert await at(700) == [(CANARY,), (ROTATED, "x", "y"), (ROTATED,)]
    assert said == ["reading the API keys: contains no text"]
    assert texts == []
    await keys.aclose()


async def test_a_caller_that_waits_for_keys_starts_another_read() -> None:
    """The panel and the lists of messages wait as well, on an instance without chats."""
    clock, told = Ticking(), list[tuple[str, ...]]()
    texts: list[str] = ["", CANARY, ROTATED]
    keys = ReferencedKeys(lambda: texts.pop(0), told.append, clock, ttl=300, on_degraded=print)
    for _ in range(2):
        await keys.ready()
        clock.now += 11
    assert told == [(CANARY,)]
    clock.now += 300
    await keys.ready()
    await asyncio.sleep(0.1)
    assert told == [(CANARY,), (ROTATED,)]
    await keys.aclose()


async def test_a_clock_that_went_back_does_not_keep_old_keys_for_ever() -> None:
    """Fault L8."""
    clock, told = Ticking(), list[tuple[str, ...]]()
    keys = ReferencedKeys(lambda: CANARY, told.append, clock, ttl=300, on_degraded=print)
    keys.prefetch()
    await keys.ready()
    clock.now -= 3600
    keys.prefetch()
    for _ in range(100):
        await asyncio.sleep(0.001)
    assert len(told) == 2
    await keys.aclose()


@pytest.mark.parametrize(
    "text", ['{"half": "sk-canary', "sk-canary-\u4f60", "sk-canary\x00", " , ", "{}"]
)
async def test_a_wrong_text_changes_nothing_and_is_not_quoted(text: str) -> None:
    said: list[str] = []
    told: list[tuple[str, ...]] = []
    keys = ReferencedKeys(lambda: text, told.append, lambda: 0.0, ttl=300, on_degraded=said.append)
    keys.prefetch()
    await keys.ready()
    await keys.aclose()
    assert (len(said), told) == (1, [])
    assert "canary" not in said[0]


async def test_the_cause_of_a_failed_reading_is_said_until_one_succeeds() -> None:
    clock, said = Ticking(), list[str]()
    results: list[str | Exception] = [OSError(CANARY), CANARY]

    def read() -> str:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    keys = ReferencedKeys(
        read, lambda _: None, clock, ttl=300, on_degraded=said.append, what="the token"
    )
    assert (keys.trouble, keys.loaded) == ("they are not read yet", False)
    await keys.ready()
    assert (keys.trouble, keys.loaded) == ("OSError", False)
    assert said == ["reading the token: OSError"]
    clock.now += FIRST_RETRY[1]
    await keys.ready()
    assert keys.loaded
    await keys.aclose()


async def test_keys_that_the_service_refuses_are_a_failed_reading() -> None:
    clock, said = Ticking(), list[str]()

    def refuse(_: tuple[str, ...]) -> None:
        raise ValueError("must have 32 characters")

    keys = ReferencedKeys(lambda: CANARY, refuse, clock, ttl=300, on_degraded=said.append)
    await keys.ready()
    assert said == ["reading the API keys: must have 32 characters"]
    assert not keys.loaded
    await keys.aclose()


async def test_after_a_failure_known_keys_are_read_again_in_ten_seconds() -> None:
    clock, readings = Ticking(), list[float]()

    def read() -> str:
        readings.append(clock.now)
        if len(readings) > 1:
            raise ValueError("contains no text")
        return CANARY

    keys = ReferencedKeys(read, lambda _: None, clock, ttl=300, on_degraded=lambda _: None)
    for second in (0, 299, 300, 300 + RETRY_SECONDS - 1, 300 + RETRY_SECONDS):
        clock.now = 1_000_000.0 + second
        keys.prefetch()
        for _ in range(20):
            await asyncio.sleep(0.001)
    await keys.aclose()
    assert [at - 1_000_000 for at in readings] == [0, 300, 300 + RETRY_SECONDS]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (
            ClientError({"Error": {"Code": "AccessDenied", "Message": CANARY}}, "Get"),
            "AccessDenied",
        ),
        (ClientError({}, "Get"), "unknown"),
        (ModuleNotFoundError(CANARY, name="boto3"), "boto3 is not installed"),
        (ValueError("contains no key"), "contains no key"),
        (json.JSONDecodeError(CANARY, CANARY, 0), "JSONDecodeError"),
        (OSError(CANARY), "OSError"),
    ],
)
def test_the_log_gets_a_cause_that_quotes_no_key(error: Exception, cause: str) -> None:
    assert cause_of(error) == cause


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("a, b,,a", ("a", "b")),
        (' {"x": "a", "y": "b, c", "z": 7}', ("a", "b", "c")),
        ("", ()),
        ("{}", ()),
    ],
)
def test_the_keys_of_a_text_are_its_list_or_its_values(text: str, secrets: tuple[str, ...]) -> None:
    assert secrets_in(text) == secrets
