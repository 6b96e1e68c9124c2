"""What can be asked for with a slash while chatting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kefu.cli.clean import one_line
from kefu.cli.reading import Command
from kefu.cli.talk import WrongUse
from kefu.errors import HistoryUnavailable

if TYPE_CHECKING:
    from kefu.cli.conversation import Conversation
    from kefu.cli.logs import Form

COMMANDS: Mapping[str, str] = {
    "help": "this list",
    "exit": "end the chat; so does Ctrl-D",
    "status": "the session, its model and its log",
    "history": "what was said so far",
    "tokens": "how many, by Kefu's count and the model's",
    "tools": "what the model may use",
    "retry": "ask the last question again",
    "undo": "take the last question and its answer back",
    "clear": "begin anew, in the same session",
    "save": "FILE: write the last answer to a file",
    "export": "FILE: write the session to a file, .md .txt .json or .jsonl",
    "resume": "ID: go on with another session; without ID: list them",
}

_COUNTED_BY = {"usage": "the model", "local": "Kefu", "mixed": "the model, Kefu where it did not"}

_FORMS: Mapping[str, Form] = {".md": "md", ".txt": "txt", ".json": "json", ".jsonl": "jsonl"}


class Slash:
    def __init__(self, chat: Conversation) -> None:
        self._chat = chat

    async def run(self, command: Command) -> None:
        name = command.name.lower()
        work: Callable[[str], Awaitable[None]] | None = None
        if name in COMMANDS:
            work = getattr(self, f"_{name}")
        if work is None:
            known = "/help lists what there is, //x sends /x"
            self._chat.say(f"There is no /{command.name[:40]}: {known}.", "yellow")
            return
        try:
            await work(command.argument)
        except (WrongUse, HistoryUnavailable) as error:
            self._chat.say(str(error), "yellow")

    async def _help(self, _: str) -> None:
        width = max(map(len, COMMANDS))
        lines = [f"  /{name:<{width}}  {does}" for name, does in COMMANDS.items()]
        lines.append('Several lines go between """ and """. //x sends /x. Ctrl-C stops an answer.')
        self._chat.say("\n".join(lines))

    async def _exit(self, _: str) -> None:
        self._chat.leave()

    async def _status(self, _: str) -> None:
        session, talk = self._chat.session, self._chat.talk
        log = talk.log_of(session.id)
        self._chat.say(
            f"session  {session.id}\n"
            f"model    {talk.model}\n"
            f"turns    {session.turn_count}\n"
            f"tokens   {session.tokens.total}\n"
            f"log      {log or 'none'}"
        )

    async def _history(self, _: str) -> None:
        messages = [m for m in self._chat.session.chat_history if m.role != "system"]
        lines = [f"{message.role:>9}  {one_line(message.content, 160)}" for message in messages]
        self._chat.say("\n".join(lines) or "Nothing was said yet.")

    async def _tokens(self, _: str) -> None:
        session = self._chat.session
        spent, drift = session.tokens, session.drift
        lines = [
            f"next prompt  {session.prompt_tokens} before your words",
            f"so far       {spent.prompt} prompt + {spent.completion} completion = {spent.total}",
            f"counted by   {_COUNTED_BY.get(spent.source or '', 'nobody yet')}",
        ]
        if drift is not None:
            lines.append(f"drift        {drift:+.1%} against the model's own count")
        self._chat.say("\n".join(lines))

    async def _tools(self, _: str) -> None:
        tools = self._chat.talk.tools.values()
        lines = [f"  {tool.name:<14} {tool.description}" for tool in tools]
        self._chat.say("\n".join(lines) or "The model may use no tools here.")

    async def _retry(self, _: str) -> None:
        if not await self._chat.retry():
            self._chat.say("There is nothing to ask again.", "yellow")

    async def _undo(self, _: str) -> None:
        said = self._chat.undo()
        if said is None:
            self._chat.say("There is nothing to take back.", "yellow")
        else:
            self._chat.say(f"Taken back: {one_line(said, 120)}")

    async def _clear(self, _: str) -> None:
        self._chat.session.clear()
        self._chat.say("The model remembers nothing of it; the log does.")

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
        if self._chat.talk.log_of(session.id) is None:
            raise WrongUse("There is nothing to write: the session is not kept (--no-log).")
        from kefu.cli.logs import written

        _write(name, written(session.id, self._chat.talk.logs.read(session.id), form))
        self._chat.say(f"Written: {name}")

    async def _resume(self, ending: str) -> None:
        if ending:
            await self._chat.resume(ending)
            return
        from kefu.cli.logs import listed

        logs = self._chat.talk.logs
        others = [known for known in logs.ids() if known != self._chat.session.id]
        lines = [listed(known, logs.read(known)) for known in others[:10]]
        self._chat.say("\n".join(lines) or "There are no other sessions.")


def _write(name: str, text: str) -> None:
    """A new file: none that is there is written over."""
    if not name:
        raise WrongUse("A file's name is missing.")
    try:
        with Path(name).expanduser().open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise WrongUse(f"{name}: {getattr(error, 'strerror', None) or error}") from error
