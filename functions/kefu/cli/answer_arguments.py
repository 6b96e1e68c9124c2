"""Defines the arguments of the commands that look at answers: `test`, `replay` and `tail`."""

from __future__ import annotations

import argparse

from kefu.cli.arguments import Commands, add_log_dir, add_visitor, positive_integer

EXIT_CODES = """\
exit codes:
  0  every answer is as expected
  1  an answer is not as expected, or there was no answer
  2  wrong usage, a wrong file, or no service to ask
  130  interrupted with Ctrl-C; the results so far are reported
"""


def add_test(commands: Commands) -> None:
    test = commands.add_parser(
        "test",
        help="ask the questions of a file and check the answers",
        description="Ask the questions of a file and check the answers: docs/testing.md.\n"
        "Without --server, a service with the settings of this folder is started and asked.\n"
        "`kefu init` writes an example, questions.yaml.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    test.add_argument(
        "file", metavar="FILE", nargs="?", help="questions and expectations, .yaml or .jsonl"
    )
    test.add_argument(
        "--redteam",
        action="store_true",
        help="also ask 200 questions of attackers, in English and Chinese: injections, other "
        "topics, promises of prices, data of others, abuse of tools",
    )
    test.add_argument(
        "--changed",
        action="store_true",
        help="also ask the questions of stored chats whose cited pages `kefu learn` found changed, "
        "and show both answers",
    )
    _add_asking(test)
    _add_reports(test)


def _add_asking(test: argparse.ArgumentParser) -> None:
    test.add_argument("--server", metavar="URL", help="ask a running service, as the widget does")
    add_visitor(test)
    test.add_argument(
        "--preset", metavar="NAMES", help="use this preset of the service; of `a,b`, each in turn"
    )
    test.add_argument(
        "--repeat",
        metavar="N",
        type=positive_integer,
        default=1,
        help="ask each case so many times; `pass: 0.8` in the file is the share that must pass",
    )
    test.add_argument(
        "--only",
        metavar="TEXT",
        default="",
        help="only cases with this text in their name or group",
    )
    test.add_argument(
        "--jobs",
        metavar="N",
        type=positive_integer,
        default=4,
        help="cases that run at the same time (%(default)s)",
    )
    test.add_argument(
        "--live-tools",
        action="store_true",
        help="really send calls of tools without a result in the file, and clicks on cards to the "
        "service of --server; without it, a run changes nothing in a shop",
    )


def _add_reports(test: argparse.ArgumentParser) -> None:
    test.add_argument(
        "--steps", action="store_true", help="show the calls of tools of cases that pass, too"
    )
    test.add_argument(
        "--judge-model", metavar="NAME", help="model for `judge` and `visitor` (KEFU_MODEL)"
    )
    test.add_argument("--junit", metavar="FILE", help="also write the results as JUnit XML")
    test.add_argument("--markdown", metavar="FILE", help="also write the results as Markdown")
    test.add_argument(
        "--json",
        metavar="FILE",
        help="also write the results as JSON; results that the file has are the last run, with "
        "which this run is compared",
    )


def add_replay(commands: Commands) -> None:
    replay = commands.add_parser(
        "replay",
        help="send questions of the past again, and compare the answers",
        description="Send the requests of a session again, and show both answers side by side with "
        "their tokens and costs (KEFU_PRICES). Without --model and "
        "--system, the requests are the same byte by byte. Tools are not called again: "
        "of a stored chat each request of a turn is sent, and the calls are compared.",
    )
    replay.add_argument(
        "session",
        metavar="SESSION",
        nargs="?",
        help="a log, history/sess_….jsonl; the end of a session's id; with --server, a chat's id",
    )
    replay.add_argument("--server", metavar="URL", help="a service that stores chats")
    replay.add_argument(
        "--rated-down", action="store_true", help="all answers that visitors rated down"
    )
    replay.add_argument("--model", metavar="NAME", help="ask this model")
    replay.add_argument("--base-url", metavar="URL", help="ask this API (KEFU_UPSTREAM_URL)")
    replay.add_argument("--system", metavar="TEXT", help="use this system prompt; @FILE: a file's")
    replay.add_argument("--json", action="store_true", help="print a JSON object for each answer")
    add_log_dir(replay)


def add_tail(commands: Commands) -> None:
    tail = commands.add_parser(
        "tail",
        help="print the chats of a running service as they happen",
        description="Print the messages and answers of stored chats as they happen, until Ctrl-C. "
        "It needs the operator's token in ADMIN_TOKEN, and reads the panel's API every 2 seconds.",
    )
    tail.add_argument(
        "--server",
        metavar="URL",
        default="http://127.0.0.1:8000",
        help="address of the service (%(default)s)",
    )
    tail.add_argument("--errors", action="store_true", help="only chats with a failed answer")
    tail.add_argument("--rated-down", action="store_true", help="only answers rated down")
    tail.add_argument(
        "--minutes", metavar="N", type=float, default=5.0, help="start so long ago (%(default)s)"
    )
    tail.add_argument("--once", action="store_true", help="print what is there, and exit")
    tail.add_argument("--json", action="store_true", help="print each message as a JSON object")
