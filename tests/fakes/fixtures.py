"""Fixtures for tests with the real service; `conftest.py` files import them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from tests.fakes.stage import FAST, Stage, stage
from tests.fakes.upstream import ScriptedUpstream


class Staged(Protocol):
    def __call__(
        self,
        keys: int = 1,
        *,
        upstream: ScriptedUpstream | None = None,
        url: str | None = None,
        **settings: Any,
    ) -> Stage: ...


@pytest.fixture
def staged() -> Iterator[Staged]:
    """Starts a service for one test, with short time limits unless the test sets others."""
    with contextlib.ExitStack() as stack:

        def start(keys: int = 1, **options: Any) -> Stage:
            return stack.enter_context(stage(keys, **{**FAST, **options}))

        yield start


@pytest.fixture(scope="package")
def shared() -> Iterator[Stage]:
    """A service with many keys that tests share, if they allow that some of its keys cool down.

    No client is cut off because a busy machine does not run it: for such tests there is `staged`.
    The tests use different values of `question`, so that they do not affect each other.
    """
    with stage(150, body_timeout=20.0, write_timeout=20.0) as running:
        yield running


@pytest.fixture
def question(request: pytest.FixtureRequest) -> str:
    """A text that no other test uses as its question."""
    return f"<{request.node.name}>"


__all__ = ["question", "shared", "staged"]
