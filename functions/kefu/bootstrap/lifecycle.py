"""Opens the parts of the service when it starts, and closes them when it stops."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kefu.bootstrap.upstream import StartableUpstream
from kefu.chat.completion import Chat
from kefu.settings import Settings
from kefu.stores.guarded.store import GuardedStore
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.upstream.siteverify import SiteVerify
from kefu.web.log import RequestLog

if TYPE_CHECKING:
    from kefu.bootstrap.handoff import Deliveries
    from kefu.bootstrap.knowledge import Pages
    from kefu.sessions.service import SessionService


PAGES_FOR_SNAPSHOT = 10.0
"""Seconds."""


class Lifecycle(NamedTuple):
    log: RequestLog
    notices: Sequence[str]
    """Messages for the operator; they are logged when the service starts."""
    settings: Settings
    store: GuardedStore
    upstreams: Sequence[StartableUpstream]
    references: Sequence[ReferencedKeys]
    verifier: SiteVerify
    chat: Chat
    turns: SessionService | None
    pages: Pages | None
    contact: Deliveries | None

    def prefetch(self) -> None:
        """Start the reads that the next chat needs and that are due."""
        if self.contact:
            self.contact.prefetch()
        self.store.prefetch()
        for reference in self.references:
            reference.prefetch()

    async def start(self) -> None:
        # The imports below allocate many objects and free few, as in `kefu.asgi`.
        gc.disable()
        self.store.warm()
        for reference in self.references:
            reference.prefetch()
        threads = (self.log.open, self.chat.warm)
        warming = [upstream.warm() for upstream in self.upstreams]
        await asyncio.gather(*warming, *map(asyncio.to_thread, threads))
        for notice in dict.fromkeys(self.notices):
            self.log.notice(notice)
        if self.turns:
            self.turns.deps.capacity.prefetch()
        if self.contact:
            self.contact.start()
        if self.pages:
            # In a start, only a snapshot waits for pages that are read from S3.
            await self.pages.file.ready(PAGES_FOR_SNAPSHOT if self.settings.snapshot else 0)
        if self.settings.snapshot:
            # The Web Adapter does not report when the snapshot is taken.
            await self.disconnect()
        # Objects that exist now live as long as the process, so collections can skip them.
        if not self.settings.on_aws:  # there, 5 MB of memory are not worth 5 % of a cold start
            gc.collect()
        gc.freeze()
        gc.enable()

    async def stop(self) -> None:
        self.chat.close()
        if self.contact:
            await self.contact.aclose()
        if self.turns:
            await self.turns.aclose()
        for reference in self.references:
            await reference.aclose()
        for upstream in self.upstreams:
            await upstream.aclose()
        await self.verifier.aclose()
        await self.store.aclose()
        if self.pages:
            await self.pages.file.aclose()

    async def disconnect(self) -> None:
        """Close every connection. The next use opens new ones."""
        for upstream in self.upstreams:
            await upstream.aclose()
        await self.verifier.aclose()
        if self.contact:
            await self.contact.disconnect()
        if self.pages:
            self.pages.file.disconnect()
        await self.store.disconnect()

    def reconnect(self) -> None:
        """After a snapshot was restored: connect, and seed the random numbers of this copy."""
        random.seed()
        self.store.warm()
