"""Checks how processor time grows with the length of the input."""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

TIMES = 8
"""How much longer the long input is: linear work takes 8 times as long, quadratic work 64 times."""
AT_MOST = 24
TRIES = 10


class _Growth:
    """The minimum time for each of two inputs: other load on the machine can only add to it."""

    def __init__(self) -> None:
        self._best = [float("inf"), float("inf")]

    def turns(self) -> Iterator[int]:
        """Yield the index of the input to run next, until the bound holds. Raises AssertionError.

        The bound is midway between linear and quadratic growth. The runs end as soon as it holds.
        """
        for _ in range(TRIES):
            yield from range(2)
            if self._best[1] <= AT_MOST * self._best[0]:
                return
        took = self._best[1] / self._best[0]
        raise AssertionError(f"{TIMES} times the input took {took:.0f} times as long")

    def note(self, at: int, spent: float) -> None:
        self._best[at] = min(self._best[at], spent)


def assert_linear(prepare: Callable[[int], T], work: Callable[[T], object], size: int) -> None:
    """T31: `work` on an input of `size` takes about 8 times as long as on an eighth of it.

    Compares the CPU time of this thread: the minimum of several alternating runs, without the
    garbage collector.
    """
    inputs = [prepare(size // TIMES), prepare(size)]
    growth = _Growth()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for at in growth.turns():
            started = time.thread_time()
            work(inputs[at])
            growth.note(at, time.thread_time() - started)
    finally:
        if collecting:
            gc.enable()


async def assert_linear_work(spent: Callable[[int], Awaitable[float]], size: int) -> None:
    """The same for a service: `spent` returns its processor time for an input of the given size."""
    growth = _Growth()
    for at in growth.turns():
        growth.note(at, await spent((size // TIMES, size)[at]))
