"""Holds the objects that all chat requests share, and the answers in progress."""

from __future__ import annotations

from typing import Protocol

from kefu.chat.answer import Services
from kefu.chat.conversation import Report
from kefu.chat.stop import Stop
from kefu.errors import AnswerCancelled, UpstreamUnavailable
from kefu.web.following import Progress
from kefu.web.log import RequestLog


class Stoppable(Protocol):
    client_message_id: str | None
    stop: Stop
    report: Report
    progress: Progress

    @property
    def session_id(self) -> str | None: ...


class Running:
    """The answers in progress in this process, so that other requests can cancel them."""

    def __init__(self) -> None:
        self._exchanges: set[Stoppable] = set()

    def add(self, exchange: Stoppable) -> None:
        self._exchanges.add(exchange)

    def discard(self, exchange: Stoppable) -> None:
        self._exchanges.discard(exchange)

    def cancel(self, client_message_id: str) -> bool:
        """Cancel the answers with this id: their clients receive AnswerCancelled.

        Returns False if no answer has this id.
        """
        matching = [e for e in self._exchanges if e.client_message_id == client_message_id]
        for exchange in matching:
            exchange.stop(AnswerCancelled())
        return bool(matching)

    def cancel_session(self, session_id: str) -> None:
        """Cancel the answers of a session, because it is being deleted."""
        for exchange in [e for e in self._exchanges if e.session_id == session_id]:
            exchange.stop(AnswerCancelled())

    def find(self, session_id: str, client_message_id: str) -> Stoppable | None:
        """The answer to this message of a stored chat; None if this process does not make it."""
        wanted = session_id, client_message_id
        matching = (e for e in self._exchanges if (e.session_id, e.client_message_id) == wanted)
        # A request that follows the answer has no text of its own.
        return next((e for e in matching if e.report.text), None)

    def drain(self) -> None:
        """End all answers with an error event, because the server shuts down."""
        restarting = "The server is restarting. Please try again."
        for exchange in self._exchanges:
            exchange.stop(UpstreamUnavailable(restarting, retry_after=1))


class ChatRuntime:
    """The objects that all chat requests share, such as admission, log and running answers."""

    def __init__(self, services: Services, log: RequestLog) -> None:
        self.services = services
        self.chat = services.chat
        self.admission = services.admission
        self.log = log
        self.running = Running()

    def close(self) -> bool:
        """Refuse new requests, and end the answers in progress with an error event.

        Returns False if it was already closed.
        """
        if self.admission.closed:
            return False
        self.admission.closed = True
        self.running.drain()
        return True
