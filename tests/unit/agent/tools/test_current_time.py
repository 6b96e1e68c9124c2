"""S34: the local time and the time of other zones."""

from __future__ import annotations

import time

import pytest

from kefu.errors import ToolFailed
from tests.unit.agent.tools.conftest import Ask


async def test_the_time_is_in_the_requested_zone(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requirement S34."""
    assert await ask("current_time", "Asia/Shanghai") == "2026-07-14T11:33:20+08:00 (Tuesday)"
    assert await ask("current_time", '{"zone": "UTC"}') == "2026-07-14T03:33:20+00:00 (Tuesday)"
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert await ask("current_time", "") == "2026-07-13T23:33:20-04:00 (Monday)"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "zone", ["Nowhere", "../../etc/passwd", "/etc/passwd", "Asia", "x" * 5000, "a\0b", "\ud800"]
)
async def test_an_unknown_time_zone_is_reported_to_the_model(ask: Ask, zone: str) -> None:
    """T22: a name that is a path does not read a file."""
    with pytest.raises(ToolFailed, match="no time zone"):
        await ask("current_time", zone)
