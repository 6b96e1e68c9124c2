"""A mail server on loopback, with one mailbox that keeps what it gets."""

from __future__ import annotations

import asyncio
import ssl
import time
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.fakes.turns import stop_accepting, turns
from tests.parts.plugin import free_port

USER, PASSWORD = "kefu@example.com", "mailbox-5f3c9a7e"


class _Connection(SMTP):
    """Knows the socket's own transport, which `transport` is not while a handshake runs."""

    below: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.below = self.below or transport
        super().connection_made(transport)


class _Server(Controller):
    """Closes its connections at its end: a service may be in the middle of a mail."""

    def __init__(self, handler: object, **options: Any) -> None:
        super().__init__(handler, ready_timeout=60.0, **options)
        self._made: list[_Connection] = []

    def factory(self) -> SMTP:
        self._made.append(_Connection(self.handler, **self.SMTP_kwargs))
        return self._made[-1]

    def stop(self, no_assert: bool = False) -> None:
        asyncio.run_coroutine_threadsafe(self._closed(), self.loop).result(60)
        super().stop(no_assert)

    async def _closed(self) -> None:
        assert isinstance(self.server, asyncio.Server)
        await stop_accepting(self.server)
        for one in self._made:
            if one.below:
                one.below.abort()
        await turns()  # an aborted transport closes its socket


class Mailbox:
    def __init__(
        self,
        host: str = "127.0.0.1",
        *,
        starts_tls: ssl.SSLContext | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`starts_tls`: the server wants STARTTLS. `tls`: it speaks TLS from the first byte on."""
        self.got: list[EmailMessage] = []
        self.refusals = 0
        """How many of the next mails are refused."""
        self.stalls = 0
        """How many of the next mails get no answer."""
        self.recipients: list[list[str]] = []
        self._controller = _Server(
            self,
            hostname=host,
            port=free_port(),
            ssl_context=tls,
            tls_context=starts_tls,
            require_starttls=starts_tls is not None,
            authenticator=_authenticated,
            auth_require_tls=starts_tls is not None,
        )

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop()

    def url(self, scheme: str = "smtp") -> str:
        user, place = USER.replace("@", "%40"), self._controller
        return f"{scheme}://{user}@{place.hostname}:{place.port}?to=help@example.com&from=chat@example.com"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        if not session.authenticated:
            return "530 Sign in first"
        if self.stalls > 0:
            self.stalls -= 1
            await asyncio.sleep(3600)
        if self.refusals > 0:
            self.refusals -= 1
            return "451 Try again later"
        mail = message_from_bytes(envelope.content or b"", policy=policy.default)  # type: ignore[arg-type]
        assert isinstance(mail, EmailMessage)
        self.got.append(mail)
        self.recipients.append(envelope.rcpt_tos)
        return "250 OK"

    def wait_for(self, count: int) -> list[EmailMessage]:
        """The mails, when there are so many."""
        end = time.monotonic() + 180
        while len(self.got) < count:
            assert time.monotonic() < end, self.got
            time.sleep(0.02)
        return self.got


def _authenticated(
    _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, login: Any
) -> AuthResult:
    known = LoginPassword(USER.encode(), PASSWORD.encode())
    return AuthResult(success=login == known, handled=False)
