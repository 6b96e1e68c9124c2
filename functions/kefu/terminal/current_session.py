"""The current session of `kefu chat`: sends messages, retries, undoes and resumes."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.terminal.fitting import fitted, width_of
from kefu.terminal.flags import WrongUse
from kefu.terminal.quiet import echo_off
from kefu.terminal.state import first_time

if TYPE_CHECKING:
    from kefu.agent.events import AgentSessionId
    from kefu.agent.react import AgentSession, TurnResult
    from kefu.terminal.backend import Backend
    from kefu.terminal.screen import Screen


_MAX_PAUSE_SECONDS = 120
"""Maximum seconds that a script waits after an error. If an error asks for a longer wait, the next
message is sent at once."""


_MAX_DRIFT = 0.15
"""Relative error of Kefu's token count above which the user is informed."""


def print_session(session_id: AgentSessionId, turns: int = 0) -> None:
    """Print the id of a session on standard error. `turns`: the number of earlier turns."""
    before = f", {turns} turn{'s' if turns > 1 else ''} so far" if turns else ""
    line = f"Session {session_id}{before}. /help lists commands, Ctrl-D ends."
    sys.stderr.write(f"{fitted(line, width_of(sys.stderr))}\n")
    sys.stderr.flush()


class CurrentSession:
    """The current session and the model that it uses."""

    def __init__(
        self,
        backend: Backend,
        screen: Screen,
        session: AgentSession,
        *,
        over: Callable[[TurnResult], None],
        leave: Callable[[], None],
        patient: bool,
    ) -> None:
        """`over` is called with the result of each turn, `leave` to end the chat.

        `patient`: after an error with `retry_after`, the next message waits that long. Scripts need
        the wait, because they do not retry.
        """
        self.backend = backend
        self.screen = screen
        self.session = session
        self.answer = ""
        self.leave = leave
        self._over = over
        self._patient = patient
        self._send_after = 0.0
        """Time on the event loop's clock before which no message is sent."""
        self._message = ""
        self._kept = False
        """Whether the session contains the last message."""
        self._notice_shown = False

    def say(self, text: str, style: str = "") -> None:
        """Print a line for the user."""
        self.screen.say(text, style)

    async def ask(self, message: str) -> None:
        """Send a message and show the answer or the error."""
        if self.backend.notice and not self._notice_shown:
            self.say(self.backend.notice, "dim")
        self._notice_shown = True
        self._message = message
        if self._patient:
            await self._pause()
        with echo_off():
            result = await self.session.run_turn(message)
            self.screen.over(result)
        self._kept = result.status in ("ok", "interrupted") and bool(result.final_text)
        if self._kept:
            self.answer = result.final_text
        self._warn_of_drift()
        if result.error and result.error.retry_after:
            self._send_after = asyncio.get_running_loop().time() + result.error.retry_after
        self._over(result)

    def _warn_of_drift(self) -> None:
        """Warn if Kefu's token count is far off: once per machine. /tokens always shows it."""
        drift = self.session.drift
        if drift is not None and abs(drift) > _MAX_DRIFT and first_time("token_drift_told"):
            self.screen.warn(
                f"Token counts are {drift:+.0%} off what the model reports; another tokenizer may "
                "count better. From now on only /tokens shows this."
            )

    async def _pause(self) -> None:
        left = self._send_after - asyncio.get_running_loop().time()
        if 0 < left <= _MAX_PAUSE_SECONDS:
            self.say(f"kefu: waiting {math.ceil(left)} s before the next message", "dim")
            await asyncio.sleep(left)

    async def retry(self) -> bool:
        """Send the last message again. Returns False without a message."""
        message = self._take_back() if self._kept else self._message
        if not message:
            return False
        await self.ask(message)
        return True

    def undo(self) -> str | None:
        """Remove the last turn. Returns the turn's message, or None without a turn."""
        self._kept, self._message = True, ""
        return self._take_back()

    def clear(self) -> None:
        """Remove all turns."""
        self.session.clear()
        self.backend.leave_chat()

    def _take_back(self) -> str | None:
        self.backend.leave_chat()
        return self.session.undo()

    async def resume(self, ending: str) -> None:
        """End this session and resume another. `ending` is the end of the session's id."""
        from kefu.terminal.logs import session_ending_in

        before = self.session
        if session_ending_in(self.backend.logs, ending) == before.id:
            raise WrongUse("That is the session you are in.")
        self.session = self.backend.open(before.id, ending)
        self.backend.leave_chat()
        await self.backend.end(before, "resume")
        self._kept, self._message, self.answer = True, "", ""
        print_session(self.session.id, self.session.turn_count)
