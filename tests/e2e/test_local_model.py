"""T18, T23: the process of the local model receives no secret, and serves only its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kefu.chat.prompt import (
    Sampling,
    request_body,
)
from kefu.messages import Message
from kefu.upstream import local_model
from kefu.upstream.local_model import LocalModel
from tests.fakes.spoken import until

CANARY = "canary-4f1c"
EVIL = {"Origin": "http://evil.example"}
QUESTION = request_body([Message("user", "Say hello.")], Sampling(local_model.NAME, 0, 4))


@asynccontextmanager
async def running() -> AsyncIterator[LocalModel]:
    file = local_model.weights()
    assert file
    model = LocalModel(file, print)
    await model.warm()
    try:
        yield model
    finally:
        await model.aclose()


def process_of(model: LocalModel) -> int:
    assert model._process
    return model._process.pid


def asked(
    model: LocalModel, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
) -> HTTPResponse:
    """A request of another program on this machine that has found the port."""
    assert model._http
    host = urlsplit(model._http._url).netloc
    connection = HTTPConnection(host, timeout=60)
    try:
        connection.request(method, path, body or None, dict(headers))
        response = connection.getresponse()
        response.read()
    finally:
        connection.close()
    return response


async def answered(model: LocalModel) -> bytes:
    response = await model.send(QUESTION, "the key of another provider")
    assert response.status == 200
    told = b""
    async with asyncio.timeout(60):
        while b"[DONE]" not in told:
            told += await response.read(60)
    response.finish()
    return told


async def test_t18_the_models_process_inherits_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its random key is not in its arguments or environment either, which other programs
    can read.
    """
    secrets = ("ADMIN_TOKEN", "KEFU_SESSION_SECRETS", "AWS_SECRET_ACCESS_KEY", "MY_PASSWORD")
    for name in secrets:
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")
    async with running() as model:
        process = Path(f"/proc/{process_of(model)}")
        environment = (process / "environ").read_bytes()
        arguments = (process / "cmdline").read_bytes()
        assert b"data:" in await answered(model)
    assert CANARY.encode() not in environment
    assert not [name for name in secrets if name.encode() in environment]
    assert b"LC_CTYPE=C.UTF-8" in environment
    assert b"PATH=" in environment
    for public in (environment, arguments):
        assert model._key.encode() not in public


async def test_t22_the_models_process_imports_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kefu chat` may be started in a folder that contains files of another user."""
    for name in ("asyncio", "kefu", "signal", "xllamacpp"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    monkeypatch.chdir(tmp_path)
    async with running() as model:
        assert b"data:" in await answered(model)
    assert not (tmp_path / "imported").exists()


async def test_t23_the_models_port_serves_only_its_parent() -> None:
    """A web page in the developer's browser cannot know the key, and CORS does not allow it."""
    json_body = {"Content-Type": "application/json"}
    calls = [
        ("POST", "/v1/chat/completions", json_body, QUESTION),
        ("POST", "/v1/chat/completions", {"Content-Type": "text/plain"}, QUESTION),
        ("POST", "/completion", json_body, b'{"prompt": "a"}'),
        ("GET", "/props", {}, b""),
        ("GET", "/slots", {}, b""),
        ("GET", "/metrics", {}, b""),
        ("GET", "/v1/models", {}, b""),
    ]
    keys: list[Mapping[str, str]] = [{}, {"Authorization": "Bearer local"}, {"X-Api-Key": "local"}]
    async with running() as model:
        for method, path, headers, body in calls:
            for key in keys:
                response = asked(model, method, path, {**headers, **key, **EVIL}, body)
                assert response.status == 401, (path, key)
                assert not response.getheader("Access-Control-Allow-Origin")
        right = {"Authorization": f"Bearer {model._key}"}
        for path in ("/slots", "/metrics"):
            assert asked(model, "GET", path, right).status == 501, path
        assert asked(model, "POST", "/props", {**right, **json_body}, b"{}").status == 501
        answer = asked(model, *calls[0][:2], {**right, **json_body, **EVIL}, QUESTION)
        assert answer.status == 200
        assert not answer.getheader("Access-Control-Allow-Origin")


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:3000", "null"])
async def test_t23_a_preflight_of_any_origin_allows_nothing(origin: str) -> None:
    asking = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    async with running() as model:
        response = asked(model, "OPTIONS", "/v1/chat/completions", asking)
    allowed = {name: response.getheader(f"Access-Control-Allow-{name}") for name in ALLOWING}
    # The library always sends the header. An empty one equals no origin.
    assert not allowed["Origin"], allowed
    assert allowed["Credentials"] != "true"
    assert not allowed["Methods"]
    assert not allowed["Headers"]


ALLOWING = ("Origin", "Credentials", "Methods", "Headers")


async def test_a_model_that_cannot_be_loaded_reports_the_reason(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(RuntimeError, match="the local model did not start: RuntimeError: Failed"):
        await LocalModel(broken, print).warm()


async def test_a_model_that_is_killed_while_it_loads_is_reported(tmp_path: Path) -> None:
    """A named pipe simulates a slow disk, so that loading never ends."""
    pipe = tmp_path / "slow.gguf"
    os.mkfifo(pipe)
    model = LocalModel(pipe, print)
    loading = asyncio.create_task(model.warm())
    await until(lambda: model._process is not None)
    os.kill(process_of(model), signal.SIGKILL)
    with pytest.raises(RuntimeError, match="did not start: its process ended by SIGKILL"):
        await loading


async def test_without_a_key_nothing_is_served() -> None:
    """The key comes from standard input, which ends at once here."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kefu.upstream.local_model", str(local_model.weights())),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await child.communicate()
    assert (child.returncode, out) == (1, b"")
    assert b"has to be the API key" in err
