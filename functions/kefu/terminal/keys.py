"""Reads API keys that are stored in AWS."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kefu.bootstrap.base import KEYS_TTL
from kefu.relay.key_pool import KeyPool
from kefu.settings import Settings
from kefu.stores.aws import text_at
from kefu.stores.referenced_keys import ReferencedKeys


class KeysByReference:
    """Puts the referenced keys into the pool, and replaces them after a rotation."""

    def __init__(self, settings: Settings, pool: KeyPool, now: Callable[[], float]) -> None:
        self.trouble = ""
        """The error of the last failed read. It contains no part of a key."""
        self._keys = ReferencedKeys(
            partial(text_at, settings.keys_place),
            pool.replace,
            now,
            ttl=KEYS_TTL,
            on_degraded=self._note,
        )

    def _note(self, trouble: str) -> None:
        # Not printed: the user may be typing, and the keys that were read before still work.
        self.trouble = trouble

    async def ready(self) -> None:
        """Start a read if one is due. Wait for it, for a limited time, if there are no keys."""
        self._keys.prefetch()
        await self._keys.ready()

    async def aclose(self) -> None:
        await self._keys.aclose()
