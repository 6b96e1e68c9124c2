"""Defines the arguments of `kefu tools`."""

from __future__ import annotations

import argparse

from kefu.cli.arguments import Commands


def add_tools(commands: Commands) -> None:
    tools = commands.add_parser(
        "tools",
        help="show the tools that the model may call, and try one",
        description="Without an action: show the tools of the settings, and about how many\n"
        "tokens each costs in a request to the model.",
        epilog="exit codes: 0 success, 1 a tool is missing or a call was not carried out, 2 wrong "
        "usage",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = tools.add_subparsers(dest="action", metavar="ACTION")
    call = actions.add_parser(
        "call",
        help="call a tool for real",
        description="Call a tool for real, as the model would, and print what the model would read."
        " A write is sent after you have confirmed its question.",
    )
    call.add_argument("name", metavar="NAME")
    call.add_argument(
        "arguments",
        metavar="KEY=VALUE",
        nargs="*",
        help="a parameter, such as order_id=12345; a list in JSON",
    )
    call.add_argument("--user", metavar="ID", default="", help="as this signed-in user")
    call.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    read = actions.add_parser(
        "import",
        help="write tables for operations of an OpenAPI document",
        description="Print tables [tools.NAME] for operations of an OpenAPI 3 document, for you to "
        "review and to put into kefu.toml. Without operations, list them.",
    )
    read.add_argument("file", metavar="FILE", help="the document, .json or .yaml")
    read.add_argument("operations", metavar="OPERATION", nargs="*", help="its operationId")
    read.add_argument(
        "--base-url", metavar="URL", default="", help="in place of the document's server"
    )
    actions.add_parser(
        "lock",
        help="accept the tools of MCP servers as they are now",
        description="Print what the allowed tools of MCP servers say, if it is new or has changed, "
        "and write its digests into kefu.tools.lock, beside kefu.toml. Only tools that are locked "
        "are offered to the model, and only while they say the same. Read what is printed, and "
        "commit the file.",
    )
