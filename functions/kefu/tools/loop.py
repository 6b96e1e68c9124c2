"""The loop of an answer with tools: the model is asked, its calls are run, and it is asked again,
until it answers.

`kefu.chat.steps` implements `StepModel` for the service, `kefu.agent.turn` for the terminal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from contextlib import aclosing
from typing import Protocol, TypeVar

from kefu.tools.use import Use
from kefu.tools.workbench import Workbench

PING_SECONDS = 2.5
"""Seconds without news of a tool after which a ping is sent."""

Shown = TypeVar("Shown")
ShownOfModel = TypeVar("ShownOfModel", covariant=True)  # noqa: PLC0105 - named for what it is

UseEvents = AsyncGenerator[Use | None]
"""A call in its present state; None as a ping."""


class StepModel(Protocol[ShownOfModel]):
    """The model, as the loop asks it."""

    def ask(self) -> AsyncGenerator[ShownOfModel]:
        """Ask the model once; what is to be shown of its output."""
        ...

    def take(self) -> Sequence[Use] | None:
        """The calls in the output, from `Workbench.take`; None for an answer.

        Without any call in the sequence, the model is asked again.
        """
        ...

    def used(self) -> Iterable[ShownOfModel]:
        """Called when the calls of a step have results; what else is to be shown."""
        ...


async def run_steps(
    model: StepModel[Shown], bench: Workbench
) -> AsyncGenerator[Shown | Use | None]:
    """What the model writes, and its calls in each of their states; None asks for a ping.

    Ends with an answer, or with a call that waits for a click. Raises the errors of `model`, and
    SessionBusy.
    """
    if bench.approved:
        async with aclosing(_approved(bench, bench.approved)) as uses:
            async for use in uses:
                yield use
        bench.step += 1
    while True:
        is_late = bench.step >= bench.limits.steps or not bench.has_time
        bench.is_last = bench.is_last or is_late
        async with aclosing(model.ask()) as written:
            async for one in written:
                yield one
        if (calls := model.take()) is None:
            return
        async with aclosing(_carried_out(bench, calls)) as uses:
            async for use in uses:
                yield use
        for one in model.used():
            yield one
        bench.step += 1
        if any(one.state == "asked" for one in bench.uses):
            return


async def _carried_out(bench: Workbench, calls: Sequence[Use]) -> UseEvents:
    """Run the calls of a step side by side; at most one of them gets a card, or is asked for."""
    async with aclosing(_side_by_side(bench, calls)) as uses:
        async for use in uses:
            yield use
    if waiting := next((one for one in calls if one.state == "asked"), None):
        # Its preview may take as long as a call.
        async with aclosing(_with_pings([bench.ask(waiting)])) as uses:
            async for use in uses:
                if use and use.state == "asked" and bench.around.ask:
                    yield await bench.ask_user(use)
                else:
                    yield use


async def _side_by_side(bench: Workbench, calls: Sequence[Use]) -> UseEvents:
    for use in calls:
        if use.state != "asked":
            yield use
    works = [bench.run(use) for use in calls if use.state == "running"]
    async with aclosing(_with_pings(works)) as uses:
        async for result in uses:
            yield result


async def _with_pings(works: Iterable[Coroutine[object, object, Use]]) -> UseEvents:
    """The results of works side by side, each as soon as it is there."""
    tasks = {asyncio.create_task(work) for work in works}
    try:
        while tasks:
            done, tasks = await asyncio.wait(
                tasks, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                yield None
            for task in done:
                yield task.result()
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _approved(bench: Workbench, use: Use) -> UseEvents:
    """Carry out the call that the visitor has approved, before the model is asked."""
    bench.uses.append(use)
    if use.state == "asked":
        yield use._replace(state="running")
    async with aclosing(_with_pings([bench.run_approved(use)])) as uses:
        async for sent in uses:
            yield sent
