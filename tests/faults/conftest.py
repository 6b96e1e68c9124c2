"""Fixtures: the real service in front of a scripted upstream, and a table with network faults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.engines import table
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.fixtures import question, shared, staged


@pytest.fixture
def proxy(dynamodb_local: str) -> Iterator[FaultProxy]:
    with FaultProxy(dynamodb_local) as proxy:
        yield proxy


__all__ = ["question", "shared", "staged", "table"]
