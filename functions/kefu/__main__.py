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
    from kefu.settings import Settings


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
    serve.add_argument(
        "--panel",
        action="store_true",
        help="print a link to the operator's panel; without ADMIN_TOKEN it has a token of its own",
    )
    link = commands.add_parser(
        "admin-link",
        help="print a link to the operator's panel",
        description="Print a link that opens the operator's panel once, within ten minutes. It is "
        "signed with ADMIN_TOKEN, which must be the service's.",
    )
    link.add_argument(
        "--url", default="http://127.0.0.1:8000", help="where the service is (%(default)s)"
    )
    add_chat(commands)
    add_sessions(commands)
    add_replay(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    from kefu.cli.pipes import open_missing_streams

    open_missing_streams()
    options = parser().parse_args(arguments)
    match options.command:
        case "chat":
            return _chat(options)
        case "sessions":
            return _sessions(options)
        case "replay":
            return _replay(options)
        case "admin-link":
            return _admin_link(options.url)
        case _:
            return _serve(options.host, options.port, panel=options.panel)


def _chat(options: argparse.Namespace) -> int:
    from kefu.cli.arguments import chat_flags
    from kefu.cli.chat import chat
    from kefu.terminal.ids import new_id

    return chat(chat_flags(options), _talk, new_id)


def _talk() -> OpenTalk:
    from kefu.terminal.talk import TerminalChat

    return TerminalChat


def _sessions(options: argparse.Namespace) -> int:
    from kefu.cli.sessions import sessions
    from kefu.stores.session_logs import logs_at
    from kefu.terminal.ids import new_id

    return sessions(options, logs_at(options.log_dir), new_id)


def _replay(options: argparse.Namespace) -> int:
    from pathlib import Path

    from kefu.cli.replay import replay

    return replay(Path(options.file), options.speed)


def _admin_link(address: str) -> int:
    from kefu.cli.admin_link import admin_link

    settings = _settings()
    return admin_link(settings.admin_token.get_secret_value(), address) if settings else 2


def _serve(host: str, port: int, *, panel: bool) -> int:
    try:
        from kefu.assembly import build
        from kefu.cli.admin_link import local_link
        from kefu.cli.serve import Listening, serve
        from kefu.settings import ConfigurationError
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("kefu"):
            raise
        sys.stderr.write(
            "kefu: the service needs packages that are not installed: pip install 'kefu[server]'\n"
        )
        return 2

    settings = _settings()
    if settings is None:
        return 2
    settings = settings.with_panel() if panel else settings
    try:
        service = build(settings)
    except ConfigurationError as error:
        return _misconfigured(error)
    token = settings.admin_token.get_secret_value()
    where = Listening(host, port, settings.body_timeout, settings.write_timeout)
    return serve(
        service.app,
        service.close,
        where,
        lambda address: local_link(token, address) if panel and token else "",
    )


def _settings() -> Settings | None:
    """The environment's; None when they are wrong, and that has been said."""
    from kefu.settings import ConfigurationError, load

    try:
        return load()
    except ConfigurationError as error:
        _misconfigured(error)
        return None


def _misconfigured(error: Exception) -> int:
    sys.stderr.write(f"kefu: the configuration is wrong.\n{error}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
