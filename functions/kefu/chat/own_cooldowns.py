"""Cooldowns of keys for summaries, so that a failed summary does not stop answers."""

from __future__ import annotations

from kefu.relay.key_pool import Cooldown, Cooldowns, CooldownStore, Fingerprint


class OwnCooldowns:
    """The `CooldownStore` of summaries: a failure cools a key down for summaries alone.

    The cooldowns of answers apply to summaries as well.
    """

    def __init__(self, answers: CooldownStore) -> None:
        self._answers = answers
        self._own: dict[Fingerprint, Cooldown] = {}

    async def cooldowns(self) -> Cooldowns:
        shared = await self._answers.cooldowns()
        later = {
            key: cooldown
            for key, cooldown in self._own.items()
            if key not in shared or shared[key].until < cooldown.until
        }
        return {**shared, **later}

    async def cool(self, key: Fingerprint, cooldown: Cooldown) -> Cooldowns:
        known = self._own.get(key)
        if known is None or known.until < cooldown.until:
            self._own[key] = cooldown
        return await self.cooldowns()
