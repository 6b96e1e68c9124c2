"""Defines the arguments of the commands about learnt pages: `learn`, `find`, `gaps`, `answers`."""

from __future__ import annotations

import argparse

from kefu.cli.arguments import Commands

EXIT_CODES = """\
exit codes:
  0  the file was written
  1  no page was learnt, or the file could not be written
  2  wrong usage
  3  fewer than half of the last run's pages were found, so the old file was kept
  4  --check: over 3 % of the pages do not find themselves; the file was written
"""


def add_learn(commands: Commands) -> None:
    learn = commands.add_parser(
        "learn",
        help="learn the pages of a site, for answers with sources",
        description="Learn the pages of sites, folders and files, so that answers come from them\n"
        "and name them. A second run asks a site only for changed pages.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    learn.add_argument(
        "sources",
        nargs="*",
        metavar="SOURCE",
        help="the address of a site or a part of it, a folder, or a file (.md .mdx .html .txt .pdf "
        ".docx, or .csv with the columns question and answer); default: KEFU_KNOWLEDGE_SOURCES",
    )
    learn.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="site.kefu",
        help="the file of learnt pages (%(default)s)",
    )
    _add_reading(learn)
    learn.add_argument(
        "--check",
        action="store_true",
        help="then ask each title and heading as a question, and name the pages in doubt",
    )
    learn.add_argument(
        "--show", action="store_true", help="print the text that is kept of one page, and stop"
    )


def _add_reading(learn: argparse.ArgumentParser) -> None:
    learn.add_argument(
        "--url",
        metavar="URL",
        default="",
        help="where the pages of a folder lie on the web, for links to them",
    )
    learn.add_argument(
        "--allow-private",
        action="store_true",
        help="also read the named sites if they are on this machine or in its network",
    )
    learn.add_argument(
        "--meaning",
        action="store_true",
        help="also find pages in other words or languages than the question's (kefu[meaning])",
    )
    learn.add_argument(
        "--pages",
        metavar="NUMBER",
        type=int,
        default=2000,
        help="pages of a site that are read at most, in 30 minutes for each 2000; the next run "
        "goes on with the others (%(default)s)",
    )


def add_find(commands: Commands) -> None:
    find = commands.add_parser(
        "find",
        help="show the passages that are found for a question",
        description="Show the passages of the learnt pages that would be given to the model for a "
        "question, best first, with their scores and the terms that matched.",
    )
    find.add_argument("question", nargs="?", help="the visitor's question")
    find.add_argument(
        "--file",
        metavar="FILE",
        default="",
        help="the file of learnt pages (default: KEFU_KNOWLEDGE, else site.kefu)",
    )
    find.add_argument(
        "--jsonl",
        action="store_true",
        help='read lines such as {"q": "…", "before": [["question", "answer"]]} from standard '
        "input, and write a line with at most eight passages for each",
    )


def add_gaps(commands: Commands) -> None:
    gaps = commands.add_parser(
        "gaps",
        help="show the questions that the learnt pages did not answer",
        description="Show the questions of stored chats that the learnt pages did not answer or "
        "whose answer was rated down, grouped by equal words; then the pages that no answer cited, "
        "and those that could not be read. It reads the calls of the last 7 days. "
        "Exit code 1: the pages were learnt more than 3 days ago.",
    )
    gaps.add_argument("--csv", action="store_true", help="print the questions alone, as CSV")


def add_answers(commands: Commands) -> None:
    answers = commands.add_parser(
        "answers",
        help="show, export, import and withdraw the answers that people wrote",
        description="Without an action: list the answers that people wrote to questions of\n"
        "visitors, newest first, from the store of the settings. A running service takes a\n"
        "change within two seconds.",
        epilog="exit codes: 0 success, 1 a file is wrong or an answer is missing, 2 wrong usage, "
        "or the store cannot be read",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = answers.add_subparsers(dest="action", metavar="ACTION")
    export = actions.add_parser(
        "export",
        help="write a Markdown file for each answer",
        description="Write a Markdown file for each answer into a folder. A file keeps its name.",
    )
    export.add_argument("folder", metavar="FOLDER")
    export.add_argument(
        "--mirror", action="store_true", help="remove the files of answers that are no longer there"
    )
    read = actions.add_parser(
        "import",
        help="save the answers of a folder",
        description="Save the answers of the Markdown files in a folder and below it. A file "
        "begins with `---`, a line such as `question: Do you deliver to Norway?`, and `---`; the "
        "lines author, page, id, created and updated may follow that of question.",
    )
    read.add_argument("folder", metavar="FOLDER")
    read.add_argument(
        "--mirror", action="store_true", help="withdraw the answers that have no file in the folder"
    )
    read.add_argument(
        "--reviewed",
        action="store_true",
        help="also save answers with what may be a name, an address or a number of a visitor",
    )
    withdraw = actions.add_parser(
        "withdraw",
        help="delete answers",
        description="Delete answers: no visitor gets them any more.",
    )
    withdraw.add_argument("id", metavar="ID", nargs="+")
