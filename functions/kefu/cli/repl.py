"""The loop of `kefu chat`: the prompt stands at once, the model gets ready behind it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from kefu.cli.arguments import ChatFlags
from kefu.cli.commands import COMMANDS, Slash
from kefu.cli.conversation import Conversation, tell_session
from kefu.cli.exits import ENDED_BY, INTERRUPTED, NOBODY_READS, code_of_many, code_once
from kefu.cli.reading import Command, Lines, Questions, meant
from kefu.cli.talk import Hearing, Talk

if TYPE_CHECKING:
    from kefu.cli.prompt import Prompt
    from kefu.cli.screen import Screen
    from kefu.events import SessionId
    from kefu.react import TurnResult
    from kefu.tools.tool import Tool

OpenTalk = Callable[[ChatFlags, Hearing], Talk]


class Repl:
    def __init__(
        self, flags: ChatFlags, open_talk: Callable[[], OpenTalk], session_id: SessionId
    ) -> None:
        self._flags = flags
        self._open_talk = open_talk
        self._new_id = session_id
        self._prompt: Prompt | None = None
        self._screen: Screen | None = None
        self._talk: Talk | None = None
        self._chat: Conversation | None = None
        self._status = ""
        self._stopping = self._leaving = False
        self._code = 0
        self._reason = "exit"

    @property
    def chat(self) -> Conversation:
        assert self._chat is not None, "opened before anything is asked"
        return self._chat

    @property
    def screen(self) -> Screen:
        assert self._screen is not None, "opened before anything is asked"
        return self._screen

    async def run(self, question: str | None, *, at_prompt: bool) -> int:
        """The exit code. Raises WrongUse when the chat cannot begin."""
        self._main = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in ENDED_BY:
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, self._signalled, number)
        try:
            if at_prompt:
                await self._at_prompt(question)
            else:
                await self._without_prompt(question)
        except asyncio.CancelledError:
            if not self._leaving:
                raise
        finally:
            await self._close()
        return self._code

    async def _at_prompt(self, question: str | None) -> None:
        from kefu.cli.prompt import Prompt

        drawn = asyncio.Event()
        if self._flags.resume or self._flags.continue_ or self._flags.fork:
            await self._open()  # which session it is, and whether there is one, stands above
        else:
            tell_session(self._new_id)
        self._prompt = prompt = Prompt(COMMANDS, lambda: self._status)
        prompt.drawn = drawn.set
        opening = asyncio.create_task(self._opened(drawn))
        try:
            if question:
                drawn.set()
                await opening
                await self._take(question)
            await self._loop(prompt, opening)
        finally:
            opening.cancel()
            await asyncio.wait({opening})

    async def _opened(self, drawn: asyncio.Event) -> None:
        # Only then: to import in another thread would hold up what draws the prompt.
        await drawn.wait()
        try:
            if self._chat is None:
                await self._open()
            await self.chat.talk.warm()
            self._tell_status(self.chat.talk.model)
        except Exception:
            if self._prompt:
                self._prompt.abort()
            raise

    async def _without_prompt(self, question: str | None) -> None:
        await self._open()
        await self.chat.talk.warm()
        if question:
            await self.chat.ask(question)
        if not self._flags.once:
            await self._loop(Lines(sys.stdin), None)

    async def _open(self) -> None:
        open_talk = await asyncio.to_thread(self._open_talk)
        self._screen = await asyncio.to_thread(self._made_screen)
        hearing = Hearing(
            event=self._screen.hear,
            piece=self._screen.piece,
            warn=lambda said: self.screen.say(f"kefu: {said}", "yellow"),
            status=self._tell_status,
            approve=self._approve,
            gone=self._gone,
        )
        self._talk = talk = open_talk(self._flags, hearing)
        session = talk.open(self._new_id)
        self._chat = Conversation(
            talk, self._screen, session, over=self._note, leave=lambda: self._leave("exit")
        )
        if self._prompt is None and not self._flags.once:
            tell_session(session.id, session.turn_count)

    def _made_screen(self) -> Screen:
        from kefu.cli.screen import Aside, Terminal

        if self._flags.json:
            return Aside(sys.stderr)
        return Terminal(sys.stdout, sys.stderr, self._gone)

    def _tell_status(self, status: str) -> None:
        self._status = status
        if self._prompt:
            self._prompt.refresh()
        elif self._talk is None or status != self._talk.model:
            self.screen.say(status, "dim")

    async def _loop(self, questions: Questions, opening: asyncio.Task[None] | None) -> None:
        while not self._leaving:
            try:
                text = await questions.next()
            except KeyboardInterrupt:
                self._leave("interrupt", INTERRUPTED)
                return
            if text is None:
                if opening and opening.done():
                    opening.result()
                self._reason = "eof"
                return
            if text.strip():
                if opening:
                    await opening
                await self._take(text)

    async def _take(self, text: str) -> None:
        wanted = meant(text)
        if isinstance(wanted, Command):
            await Slash(self.chat).run(wanted)
        elif wanted:
            await self.chat.ask(wanted)

    def _note(self, result: TurnResult) -> None:
        self._stopping = False
        if self._flags.once and not self._leaving:
            self._code = code_once(result)
        elif not self._prompt:
            self._code = code_of_many(self._code, result)

    def _leave(self, reason: str, code: int | None = None) -> None:
        self._leaving, self._reason = True, reason
        self._code = self._code if code is None else code

    def _signalled(self, number: signal.Signals) -> None:
        """Ctrl-C stops an answer; a second one, and what else ends a process, ends the chat."""
        if number == signal.SIGINT and not self._stopping and self._chat:
            self._stopping = True
            if self._chat.session.interrupt():
                return
        self._leave(number.name.lower(), ENDED_BY[number])
        if self._main:
            self._main.cancel()

    def _gone(self) -> None:
        self._leave("nobody reads", NOBODY_READS)
        if self._chat:
            self._chat.session.interrupt()

    async def _approve(self, tool: Tool, given: str) -> bool:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            self.screen.say(f"kefu: nobody is there to allow {tool.name}", "yellow")
            return False
        from kefu.cli.prompt import Prompt

        asking = self._prompt or Prompt(COMMANDS, lambda: self._status)
        self.screen.asking(tool.name, given)
        allowed = await asking.ask("Run it?")
        if allowed is None:
            self._signalled(signal.SIGINT)
        return bool(allowed)

    async def _close(self) -> None:
        if self._chat:
            await self._chat.talk.end(self._chat.session, self._reason)
        if self._talk:
            await self._talk.aclose()
