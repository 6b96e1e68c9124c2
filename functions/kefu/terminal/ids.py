"""Creates the ids of sessions, with few imports, so that the id is shown before the prompt."""

from __future__ import annotations

import os

from kefu.agent.ids import AgentSessionId, new_session_id
from kefu.bootstrap.clock import SystemClock


def new_id() -> AgentSessionId:
    return new_session_id(SystemClock().now(), os.urandom(10))
