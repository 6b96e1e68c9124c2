"""The relay of the service: one upstream or two, with their keys."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from kefu.bootstrap.base import Base
from kefu.bootstrap.options import time_limits
from kefu.bootstrap.upstream import StartableUpstream, stored_values, upstream_at
from kefu.chat.own_cooldowns import OwnCooldowns
from kefu.relay.attempt import ModelProvider
from kefu.relay.key_pool import CooldownStore, KeyPool
from kefu.relay.parameters import Parameters
from kefu.relay.relay import Relay
from kefu.relay.time_limits import RelayOptions
from kefu.settings import Settings


class Relays(NamedTuple):
    answers: Relay
    summaries: Relay
    """A relay to the same upstreams whose failures do not cool keys down for answers."""
    pools: Sequence[KeyPool]
    upstreams: Sequence[StartableUpstream]


def build_relays(base: Base) -> Relays:
    settings, model = base.settings, base.model
    keys = settings.keys if model.kind == "remote" else ("local",)
    pools = [KeyPool(keys, settings.endpoint.url)]
    upstreams, parameters = [model.upstream], Parameters()
    places = [
        (settings.keys_place, "the API keys", pools[0].replace),
        *stored_values(settings.endpoint, model.upstream),
    ]
    fallback = None
    if settings.fallback_url:
        endpoint = settings.fallback_endpoint
        pool, upstream = KeyPool(settings.fallback_keys, endpoint.url), upstream_at(endpoint)
        fallback = ModelProvider(upstream, pool, "fallback", _fallback_parameters(settings))
        pools.append(pool)
        upstreams.append(upstream)
        places += [
            (settings.fallback_keys_place, "the fallback's API keys", pool.replace),
            *stored_values(endpoint, upstream),
        ]
    found = [base.secret(place, what, set_secrets) for place, what, set_secrets in places]
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
        return Relay(
            model.upstream,
            pools[0],
            cooldowns,
            base.clock,
            options,
            parameters=parameters,
            fallback=fallback,
        )

    cooldowns = base.store.cooldowns
    answers = relay_with(cooldowns, base.constants.max_retries)
    # A summary is tried once: the next request that needs it tries again.
    return Relays(answers, relay_with(OwnCooldowns(cooldowns), 0), pools, upstreams)


def _fallback_parameters(settings: Settings) -> Parameters:
    firsts = {name for one in settings.presets.values() for name in one.parameters or ()}
    return Parameters(
        settings.fallback_model, settings.fallback_parameters, firsts | settings.parameters.keys()
    )
