"""T20: the terminal chat reads keys that are stored in AWS, as the service does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.bootstrap.upstream import StoredValue
from kefu.relay.key_pool import KeyPool
from kefu.settings import load
from kefu.terminal.model import KeysByReference
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
        monkeypatch.setenv("LONGCAT_API_KEYS", "ssm:/kefu/api-keys")
        yield fake


def test_the_chat_asks_with_the_keys_that_a_reference_leads_to(
    kefu: Kefu, aws: AwsKeys, upstream: ScriptedUpstream, folder: Path
) -> None:
    """The keys are read once for the session. The log contains none, and no message says that a key
    is missing.
    """
    ran = kefu("chat", typed="one\ntwo\n")
    assert (ran.code, ran.out) == (0, "Hello from the model.\n" * 2)
    assert aws.asked == [{"Name": "/kefu/api-keys", "WithDecryption": True}]
    assert upstream.keys() == [CANARY, ROTATED]
    (log,) = (folder / "history").iterdir()
    assert "canary" not in log.read_text() + ran.err
    assert "API key" not in ran.err


def test_keys_that_cannot_be_read_are_reported_at_once(
    kefu: Kefu, aws: AwsKeys, upstream: ScriptedUpstream
) -> None:
    """S10: the message has AWS's error code but not its text, and the exit code is 2."""
    aws.error = "AccessDeniedException"
    ran = kefu("chat", "--once", "x")
    assert (ran.code, ran.out) == (2, "")
    said = "kefu: KEFU_API_KEYS leads to no key: reading the API keys: AccessDeniedException\n"
    assert ran.err == said
    assert upstream.journal == []


def test_a_missing_package_is_named(
    kefu: Kefu, aws: AwsKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kefu[cli]` does not install boto3."""
    monkeypatch.setitem(sys.modules, "boto3", None)
    ran = kefu("chat", "--once", "x")
    assert ran.code == 2
    assert "boto3 is not installed" in ran.err


def test_a_server_uses_its_own_keys(kefu: Kefu, aws: AwsKeys) -> None:
    kefu("chat", "--once", "--server", "http://127.0.0.1:1", "x")
    assert aws.asked == []


async def test_rotated_keys_are_used_by_a_running_chat(aws: AwsKeys) -> None:
    pool, moment = KeyPool(()), [1_000_000.0]
    stored = StoredValue(load().keys_place, "the keys", pool.replace)
    keys = KeysByReference(stored, lambda: moment[0])
    await keys.ready()
    assert [key.secret for key in pool.keys] == [CANARY, ROTATED]
    aws.text = "sk-canary-third-77aa"
    moment[0] += 301
    await keys.ready()  # the earlier keys stay in use while it reads
    for _ in range(500):
        if len(pool.keys) == 1:
            break
        await asyncio.sleep(0.01)
    assert [key.secret for key in pool.keys] == ["sk-canary-third-77aa"]
    await keys.aclose()
