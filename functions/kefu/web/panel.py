"""Who may use the operator's panel, and what it is made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import ceil

from starlette.requests import Request

from kefu.admin_tokens import AdminTokens
from kefu.answer import Clock
from kefu.errors import RateLimited, StoreUnavailable, Unauthorized, UpstreamUnavailable
from kefu.keypool import KeyState
from kefu.limits import LimitStore, Rate
from kefu.sessions import Sessions

FAILURES = Rate(10, 600)
"""Wrong tokens from one address; further ones are not even told that they are wrong."""

_WANTED = "The panel wants its token, as `Authorization: Bearer`."


@dataclass(frozen=True, slots=True)
class About:
    """What the panel says of the service. Prices are per million tokens, in any currency."""

    version: str
    model: str
    capture: str
    keeps_chats: bool
    price_input: float | None = None
    price_output: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    tokens: AdminTokens
    ready: Callable[[], Awaitable[None]]
    """Waits a while for a token that is being read from elsewhere."""
    limits: LimitStore
    sessions: Sessions | None
    keys: Callable[[], Awaitable[Sequence[KeyState]]]
    about: About
    clock: Clock
    nonce: Callable[[], str]

    async def check(self, request: Request, address: str) -> None:
        """Raises Unauthorized, and RateLimited for an address that has guessed too often."""
        await self.ready()
        if not self.tokens.admits(_bearer(request), self.clock.now()):
            await self._failed(address)

    async def enter(self, request: Request, address: str) -> str:
        """A pass for a ticket, which is used up, or for the token itself."""
        await self.ready()
        now, bearer = self.clock.now(), _bearer(request)
        nonce = self.tokens.redeem(bearer, now)
        if nonce is not None:
            if not await self._first_use(nonce):
                await self._failed(address)
        elif not self.tokens.admits(bearer, now):
            await self._failed(address)
        return self.tokens.issue(self.nonce(), now)

    async def _first_use(self, nonce: str) -> bool:
        try:
            return await self.limits.reserve(f"ticket:{nonce}", 1, 1)
        except StoreUnavailable as error:
            # Fails closed: a used ticket must not open anything again.
            raise UpstreamUnavailable("The store is away. Try the link again.") from error

    async def _failed(self, address: str) -> None:
        wait = await self.limits.take(f"admin:{address}", FAILURES)
        if wait > 0:
            raise RateLimited("Too many wrong tokens.", retry_after=max(1, ceil(wait)))
        raise Unauthorized(_WANTED)


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
