"""Runs each client library once with all requests, in its own process and environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import behaviours
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-clients/bin/python"
NODE_MODULES = ROOT / "tests/clients/node_modules/openai"
SCRIPTS = ("openai_sdk", "openai_node", "langchain_sdk", "litellm_sdk", "llm_cli")
KEYS = ("key-one", "key-two", "key-three")
REASONS = {"limited": 429, "down": 503}
"""Services whose upstream refuses every key, and how."""


@dataclass(frozen=True)
class Seen:
    """The results of one client, and the requests that reached the services and the upstreams."""

    outcomes: dict[tuple[str, bool], dict[str, Any]]
    """By question and whether it was streamed."""
    asked: dict[str, int]
    """Question -> requests that reached the upstream with it."""
    requests: dict[str, list[int]]
    """Service -> statuses of its chat completions, in their order."""


def outcome_of(script: str) -> Any:
    """What a script of `scripts` prints as JSON; it runs with the libraries for Python."""
    if not PYTHON.exists():
        pytest.skip("The clients for Python are not installed. Try: make parts")
    path = os.pathsep.join((str(ROOT / "functions"), str(ROOT)))
    done = subprocess.run(
        [str(PYTHON), "-W", "ignore", "-m", f"tests.clients.scripts.{script}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def command(request: pytest.FixtureRequest) -> list[str]:
    script: str = request.param
    if script == "openai_node":
        node = shutil.which("node")
        if not node or not NODE_MODULES.exists():
            pytest.skip("OpenAI's client for JavaScript is not installed. Try: make parts")
        return [node, "tests/clients/scripts/openai_node.mjs"]
    if not PYTHON.exists():
        pytest.skip("The OpenAI clients for Python are not installed. Try: make parts")
    return [str(PYTHON), "-m", f"tests.clients.scripts.{script}"]


@pytest.fixture(scope="session")
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as upstream:
        upstream.script("*", behaviours.answer("Two", " to four", " 天。"), asking="good")
        upstream.script("*", behaviours.status(400), asking="bad")
        upstream.script("*", behaviours.silent, asking="silent")
        upstream.script("*", behaviours.reset_after(3), asking="broken")
        for question, status in REASONS.items():
            upstream.script("*", behaviours.status(status), asking=question)
        upstream.script("*", uses_tool, asking=TOOL_QUESTION)
        upstream.script("*", keeps_form, asking=JSON_QUESTION)
        yield upstream


@pytest.fixture(scope="session")
def seen(command: list[str], upstream: ScriptedUpstream) -> Iterator[Seen]:
    """Each client gets new services, because a client may leave all keys of a service
    cooling down.
    """
    services = {name: service(upstream) for name in ("well", *REASONS)}
    try:
        before = len(upstream.journal)
        outcomes = run(command, list(jobs(services)))
        calls = upstream.journal[before:]
        yield Seen(
            outcomes=outcomes,
            asked={
                q: sum(q in call.question for call in calls) for q in (*QUESTIONS, TOOL_QUESTION)
            },
            requests={name: statuses(one) for name, one in services.items()},
        )
    finally:
        for one in services.values():
            one.close()


QUESTIONS = ("good", "bad", "silent", "broken", *REASONS)
TOOL_QUESTION = "tool"
JSON_QUESTION = "json"


async def uses_tool(exchange: behaviours.Exchange) -> None:
    """A model that calls the tool, and then answers with the tool's result."""
    if any(message["role"] == "tool" for message in exchange.body["messages"]):
        await behaviours.answer("It is sunny.")(exchange)
        return
    function = {"name": "weather", "arguments": '{"city": "Bern"}'}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    role = behaviours.chunk({"role": "assistant", "content": None})
    called = behaviours.chunk({"tool_calls": [call]})
    await behaviours.chunks(role, called, behaviours.chunk({}, finish="tool_calls"))(exchange)


async def keeps_form(exchange: behaviours.Exchange) -> None:
    """A model that answers with JSON if its request has a schema for it."""
    asked = exchange.body.get("response_format", {})
    has_schema = "city" in asked.get("json_schema", {}).get("schema", {}).get("properties", {})
    await behaviours.answer(*('{"city":', '"Bern"}') if has_schema else ("Bern",))(exchange)


def service(upstream: ScriptedUpstream) -> Service:
    return Service(upstream.base_url, KEYS, openai_api="tools").start()


def jobs(services: dict[str, Service]) -> Iterator[dict[str, Any]]:
    for question in QUESTIONS:
        door = services.get(question, services["well"]).url + "/v1"
        for stream in (True, False):
            yield {"base_url": door, "question": question, "stream": stream}
    for question in (TOOL_QUESTION, JSON_QUESTION):
        yield {"base_url": services["well"].url + "/v1", "question": question, "stream": False}


def run(
    command: Sequence[str], jobs: list[dict[str, Any]]
) -> dict[tuple[str, bool], dict[str, Any]]:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "", "NO_PROXY": "127.0.0.1"},
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout.splitlines()[-1])
    keys = [(job["question"], job["stream"]) for job in jobs]
    return dict(zip(keys, outcomes, strict=True))


def statuses(service: Service) -> list[int]:
    requests = [line for line in service.logs() if line.get("path") == "/v1/chat/completions"]
    return [line["status"] for line in requests if line.get("message") == "request"]
