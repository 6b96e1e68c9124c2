"""`kefu completion`: prints a script that completes commands and flags in a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

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
_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def completion(shell: str, parser: argparse.ArgumentParser) -> int:
    """Print the script for a shell. Returns the exit code."""
    words = dict(_words(parser))
    if shell == "fish":
        names = " ".join(words)
        lines = [f"complete -c kefu -n __fish_use_subcommand -f -a '{names}'"]
        for name, flags in words.items():
            seen = f"'__fish_seen_subcommand_from {name}'"
            lines += [f"complete -c kefu -n {seen} -a '{' '.join(flags)}'"]
        sys.stdout.write("\n".join(lines) + "\n")
        return 0
    cases = "\n".join(f'    *:{name}) words="{" ".join(w)}" ;;' for name, w in words.items())
    script = _BASH.format(commands=" ".join(words), cases=cases)
    sys.stdout.write(script if shell == "bash" else _ZSH + script)
    return 0


def _words(parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[str]]]:
    """Each command with its flags, and the names of its actions."""
    for name, command in _commands(parser).items():
        flags = [flag for action in command._actions for flag in action.option_strings]  # noqa: SLF001 - argparse has no public list
        yield name, [*_commands(command), *(flag for flag in flags if flag.startswith("--"))]


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - the same
            return dict(action.choices)
    return {}
