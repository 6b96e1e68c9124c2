"""The simulated gateway and Runtime API have the limits that AWS documents."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.fakes.gateway_front import GatewayFront
from tests.fakes.lambda_instance import Launch

RUNTIME = """
import http.client, os, sys, time
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
GOOD = b'{"statusCode": 200, "headers": {"x-one": "1"}, "cookies": ["a=b"]}' + b"\\0" * 8

def parts(kind):
    if kind == "good":
        yield GOOD + b"first "
        yield b"second"
    elif kind == "torn":
        yield GOOD[:30]; time.sleep(0.1); yield GOOD[30:-3]; time.sleep(0.1); yield GOOD[-3:]
    elif kind == "long":
        yield b'{"statusCode": 200, "x": "' + b"x" * 17000 + b'"}' + b"\\0" * 8 + b"body"
    elif kind == "bare":
        yield b'{"statusCode": 200}'
    elif kind == "html":
        yield b"<html>" + b"\\0" * 8
    elif kind == "stalls":
        yield GOOD + b"first"; time.sleep(30)
    elif kind == "large":
        yield GOOD
        for _ in range(11): yield b"x" * 1048576
    elif kind == "exits":
        sys.exit(1)

while True:
    api.request("GET", "/2018-06-01/runtime/invocation/next")
    event = api.getresponse()
    event.read()
    path = f"/2018-06-01/runtime/invocation/{event.headers['Lambda-Runtime-Aws-Request-Id']}/"
    headers = {"Transfer-Encoding": "chunked"}
    if sys.argv[1] != "buffered":
        headers["Lambda-Runtime-Function-Response-Mode"] = "streaming"
    if sys.argv[1] == "error":
        api.request("POST", path + "error", b"{}")
    else:
        kind = "good" if sys.argv[1] == "buffered" else sys.argv[1]
        api.request("POST", path + "response", parts(kind), headers, encode_chunked=True)
    assert api.getresponse().read() is not None
"""

Started = Callable[..., str]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """The address of a gateway whose function has the given behaviour."""
    (tmp_path / "runtime.py").write_text(RUNTIME)

    def launch_of(kind: str) -> Launch:
        def launch(runtime_api: str) -> list[subprocess.Popen[bytes]]:
            command = [sys.executable, str(tmp_path / "runtime.py"), kind]
            environment = {"AWS_LAMBDA_RUNTIME_API": runtime_api}
            return [subprocess.Popen(command, env=environment, start_new_session=True)]

        return launch

    with ExitStack() as stack:

        def start(kind: str, *, timeout: float = 20, idle_timeout: float = 20) -> str:
            front = GatewayFront(launch_of(kind), timeout=timeout, idle_timeout=idle_timeout)
            return stack.enter_context(front).url

        yield start


def get(url: str) -> httpx.Response:
    return httpx.get(url, trust_env=False, timeout=30)


@pytest.mark.parametrize("kind", ["good", "torn"])
def test_status_headers_and_cookies_are_those_of_the_prelude(started: Started, kind: str) -> None:
    answer = get(started(kind))
    assert answer.status_code == 200
    assert answer.headers["x-one"] == "1"
    assert answer.headers["set-cookie"] == "a=b"
    assert answer.text == ("first second" if kind == "good" else "")


@pytest.mark.parametrize("kind", ["long", "bare", "html", "buffered", "error", "exits"])
def test_a_response_that_is_no_stream_is_502(started: Started, kind: str) -> None:
    assert get(started(kind)).status_code == 502


@pytest.mark.parametrize("limit", ["timeout", "idle_timeout"])
def test_silence_and_the_functions_time_limit_cut_the_answer(started: Started, limit: str) -> None:
    began = time.monotonic()
    with pytest.raises(httpx.RemoteProtocolError):
        get(started("stalls", **{limit: 1.0}))
    assert 0.9 < time.monotonic() - began < 10


def test_data_over_ten_megabytes_is_throttled(started: Started) -> None:
    began = time.monotonic()
    assert len(get(started("large")).content) == 11 * 1048576
    assert time.monotonic() - began > 0.5


def test_request_over_ten_megabytes_is_413(started: Started) -> None:
    url = started("good")
    answer = httpx.post(url, content=b"x" * (10 * 1048576 + 1), trust_env=False, timeout=30)
    assert answer.status_code == 413
