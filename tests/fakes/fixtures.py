"""Fixtures of the tests that talk to the real service; their `conftest.py` imports them."""

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
    """Starts a service of the test's own, with short time limits unless it sets others."""
    with contextlib.ExitStack() as stack:

        def start(keys: int = 1, **options: Any) -> Stage:
            return stack.enter_context(stage(keys, **{**FAST, **options}))

        yield start


@pytest.fixture(scope="package")
def shared() -> Iterator[Stage]:
    """One service with many keys, for tests that do not mind that some of them cool.

    Tests keep apart by their `question`.
    """
    with stage(150, **FAST) as running:
        yield running


@pytest.fixture
def question(request: pytest.FixtureRequest) -> str:
    """A text that no other test asks."""
    return f"<{request.node.name}>"


__all__ = ["question", "shared", "staged"]
