"""The built package as a Lambda function: with the real Web Adapter, and in AWS's emulator."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.contract.engines import table
from tests.fakes.asking import Answer, ask
from tests.fakes.fixtures import question
from tests.fakes.gateway_front import GatewayFront
from tests.fakes.lambda_function import StreamingFunction, build_package, find_python
from tests.fakes.stage import ORIGIN, api_keys
from tests.fakes.upstream import ScriptedUpstream
from tests.parts.plugin import installed_part

__all__ = ["question", "table"]


class Deployed:
    """A function behind its gateway, and the upstream that it calls."""

    def __init__(
        self, upstream: ScriptedUpstream, function: StreamingFunction, front: GatewayFront
    ) -> None:
        self.upstream = upstream
        self.function = function
        self.front = front

    @property
    def url(self) -> str:
        return self.front.url

    async def ask(self, body: Any, *, headers: Mapping[str, str]) -> Answer:
        """Ask as a visitor of an allowed page."""
        return await ask(self.url, body, headers={"Origin": ORIGIN, **headers})


class Deploy(Protocol):
    def __call__(
        self,
        keys: int = 1,
        *,
        timeout: float = 30,
        freezing: bool = False,
        idle_timeout: float = 300,
        slots: int = 1,
        **settings: Any,
    ) -> Deployed: ...


@pytest.fixture(scope="session")
def python() -> str:
    found = find_python()
    if found is None:
        pytest.skip("no Python of Lambda's version (functions/build.py) on this machine")
    return found


@pytest.fixture(scope="session")
def package(python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, which is built once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "function"
    with (folder.parent / "function.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            build_package(folder.with_name("unfinished")).rename(folder)
        return folder


@pytest.fixture(scope="session")
def adapter() -> Path:
    return installed_part("web-adapter") / "bin/lambda-adapter"


@pytest.fixture(scope="module")
def deploy(
    adapter: Path, package: Path, python: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deploy]:
    """Starts a function with its own settings behind its own gateway."""
    with contextlib.ExitStack() as stack:

        def start(
            keys: int = 1,
            *,
            timeout: float = 30,
            freezing: bool = False,
            idle_timeout: float = 300,
            slots: int = 1,
            **settings: Any,
        ) -> Deployed:
            upstream = stack.enter_context(ScriptedUpstream())
            function = StreamingFunction(
                adapter,
                package,
                python,
                tmp_path_factory.mktemp("function"),
                upstream=upstream.base_url,
                keys=api_keys(keys),
                **settings,
            )
            front = GatewayFront(
                function.launch,
                timeout=timeout,
                idle_timeout=idle_timeout,
                freezing=freezing,
                slots=slots,
            )
            return Deployed(upstream, function, stack.enter_context(front))

        yield start


def frozen(pid: int) -> bool:
    """Whether a process is stopped by a signal (Linux)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("T")
