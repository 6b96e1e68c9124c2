"""What is talked about with a model that is ready: what was asked last, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.cli.fitting import fitted, width_of
from kefu.cli.quiet import unechoed
from kefu.cli.talk import Talk, WrongUse

if TYPE_CHECKING:
    from kefu.cli.screen import Screen
    from kefu.events import SessionId
    from kefu.react import AgentSession, TurnResult


def tell_session(session_id: SessionId, turns: int = 0) -> None:
    """`turns`: how many it had before."""
    before = f", {turns} turn{'s' if turns > 1 else ''} so far" if turns else ""
    said = f"Session {session_id}{before}. /help lists commands, Ctrl-D ends."
    sys.stderr.write(f"{fitted(said, width_of(sys.stderr))}\n")
    sys.stderr.flush()


class Conversation:
    """One session at a time, of one model."""

    def __init__(
        self,
        talk: Talk,
        screen: Screen,
        session: AgentSession,
        *,
        over: Callable[[TurnResult], None],
        leave: Callable[[], None],
    ) -> None:
        """`over` hears how each turn ended; `leave` is called when no more is wanted."""
        self.talk = talk
        self.screen = screen
        self.session = session
        self.answer = ""
        self.leave = leave
        self._over = over
        self._said = ""
        self._kept = False
        """Whether the session holds what was said last."""
        self._told = False

    def say(self, text: str, style: str = "") -> None:
        self.screen.say(text, style)

    async def ask(self, said: str) -> None:
        if self.talk.notice and not self._told:
            self.say(self.talk.notice, "dim")
        self._told = True
        self._said = said
        with unechoed():
            result = await self.session.run_turn(said)
            self.screen.over(result)
        self._kept = result.status in ("ok", "interrupted") and bool(result.final_text)
        if self._kept:
            self.answer = result.final_text
        self._over(result)

    async def retry(self) -> bool:
        said = self.session.undo() if self._kept else self._said
        if not said:
            return False
        await self.ask(said)
        return True

    def undo(self) -> str | None:
        self._kept, self._said = True, ""
        return self.session.undo()

    async def resume(self, ending: str) -> None:
        from kefu.cli.logs import found

        before = self.session
        if found(self.talk.logs, ending) == before.id:
            raise WrongUse("That is the session you are in.")
        self.session = self.talk.open(before.id, ending)
        await self.talk.end(before, "resume")
        self._kept, self._said, self.answer = True, "", ""
        tell_session(self.session.id, self.session.turn_count)
