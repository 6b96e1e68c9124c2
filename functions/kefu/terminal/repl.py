"""The main loop of `kefu chat`. The loop shows the prompt at once and loads the model meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from kefu.terminal.current_session import CurrentSession, print_session
from kefu.terminal.exits import ENDED_BY, INTERRUPTED_EXIT, OUTPUT_CLOSED, code_of_many, code_once
from kefu.terminal.flags import ChatFlags
from kefu.terminal.ids import new_id
from kefu.terminal.input import Command, Lines, parse_input
from kefu.terminal.slash_commands import COMMANDS, SlashCommands

if TYPE_CHECKING:
    from kefu.agent.react import TurnResult
    from kefu.terminal.backend import Backend
    from kefu.terminal.prompt import InputPrompt
    from kefu.terminal.screen import Screen
    from kefu.tools.use import Use


class Repl:
    """Runs a chat: opens the model, reads input, and handles signals."""

    def __init__(self, flags: ChatFlags) -> None:
        self._flags = flags
        self._new_id = new_id()
        self._prompt: InputPrompt | None = None
        self._screen: Screen | None = None
        self._backend: Backend | None = None
        self._chat: CurrentSession | None = None
        self._status = ""
        self._stopping = self._leaving = False
        self._code = 0
        self._reason = "exit"

    @property
    def chat(self) -> CurrentSession:
        """The current session. Raises AssertionError before a session is open."""
        assert self._chat is not None, "opened before anything is asked"
        return self._chat

    @property
    def screen(self) -> Screen:
        """The screen. Raises AssertionError before the session is opened."""
        assert self._screen is not None, "opened before anything is asked"
        return self._screen

    async def run(self, question: str | None, *, at_prompt: bool) -> int:
        """Run the chat. Returns the exit code. Raises WrongUse if the chat cannot start."""
        self._main = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in ENDED_BY:
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, self._on_signal, number)
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
        from kefu.terminal.prompt import InputPrompt

        drawn = asyncio.Event()
        if self._flags.resume or self._flags.continue_ or self._flags.fork:
            await self._open()  # opened first: its id, or an error, is printed above the prompt
        else:
            print_session(self._new_id)
        self._prompt = prompt = InputPrompt(COMMANDS, lambda: self._status)
        prompt.drawn = drawn.set
        opening = asyncio.create_task(self._open_after_draw(drawn))
        try:
            if question:
                drawn.set()
                await opening
                await self._take(question)
            await self._loop(prompt, opening)
        finally:
            opening.cancel()
            await asyncio.wait({opening})

    async def _open_after_draw(self, drawn: asyncio.Event) -> None:
        # Wait for the prompt, because imports in another thread would delay drawing it.
        await drawn.wait()
        try:
            if self._chat is None:
                await self._open()
            await self.chat.backend.warm()
            self._show_status(self.chat.backend.model)
        except Exception:
            if self._prompt:
                self._prompt.abort()
            raise

    async def _without_prompt(self, question: str | None) -> None:
        await self._open()
        await self.chat.backend.warm()
        if question:
            await self.chat.ask(question)
        if not self._flags.once:
            await self._loop(Lines(sys.stdin), None)

    async def _open(self) -> None:
        # Slow imports run in a thread, so that the user can type meanwhile.
        await asyncio.to_thread(import_module, "kefu.terminal.backend")
        self._screen = await asyncio.to_thread(self._create_screen)
        from kefu.terminal.backend import Backend

        self._backend = backend = Backend(
            self._flags,
            self._screen,
            on_progress=self._show_status,
            on_closed=self._on_output_closed,
            approve=self._approve,
        )
        await backend.open_tools()
        self._screen.without_tools = not backend.tools
        session = backend.open(self._new_id)
        self._chat = CurrentSession(
            backend,
            self._screen,
            session,
            over=self._record_result,
            leave=lambda: self._leave("exit"),
            patient=self._prompt is None,
        )
        if self._prompt is None and not self._flags.once:
            print_session(session.id, session.turn_count)

    def _create_screen(self) -> Screen:
        from kefu.terminal.screen import JsonScreen, Terminal

        if self._flags.json:
            return JsonScreen(sys.stderr)
        return Terminal(sys.stdout, sys.stderr, self._on_output_closed)

    def _show_status(self, status: str) -> None:
        self._status = status
        if self._prompt:
            self._prompt.refresh()
        elif self._backend is None or status != self._backend.model:
            self.screen.say(status, "dim")

    async def _loop(
        self, questions: InputPrompt | Lines, opening: asyncio.Task[None] | None
    ) -> None:
        while not self._leaving:
            try:
                text = await questions.next()
            except KeyboardInterrupt:
                self._leave("interrupt", INTERRUPTED_EXIT)
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
        parsed = parse_input(text)
        if isinstance(parsed, Command):
            await SlashCommands(self.chat).run(parsed)
        elif parsed:
            await self.chat.ask(parsed)

    def _record_result(self, result: TurnResult) -> None:
        self._stopping = False
        if self._flags.once and not self._leaving:
            self._code = code_once(result)
        elif not self._prompt:
            self._code = code_of_many(self._code, result)

    def _leave(self, reason: str, code: int | None = None) -> None:
        self._leaving, self._reason = True, reason
        self._code = self._code if code is None else code

    def _on_signal(self, number: signal.Signals) -> None:
        """Handle a signal. The first Ctrl-C stops the answer; any other signal ends the chat."""
        if number == signal.SIGINT and not self._stopping and self._chat:
            self._stopping = True
            if self._chat.session.interrupt():
                return
        self._leave(number.name.lower(), ENDED_BY[number])
        if self._main:
            self._main.cancel()

    def _on_output_closed(self) -> None:
        self._leave("nobody reads", OUTPUT_CLOSED)
        if self._chat:
            self._chat.session.interrupt()

    async def _approve(self, use: Use, tool_input: str) -> bool:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            self.screen.warn(f"{use.name} was not run: there is no terminal to ask for approval")
            return False
        from kefu.terminal.prompt import InputPrompt

        asking = self._prompt or InputPrompt(COMMANDS, lambda: self._status)
        self.screen.asking(use.name, tool_input)
        if self.chat.backend.tools[use.name].approve or not self._flags.approve:
            self.screen.say(use.card)
        allowed = await asking.ask("Run it?")
        if allowed is None:
            self._on_signal(signal.SIGINT)
        return bool(allowed)

    async def _close(self) -> None:
        if self._chat:
            await self._chat.backend.end(self._chat.session, self._reason)
        if self._backend:
            await self._backend.aclose()
