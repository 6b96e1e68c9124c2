"""Delivers the requests for a person in the background, soon after they are due."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from kefu.errors import StoreUnavailable
from kefu.relay.call import Clock
from kefu.sessions.people.handoff import HandOff

if TYPE_CHECKING:
    from kefu.sessions.people.visitor_mails import VisitorMails

POLL_SECONDS = 2.0
"""Seconds between two looks for requests that are due."""

POLL_SECONDS_ON_AWS = 30.0
"""Seconds between two looks in a Lambda instance, which looks while it answers a chat."""

REQUEST_WAIT_SECONDS = 5.0
"""Seconds that the request of the form waits for its delivery, in a Lambda instance."""


class DeliveryRunner:
    """Delivers requests for a person; at most one run at a time in a process."""

    def __init__(
        self, handoff: HandOff, clock: Clock, mails: VisitorMails | None = None, *, on_aws: bool
    ) -> None:
        """`mails`: None where operators' lines are not mailed to visitors."""
        self.handoff = handoff
        self.mails = mails
        self._clock = clock
        self._on_aws = on_aws
        self._run: asyncio.Task[None] | None = None
        self._again = False
        self._looked_at = float("-inf")
        self._watching: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look for due requests until `aclose`; not in Lambda, which freezes the process."""
        if self.handoff.delivers and not self._on_aws:
            self._watching = asyncio.create_task(self._watch())

    def prefetch(self) -> None:
        """In Lambda: deliver during an answer, if the last look is `POLL_SECONDS_ON_AWS` ago."""
        if self._on_aws and self._clock.monotonic() - self._looked_at > POLL_SECONDS_ON_AWS:
            self._begin()

    async def deliver(self, patience: float = REQUEST_WAIT_SECONDS) -> None:
        """Begin to deliver what is due. In Lambda, wait for it for `patience` seconds at most."""
        if not self.handoff.delivers:
            return
        run = self._begin()
        if self._on_aws:
            await asyncio.wait({run}, timeout=patience)

    async def aclose(self) -> None:
        for task in (self._watching, self._run):
            if task:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        await self.handoff.capacity.aclose()

    def _begin(self) -> asyncio.Task[None]:
        self._looked_at = self._clock.monotonic()
        if self._run is None or self._run.done():
            self._run = asyncio.create_task(self._deliver())
        else:
            self._again = True  # the run may have looked before this request was stored
        return self._run

    async def _deliver(self) -> None:
        while True:
            self._again = False
            # The guarded store has logged its failure; the requests stay due.
            with contextlib.suppress(StoreUnavailable):
                await self.handoff.deliver_due()
                if self.mails:
                    await self.mails.send_due()
            if not self._again:
                return

    async def _watch(self) -> None:
        while True:
            await asyncio.wait({self._begin()})
            await asyncio.sleep(POLL_SECONDS)
