"""A proxy in front of DynamoDB that adds up the consumed units of its responses, as AWS bills them.

It adds `ReturnConsumedCapacity` to the requests; DynamoDB Local does not check that the signature
still matches the body. The response to a failed condition contains no units, but costs a write.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from math import ceil

from tests.fakes.throttling_front import ThrottlingFront

KIB = 1024
LATE = 0.8
"""Seconds of a call; the store's client gives up after one."""


@dataclass
class Bill:
    calls: Counter[str] = field(default_factory=Counter)
    """By operation: `GetItem`, `UpdateItem`, ..."""
    reads: float = 0.0
    """Read request units: half a one for an eventually consistent read of up to 4 KB."""
    writes: float = 0.0
    """Write request units: one for each KB, refused conditional writes among them."""
    late: int = 0
    """Calls that took so long that the client may have sent them again."""


class MeteringFront(ThrottlingFront):
    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.throttling = False
        self.bill = Bill()

    def forward(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        operation = headers["X-Amz-Target"].rpartition(".")[2]
        asked = json.dumps({**json.loads(body), "ReturnConsumedCapacity": "TOTAL"}).encode()
        started = time.monotonic()
        status, answer = super().forward(asked, {**headers, "Content-Length": str(len(asked))})
        self.bill.late += time.monotonic() - started > LATE
        self.bill.calls[operation] += 1
        units = _units(json.loads(answer))
        if operation in ("GetItem", "Query", "BatchGetItem"):
            self.bill.reads += units
        else:
            self.bill.writes += units
        return status, answer

    def settle(self) -> Bill:
        """The units that were consumed since the last call of this method."""
        bill, self.bill = self.bill, Bill()
        return bill


def _units(answer: dict[str, object]) -> float:
    used = answer.get("ConsumedCapacity")
    if isinstance(used, dict):
        return float(used["CapacityUnits"])
    if isinstance(used, list):  # the units of a batch
        return sum(float(table["CapacityUnits"]) for table in used)
    if str(answer.get("__type", "")).endswith("ConditionalCheckFailedException"):
        return max(1, ceil(len(json.dumps(answer.get("Item", {}))) / KIB))
    raise AssertionError(f"an answer without units: {answer}")
