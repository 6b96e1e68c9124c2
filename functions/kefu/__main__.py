"""The entry point of the command line: `kefu serve`, `kefu chat` and the other commands.

Each command imports its modules in its own function, so that the other commands start quickly and
work without the optional packages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kefu import __version__

if TYPE_CHECKING:
    from kefu.bootstrap.constants import Constants
    from kefu.settings import Settings


def parser() -> argparse.ArgumentParser:
    from kefu.cli.answer_arguments import add_replay, add_tail, add_test
    from kefu.cli.arguments import add_chat, add_sessions
    from kefu.cli.page_arguments import add_find, add_gaps, add_learn
    from kefu.cli.service_arguments import add_completion, add_erase, add_service

    top = argparse.ArgumentParser(
        prog="kefu",
        description="An AI chat widget for any website, and the backend that streams its answers.",
        epilog="Settings are read from ./kefu.toml and from environment variables, which win: "
        "docs/settings.md. `kefu init` writes the file.",
    )
    top.add_argument("--version", action="version", version=f"kefu {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_service(commands)
    add_chat(commands)
    add_sessions(commands)
    add_test(commands)
    add_replay(commands)
    add_tail(commands)
    add_learn(commands)
    add_find(commands)
    add_completion(commands)
    add_gaps(commands)
    add_erase(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    from kefu.terminal.pipes import open_missing_streams

    open_missing_streams()
    options = parser().parse_args(arguments)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "chat": _chat,
        "sessions": _sessions,
        "test": partial(_with_packages, _test),
        "learn": _learn,
        "find": _find,
        "gaps": _gaps,
        "erase": partial(_with_packages, _erase),
        "replay": partial(_with_packages, _replay),
        "tail": partial(_with_packages, _tail),
        "init": _init,
        "doctor": _doctor,
        "admin-link": _admin_link,
        "serve": run_service,
        "completion": _completion,
    }
    return commands[options.command](options)


def _completion(options: argparse.Namespace) -> int:
    from kefu.cli.completion import completion

    return completion(options.shell, parser())


def _chat(options: argparse.Namespace) -> int:
    from kefu.cli.arguments import chat_flags
    from kefu.terminal.chat import chat

    return chat(chat_flags(options))


def _sessions(options: argparse.Namespace) -> int:
    from kefu.cli.sessions import sessions

    return sessions(options)


def _learn(options: argparse.Namespace) -> int:
    from pathlib import Path

    from kefu.cli import learn as shown

    try:
        from kefu.bootstrap.learn import Options, learn, meaning, show

        model = meaning() if options.meaning else None
    except ModuleNotFoundError as error:
        return _not_installed(error, "learning", "learn,meaning" if options.meaning else "learn")
    sources = options.sources
    if not sources:
        settings = _settings()
        sources = settings.knowledge_sources if settings else ()
    if not sources:
        sys.stderr.write("kefu: name the address of a site, a folder or a file.\n")
        return 2
    chosen = Options(Path(options.output), options.url, options.allow_private, model)
    if options.show:
        return shown.show(*show(sources[0], allow_private=options.allow_private))
    return shown.run(
        lambda progress: learn(sources, chosen, progress.note, progress.encoded), options.output
    )


def _test(options: argparse.Namespace) -> int:
    from kefu.cli.test import test

    settings = _settings()
    return test(options, settings) if settings else 2


def _replay(options: argparse.Namespace) -> int:
    from kefu.cli.replay import replay

    return replay(options)


def _tail(options: argparse.Namespace) -> int:
    from kefu.cli.tail import tail

    settings = _settings()
    return tail(options, settings) if settings else 2


def _with_packages(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    try:
        return run(options)
    except ModuleNotFoundError as error:
        return _not_installed(error, "this", "server,cli")


def _find(options: argparse.Namespace) -> int:
    from kefu.bootstrap.learnt_file import opened
    from kefu.cli.find import print_found, print_lines
    from kefu.terminal.pipes import forget_broken_pipes

    if not options.jsonl and not options.question:
        sys.stderr.write("kefu: name a question, or give questions with --jsonl.\n")
        return 2
    try:
        settings = None if options.file else _settings()
        file = settings.knowledge if settings else options.file
        pages, limit = opened(file or "site.kefu"), 8 if options.jsonl else 6
    except (OSError, ValueError) as error:
        sys.stderr.write(f"kefu: {error}\n")
        return 2
    find = partial(pages.find, limit=limit)
    try:
        if options.jsonl:
            return print_lines(find, sys.stdin)
        return print_found(find, options.question)
    except BrokenPipeError:
        # The reader has seen enough, such as `head`.
        forget_broken_pipes()
        return 141


def _gaps(options: argparse.Namespace) -> int:
    import asyncio

    from kefu.bootstrap.gaps import collected
    from kefu.cli.gaps import print_csv, print_gaps
    from kefu.errors import StoreUnavailable

    if (settings := _settings()) is None:
        return 2
    try:
        found = asyncio.run(collected(settings))
    except (OSError, ValueError, StoreUnavailable) as error:
        sys.stderr.write(f"kefu: {error}\n")
        return 2
    return print_csv(found) if options.csv else print_gaps(found)


def _erase(options: argparse.Namespace) -> int:
    from kefu.cli.erase import erase_user

    settings = _settings()
    return erase_user(settings, options.user, confirmed=options.yes) if settings else 2


def _init(options: argparse.Namespace) -> int:
    try:
        from kefu.cli.init import init
        from kefu.settings.loading import config_path
    except ModuleNotFoundError as error:
        return _not_installed(error)
    return init(config_path(), force=options.force)


def _doctor(options: argparse.Namespace) -> int:
    try:
        from kefu.bootstrap.doctor import doctor
        from kefu.cli.doctor import report
    except ModuleNotFoundError as error:
        return _not_installed(error)
    if options.origin and not (options.url or options.stack):
        sys.stderr.write("kefu: --origin is for --url and --stack.\n")
        return 2
    return report(doctor(options.url, options.stack, options.origin), as_json=options.json)


def _not_installed(
    error: ModuleNotFoundError, what: str = "the service", extra: str = "server"
) -> int:
    if (error.name or "").startswith("kefu"):
        raise error
    sys.stderr.write(
        f"kefu: {what} needs packages that are not installed: pip install 'kefu[{extra}]'\n"
    )
    return 2


def _admin_link(options: argparse.Namespace) -> int:
    from kefu.cli.admin_link import admin_link

    settings = _settings()
    return admin_link(settings.panel_token, options.url) if settings else 2


def run_service(options: argparse.Namespace, constants: Constants | None = None) -> int:
    """Run `kefu serve`. Returns the exit code. Tests give other constants."""
    try:
        from kefu.bootstrap.constants import CONSTANTS
        from kefu.bootstrap.service import build
        from kefu.cli.admin_link import local_link
        from kefu.cli.open_files import raise_limit
        from kefu.cli.serve import Listening, serve
        from kefu.settings import ConfigurationError
    except ModuleNotFoundError as error:
        return _not_installed(error)

    settings = _settings()
    if settings is None:
        return 2
    settings = settings.with_panel() if options.panel else settings
    constants = constants or CONSTANTS
    try:
        service = build(settings, raise_limit(), constants)
    except ConfigurationError as error:
        return _misconfigured(error)
    token = settings.panel_token
    timeouts = constants.body_timeout, constants.write_timeout
    listening = Listening(options.host, options.port, *timeouts)
    return serve(
        service.app,
        service.close,
        listening,
        lambda address: local_link(token, address) if options.panel and token else "",
    )


def _settings() -> Settings | None:
    """The settings; None when they are invalid, after printing the error."""
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
