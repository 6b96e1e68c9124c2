"""What every exchange needs: who runs now, and the parts that answer."""

from __future__ import annotations

from collections.abc import Callable

from kefu.admission import Admission
from kefu.chat import Chat
from kefu.errors import ClientGone, UpstreamUnavailable
from kefu.lean_typing import Protocol
from kefu.verification import BotCheck
from kefu.web.log import RequestLog


class Stoppable(Protocol):
    client_message_id: str | None
    session_id: str | None

    def stop(self, reason: Exception) -> None: ...


class Running:
    """The chats of this process, so that they can be ended from outside."""

    def __init__(self) -> None:
        self._exchanges: set[Stoppable] = set()

    def add(self, exchange: Stoppable) -> None:
        self._exchanges.add(exchange)

    def discard(self, exchange: Stoppable) -> None:
        self._exchanges.discard(exchange)

    def cancel(self, client_message_id: str) -> bool:
        """End the chat with this id as if its client had gone; False if there is none."""
        found = [e for e in self._exchanges if e.client_message_id == client_message_id]
        for exchange in found:
            exchange.stop(ClientGone())
        return bool(found)

    def cancel_session(self, session_id: str) -> None:
        """End what is being answered in a chat that is no more."""
        for exchange in [e for e in self._exchanges if e.session_id == session_id]:
            exchange.stop(ClientGone())

    def drain(self) -> None:
        """End all with an error event: the server is going away."""
        for exchange in self._exchanges:
            exchange.stop(UpstreamUnavailable("The server is restarting. Please try again."))


class Desk:
    """Everything an exchange needs besides its question."""

    def __init__(
        self,
        chat: Chat,
        admission: Admission,
        log: RequestLog,
        prefetch: Callable[[], object],
        bot_check: BotCheck | None = None,
    ) -> None:
        """`prefetch` starts to fetch what the relay will need to know of the keys."""
        self.chat = chat
        self.admission = admission
        self.prefetch = prefetch
        self.bot_check = bot_check
        self.log = log
        self.running = Running()

    def close(self) -> bool:
        """Let nobody new in, and end who is here with an error event; False the second time."""
        if self.admission.closed:
            return False
        self.admission.closed = True
        self.running.drain()
        return True
