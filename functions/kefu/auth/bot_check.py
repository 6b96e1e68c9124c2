"""Checks that a visitor is not a bot, with a provider such as Turnstile or hCaptcha.

A token of the provider can be redeemed once. A visitor with a valid token receives a *pass* for the
next messages: an expiry time, signed together with the visitor's IP address. Passes need no store,
and every process with the same secret can check them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from kefu.auth.signing import is_signed, key_for, sign
from kefu.errors import (
    RateLimited,
    UpstreamUnavailable,
    VerificationRequired,
    VerifierUnavailable,
)

OUR_FAULT = frozenset(
    {
        "bad-request",
        "internal-error",
        "invalid-input-secret",
        "missing-input-secret",
        "sitekey-secret-mismatch",
    }
)
"""Error codes of the provider for a wrong configuration; the visitor's token may be valid."""


class Proof(NamedTuple):
    """The two forms of proof that a visitor's request can contain."""

    token: str | None = None
    """A new token of the provider."""
    earlier: str | None = None
    """The pass from an earlier check."""


NO_PROOF = Proof()


class TokenVerdict(NamedTuple):
    """The provider's response for a token."""

    passed: bool
    hostname: str = ""
    """Host of the page on which the visitor did the check."""
    action: str = ""
    """The action name that the page gave for the check."""
    reasons: tuple[str, ...] = ()
    """The provider's error codes for a rejected token."""


class Verifier(Protocol):
    """A provider of bot checks."""

    async def verify(self, token: str, address: str) -> TokenVerdict:
        """Redeem a token; rejected on a second call. Raises VerifierUnavailable."""
        ...


class Passes:
    """Issues and checks passes. A pass is valid for `life` seconds and for one IP address.

    Without a secret (""), every pass is rejected and `issue` raises ValueError.
    """

    def __init__(self, secret: str, life: float) -> None:
        self._key = b""
        self._life = life
        if secret:
            self.set_secret(secret)

    @property
    def secret_known(self) -> bool:
        return bool(self._key)

    def set_secret(self, secret: str) -> None:
        """Replace the secret. Passes of the earlier secret become invalid."""
        self._key = key_for("kefu verification pass", secret)

    def issue(self, address: str, now: float) -> str:
        if not self._key:
            raise ValueError("The secret is not set.")
        expires = f"{int(now + self._life)}"
        return f"{expires}.{sign(self._key, f'{expires} {address}')}"

    def good(self, text: str, address: str, now: float) -> bool:
        expires, _, signature = text.partition(".")
        if not self._key:
            return False
        return is_signed(self._key, f"{expires} {address}", signature) and now < int(expires)


class BotCheck:
    def __init__(
        self,
        verifier: Verifier,
        passes: Passes,
        now: Callable[[], float],
        *,
        hostnames: frozenset[str],
        action: str | None,
        secret_ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`now` returns the Unix time. `hostnames`: the hosts of the pages that may embed the chat.

        `action`: the action that a token must have; None: any. `secret_ready` waits for a short
        time while the secret is being loaded; without a secret, every check fails.
        """
        self._verifier = verifier
        self._passes = passes
        self._now = now
        self._hostnames = hostnames
        self._action = action
        self._secret_ready = secret_ready

    async def admit(
        self,
        proof: Proof,
        address: str,
        note: Callable[[str], None],
        checking: Callable[[str], AbstractAsyncContextManager[None]],
    ) -> str | None:
        """A new pass for a valid token; None when the earlier pass is still valid.

        `note` receives the outcome, for the log. `checking` limits the checks of an IP address and
        raises RateLimited. Raises VerificationRequired for a missing or invalid proof, and
        UpstreamUnavailable when the provider cannot check it.
        """
        if self._secret_ready:
            await self._secret_ready()
        if not self._passes.secret_known:
            note("unavailable: no secret")
            raise _unavailable()
        if proof.earlier and self._passes.good(proof.earlier, address, self._now()):
            note("pass")
            return None
        if not proof.token:
            note("missing")
            raise VerificationRequired("Please confirm that you are not a robot.")
        try:
            async with checking(address):
                verdict = await self._verifier.verify(proof.token, address)
        except RateLimited:
            note("limited")
            raise
        except VerifierUnavailable as error:
            note(f"unavailable: {error}")
            raise _unavailable() from error
        fault = self._fault(verdict)
        note(fault or "token")
        if OUR_FAULT.intersection(verdict.reasons):
            raise _unavailable()
        if fault:
            raise VerificationRequired("The check did not pass. Please try it again.")
        return self._passes.issue(address, self._now())

    async def pass_for(self, address: str) -> str:
        """A new pass without a check, for the operator. Raises UpstreamUnavailable."""
        if self._secret_ready:
            await self._secret_ready()
        if not self._passes.secret_known:
            raise _unavailable()
        return self._passes.issue(address, self._now())

    def _fault(self, verdict: TokenVerdict) -> str:
        """Why the token is not accepted; empty for an accepted token."""
        if not verdict.passed:
            return f"refused: {', '.join(verdict.reasons)}"
        if verdict.hostname not in self._hostnames:
            return f"hostname: {verdict.hostname}"
        if self._action is not None and verdict.action != self._action:
            return f"action: {verdict.action}"
        return ""


def _unavailable() -> UpstreamUnavailable:
    return UpstreamUnavailable("The bot check is unavailable. Please try again.", retry_after=5)
