"""Calls that are run up to their first wait without a task."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest

from kefu.sessions.background import started, within
from tests.fakes.relaying import in_virtual_time

KEFU = Path(__file__).parents[3] / "functions" / "kefu"
OF_A_TASK = {"timeout", "timeout_at", "wait_for", "current_task", "TaskGroup"}
"""Names of asyncio that ask for the current task."""


async def work(steps: list[str], *waits: float) -> str:
    """A call that waits some times, and notes what happens."""
    steps.append("begun")
    try:
        for seconds in waits:
            await asyncio.sleep(seconds)
            steps.append("went on")
    except asyncio.CancelledError:
        steps.append("cancelled")
        await asyncio.sleep(0.1)
        raise
    if "fail" in steps:
        raise ValueError("no")
    return "result"


async def test_a_call_that_does_not_wait_ends_at_once() -> None:
    steps: list[str] = []
    call = started(work(steps))
    assert call.done()
    assert (call.result(), steps) == ("result", ["begun"])


async def test_an_error_of_a_call_is_raised_where_it_is_awaited() -> None:
    for waits in ((), (0.0,)):
        with pytest.raises(ValueError, match="no"):
            await started(work(["fail"], *waits))


@in_virtual_time
async def test_a_call_that_waits_goes_on_in_a_task() -> None:
    steps: list[str] = []
    call = started(work(steps, 1.0, 0.0, 2.0))
    assert (call.done(), steps) == (False, ["begun"])
    assert await call == "result"
    assert steps == ["begun"] + 3 * ["went on"]
    assert asyncio.get_running_loop().time() == pytest.approx(3.0)


@in_virtual_time
async def test_a_cancelled_call_learns_of_it_where_it_waits_and_may_still_wait() -> None:
    for waits in ((1.0,), (0.1, 1.0)):
        steps: list[str] = []
        call = started(work(steps, *waits))
        await asyncio.sleep(0.5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert steps[-1] == "cancelled"


@in_virtual_time
async def test_the_rest_of_a_call_has_a_task_of_its_own() -> None:
    """So that a time limit which begins there ends the call, and not its caller."""

    async def limited() -> str:
        await asyncio.sleep(0)
        async with asyncio.timeout(1.0):
            return await work([], 60.0)

    with pytest.raises(TimeoutError):
        await started(limited())
    assert asyncio.get_running_loop().time() == pytest.approx(1.1)


@in_virtual_time
async def test_a_late_call_is_cancelled() -> None:
    steps: list[str] = []
    with pytest.raises(TimeoutError):
        await within(1.0, work(steps, 60.0))
    await asyncio.sleep(0)
    assert steps == ["begun", "cancelled"]


def test_no_call_of_a_store_asks_for_the_current_task() -> None:
    """Before Python 3.12 it would get its caller's, and cancel that one."""
    files = [KEFU / "sessions/background.py", *(KEFU / "stores").rglob("*.py")]
    assert len(files) > 40
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "asyncio":
                assert node.attr not in OF_A_TASK, f"{file}:{node.lineno}"
