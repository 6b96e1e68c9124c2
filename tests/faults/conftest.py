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
def proxy(dynamodb_local: str) -> Iterator[FaultProxy]:
    with FaultProxy(dynamodb_local) as proxy:
        yield proxy


@pytest.fixture
async def table(dynamodb_local: str, aws_environment: dict[str, str]) -> AsyncIterator[DynamoStore]:
    table = await new_table(dynamodb_local, time.time, with_ttl=True)
    yield table
    await table.aclose()


__all__ = ["question", "shared", "staged"]
