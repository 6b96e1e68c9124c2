"""Measures the budget of daily tokens by reserving from it."""

from __future__ import annotations

from kefu.chat.admission import Admission
from kefu.errors import RateLimited


async def budget_left(admission: Admission, daily_tokens: int) -> int:
    """The largest reservation that the daily budget still accepts. The test reservations are
    returned.
    """
    low, high = 0, daily_tokens
    while low < high:
        middle = (low + high + 1) // 2
        try:
            async with admission.budget(middle, lambda: 0):
                pass
        except RateLimited:
            high = middle - 1
        else:
            low = middle
    return low
