"""T20: the terminal chat reads its keys where KEFU_KEYS_FROM says, as the service does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.keypool import KeyPool
from kefu.settings import load
from kefu.terminal.keys import KeptKeys
from tests.cli.conftest import Kefu
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.upstream import ScriptedUpstream

CANARY = "sk-canary-kept-5f3c9a7e1b"
ROTATED = "sk-canary-rotated-9d21c07b"


@pytest.fixture
def aws(kefu: Kefu, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsKeys]:
    with AwsKeys(f"{CANARY}, {ROTATED}") as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("KEFU_KEYS_FROM", "ssm:/kefu/api-keys")
        monkeypatch.delenv("LONGCAT_API_KEYS")
        yield fake


def test_the_chat_asks_with_the_keys_that_a_reference_leads_to(
    kefu: Kefu, aws: AwsKeys, upstream: ScriptedUpstream, folder: Path
) -> None:
    """One reading serves the session; its log holds none of them; nothing says that one lacks."""
    ran = kefu("chat", typed="one\ntwo\n")
    assert (ran.code, ran.out) == (0, "Hello from the model.\n" * 2)
    assert aws.asked == [{"Name": "/kefu/api-keys", "WithDecryption": True}]
    assert upstream.keys() == [CANARY, ROTATED]
    (log,) = (folder / "history").iterdir()
    assert "canary" not in log.read_text() + ran.err
    assert "API key" not in ran.err


def test_keys_that_cannot_be_read_are_told_of_at_once(
    kefu: Kefu, aws: AwsKeys, upstream: ScriptedUpstream
) -> None:
    """S10: with AWS's code, not its words, and with 2: nothing can be asked."""
    aws.error = "AccessDeniedException"
    ran = kefu("chat", "--once", "x")
    assert (ran.code, ran.out) == (2, "")
    said = "kefu: KEFU_KEYS_FROM leads to no key: reading the API keys: AccessDeniedException\n"
    assert ran.err == said
    assert upstream.journal == []


def test_a_missing_package_is_named(
    kefu: Kefu, aws: AwsKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kefu[cli]` does not bring it."""
    monkeypatch.setitem(sys.modules, "boto3", None)
    ran = kefu("chat", "--once", "x")
    assert ran.code == 2
    assert "boto3 is not installed" in ran.err


def test_a_server_has_keys_of_its_own(kefu: Kefu, aws: AwsKeys) -> None:
    kefu("chat", "--once", "--server", "http://127.0.0.1:1", "x")
    assert aws.asked == []


async def test_keys_that_are_rotated_reach_a_chat_that_goes_on(aws: AwsKeys) -> None:
    pool, moment = KeyPool(()), [1_000_000.0]
    keys = KeptKeys(load(), pool, lambda: moment[0])
    await keys.ready()
    assert [key.secret for key in pool.keys] == [CANARY, ROTATED]
    aws.text = "sk-canary-third-77aa"
    moment[0] += 301
    await keys.ready()  # the keys of before serve while it reads
    for _ in range(500):
        if len(pool.keys) == 1:
            break
        await asyncio.sleep(0.01)
    assert [key.secret for key in pool.keys] == ["sk-canary-third-77aa"]
    await keys.aclose()
