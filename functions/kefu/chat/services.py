"""The parts of the service that an answer needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kefu.auth.bot_check import BotCheck
from kefu.chat.admission import Admission
from kefu.chat.completion import Chat

if TYPE_CHECKING:
    from kefu.chat.grounding import Grounder
    from kefu.tools.toolbox import Toolbox


class Services(NamedTuple):
    """The parts of the service that an answer needs."""

    admission: Admission
    chat: Chat
    prefetches: Sequence[Callable[[], object]]
    """Start reads that an answer needs later, such as of the keys' cooldowns; return at once."""
    bot_check: BotCheck | None = None
    grounder: Grounder | None = None
    """Finds passages of the site's pages; None for a service without learnt pages."""
    toolbox: Toolbox | None = None
    """For conversations that are not stored; None for a service without tools."""
