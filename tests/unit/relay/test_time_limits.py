"""The relations between the time limits, and with those of the widget."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kefu.relay.time_limits import NORMAL, SLOW, TimeLimits

WIDGET = Path(__file__).parents[3] / "widget/src/open/options.ts"


def widget_seconds(name: str) -> float:
    found = re.search(rf"const {name} = (\d+);", WIDGET.read_text(encoding="utf-8"))
    assert found, name
    return float(found[1])


FIRST_BYTE, STALL = widget_seconds("FIRST_BYTE_SECONDS"), widget_seconds("STALL_SECONDS")
TRAVEL = 0.5
"""Seconds for a request and the first byte of its response on their way."""


def test_limits_are_those_of_the_design() -> None:
    """Faults U12, U13 and U14."""
    assert NORMAL == (2.5, 3.5, 4.5, 2.5, 10, 2, 120, False)


def test_widget_gets_an_error_before_it_gives_up() -> None:
    assert NORMAL.first_byte + TRAVEL <= FIRST_BYTE


def test_widget_gets_a_first_byte_of_a_slow_model_in_time() -> None:
    """So the script tag needs no attribute for `KEFU_PATIENCE=slow`."""
    assert SLOW.early_headers
    assert SLOW.ping_interval + TRAVEL <= FIRST_BYTE


@pytest.mark.parametrize("limits", [NORMAL, SLOW], ids=["normal", "slow"])
def test_limits_leave_time_for_each_other(limits: TimeLimits) -> None:
    assert 2 * limits.ping_interval <= STALL, "the widget may miss one ping"
    assert limits.hedge_after < limits.fallback_after < limits.first_byte
    assert limits.first_byte - limits.fallback_after >= 1, "the second upstream can answer"
    assert limits.first_byte - limits.hedge_after >= 2, "the second key can answer"
    assert limits.hedge_after < limits.stall, "silence is replaced sooner than thinking"
    assert limits.after_finish <= limits.stall
    assert limits.first_byte + limits.stall < limits.max_duration


def test_slow_models_get_more_time_everywhere() -> None:
    for name in ("hedge_after", "fallback_after", "first_byte", "stall", "max_duration"):
        assert getattr(SLOW, name) > getattr(NORMAL, name), name
