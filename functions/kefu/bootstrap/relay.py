"""The relay of the service: one upstream or two, with their keys."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from kefu.bootstrap.base import Base
from kefu.bootstrap.options import time_limits
from kefu.bootstrap.upstream import StartableUpstream
from kefu.chat.own_cooldowns import OwnCooldowns
from kefu.relay.attempt import ModelProvider
from kefu.relay.key_pool import CooldownStore, KeyPool
from kefu.relay.relay import Relay
from kefu.relay.time_limits import RelayOptions
from kefu.upstream.client import HttpUpstream


class Relays(NamedTuple):
    answers: Relay
    summaries: Relay
    """A relay to the same upstreams. Its failures do not cool keys down for answers."""
    pools: Sequence[KeyPool]
    upstreams: Sequence[StartableUpstream]


def build_relays(base: Base) -> Relays:
    settings, model = base.settings, base.model
    pools = [KeyPool(settings.keys if model.kind == "remote" else ("local",))]
    upstreams = [model.upstream]
    places = [(settings.keys_place, "the API keys", pools[0])]
    fallback = None
    if settings.fallback_url:
        pool, upstream = KeyPool(settings.fallback_keys), HttpUpstream(settings.fallback_url)
        fallback = ModelProvider(upstream, pool, "fallback", settings.fallback_model)
        pools.append(pool)
        upstreams.append(upstream)
        places.append((settings.fallback_keys_place, "the fallback's API keys", pool))
    found = [base.secret(place, what, pool.replace) for place, what, pool in places]
    waits = [wait for wait in found if wait]
    base.connections.extend(upstreams)

    async def keys_ready() -> None:
        await asyncio.gather(*(wait() for wait in waits))

    def relay_with(cooldowns: CooldownStore, retries: int) -> Relay:
        options = RelayOptions(
            limits=time_limits(settings, base.constants),
            max_retries=retries,
            cooldown=settings.cooldown,
            keys_ready=keys_ready if waits else None,
            redact=base.log.secrets.hide,
        )
        return Relay(model.upstream, pools[0], cooldowns, base.clock, options, fallback=fallback)

    cooldowns = base.store.cooldowns
    answers = relay_with(cooldowns, base.constants.max_retries)
    # A summary is tried once: the next request that needs it tries again.
    return Relays(answers, relay_with(OwnCooldowns(cooldowns), 0), pools, upstreams)
