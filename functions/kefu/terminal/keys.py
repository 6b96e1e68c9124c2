"""API keys that are kept elsewhere, read as the service reads them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kefu.keypool import KeyPool
from kefu.settings import Settings
from kefu.stores.aws import text_at
from kefu.stores.referenced_keys import ReferencedKeys


class KeptKeys:
    """Hands the keys at `KEFU_KEYS_FROM` to the pool, and others once they are rotated."""

    def __init__(self, settings: Settings, pool: KeyPool, now: Callable[[], float]) -> None:
        self.trouble = ""
        """Why the last reading that failed did; without any of what was read."""
        self._keys = ReferencedKeys(
            partial(text_at, settings.keys_from),
            pool.replace,
            now,
            ttl=settings.keys_ttl,
            on_degraded=self._note,
        )

    def _note(self, trouble: str) -> None:
        # Not said at once: it may come while somebody types, and the keys of before still serve.
        self.trouble = trouble

    async def ready(self) -> None:
        """Begin a reading if one is due; wait for it, not for long, while there are no keys."""
        self._keys.prefetch()
        await self._keys.ready()

    async def aclose(self) -> None:
        await self._keys.aclose()
