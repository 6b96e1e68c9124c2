"""Whether this process can answer a chat: the checks behind `/health` and `/ready`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kefu import __version__
from kefu.bootstrap.base import Base
from kefu.bootstrap.constants import SAMPLE_FILE
from kefu.chat.limits import Rate
from kefu.relay.key_pool import KeyPool
from kefu.stores.guarded.store import Store
from kefu.web.schemas import DegradedReason, Health, Problem

if TYPE_CHECKING:
    from kefu.sessions.store.capacity import Capacity
    from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge

CACHE_SECONDS: Final = 5.0
"""Seconds for which a result is reused, because anybody may ask, and each check writes."""

FIRST_ANSWER_SECONDS: Final = 10.0
"""Seconds for the first answer of the store and of SSM. This time includes the import of boto3."""

_PROBE_RATE: Final = Rate(requests=10_000, period=60)


class Readiness:
    def __init__(
        self, base: Base, pools: Sequence[KeyPool], pages: ReloadingKnowledge | None
    ) -> None:
        self._base = base
        self._pools = pools
        self._pages = pages
        self._checking: asyncio.Task[list[Problem]] | None = None
        self._checked = float("-inf")

    def health(self, capacity: Capacity | None) -> Health:
        """The answer to `/health`. `capacity` is None on a service that stores no chats."""
        model, has_keys = self._base.model, any(pool.keys for pool in self._pools)
        reason: DegradedReason = ""
        if not has_keys:
            reason = "no_api_key"
        elif all(pool.all_refused for pool in self._pools):
            reason = "keys_refused"
        elif capacity and not capacity.keeps_new_chats:
            reason = "store_full"
        if capacity:  # widgets that learn here that the store is full send no message to refresh it
            capacity.prefetch()
        health: Health = {
            "status": "degraded" if reason else "ok",
            "reason": reason,
            "version": __version__,
            "model": model.name,
            "upstream": model.kind,
            "sessions": bool(capacity and capacity.keeps_new_chats),
            "notice": "" if has_keys and model.kind == "remote" else model.notice,
        }
        if self._pages:
            facts = self._pages.facts
            sample = Path(self._base.settings.knowledge).name == SAMPLE_FILE
            health["knowledge"] = {"pages": facts.pages, "made": int(facts.made), "sample": sample}
        return health

    async def problems(self) -> Sequence[Problem]:
        """The reasons why a chat cannot be answered; empty if it can.

        Concurrent calls share one check.
        """
        fresh = 0 <= self._base.clock.now() - self._checked < CACHE_SECONDS
        if self._checking is None or (self._checking.done() and not fresh):
            self._checking = asyncio.create_task(self._check())
        return await asyncio.shield(self._checking)

    async def _check(self) -> list[Problem]:
        waits = [secret.ready(FIRST_ANSWER_SECONDS) for secret in self._base.secrets]
        store = asyncio.create_task(store_problems(self._base.store.store))
        if self._pages:
            waits.append(self._pages.ready(FIRST_ANSWER_SECONDS))
        await asyncio.gather(*waits)
        found = [
            Problem(code="secret_not_read", message=f"Reading {one.what} failed: {one.trouble}.")
            for one in self._base.secrets
            if not one.loaded
        ]
        if not any(pool.keys for pool in self._pools) and not found:
            found.append(Problem(code="no_api_key", message=self._base.model.notice))
        if self._pages and (trouble := self._pages.trouble):
            found.append(Problem(code="pages_not_read", message=trouble))
        found += await store
        self._checked = self._base.clock.now()
        return found


async def store_problems(store: Store) -> list[Problem]:
    """Read from and write to the store, because a role may allow only one of the two."""
    try:
        async with asyncio.timeout(FIRST_ANSWER_SECONDS):
            await store.cooldowns()
            await store.take("ready", _PROBE_RATE)
    except Exception as error:  # noqa: BLE001 - whatever the store raises is the finding
        cause = error.__cause__ or error
        return [Problem(code="store_failed", message=f"The store fails: {_reason(cause)}.")]
    return []


def _reason(error: BaseException) -> str:
    response = getattr(error, "response", None)  # botocore's, with the code that AWS sent
    code = response.get("Error", {}).get("Code", "") if isinstance(response, dict) else ""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return code or str(error) or f"no answer within {FIRST_ANSWER_SECONDS:.0f} seconds"
