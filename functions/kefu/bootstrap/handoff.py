"""Builds the contact form from the settings, and runs its deliveries in the background."""

from __future__ import annotations

import asyncio
import contextlib
import secrets

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.hooks import load_hooks
from kefu.chat.limits import LimitStore
from kefu.errors import StoreUnavailable
from kefu.sessions.capacity import Capacity
from kefu.sessions.contact_delivery import ByMail, ByWebhook, Recipient
from kefu.sessions.handoff import ContactForm, HandOff, Outlet
from kefu.sessions.hooks import Hooks
from kefu.sessions.ports import Sessions
from kefu.settings import Settings
from kefu.stores.aws import SnsTopic
from kefu.upstream.webhook import HttpWebhook
from kefu.web.log import RequestLog

EVERY = 2.0
"""Seconds between two looks for requests that are due."""

EVERY_ON_AWS = 30.0
"""The same in a Lambda instance, which looks while it answers a chat."""

IN_REQUEST = 5.0
"""Seconds that the request of the form waits for its delivery, in a Lambda instance."""


class Deliveries:
    """Delivers requests for a person; at most one run at a time in a process."""

    def __init__(
        self, handoff: HandOff, clock: SystemClock, channel: HttpWebhook | SnsTopic | None
    ) -> None:
        self.handoff = handoff
        self._clock = clock
        self._channel = channel
        self._run: asyncio.Task[None] | None = None
        self._again = False
        self._looked_at = float("-inf")
        self._watching: asyncio.Task[None] | None = None
        self.on_aws = False

    def start(self) -> None:
        """Look for due requests until `aclose`; not in Lambda, which freezes the process."""
        if self._channel and not self.on_aws:
            self._watching = asyncio.create_task(self._watch())

    def prefetch(self) -> None:
        """In Lambda: deliver while an answer is sent, if the last look is some time ago."""
        if self.on_aws and self._clock.monotonic() - self._looked_at > EVERY_ON_AWS:
            self._begin()

    async def deliver(self) -> None:
        """Begin to deliver a new request. In Lambda, wait for it for a limited time."""
        if self._channel is None:
            return
        run = self._begin()
        if self.on_aws:
            await asyncio.wait({run}, timeout=IN_REQUEST)

    async def disconnect(self) -> None:
        if self._channel:
            await self._channel.aclose()

    async def aclose(self) -> None:
        for task in (self._watching, self._run):
            if task:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        await self.handoff.capacity.aclose()
        await self.disconnect()

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
            await asyncio.sleep(EVERY)


def deliveries(
    settings: Settings,
    store: Sessions,
    limits: LimitStore,
    clock: SystemClock,
    log: RequestLog,
    capacity: Capacity,
    hooks: Hooks | None,
) -> Deliveries:
    """Only for settings with a contact form. `hooks`: those of stored chats, if there are any."""
    channel, recipient = _recipient(settings)
    handoff = HandOff(
        store,
        clock,
        ContactForm(settings.contact_form, settings.contact_consent),
        Outlet(recipient, limits, secrets.token_hex(32)) if recipient else None,
        redact=log.secrets.hide,
        log=log.notice,
        capacity=capacity,
        hooks=hooks or load_hooks(settings, log.hook_failed),
    )
    handoff.has_panel = settings.has_panel
    made = Deliveries(handoff, clock, channel)
    made.on_aws = settings.on_aws
    return made


def _recipient(settings: Settings) -> tuple[HttpWebhook | SnsTopic | None, Recipient | None]:
    """The connection to close at the end, and who receives the requests."""
    if settings.contact_topic:
        topic = SnsTopic(settings.contact_topic)
        return topic, ByMail(topic)
    if settings.contact_webhook:
        webhook = HttpWebhook(settings.contact_webhook)
        return webhook, ByWebhook(webhook)
    return None, None
