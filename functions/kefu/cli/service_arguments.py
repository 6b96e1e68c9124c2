"""Defines the arguments of the commands that set up and run the service."""

from __future__ import annotations

import argparse

from kefu.cli.arguments import Commands


def add_service(commands: Commands) -> None:
    init = commands.add_parser(
        "init",
        help="write a commented kefu.toml, the file of settings",
        description="Write a file with every setting and a comment for each. The path is that of "
        "KEFU_CONFIG, if it is set, else kefu.toml in the current folder. Beside it, if there is "
        "none, goes an example of questions for `kefu test`.",
    )
    init.add_argument("--force", action="store_true", help="replace a file that exists")
    add_doctor(commands)
    serve = commands.add_parser(
        "serve",
        help="start the service on this machine",
        description="Start the service: the chat API, the widget's script and a demo page. "
        "With no key and no upstream set, answers are quotations of the learnt pages.",
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    serve.add_argument("--port", type=int, default=8000, help="0: any free port (%(default)s)")
    serve.add_argument(
        "--panel",
        action="store_true",
        help="print a link to the operator's panel; without ADMIN_TOKEN, the token is random",
    )
    # For `kefu test`, which starts this command.
    serve.add_argument("--tool-results", default="", help=argparse.SUPPRESS)
    _add_link(commands)


def _add_link(commands: Commands) -> None:
    link = commands.add_parser(
        "admin-link",
        help="print a link to the operator's panel",
        description="Print a link that opens the operator's panel once, within ten minutes. It is "
        "signed with ADMIN_TOKEN, which must be the service's.",
    )
    link.add_argument(
        "--url", default="http://127.0.0.1:8000", help="address of the service (%(default)s)"
    )
    link.add_argument(
        "--name",
        default="",
        help="the name of the operator, which visitors see; each operator needs a link of their "
        "own (default: the operator types one)",
    )
    link.add_argument(
        "--read-only", action="store_true", help="for an operator who may read, and change nothing"
    )
    link.add_argument(
        "--site",
        metavar="NAME",
        default="",
        help="only for the chats and answers of this site: a preset with origins",
    )
    link.add_argument(
        "--list", action="store_true", help="print the open sign-ins of the store, and no link"
    )
    link.add_argument(
        "--end",
        metavar="ID",
        default="",
        help="end the sign-in with this id, or all of the operator with this name; print no link",
    )


def add_erase(commands: Commands) -> None:
    erase = commands.add_parser(
        "erase",
        help="delete all stored chats of a signed-in user, or the requests with an address",
        description="Delete all stored chats of one user of your site, with their texts, ratings,\n"
        "model calls and requests for a person, from the store of the settings. Or delete the\n"
        "requests for a person with an e-mail address, and the chats that they were sent from.\n"
        "After an interruption, run it again: docs/privacy.md.",
        epilog="exit codes:\n"
        "  0  no chat or request of the person is left\n"
        "  1  a chat or request could not be deleted\n"
        "  2  wrong usage, not confirmed, or the store cannot be read\n"
        "  130  interrupted with Ctrl-C",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whose = erase.add_mutually_exclusive_group(required=True)
    whose.add_argument("--user", metavar="SUB", help="the user's id, `sub` in the user token")
    whose.add_argument(
        "--email", metavar="ADDRESS", help="the address in requests for a person, in any case"
    )
    whose.add_argument(
        "--check", metavar="FILE", help="only check a receipt: whether this store has signed it"
    )
    erase.add_argument(
        "--receipt",
        metavar="FILE",
        help="write a signed receipt as JSON: what was deleted and when, and that a second search "
        "finds nothing",
    )
    erase.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    erase.add_argument(
        "--answers",
        action="store_true",
        help="also withdraw the answers for all visitors that were made from the chats",
    )


def add_move(commands: Commands) -> None:
    move = commands.add_parser(
        "move",
        help="copy the store into another database: SQLite or PostgreSQL",
        description="Copy chats, requests for a person, answers of people, sums and the key of\n"
        "session tokens from the store of the settings into another one, which should be empty.\n"
        "Stop Kefu before. After an interruption, run it again. Both are compared at the end.",
        epilog="exit codes:\n"
        "  0  both have the same rows\n"
        "  1  they differ: the other one had rows before, or Kefu was running\n"
        "  2  wrong usage, or a store cannot be read or written\n"
        "  130  interrupted with Ctrl-C",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    move.add_argument(
        "target", metavar="TARGET", help="sqlite:///FILE or postgresql://USER@HOST/NAME"
    )


def add_completion(commands: Commands) -> None:
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description="Print a script that completes commands and flags: "
        'eval "$(kefu completion bash)" in ~/.bashrc, the same with zsh in ~/.zshrc, or '
        "kefu completion fish > ~/.config/fish/completions/kefu.fish",
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))


def add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check an installation, and say how to mend it",
        description="Check this machine: settings, API keys (one short question to the model for "
        "each), store, widget and origins. With --url, check a running service as a visitor's "
        "browser sees it. With --stack, check a deployment on AWS, and its service.",
        epilog="exit codes: 0 no problem, 1 problems were found, 2 wrong usage",
    )
    where = doctor.add_mutually_exclusive_group()
    where.add_argument("--url", metavar="URL", help="address of a running service")
    where.add_argument("--stack", metavar="NAME", help="name of a CloudFormation stack")
    doctor.add_argument(
        "--origin",
        metavar="ORIGIN",
        help="a page that the service must accept, such as https://www.example.com (default: those "
        "of the settings)",
    )
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")
