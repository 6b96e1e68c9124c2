"""The entry point of the command line: `kefu serve`, `kefu chat` and the other commands.

Each command imports its modules in its own function, so that the other commands start quickly and
work without the optional packages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
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


def main(arguments: Sequence[str] | None = None, constants: Constants | None = None) -> int:
    """Run a command. Returns the exit code. The errors of all commands are printed here.

    `constants`: others than the service's, for tests.
    """
    from kefu.errors import HistoryUnavailable, KefuError, StoreUnavailable
    from kefu.terminal.flags import WrongUse
    from kefu.terminal.pipes import forget_broken_pipes, open_missing_streams

    open_missing_streams()
    options = parser().parse_args(arguments)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "chat": _chat,
        "sessions": _sessions,
        "test": _test,
        "learn": _learn,
        "find": _find,
        "gaps": _gaps,
        "erase": _erase,
        "replay": _replay,
        "tail": _tail,
        "init": _init,
        "doctor": _doctor,
        "admin-link": _admin_link,
        "serve": partial(_serve, constants=constants),
        "completion": _completion,
    }
    try:
        return commands[options.command](options)
    except (WrongUse, KefuError, HistoryUnavailable, StoreUnavailable) as error:
        from kefu.terminal.clean import clean

        sys.stderr.write(f"kefu: {clean(str(error))}\n")
        return 2
    except ModuleNotFoundError as error:
        return _not_installed(error, options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough, such as `head`
        forget_broken_pipes()
        return 141


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

    from kefu.bootstrap.learn import Options, hosts, learn, meaning, show
    from kefu.cli import learn as shown
    from kefu.terminal.flags import WrongUse

    model = meaning() if options.meaning else None
    sources = options.sources or _settings().knowledge_sources
    if not sources:
        raise WrongUse("name the address of a site, a folder or a file.")
    private = hosts(sources) if options.allow_private else frozenset()
    chosen = Options(Path(options.output), options.url, private, model)
    if options.show:
        return shown.show(show(sources[0], chosen))
    return shown.run(
        lambda counts: learn(sources, chosen, counts.note, counts.encoded), options.output
    )


def _test(options: argparse.Namespace) -> int:
    from kefu.cli.test import test

    return test(options, _settings())


def _replay(options: argparse.Namespace) -> int:
    from kefu.cli.replay import replay

    return replay(options)


def _tail(options: argparse.Namespace) -> int:
    from kefu.cli.tail import tail

    return tail(options, _settings())


def _find(options: argparse.Namespace) -> int:
    from kefu.bootstrap.learnt_file import opened
    from kefu.cli.find import print_found, print_lines
    from kefu.terminal.flags import WrongUse, wrong_use

    if not options.jsonl and not options.question:
        raise WrongUse("name a question, or give questions with --jsonl.")
    with wrong_use(OSError, ValueError):
        pages = opened(options.file or _settings().knowledge or "site.kefu")
    find = partial(pages.find, limit=8 if options.jsonl else 6)
    return print_lines(find, sys.stdin) if options.jsonl else print_found(find, options.question)


def _gaps(options: argparse.Namespace) -> int:
    import asyncio

    from kefu.bootstrap.gaps import collected
    from kefu.cli.gaps import print_csv, print_gaps
    from kefu.terminal.flags import wrong_use

    with wrong_use(OSError, ValueError):
        found = asyncio.run(collected(_settings()))
    return print_csv(found) if options.csv else print_gaps(found)


def _erase(options: argparse.Namespace) -> int:
    from kefu.cli.erase import erase_email, erase_user

    if options.email is not None:
        return erase_email(_settings(), options.email, confirmed=options.yes)
    return erase_user(_settings(), options.user, confirmed=options.yes)


def _init(options: argparse.Namespace) -> int:
    from kefu.cli.init import init
    from kefu.settings.loading import config_path

    return init(config_path(), force=options.force)


def _doctor(options: argparse.Namespace) -> int:
    from kefu.bootstrap.doctor import doctor
    from kefu.cli.doctor import report
    from kefu.terminal.flags import WrongUse

    if options.origin and not (options.url or options.stack):
        raise WrongUse("--origin is for --url and --stack.")
    return report(doctor(options.url, options.stack, options.origin), as_json=options.json)


_EXTRAS = {
    **dict.fromkeys(("chat", "sessions"), "cli"),
    **dict.fromkeys(("test", "replay", "tail"), "server,cli"),
    "learn": "learn",
}
"""The extras that commands need; the others need `server`."""


def _not_installed(error: ModuleNotFoundError, options: argparse.Namespace) -> int:
    if (error.name or "").startswith("kefu"):
        raise error
    command = options.command
    extra = _EXTRAS.get(command, "server")
    if command == "learn" and options.meaning:
        extra += ",meaning"
    sys.stderr.write(
        f"kefu: `kefu {command}` needs a package that is not installed, {error.name}: "
        f"pip install 'kefu[{extra}]'\n"
    )
    return 2


def _admin_link(options: argparse.Namespace) -> int:
    from kefu.cli.admin_link import admin_link

    return admin_link(_settings().panel_token, options.url)


def _serve(options: argparse.Namespace, constants: Constants | None) -> int:
    from kefu.bootstrap.constants import CONSTANTS
    from kefu.bootstrap.service import build
    from kefu.cli.admin_link import local_link
    from kefu.cli.serve import Listening, raise_open_files, serve

    settings = _settings()
    settings = settings.with_panel() if options.panel else settings
    constants = constants or CONSTANTS
    with _configuration():
        service = build(settings, raise_open_files(), constants)
    token = settings.panel_token
    timeouts = constants.body_timeout, constants.write_timeout
    listening = Listening(options.host, options.port, *timeouts)
    return serve(
        service.app,
        service.close,
        listening,
        lambda address: local_link(token, address) if options.panel and token else "",
    )


def _settings() -> Settings:
    """The settings. Raises WrongUse when they are invalid."""
    from kefu.settings import load

    with _configuration():
        return load()


def _configuration() -> AbstractContextManager[None]:
    """Turn a ConfigurationError into a WrongUse."""
    from kefu.settings import ConfigurationError
    from kefu.terminal.flags import BAD_SETTINGS, wrong_use

    return wrong_use(ConfigurationError, prefix=BAD_SETTINGS)


if __name__ == "__main__":
    sys.exit(main())
