"""The slash commands of `kefu chat`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kefu.errors import HistoryUnavailable
from kefu.terminal.clean import one_line
from kefu.terminal.flags import WrongUse
from kefu.terminal.input import Command

if TYPE_CHECKING:
    from kefu.terminal.current_session import CurrentSession
    from kefu.terminal.logs import Form

COMMANDS: Mapping[str, str] = {
    "help": "this list",
    "exit": "end the session; so does Ctrl-D",
    "status": "the session, its model and its log",
    "history": "the messages of the session",
    "tokens": "the tokens used, by the model's or Kefu's count",
    "tools": "the tools that the model may use",
    "retry": "send the last message again",
    "undo": "remove the last turn: your message and the answer",
    "clear": "remove all turns; the session continues",
    "save": "FILE: write the last answer to a file",
    "export": "FILE: write the session to a file, .md .txt .json or .jsonl",
    "resume": "ID: resume another session; without ID: list the latest",
}

_COUNTED_BY = {"usage": "the model", "local": "Kefu", "mixed": "the model, in part Kefu"}

_FORMS: Mapping[str, Form] = {".md": "md", ".txt": "txt", ".json": "json", ".jsonl": "jsonl"}


class SlashCommands:
    """Runs slash commands. The method `_name` implements the command `/name`."""

    def __init__(self, chat: CurrentSession) -> None:
        self._chat = chat

    async def run(self, command: Command) -> None:
        """Run a command and print its output or its error."""
        name = command.name.lower()
        work: Callable[[str], Awaitable[None]] | None = None
        if name in COMMANDS:
            work = getattr(self, f"_{name}")
        if work is None:
            hint = "/help lists the commands, //x sends /x"
            self._chat.say(f"There is no /{command.name[:40]}: {hint}.", "yellow")
            return
        try:
            await work(command.argument)
        except (WrongUse, HistoryUnavailable) as error:
            self._chat.say(str(error), "yellow")

    async def _help(self, _: str) -> None:
        width = max(map(len, COMMANDS))
        lines = [f"  /{name:<{width}}  {does}" for name, does in COMMANDS.items()]
        lines.append('Enclose several lines in """. //x sends /x. Ctrl-C stops an answer.')
        self._chat.say("\n".join(lines))

    async def _exit(self, _: str) -> None:
        self._chat.leave()

    async def _status(self, _: str) -> None:
        session, backend = self._chat.session, self._chat.backend
        log = backend.log_of(session.id)
        self._chat.say(
            f"session  {session.id}\n"
            f"model    {backend.model}\n"
            f"turns    {session.turn_count}\n"
            f"tokens   {session.tokens.total}\n"
            f"log      {log or 'none'}"
        )

    async def _history(self, _: str) -> None:
        messages = [m for m in self._chat.session.chat_history if m.role != "system"]
        lines = [f"{message.role:>9}  {one_line(message.content, 160)}" for message in messages]
        self._chat.say("\n".join(lines) or "The session has no messages yet.")

    async def _tokens(self, _: str) -> None:
        session = self._chat.session
        spent, drift = session.tokens, session.drift
        lines = [
            f"next prompt  {session.prompt_tokens} without your next message",
            f"so far       {spent.prompt} prompt + {spent.completion} completion = {spent.total}",
            f"counted by   {_COUNTED_BY.get(spent.source or '', 'no call yet')}",
        ]
        if drift is not None:
            lines.append(f"drift        {drift:+.1%} against the model's own count")
        self._chat.say("\n".join(lines))

    async def _tools(self, _: str) -> None:
        tools = self._chat.backend.tools.values()
        lines = [f"  {tool.name:<14} {one_line(tool.description, 200)}" for tool in tools]
        self._chat.say("\n".join(lines) or "The model has no tools here.")

    async def _retry(self, _: str) -> None:
        if not await self._chat.retry():
            self._chat.say("There is no message to send again.", "yellow")

    async def _undo(self, _: str) -> None:
        message = self._chat.undo()
        if message is None:
            self._chat.say("There is no turn to remove.", "yellow")
        else:
            self._chat.say(f"Removed: {one_line(message, 120)}")

    async def _clear(self, _: str) -> None:
        self._chat.clear()
        self._chat.say("All turns are removed from the session; the log keeps them.")

    async def _save(self, name: str) -> None:
        if not self._chat.answer:
            raise WrongUse("There is no answer yet.")
        _write(name, self._chat.answer + "\n")
        self._chat.say(f"Written: {name}")

    async def _export(self, name: str) -> None:
        form = _FORMS.get(Path(name).suffix.lower())
        if form is None:
            raise WrongUse("/export FILE, where FILE ends in .md, .txt, .json or .jsonl")
        session = self._chat.session
        if self._chat.backend.log_of(session.id) is None:
            raise WrongUse("The session cannot be exported: it has no log (--no-log).")
        from kefu.terminal.logs import exported

        _write(name, exported(session.id, self._chat.backend.logs.read(session.id), form))
        self._chat.say(f"Written: {name}")

    async def _resume(self, id_end: str) -> None:
        if id_end:
            await self._chat.resume(id_end)
            return
        from kefu.terminal.logs import session_line

        logs = self._chat.backend.logs
        others = [session_id for session_id in logs.ids() if session_id != self._chat.session.id]
        lines = [session_line(session_id, logs.read(session_id)) for session_id in others[:10]]
        self._chat.say("\n".join(lines) or "There are no other sessions.")


def _write(name: str, text: str) -> None:
    """Write a new file. An existing file is not overwritten. Raises WrongUse."""
    if not name:
        raise WrongUse("A file's name is missing.")
    try:
        with Path(name).expanduser().open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise WrongUse(f"{name}: {getattr(error, 'strerror', None) or error}") from error
