"""`kefu completion`: prints a script that completes commands and flags in a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from kefu.cli.parser import parser

_BASH = """\
_kefu() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words
  case ${{COMP_CWORD}}:${{COMP_WORDS[1]}} in
    1:*) words="{commands}" ;;
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _kefu kefu
"""
# `complete` of bash is a function there, which needs the completion of zsh itself.
_ZSH = """\
autoload -U +X compinit bashcompinit
(( $+functions[compdef] )) || compinit -i
bashcompinit
"""


def run(options: argparse.Namespace) -> int:
    """Print the script for a shell. Returns the exit code."""
    shell = options.shell
    words = {name: " ".join(_words(command)) for name, command in _commands(parser()).items()}
    names = " ".join(words)
    if shell == "fish":
        sys.stdout.write(f"complete -c kefu -n __fish_use_subcommand -f -a '{names}'\n")
        for name, known in words.items():
            seen = f"'__fish_seen_subcommand_from {name}'"
            sys.stdout.write(f"complete -c kefu -n {seen} -a '{known}'\n")
        return 0
    cases = "\n".join(f'    *:{name}) words="{known}" ;;' for name, known in words.items())
    script = _BASH.format(commands=names, cases=cases)
    sys.stdout.write(script if shell == "bash" else _ZSH + script)
    return 0


def _commands(top: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    [commands] = (one.choices for one in top._actions if isinstance(one.choices, dict))  # noqa: SLF001 - argparse has no public list
    return commands


def _words(command: argparse.ArgumentParser) -> Iterator[str]:
    """The flags of a command, and the names of its actions."""
    for action in command._actions:  # noqa: SLF001 - argparse has no public list
        yield from (flag for flag in action.option_strings if flag.startswith("--"))
        if not action.option_strings:
            yield from action.choices or ()
