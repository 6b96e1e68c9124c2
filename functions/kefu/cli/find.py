"""`kefu find`: prints the passages that the model would receive for a question, and the reasons."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.learnt_file import open_learnt_file
from kefu.bootstrap.stores import open_chats
from kefu.errors import StoreUnavailable
from kefu.knowledge.answers import with_answers
from kefu.knowledge.finding import PassageHit
from kefu.sessions.store.answers import WrittenAnswer
from kefu.settings import Settings
from kefu.stores.sqlite.knowledge.answered import AnswerIndex
from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from kefu.terminal.clean import clean
from kefu.terminal.flags import WrongUse, read_settings, wrong_use

Find = Callable[[str, Sequence[str]], Sequence[PassageHit]]


def run(options: argparse.Namespace) -> int:
    """Print the passages. Returns the exit code. Raises WrongUse."""
    if not options.jsonl and not options.question:
        raise WrongUse("name a question, or give questions with --jsonl.")
    settings = read_settings()
    with wrong_use(OSError, ValueError):
        pages = open_learnt_file(options.file or settings.knowledge or "site.kefu")
    answers = None if options.file else _answers(settings)
    find = partial(_found, pages, answers, 8 if options.jsonl else 6)
    return _print_lines(find, sys.stdin) if options.jsonl else _print_found(find, options.question)


def _answers(settings: Settings) -> AnswerIndex | None:
    """The answers of people in the store; None if there are none."""

    async def read() -> Sequence[WrittenAnswer]:
        async with open_chats(settings, SystemClock()) as store:
            return [one for one in await store.answers() if not one.site]

    try:
        stored = asyncio.run(read())
    except FileNotFoundError:
        return None  # no chats are stored, and so no answers
    except StoreUnavailable as error:
        sys.stderr.write(f"kefu: answers of people are left out: {clean(str(error))}\n")
        return None
    return AnswerIndex(stored) if stored else None


def _found(
    pages: KnowledgeFile,
    answers: AnswerIndex | None,
    limit: int,
    question: str,
    before: Sequence[str],
) -> Sequence[PassageHit]:
    found = pages.find(question, before, limit)
    if answers is None:
        return found
    return with_answers(question, before, answers.find(question, before), found, limit)


def _print_found(find: Find, question: str) -> int:
    found = find(question, ())
    if not found:
        sys.stdout.write("Nothing was found.\n")
    for number, one in enumerate(found, 1):
        name = " › ".join(filter(None, (one.cited_as, one.title, one.heading)))
        matched = ", ".join(one.matched)
        sys.stdout.write(f"[{number}] {clean(name)}\n")
        sys.stdout.write(f"    {clean(one.url or one.page)}\n")
        sys.stdout.write(f"    score {one.score:.2f}, matched: {clean(matched)}\n")
        text = clean(one.text).replace("\n", "\n    ")
        sys.stdout.write(f"    {text}\n\n")
    return 0


def _print_lines(find: Find, lines: Iterable[str]) -> int:
    """Answer each line; a line that is no question ends the command with an error."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            question, before = _question(json.loads(line))
        except (KeyError, TypeError, ValueError):
            sys.stderr.write(f'kefu: line {number} is not a question: it needs {{"q": "…"}}\n')
            return 2
        found = [_shown(one) for one in find(question, before)]
        sys.stdout.write(json.dumps({"found": found}, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    return 0


def _question(line: Mapping[str, object]) -> tuple[str, list[str]]:
    question, before = line["q"], line.get("before") or []
    if not isinstance(question, str) or not isinstance(before, list):
        raise TypeError
    return question, [str(turn[0]) for turn in before]


def _shown(one: PassageHit) -> Mapping[str, object]:
    return {
        "page": one.page,
        "url": one.url,
        "title": one.title,
        "heading": one.heading,
        "text": one.text,
        "score": one.score,
    }
