"""Sends the service's mails over SMTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from kefu.upstream.transport import LOCAL_HOSTS

if TYPE_CHECKING:
    import smtplib

TIMEOUT_SECONDS = 10.0
"""Seconds for each step of the exchange."""


class SmtpMail:
    """Implements `kefu.sessions.people.delivery.Topic` with one mailbox, and
    `kefu.sessions.people.visitor_mails.Mailbox`."""

    def __init__(self, url: str, password: str) -> None:
        """`url`: see `kefu.settings.contact`. `password`: of its user; "" for no sign-in."""
        parts = urlsplit(url)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self._host, self._is_tls = parts.hostname or "", parts.scheme == "smtps"
        self._port = parts.port or (465 if self._is_tls else 587)
        self._user, self._password = unquote(parts.username or ""), password
        self._to, self._from = query["to"], query.get("from", query["to"])
        self._domain = self._from.rpartition("@")[2]
        self.ready: Callable[[], Awaitable[None]] | None = None
        """Waits until a password that is stored elsewhere is loaded."""

    def set_password(self, password: str) -> None:
        self._password = password

    async def publish(self, subject: str, text: str) -> str:
        """Send a mail. Returns "", or the reason of a failure."""
        return await self.write(self._to, subject, text)

    async def write(self, to: str, subject: str, text: str) -> str:
        """As `publish`, to an address. Answers to the mail go to the mailbox."""
        if self.ready:
            await self.ready()
            if not self._password:
                return "the password cannot be read"
        return await asyncio.to_thread(self._write, to, subject, text)

    def _write(self, to: str, subject: str, text: str) -> str:
        import smtplib
        from email.message import EmailMessage
        from email.utils import formatdate, make_msgid

        message = EmailMessage()
        message["Subject"], message["From"], message["To"] = subject, self._from, to
        if to != self._to:
            message["Reply-To"] = self._to
        message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=self._domain)
        message.set_content(text.encode("utf-8", "replace").decode())
        try:
            with self._connected() as server:
                server.send_message(message, to_addrs=[to])
        except smtplib.SMTPResponseException as error:
            return f"SMTP {error.smtp_code}"
        except smtplib.SMTPRecipientsRefused as error:
            return f"SMTP {error.recipients[to][0]}"
        except OSError as error:  # smtplib's own errors, and those of TLS, are OSErrors, too
            return type(error).__name__
        return ""

    def _connected(self) -> smtplib.SMTP:
        """A connection over TLS, except to this machine. Raises OSError."""
        import smtplib
        import ssl

        to, timeout = (self._host, self._port), TIMEOUT_SECONDS
        if self._is_tls:
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(*to, timeout=timeout, context=context)
        else:
            server = smtplib.SMTP(*to, timeout=timeout)
        try:
            if not self._is_tls and self._host not in LOCAL_HOSTS:
                server.starttls(context=ssl.create_default_context())
            if self._password:
                server.login(self._user, self._password)
        except OSError:
            server.close()
            raise
        return server
