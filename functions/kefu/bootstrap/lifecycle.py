"""Opens the parts of the service when it starts, and closes them when it stops."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kefu.bootstrap.base import Base
from kefu.bootstrap.upstream import StartableUpstream
from kefu.chat.completion import Chat
from kefu.stores.guarded.cooldowns import GuardedCooldowns

if TYPE_CHECKING:
    from kefu.bootstrap.sites import BuiltSite
    from kefu.sessions.people.delivery_runner import DeliveryRunner
    from kefu.sessions.turn.service import SessionService
    from kefu.stores.sqlite.knowledge.answered import AnsweredPages
    from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge


SNAPSHOT_PAGES_SECONDS = 10.0
"""Seconds that a snapshot waits for pages that are read from S3."""


class Lifecycle(NamedTuple):
    base: Base
    upstreams: Sequence[StartableUpstream]
    chat: Chat
    sessions: SessionService | None
    contact: DeliveryRunner | None
    pages: ReloadingKnowledge | None
    answered: AnsweredPages | None
    sites: Sequence[BuiltSite] = ()

    @property
    def prefetches(self) -> Sequence[Callable[[], object]]:
        """Start the reads that the next chat needs and that are due."""
        cooldowns = self.base.store.cooldowns
        return [
            *([self.contact.prefetch] if self.contact else ()),
            *([self.answered.prefetch] if self.answered else ()),
            *([cooldowns.prefetch] if isinstance(cooldowns, GuardedCooldowns) else ()),
            *(secret.prefetch for secret in self.base.secrets),
        ]

    async def start(self) -> None:
        settings, log, store = self.base.settings, self.base.log, self.base.store
        # The imports below allocate many objects and free few, as in `kefu.asgi`.
        gc.disable()
        store.warm()
        for secret in self.base.secrets:
            secret.prefetch()
        warming = [upstream.warm() for upstream in self.upstreams]
        await asyncio.gather(*warming, *map(asyncio.to_thread, (log.open, self.chat.warm)))
        for notice in dict.fromkeys(self.base.notices):
            log.notice(notice)
        if self.sessions:
            self.sessions.deps.capacity.prefetch()
        if self.contact:
            self.contact.start()
        if self.pages:
            # In a start, only a snapshot waits for pages that are read from S3.
            await self.pages.ready(SNAPSHOT_PAGES_SECONDS if settings.snapshot else 0)
        if settings.snapshot:
            # The Web Adapter does not report when the snapshot is taken.
            await self.disconnect()
        # Objects that exist now live as long as the process, so collections can skip them.
        if not settings.on_aws:  # there, 5 MB of memory are not worth 5 % of a cold start
            gc.collect()
        gc.freeze()
        gc.enable()

    async def stop(self) -> None:
        for chat in (self.chat, *(one.chat for one in self.sites)):
            if chat:
                chat.close()
        if self.contact:
            await self.contact.aclose()
        if self.sessions:
            await self.sessions.aclose()
        pages = (self.pages, *(one.pages for one in self.sites))
        for one in (*self.base.secrets, *self.base.connections, self.base.store, *pages):
            if one:
                await one.aclose()
        if traces := self.base.log.traces:
            await asyncio.to_thread(traces.close)

    async def disconnect(self) -> None:
        """Close every connection. The next use opens new connections."""
        for connection in self.base.connections:
            await connection.aclose()
        for pages in (self.pages, *(one.pages for one in self.sites)):
            if pages:
                pages.disconnect()
        await self.base.store.disconnect()

    def reconnect(self) -> None:
        """After a snapshot was restored: connect, and seed the random numbers of this copy."""
        random.seed()
        self.base.store.warm()
