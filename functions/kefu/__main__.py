"""The entry point of the command line: `kefu serve`, `kefu chat` and the other commands.

Each command imports its modules when it runs, so that the other commands start quickly and work
without the optional packages.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kefu.bootstrap.constants import Constants


def main(arguments: Sequence[str] | None = None, constants: Constants | None = None) -> int:
    """Run a command. Returns the exit code. The errors of all commands are printed here.

    `constants`: in tests, other constants than those of the service.
    """
    from kefu.cli.parser import parser
    from kefu.errors import HistoryUnavailable, KefuError, StoreUnavailable
    from kefu.terminal.flags import WrongUse
    from kefu.terminal.pipes import forget_broken_pipes, open_missing_streams

    open_missing_streams()
    options = parser().parse_args(arguments)
    options.constants = constants
    try:
        return _command(options.command)(options)
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


def _command(name: str) -> Callable[[argparse.Namespace], int]:
    """The function `run` of the module with the command's name, such as `kefu.cli.admin_link`."""
    run: Callable[[argparse.Namespace], int]
    run = import_module(f"kefu.cli.{name.replace('-', '_')}").run
    return run


_EXTRAS = {
    **dict.fromkeys(("chat", "sessions"), "cli"),
    **dict.fromkeys(("test", "replay", "tail", "tools"), "server,cli"),
    "learn": "learn",
}
"""The extras that commands need; the others need `server`."""


def _not_installed(error: ModuleNotFoundError, options: argparse.Namespace) -> int:
    if (error.name or "").startswith("kefu"):
        raise error
    from kefu import __version__

    command = options.command
    extra = _EXTRAS.get(command, "server")
    if command == "learn" and options.meaning:
        extra += ",meaning"
    sys.stderr.write(
        f"kefu: `kefu {command}` needs a package that is not installed, {error.name}. Install Kefu "
        f"with its extra: pip install './kefu-{__version__}-py3-none-any.whl[{extra}]', or in a "
        f"clone, pip install '.[{extra}]'\n"
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
