"""The command line: `kefu serve`, `kefu chat` and what belongs to it.

Settings are environment variables. Every command imports what it needs when it is called.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kefu import __version__

if TYPE_CHECKING:
    from kefu.cli.repl import OpenTalk
    from kefu.events import SessionId


def parser() -> argparse.ArgumentParser:
    from kefu.cli.arguments import add_chat, add_replay, add_sessions

    whole = argparse.ArgumentParser(
        prog="kefu",
        description="An AI chat widget for any website, and the backend that streams its answers.",
        epilog="Settings are environment variables: see docs/settings.md.",
    )
    whole.add_argument("--version", action="version", version=f"kefu {__version__}")
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="start the service on this machine",
        description="Start the service: the chat API, the widget's script and a demo page. "
        "With no key and no upstream set, a small local model answers.",
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    serve.add_argument("--port", type=int, default=8000, help="0: any free one (%(default)s)")
    add_chat(commands)
    add_sessions(commands)
    add_replay(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    match options.command:
        case "chat":
            return _chat(options)
        case "sessions":
            return _sessions(options)
        case "replay":
            return _replay(options)
        case _:
            return _serve(options.host, options.port)


def _chat(options: argparse.Namespace) -> int:
    from kefu.cli.arguments import chat_flags
    from kefu.cli.chat import chat

    return chat(chat_flags(options), _talk, _new_id)


def _talk() -> OpenTalk:
    from kefu.terminal import TerminalChat

    return TerminalChat


def _new_id() -> SessionId:
    import os

    from kefu.events.envelope import new_session_id
    from kefu.system_clock import SystemClock

    return new_session_id(SystemClock().now(), os.urandom(10))


def _sessions(options: argparse.Namespace) -> int:
    from pathlib import Path

    from kefu.cli.sessions import sessions
    from kefu.stores.session_logs import SessionLogs

    return sessions(options, SessionLogs(Path(options.log_dir)), _new_id)


def _replay(options: argparse.Namespace) -> int:
    from pathlib import Path

    from kefu.cli.replay import replay

    return replay(Path(options.file), options.speed)


def _serve(host: str, port: int) -> int:
    from kefu.assembly import build
    from kefu.cli.serve import Listening, serve
    from kefu.settings import ConfigurationError, load

    try:
        settings = load()
        service = build(settings)
    except ConfigurationError as error:
        sys.stderr.write(f"kefu: the configuration is wrong.\n{error}\n")
        return 2
    where = Listening(host, port, settings.body_timeout, settings.write_timeout)
    return serve(service.app, service.close, where)


if __name__ == "__main__":
    sys.exit(main())
