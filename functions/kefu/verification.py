"""Is a person asking? A bot check's verdict on a token, remembered for a while in a signed pass.

A token counts once. Whoever brings a good one is given a pass for the messages that follow: a time
and the visitor's address, signed. Nothing is stored, and every instance can read it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kefu.errors import UpstreamUnavailable, VerificationRequired, VerifierUnavailable
from kefu.lean_typing import NamedTuple, Protocol
from kefu.signing import is_signed, key_for, sign

OUR_FAULT = frozenset(
    {
        "bad-request",
        "internal-error",
        "invalid-input-secret",
        "missing-input-secret",
        "sitekey-secret-mismatch",
    }
)
"""Reasons for a refusal that say nothing about the visitor."""


class Proof(NamedTuple):
    """What a visitor brings along."""

    token: str | None = None
    """From the provider, fresh."""
    earlier: str | None = None
    """The pass that an earlier token was answered with."""


class Verdict(NamedTuple):
    """What the provider says of a token."""

    passed: bool
    hostname: str = ""
    """Of the page on which the check was done."""
    action: str = ""
    """What the page said the check was for."""
    reasons: tuple[str, ...] = ()
    """The provider's codes for a refusal."""


class Verifier(Protocol):
    """A provider of bot checks."""

    async def verify(self, token: str, address: str) -> Verdict:
        """Redeem a token; the same one does not pass again. Raises VerifierUnavailable."""
        ...


class Passes:
    """Signed with a key made of `secret`; good for `life` seconds and one address.

    While there is no secret (""), no pass is good and none can be issued.
    """

    def __init__(self, secret: str, life: float) -> None:
        self._key = b""
        self._life = life
        if secret:
            self.learn(secret)

    @property
    def secret_known(self) -> bool:
        return bool(self._key)

    def learn(self, secret: str) -> None:
        """Sign with this one; passes of another are good no longer."""
        self._key = key_for("kefu verification pass", secret)

    def issue(self, address: str, now: float) -> str:
        if not self._key:
            raise ValueError("There is no secret to sign with.")
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
        """`now`: Unix time. `hostnames`: of the pages that may embed the chat.

        `action` None: is not compared. `secret_ready` waits a while for a secret that is being
        read; without one nobody passes.
        """
        self._verifier = verifier
        self._passes = passes
        self._now = now
        self._hostnames = hostnames
        self._action = action
        self._secret_ready = secret_ready

    async def admit(self, proof: Proof, address: str, note: Callable[[str], None]) -> str | None:
        """A new pass for a good token; None when an earlier pass is still good.

        `note` is told what was decided, for the log. Raises VerificationRequired, and
        UpstreamUnavailable when the provider cannot be asked: nobody passes unchecked.
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
            verdict = await self._verifier.verify(proof.token, address)
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

    def _fault(self, verdict: Verdict) -> str:
        """What is wrong with a verdict; empty when nothing is."""
        if not verdict.passed:
            return f"refused: {', '.join(verdict.reasons)}"
        if verdict.hostname not in self._hostnames:
            return f"hostname: {verdict.hostname}"
        if self._action is not None and verdict.action != self._action:
            return f"action: {verdict.action}"
        return ""


def _unavailable() -> UpstreamUnavailable:
    return UpstreamUnavailable("The bot check is unavailable. Please try again.", retry_after=5)
