"""What the user or the service has pinned stays; the oldest turns go around it."""

from __future__ import annotations

from kefu.context.budget import Budget
from kefu.context.exchange import Conversation
from kefu.context.trim.recent import keep_recent
from kefu.context.window import Window


def keep_important(talk: Conversation, budget: Budget) -> Window:
    """Pinned messages first, the newest of them before the older, as long as there is room.

    With a pinned tool call or result stays its whole group. System messages behind the prompt are
    the service's own pins: they stay like the prompt itself, whether they fit or not.
    """
    marked = [at for at in talk.marked() if at < talk.tail and at != talk.current]
    systems = [(at, at + 1) for at in marked if talk.messages[at].role == "system"]
    pinned = (talk.exchange(at) for at in reversed(marked))
    wanted = dict.fromkeys(span for span in pinned if span[0] < span[1])
    return keep_recent(talk, budget, always=systems, wanted=[s for s in wanted if s not in systems])
