"""Defines the arguments of the terminal's commands. `docs/cli.md` is generated from this parser."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from kefu.terminal.flags import LOG_DIR, ChatFlags

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - argparse has no public name for it

EXIT_CODES = """\
exit codes:
  0  success
  1  a turn ended with an error or an incomplete answer
  2  wrong usage or wrong configuration
  3  no answer after --max-steps steps (with --once)
  4  the prompt is longer than --max-prompt-tokens (with --once)
  130  interrupted with Ctrl-C at the prompt
  129, 141, 143  ended by SIGHUP, by a closed standard output, by SIGTERM
"""


def positive_integer(text: str) -> int:
    """Converts an argument. Raises ArgumentTypeError."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def add_chat(commands: Commands) -> None:
    chat = commands.add_parser(
        "chat",
        help="chat with the model in this terminal",
        description="Chat with the model in this terminal, with tools that read the working\n"
        "directory. Answers go to standard output, everything else to standard error.\n"
        "If neither an API key nor an upstream is configured, no model answers (sample mode).",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chat.add_argument(
        "question", nargs="?", help="the first message; --once reads standard input if it is absent"
    )
    chat.add_argument("--once", action="store_true", help="answer one message and exit")
    chat.add_argument(
        "--json",
        action="store_true",
        help="print the session's events instead of answers, as JSON lines",
    )
    chat.add_argument(
        "--server",
        metavar="URL",
        help="send messages to a deployed Kefu service, as the widget does",
    )
    add_visitor(chat)
    _add_model(chat)
    _add_tools(chat)
    _add_tokens(chat)
    _add_log(chat)


def add_visitor(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--origin", metavar="ORIGIN", help="with --server: the page's origin, https://example.com"
    )
    command.add_argument(
        "--user-token", metavar="TOKEN", help="with --server: your site's token of a signed-in user"
    )


def _add_model(chat: argparse.ArgumentParser) -> None:
    group = chat.add_argument_group("model")
    group.add_argument("--model", metavar="NAME", help="name of the model (default: KEFU_MODEL)")
    group.add_argument(
        "--base-url", metavar="URL", help="address of the API (default: KEFU_UPSTREAM_URL)"
    )
    group.add_argument(
        "--system", metavar="TEXT", help="system prompt (default: KEFU_SYSTEM_PROMPT)"
    )
    group.add_argument(
        "--preset",
        metavar="NAME",
        help="use the model, prompt and limits of [presets.NAME] in kefu.toml; --model and "
        "--system win over it; with --server: of the server",
    )


def _add_tools(chat: argparse.ArgumentParser) -> None:
    group = chat.add_argument_group("tools")
    group.add_argument(
        "--tools",
        metavar="NAMES",
        help="tools that the model may use, comma separated, such as read_file,calculate; none: no "
        "tools, which is the default for the local model",
    )
    group.add_argument(
        "--allow-host",
        metavar="HOST",
        action="append",
        default=[],
        help="allow http_get to fetch from HOST or HOST:PORT; may be repeated",
    )
    group.add_argument(
        "--approve", action="store_true", help="ask for approval before each tool call"
    )
    group.add_argument(
        "--tool-policy",
        choices=("skip", "abort", "retry"),
        default="skip",
        help="after a tool's failure: skip reports it to the model, abort ends the turn, retry "
        "runs the tool again (%(default)s)",
    )
    group.add_argument(
        "--max-steps",
        metavar="N",
        type=positive_integer,
        default=100,
        help="model calls per turn (%(default)s)",
    )


def _add_tokens(chat: argparse.ArgumentParser) -> None:
    group = chat.add_argument_group("tokens")
    group.add_argument(
        "--max-prompt-tokens", metavar="N", type=positive_integer, help="maximum tokens of a prompt"
    )
    group.add_argument(
        "--warn-prompt-tokens",
        metavar="N",
        type=positive_integer,
        help="warn if a prompt has more tokens",
    )
    group.add_argument(
        "--budget-action",
        choices=("reject", "trim", "summarize"),
        help="action for a prompt above the maximum (reject)",
    )
    group.add_argument(
        "--tokenizer-model",
        metavar="NAME",
        help="count tokens exactly, by the name of an encoding (cl100k_base) or a model (gpt-4o)",
    )


def _add_log(chat: argparse.ArgumentParser) -> None:
    group = chat.add_argument_group("log")
    add_log_dir(group)
    group.add_argument("--no-log", action="store_true", help="do not log the session")
    group.add_argument(
        "--xml", action="store_true", help="also write the session to history.xml, the older format"
    )
    group.add_argument(
        "--resume", metavar="ID", help="resume a session; the end of its ID is enough"
    )
    group.add_argument(
        "--continue", dest="continue_", action="store_true", help="resume the latest session"
    )
    group.add_argument(
        "--fork",
        metavar="ID[:TURN]",
        help="start with a copy of a session, up to and including TURN",
    )


def add_log_dir(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--log-dir",
        metavar="DIR",
        type=_folder,
        default=LOG_DIR,
        help="the folder where sessions are stored (%(default)s)",
    )


def _folder(path: str) -> str:
    if path.startswith("sqlite:"):
        raise argparse.ArgumentTypeError(
            "it is a folder; `kefu sessions import FILE` copies the sessions of a database"
        )
    return path


def add_sessions(commands: Commands) -> None:
    sessions = commands.add_parser(
        "sessions",
        help="show, search, export and remove stored sessions",
        description="Show, search, export, import and remove the sessions that `kefu chat` stored.",
    )
    actions = sessions.add_subparsers(dest="action", required=True, metavar="ACTION")

    def add(name: str, does: str) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=does, description=f"{does.capitalize()}.")
        add_log_dir(action)
        return action

    add("list", "list stored sessions, latest first")
    add("show", "show the messages of a session").add_argument(
        "id", metavar="ID", help="the end of an ID is enough"
    )
    add("search", "search messages for a text; exit code 1 if there is none").add_argument(
        "text", metavar="TEXT"
    )
    export = add("export", "write a session in another format")
    export.add_argument("id", metavar="ID", help="the end of an ID is enough")
    export.add_argument(
        "--format", choices=("jsonl", "json", "md", "txt"), default="jsonl", help="(%(default)s)"
    )
    export.add_argument("--output", metavar="FILE", help="file to write instead of standard output")
    add("import", "import a log, also one of an older program").add_argument("file", metavar="FILE")
    remove = add("rm", "remove sessions permanently")
    remove.add_argument("id", metavar="ID", nargs="+", help="the end of an ID is enough")


def chat_flags(options: argparse.Namespace) -> ChatFlags:
    """The arguments of `kefu chat` from the result of argparse."""
    values = {**vars(options), "allow_host": tuple(options.allow_host)}
    return ChatFlags(**{name: values[name] for name in ChatFlags._fields})
