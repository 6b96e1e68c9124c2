"""What an event may be; `docs/events.md` is made from the modules beside this one.

Names are written in camelCase into a line's `meta`; `content` and `role` stand beside it.
A field that is None is absent there.
"""

from __future__ import annotations

from kefu.events.session_events import (
    Interrupt,
    Rewind,
    SessionEnd,
    SessionResume,
    SessionStart,
    TurnEnd,
    TurnStart,
)
from kefu.events.step_events import (
    Action,
    Approval,
    Assistant,
    AssistantChunk,
    Budget,
    Error,
    Final,
    Observation,
    Policy,
)

Body = (
    SessionStart
    | SessionResume
    | TurnStart
    | Assistant
    | AssistantChunk
    | Action
    | Approval
    | Policy
    | Observation
    | Final
    | Error
    | Budget
    | Interrupt
    | Rewind
    | TurnEnd
    | SessionEnd
)
