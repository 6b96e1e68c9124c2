"""aws m2: copies of one snapshot (SnapStart) draw different random pauses, however Kefu starts."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from kefu.stores.referenced_keys import ReferencedKeys

PACKAGE = Path(__file__).parents[3] / "functions/kefu"
COPIES = 3


async def test_copies_of_a_snapshot_read_their_keys_again_at_different_times() -> None:
    """SSM throttled them together. The clock shows when each of them asks again."""
    at_the_snapshot = random.getstate()
    pauses = {await _pause_in_a_copy(at_the_snapshot) for _ in range(COPIES)}
    assert len(pauses) > 1, "two of them may agree by chance, since the clock has milliseconds"


async def _pause_in_a_copy(state: object) -> float:
    random.setstate(state)  # type: ignore[arg-type] # typeshed types it by its versions
    now, asked = 0.0, list[float]()

    def read() -> str:
        asked.append(now)
        raise ValueError("contains no text")

    keys = ReferencedKeys(read, lambda _: None, lambda: now, ttl=300, on_degraded=lambda _: None)
    while len(asked) < 2:
        await keys.ready()
        now += 0.001
    await keys.aclose()
    return asked[1] - asked[0]


@pytest.mark.slow
def test_no_pause_is_drawn_from_the_state_that_a_snapshot_copies() -> None:
    drawn = [
        f"{path.relative_to(PACKAGE)}: random.{node.attr}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "random"
        and node.attr not in {"SystemRandom", "seed"}
    ]
    assert drawn == []
