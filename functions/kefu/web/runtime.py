"""Holds the objects that all chat requests share, and the answers in progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.auth.bot_check import BotCheck
from kefu.chat.admission import Admission
from kefu.chat.answer import Services
from kefu.chat.completion import Chat
from kefu.web.log import RequestLog
from kefu.web.running import Running

if TYPE_CHECKING:
    from kefu.chat.grounding import Grounder


class ChatRuntime:
    """The objects that all chat requests share, such as admission, log and running answers."""

    def __init__(
        self,
        chat: Chat,
        admission: Admission,
        log: RequestLog,
        prefetch: Callable[[], object],
        bot_check: BotCheck | None = None,
        grounder: Grounder | None = None,
    ) -> None:
        """`prefetch` starts loading the API keys and their cooldowns, and returns at once."""
        self.chat = chat
        self.admission = admission
        self.services = Services(admission, chat, prefetch, bot_check, grounder)
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
