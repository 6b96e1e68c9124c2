"""Builds the contact form from the settings, and runs its deliveries in the background."""

from __future__ import annotations

import asyncio
import contextlib
import secrets

from kefu.bootstrap.base import Base
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.hooks import load_hooks
from kefu.errors import StoreUnavailable
from kefu.sessions.people.delivery import ByMail, ByWebhook, Recipient
from kefu.sessions.people.handoff import ContactForm, HandOff, Outlet
from kefu.sessions.store.ports import Sessions
from kefu.sessions.turn.service import SessionService
from kefu.stores.aws import SnsTopic
from kefu.upstream.webhook import HttpWebhook

POLL_SECONDS = 2.0
"""Seconds between two looks for requests that are due."""

POLL_SECONDS_ON_AWS = 30.0
"""Seconds between two looks in a Lambda instance, which looks while it answers a chat."""

REQUEST_WAIT_SECONDS = 5.0
"""Seconds that the request of the form waits for its delivery, in a Lambda instance."""


class DeliveryRunner:
    """Delivers requests for a person; at most one run at a time in a process."""

    def __init__(self, handoff: HandOff, clock: SystemClock, *, on_aws: bool) -> None:
        self.handoff = handoff
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

    async def deliver(self) -> None:
        """Begin to deliver a new request. In Lambda, wait for the delivery for a limited time."""
        if not self.handoff.delivers:
            return
        run = self._begin()
        if self._on_aws:
            await asyncio.wait({run}, timeout=REQUEST_WAIT_SECONDS)

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
            if not self._again:
                return

    async def _watch(self) -> None:
        while True:
            await asyncio.wait({self._begin()})
            await asyncio.sleep(POLL_SECONDS)


def contact_deliveries(
    base: Base, store: Sessions, sessions: SessionService | None
) -> DeliveryRunner:
    """Only for settings with a contact form. Stored chats share their capacity and hooks."""
    settings, log = base.settings, base.log
    handoff = HandOff(
        store,
        base.clock,
        ContactForm(settings.contact_form, settings.contact_consent),
        _outlet(base),
        redact=log.secrets.hide,
        log=log.notice,
        capacity=sessions.deps.capacity if sessions else base.capacity(store),
        hooks=sessions.deps.hooks if sessions else load_hooks(settings, log.hook_failed),
    )
    return DeliveryRunner(handoff, base.clock, on_aws=settings.on_aws)


def _outlet(base: Base) -> Outlet | None:
    """The way of the requests to the owner; None if they are only listed in the panel."""
    settings = base.settings
    recipient: Recipient
    if settings.contact_topic:
        topic = SnsTopic(settings.contact_topic)
        base.connections.append(topic)
        recipient = ByMail(topic)
    elif settings.contact_webhook:
        webhook = HttpWebhook(settings.contact_webhook)
        base.connections.append(webhook)
        recipient = ByWebhook(webhook)
    else:
        return None
    return Outlet(recipient, base.store.limits, secrets.token_hex(32), settings.has_panel)
