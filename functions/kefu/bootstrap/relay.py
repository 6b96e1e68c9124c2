"""The relay of the service: one upstream or two, with their keys."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from kefu.bootstrap.constants import Constants
from kefu.bootstrap.options import time_limits
from kefu.bootstrap.secrets import SecretReader, fallback_keys, referenced_keys
from kefu.bootstrap.upstream import ChosenModel, StartableUpstream
from kefu.chat.own_cooldowns import OwnCooldowns
from kefu.relay.attempt import ModelProvider
from kefu.relay.call import Clock
from kefu.relay.key_pool import CooldownStore, KeyPool
from kefu.relay.relay import Relay
from kefu.relay.time_limits import RelayOptions
from kefu.stores.referenced_keys import ReferencedKeys
from kefu.upstream.client import HttpUpstream


class BuiltRelay(NamedTuple):
    relay: Relay
    for_summaries: Relay
    """A relay to the same upstreams. Its failures do not cool keys down for answers."""
    pools: Sequence[KeyPool]
    upstreams: Sequence[StartableUpstream]
    references: Sequence[ReferencedKeys]
    """Keys that are read from SSM or Secrets Manager."""


def build_relay(
    reader: SecretReader,
    chosen: ChosenModel,
    cooldowns: CooldownStore,
    clock: Clock,
    constants: Constants,
) -> BuiltRelay:
    settings = reader.settings
    keys = settings.keys if chosen.kind == "remote" else ("local",)
    pools = [KeyPool(keys)]
    upstreams: list[StartableUpstream] = [chosen.upstream]
    references = [referenced_keys(reader, pools[0])]
    fallback = None
    if settings.fallback_url:
        upstream = HttpUpstream(settings.fallback_url)
        pool = KeyPool(settings.fallback_keys)
        fallback = ModelProvider(upstream, pool, "fallback", settings.fallback_model)
        pools.append(pool)
        upstreams.append(upstream)
        references.append(fallback_keys(reader, pool))
    known = [reference for reference in references if reference]
    options = _options(reader, known, constants)

    def relay_with(cooldowns: CooldownStore, options: RelayOptions) -> Relay:
        return Relay(chosen.upstream, pools[0], cooldowns, clock, options, fallback=fallback)

    # A summary is tried once: the next request that needs it tries again.
    once = options._replace(max_retries=0)
    for_summaries = relay_with(OwnCooldowns(cooldowns), once)
    return BuiltRelay(relay_with(cooldowns, options), for_summaries, pools, upstreams, known)


def _options(
    reader: SecretReader, references: Sequence[ReferencedKeys], constants: Constants
) -> RelayOptions:
    async def keys_ready() -> None:
        await asyncio.gather(*(reference.ready() for reference in references))

    settings = reader.settings
    return RelayOptions(
        limits=time_limits(settings, constants),
        max_retries=constants.max_retries,
        cooldown=settings.cooldown,
        keys_ready=keys_ready,
        redact=reader.log.secrets.hide,
    )
