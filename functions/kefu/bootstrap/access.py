"""The parts that decide who may use the service: users, origin, bot check and the panel's token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kefu.bootstrap.secrets import (
    BotChecking,
    IdentityConfig,
    OriginAccess,
    SecretReader,
    bot_checking,
    identities,
    origin_access,
)
from kefu.stores.referenced_keys import ReferencedKeys

if TYPE_CHECKING:
    from kefu.bootstrap.panel import OperatorPanel


class Access(NamedTuple):
    bot_check: BotChecking
    users: IdentityConfig
    origin: OriginAccess
    panel: OperatorPanel | None
    """The operator's panel; None if it is disabled."""

    def references(self) -> Iterator[ReferencedKeys]:
        """The readers of the secrets that are stored elsewhere."""
        panel = self.panel.secret if self.panel else None
        for one in (self.bot_check.secret, panel, self.users.secrets, self.origin.secret):
            if one:
                yield one


def build_access(reader: SecretReader, bot_check_url: str, panel: OperatorPanel | None) -> Access:
    """`bot_check_url`: as in `bot_checking`."""
    return Access(
        bot_checking(reader, bot_check_url), identities(reader), origin_access(reader), panel
    )
