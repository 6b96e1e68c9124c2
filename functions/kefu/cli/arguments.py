"""What the terminal's commands are called with; `docs/cli.md` is made from this."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - its only name

LOG_DIR = "history"

EXIT_CODES = """\
exit codes:
  0  all went well
  1  a turn ended in an error, or its answer is not whole
  2  the command was wrong, or the configuration is
  3  no answer after --max-steps steps (with --once)
  4  the prompt is longer than --max-prompt-tokens (with --once)
  130  interrupted with Ctrl-C at the prompt
  129, 141, 143  the terminal was closed, nobody reads the output, SIGTERM
"""


@dataclass(frozen=True, slots=True)
class ChatFlags:
    """`kefu chat`, as it was called."""

    question: str | None = None
    once: bool = False
    json: bool = False
    server: str | None = None
    model: str | None = None
    base_url: str | None = None
    system: str | None = None
    tools: str | None = None
    allow_host: tuple[str, ...] = ()
    approve: bool = False
    tool_policy: str = "skip"
    max_steps: int = 100
    max_prompt_tokens: int | None = None
    warn_prompt_tokens: int | None = None
    budget_action: str | None = None
    tokenizer_model: str | None = None
    log_dir: str = LOG_DIR
    no_log: bool = False
    xml: bool = False
    resume: str | None = None
    fork: str | None = None
    continue_: bool = False

    def problem(self) -> str | None:
        """What does not go together."""
        most, warn = self.max_prompt_tokens, self.warn_prompt_tokens
        if most is not None and warn is not None and warn > most:
            return "--warn-prompt-tokens is above --max-prompt-tokens"
        if sum((bool(self.resume), bool(self.fork), self.continue_)) > 1:
            return "--resume, --fork and --continue exclude each other"
        if self.server and (self.model or self.base_url or self.system or self.tools):
            return "a server has its own model, system prompt and no tools for you to choose"
        return None


def whole(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def add_chat(commands: Commands) -> None:
    chat = commands.add_parser(
        "chat",
        help="chat with the model in this terminal",
        description="Chat with the model in this terminal, with tools that look at the working\n"
        "directory. The answer goes to standard output, everything else to standard error.\n"
        "With no key and no upstream set, a small local model answers.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chat.add_argument(
        "question", nargs="?", help="the first question; with --once and without it: standard input"
    )
    chat.add_argument("--once", action="store_true", help="answer one question and end")
    chat.add_argument(
        "--json", action="store_true", help="print the session's events instead, one JSON a line"
    )
    chat.add_argument(
        "--server", metavar="URL", help="talk to a deployed Kefu, as the widget on a page does"
    )
    _add_model(chat)
    _add_tools(chat)
    _add_tokens(chat)
    _add_log(chat)


def _add_model(chat: argparse.ArgumentParser) -> None:
    group = chat.add_argument_group("model")
    group.add_argument("--model", metavar="NAME", help="instead of KEFU_MODEL")
    group.add_argument("--base-url", metavar="URL", help="instead of KEFU_UPSTREAM_URL")
    group.add_argument("--system", metavar="TEXT", help="instead of KEFU_SYSTEM_PROMPT")


def _add_tools(chat: argparse.ArgumentParser) -> None:
    group = chat.add_argument_group("tools")
    group.add_argument(
        "--tools",
        metavar="NAMES",
        help="those the model may use, comma separated, such as read_file,calculate; none: none at "
        "all, as for the local model",
    )
    group.add_argument(
        "--allow-host",
        metavar="HOST",
        action="append",
        default=[],
        help="let http_get fetch from it, HOST or HOST:PORT; may be given again",
    )
    group.add_argument("--approve", action="store_true", help="ask before each call of a tool")
    group.add_argument(
        "--tool-policy",
        choices=("skip", "abort", "retry"),
        default="skip",
        help="when a tool fails: tell the model, end the turn, or try again (%(default)s)",
    )
    group.add_argument(
        "--max-steps", metavar="N", type=whole, default=100, help="calls in a turn (%(default)s)"
    )


def _add_tokens(chat: argparse.ArgumentParser) -> None:
    group = chat.add_argument_group("tokens")
    group.add_argument(
        "--max-prompt-tokens", metavar="N", type=whole, help="send no prompt that is longer"
    )
    group.add_argument(
        "--warn-prompt-tokens", metavar="N", type=whole, help="warn of one that is longer"
    )
    group.add_argument(
        "--budget-action",
        choices=("reject", "trim", "summarize"),
        help="what to do with one that is too long (reject)",
    )
    group.add_argument(
        "--tokenizer-model",
        metavar="NAME",
        help="count exactly, with an encoding (cl100k_base) or a model's (gpt-4o)",
    )


def _add_log(chat: argparse.ArgumentParser) -> None:
    group = chat.add_argument_group("log")
    add_log_dir(group)
    group.add_argument("--no-log", action="store_true", help="keep nothing")
    group.add_argument("--xml", action="store_true", help="also write history.xml, the older form")
    group.add_argument(
        "--resume", metavar="ID", help="go on with a session; the end of its ID will do"
    )
    group.add_argument(
        "--continue", dest="continue_", action="store_true", help="go on with the latest session"
    )
    group.add_argument(
        "--fork", metavar="ID[:TURN]", help="begin as a copy of a session, up to and with TURN"
    )


def add_log_dir(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--log-dir",
        metavar="DIR",
        default=LOG_DIR,
        help="where sessions are kept: a folder, or sqlite:///FILE (%(default)s)",
    )


def add_sessions(commands: Commands) -> None:
    sessions = commands.add_parser(
        "sessions",
        help="look at, find, copy and remove kept sessions",
        description="Look at, find, copy and remove the sessions that `kefu chat` has kept.",
    )
    actions = sessions.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, does: str) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=does, description=f"{does.capitalize()}.")
        add_log_dir(action)
        return action

    add("list", "list kept sessions, the latest first")
    add("show", "show what was said in one").add_argument(
        "id", metavar="ID", help="its end will do"
    )
    add("search", "find a text in what was said; exit code 1: nowhere").add_argument(
        "text", metavar="TEXT"
    )
    export = add("export", "write one in another form")
    export.add_argument("id", metavar="ID", help="its end will do")
    export.add_argument(
        "--format", choices=("jsonl", "json", "md", "txt"), default="jsonl", help="(%(default)s)"
    )
    export.add_argument("--output", metavar="FILE", help="instead of standard output")
    add("import", "take in a log, also one of an older program").add_argument(
        "file", metavar="FILE"
    )
    remove = add("rm", "remove sessions for good")
    remove.add_argument("id", metavar="ID", nargs="+", help="its end will do")


def add_replay(commands: Commands) -> None:
    replay = commands.add_parser(
        "replay",
        help="show a session again, as it happened",
        description="Show a session again, as it happened.",
    )
    replay.add_argument("file", metavar="FILE", help="a session's log, history/sess_….jsonl")
    replay.add_argument(
        "--speed",
        metavar="N",
        type=float,
        default=1.0,
        help="2: twice as fast; 0: at once (%(default)s)",
    )


def chat_flags(options: argparse.Namespace) -> ChatFlags:
    given = {**vars(options), "allow_host": tuple(options.allow_host)}
    return ChatFlags(**{name: given[name] for name in ChatFlags.__slots__})
