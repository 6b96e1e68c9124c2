"""Defines the command line: the arguments of all commands."""

from __future__ import annotations

import argparse
from typing import Any

from kefu import __version__
from kefu.cli.answer_arguments import add_replay, add_tail, add_test
from kefu.cli.arguments import add_chat, add_sessions
from kefu.cli.page_arguments import add_answers, add_find, add_gaps, add_learn
from kefu.cli.service_arguments import add_completion, add_erase, add_move, add_service
from kefu.cli.tool_arguments import add_tools


class _CommandParser(argparse.ArgumentParser):
    """Lets options stand between arguments: `kefu learn one.md -o site.kefu two.md`."""

    _between = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        # argparse has a method for it, which calls this one, and knows neither actions nor "--".
        if self._between or self._subparsers or "--" in (args or ()):
            return super().parse_known_args(args, namespace)
        self._between = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._between = False


def parser() -> argparse.ArgumentParser:
    top: argparse.ArgumentParser = _CommandParser(
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
    add_answers(commands)
    add_erase(commands)
    add_move(commands)
    add_tools(commands)
    return top
