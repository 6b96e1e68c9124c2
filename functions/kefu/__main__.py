"""The command line: `kefu serve`. Every setting is an environment variable."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kefu import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="kefu",
        description="An AI chat widget for any website, and the backend that streams its answers.",
        epilog="Settings are environment variables: see docs/settings.md.",
    )
    parser.add_argument("--version", action="version", version=f"kefu {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="start the service on this machine",
        description="Start the service: the chat API, the widget's script and a demo page. "
        "With no key and no upstream set, a small local model answers.",
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    serve.add_argument("--port", type=int, default=8000, help="0: any free one (%(default)s)")
    options = parser.parse_args(arguments)
    return _serve(options.host, options.port)


def _serve(host: str, port: int) -> int:
    # Imported here: `--help` and other commands need none of it.
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
