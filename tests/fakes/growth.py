"""How much more work a longer input makes."""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

TIMES = 8
"""How much longer the long input is: linear work takes 8 times as long, quadratic work 64 times."""
AT_MOST = 24
TRIES = 10


class _Growth:
    """The least that each of two inputs took: a busy machine and a large heap only add to it.

    The bound lies as far from linear as from quadratic, and the tries end as soon as it holds.
    """

    def __init__(self) -> None:
        self.best = [float("inf"), float("inf")]

    def note(self, at: int, spent: float) -> None:
        self.best[at] = min(self.best[at], spent)

    @property
    def is_linear(self) -> bool:
        return self.best[1] <= AT_MOST * self.best[0]

    def __str__(self) -> str:
        return f"{TIMES} times the input took {self.best[1] / self.best[0]:.0f} times as long"


def assert_linear(prepare: Callable[[int], T], work: Callable[[T], object], size: int) -> None:
    """T31: `work` on an input of `size` takes about 8 times as long as on an eighth of it.

    CPU time of this thread, the best of several tries in turns, without the collector.
    """
    inputs = [prepare(size // TIMES), prepare(size)]
    growth = _Growth()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(TRIES):
            for at, given in enumerate(inputs):
                started = time.thread_time()
                work(given)
                growth.note(at, time.thread_time() - started)
            if growth.is_linear:
                return
    finally:
        if collecting:
            gc.enable()
    raise AssertionError(growth)


async def assert_linear_work(spent: Callable[[int], Awaitable[float]], size: int) -> None:
    """The same of a service: `spent` tells how much an input of such a size had it work."""
    growth = _Growth()
    for _ in range(TRIES):
        for at, length in enumerate((size // TIMES, size)):
            growth.note(at, await spent(length))
        if growth.is_linear:
            return
    raise AssertionError(growth)
