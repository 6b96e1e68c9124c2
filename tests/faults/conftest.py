"""Fixtures: the real service in front of a scripted upstream, and a table with network faults."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import pytest

from kefu.stores.dynamodb.store import DynamoStore
from tests.contract.engines import new_table
from tests.fakes.fault_proxy import FaultProxy
from tests.fakes.fixtures import question, shared, staged


@pytest.fixture
async def table(
    dynamodb_endpoint: str, aws_environment: dict[str, str]
) -> AsyncIterator[DynamoStore]:
    """A new table of each engine: the faults are those of the network in front of it."""
    table = await new_table(dynamodb_endpoint, time.time, with_ttl=False)
    yield table
    await table.aclose()


@pytest.fixture
def proxy(dynamodb_endpoint: str) -> Iterator[FaultProxy]:
    with FaultProxy(dynamodb_endpoint) as proxy:
        yield proxy


__all__ = ["question", "shared", "staged"]
