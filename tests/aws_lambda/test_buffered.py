"""The package with buffered responses: AWS's Runtime Interface Emulator, its Python runtime and
Mangum.

Row L6, and the hooks of SnapStart.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes import behaviours as b
from tests.fakes.lambda_function import LambdaFunction
from tests.fakes.upstream import ScriptedUpstream
from tests.parts.plugin import free_port, installed_part

EVENTS = Path(__file__).parents[2] / "events"
ORIGIN = "https://www.example.com"
EMPTY = ("rest-preflight", "http-preflight", "http-cancel", "http-feedback", "http-contact")

Answer = dict[str, Any]


@pytest.fixture(scope="module")
def rie() -> Path:
    return installed_part("lambda-rie")


@pytest.fixture(scope="module")
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as running:
        yield running


@pytest.fixture(scope="module")
def function(
    package: Path, python: str, upstream: ScriptedUpstream, tmp_path_factory: pytest.TempPathFactory
) -> LambdaFunction:
    folder = tmp_path_factory.mktemp("function")
    url = upstream.base_url
    return LambdaFunction(package, python, folder, upstream=url, allowed_origins=ORIGIN)


@pytest.fixture(scope="module")
def invocations(rie: Path, function: LambdaFunction) -> Iterator[str]:
    """The emulator's address for events."""
    address = f"127.0.0.1:{free_port()}"
    options = ["--runtime-interface-emulator-address", address]
    options += ["--runtime-api-address", f"127.0.0.1:{free_port()}"]
    command = [str(function.folder / "bin/python3"), "-m", "awslambdaric"]
    process = function.start(
        rie / "aws-lambda-rie",
        *options,
        *command,
        "kefu.lambda_handler.handler",
        PYTHONPATH=f"{rie / 'python'}:{function.package}",
        AWS_EXECUTION_ENV="AWS_Lambda_python3.13",
        AWS_LAMBDA_FUNCTION_TIMEOUT="60",
        KEFU_SESSIONS="true",
        KEFU_CONTACT_FORM="email,message",
        ADMIN_TOKEN="an-operators-token-of-thirty-two-characters",
    )
    try:
        listening(address, process)
        yield f"http://{address}/2015-03-31/functions/function/invocations"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def listening(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the emulator listens."""
    host, port = address.split(":")
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
            return
        time.sleep(0.05)
    raise AssertionError("the emulator does not listen")


def event(name: str) -> Answer:
    loaded: Answer = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


async def invoke(address: str, event: object) -> Answer:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as lambda_client:
        answer: Answer = (await lambda_client.post(address, json=event)).json()
        return answer


@pytest.mark.parametrize("name", sorted(path.stem for path in EVENTS.glob("*.json")))
async def test_l6_every_sample_event_is_answered_in_one_body(
    invocations: str, upstream: ScriptedUpstream, name: str
) -> None:
    upstream.script("*", b.answer("你", "好"))
    answer = await invoke(invocations, event(name))
    # There is no session for any token, and no signed-in user.
    expected = 404 if "-session-" in name else 204 if name in EMPTY else 200
    expected = 403 if name.endswith("-session-list") else expected
    assert answer["statusCode"] == expected, answer
    if name.endswith("-chat"):
        events = answer["body"].strip().split("\n\n")
        assert events[-1] == "data: [DONE]"
        assert "你" in answer["body"]
    if name == "http-completions":
        assert json.loads(answer["body"])["choices"][0]["message"]["content"] == "你好"


async def test_l6_answer_over_six_megabytes_is_503_and_the_instance_goes_on(
    invocations: str, upstream: ScriptedUpstream
) -> None:
    upstream.script("*", b.answer(*["x" * 60_000] * 120), b.answer("small"))
    answer = await invoke(invocations, event("http-chat"))
    assert answer["statusCode"] == 503
    assert json.loads(answer["body"])["error"]["code"] == "upstream_service_unavailable"
    following = await invoke(invocations, event("http-chat"))
    assert following["statusCode"] == 200
    assert "small" in following["body"]


def test_l4_no_connection_goes_into_a_snapshot(
    rie: Path, function: LambdaFunction, upstream: ScriptedUpstream
) -> None:
    """Lambda's Python runtime runs the hooks of SnapStart."""
    upstream.script("*", b.answer("hi"))
    program = (
        "import json, sys\n"
        "from awslambdaric import lambda_runtime_hooks_runner as hooks\n"
        "from kefu.lambda_handler import handler\n"
        "event = json.loads(sys.stdin.readline())\n"
        "statuses = [handler(event, None)['statusCode']]\n"
        "hooks.run_before_snapshot()\n"
        "print('snapshot', flush=True)\n"
        "sys.stdin.readline()\n"
        "hooks.run_after_restore()\n"
        "statuses += [handler(event, None)['statusCode'] for _ in range(2)]\n"
        "print(statuses)\n"
    )
    with subprocess.Popen(
        [function.folder / "bin/python3", "-c", program],
        env=function.environment | {"PYTHONPATH": f"{rie / 'python'}:{function.package}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        before = upstream.open_connections
        process.stdin.write(json.dumps(event("http-chat")) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "snapshot\n"
        end = time.monotonic() + 5
        while upstream.open_connections > before and time.monotonic() < end:
            time.sleep(0.02)
        assert upstream.open_connections == before
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "[200, 200, 200]\n"
