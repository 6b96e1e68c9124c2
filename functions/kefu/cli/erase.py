"""`kefu erase`: deletes the stored data of one person."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from kefu.bootstrap.erase import (
    Erased,
    answers_from,
    chats_of,
    erase,
    facts_in,
    receipt_of,
    requests_from,
    withdraw,
)
from kefu.sessions.store.answers import WrittenAnswer
from kefu.sessions.store.contacts import ContactRequest
from kefu.sessions.store.model import SessionId
from kefu.settings import Settings
from kefu.terminal.clean import one_line
from kefu.terminal.flags import WrongUse, read_settings, wrong_use
from kefu.terminal.progress import ProgressLine

NOT_ERASED = """\
Not deleted, because it does not say whose it is or is not in the store: backups and exports,
what the webhook or the mailbox received, {rest}the log, questions.yaml, and the data of the
model's provider.
"""
DELETE = "Delete them with all their texts and requests for a person?"
WITHDRAW = "Withdraw the answers, too?"
OF_OTHERS = {
    "user": "requests for a person without a stored chat, chats\nwithout login, ",
    "email": "chats without such a request, requests without an address, ",
}


def run(options: argparse.Namespace) -> int:
    """Delete the data of one person. Returns the exit code. Raises WrongUse, StoreUnavailable."""
    if options.check:
        return _check(read_settings(), Path(options.check))
    if options.email is not None:
        return _erase_email(read_settings(), options)
    return _erase_user(read_settings(), options)


def _erase_user(settings: Settings, options: argparse.Namespace) -> int:
    """Ask, unless `--yes` confirms it, and delete the chats. Returns the exit code.

    Raises WrongUse for an empty user and when no chats are stored, and StoreUnavailable.
    """
    user: str = options.user
    if not user:  # in a store, "" is the user of all anonymous chats
        raise WrongUse("--user is empty")
    progress, shown = ProgressLine(), one_line(user, 256)

    def reading(items: int, found: int) -> None:
        progress.show(f"{items} items read, {found} chats found …")

    try:
        with wrong_use(OSError):
            chats = asyncio.run(chats_of(settings, user, reading))
    finally:
        progress.erase()
    if not chats:
        sys.stdout.write(f"No chat of {shown} is stored.\n")
        return 0
    sys.stdout.write(f"Stored chats of {shown}: {len(chats)}\n")
    return _finish(settings, chats, (), options)


def _erase_email(settings: Settings, options: argparse.Namespace) -> int:
    """Delete the requests with an address, and the chats from which they were sent."""
    email: str = options.email
    if not email.strip():  # the address of requests whose form has none
        raise WrongUse("--email is empty")
    with wrong_use(OSError):
        requests = asyncio.run(requests_from(settings, email))
    shown = one_line(email, 256)
    if not requests:
        sys.stdout.write(f"No request for a person from {shown} is stored.\n")
        return 0
    chats = [SessionId(id) for id in dict.fromkeys(one.session_id for one in requests) if id]
    sys.stdout.write(f"Requests for a person from {shown}: {len(requests)}\n")
    sys.stdout.write(f"Chats that they were sent from: {len(chats)}\n")
    return _finish(settings, chats, requests, options)


def _finish(
    settings: Settings,
    chats: Sequence[SessionId],
    requests: Sequence[ContactRequest],
    options: argparse.Namespace,
) -> int:
    answers = asyncio.run(answers_from(settings, chats))
    _name(answers)
    if not options.yes and not _confirmed(DELETE):
        sys.stdout.write("Nothing was deleted.\n")
        return 2
    if options.receipt:
        with wrong_use(OSError):
            Path(options.receipt).touch()
    # First: only the chats lead to the answers.
    withdrawn = _finish_answers(settings, answers, options)
    erased = asyncio.run(_erase(settings, chats, requests))
    failed = sum(1 for one in erased if one.problem)
    count, kind = len(chats) + len(requests), "email" if requests else "user"
    what = "chats and requests" if requests else "chats"
    left = NOT_ERASED.format(rest=OF_OTHERS[kind])
    sys.stdout.write(f"Deleted {what}: {count - failed} of {count}\n{left}")
    if options.receipt:
        done = {one.id for one in erased if not one.problem}
        facts = {
            "erased_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "found_by": kind,
            "chats": [one for one in chats if one in done],
            "requests": [one.id for one in requests if one.id in done],
            "answers": withdrawn,
            "not_deleted": [one.id for one in erased if one.problem],
            "found_afterwards": _found_again(settings, options),
            "not_reached": " ".join(left.split()),
        }
        Path(options.receipt).write_text(asyncio.run(receipt_of(settings, facts)), "utf-8")
    return 1 if failed else 0


def _found_again(settings: Settings, options: argparse.Namespace) -> int:
    """The number of chats, or of requests, that the same search finds after the deletion."""
    if options.email is not None:
        return len(asyncio.run(requests_from(settings, options.email)))
    return len(asyncio.run(chats_of(settings, options.user, lambda _items, _found: None)))


def _check(settings: Settings, path: Path) -> int:
    """Say whether a receipt is as this store signed it. Returns the exit code. Raises WrongUse."""
    with wrong_use(OSError, UnicodeDecodeError):
        facts = asyncio.run(facts_in(settings, path.read_text("utf-8")))
    if facts is None:
        sys.stderr.write(f"kefu: {path} was not written by this store, or was changed.\n")
        return 1
    sys.stdout.write(f"{path} is as this store signed it, {facts['erased_at']}.\n")
    return 0


def _name(answers: Sequence[WrittenAnswer]) -> None:
    """Name the answers for all visitors that were made from the chats."""
    if answers:
        sys.stdout.write(f"Answers for all visitors made from them: {len(answers)}\n")
    for one in answers:
        sys.stdout.write(f"  {one.id}  {one_line(one.question, 200)}\n")


def _finish_answers(
    settings: Settings, answers: Sequence[WrittenAnswer], options: argparse.Namespace
) -> list[str]:
    """Returns the ids of the withdrawn answers."""
    if answers and (options.answers or (not options.yes and _confirmed(WITHDRAW))):
        asyncio.run(withdraw(settings, answers))
        sys.stdout.write(f"Answers withdrawn: {len(answers)}\n")
        return [one.id for one in answers]
    if answers:
        sys.stdout.write("The answers stay. Withdraw them with `kefu answers withdraw ID`.\n")
    return []


async def _erase(
    settings: Settings, chats: Sequence[SessionId], requests: Sequence[ContactRequest]
) -> list[Erased]:
    """Delete all that was found, and print a line for each."""
    erased = list[Erased]()
    async for one in erase(settings, chats, requests):
        erased.append(one)
        if one.problem:
            sys.stderr.write(f"kefu: {one.id} was not deleted: {one_line(one.problem, 400)}\n")
        else:
            sys.stdout.write(f"Deleted: {one.id}\n")
            sys.stdout.flush()
    return erased


def _confirmed(question: str) -> bool:
    """Whether the operator confirms. Without a terminal, nobody can."""
    if not sys.stdin.isatty():
        sys.stderr.write("kefu: without a terminal, confirm with --yes.\n")
        return False
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
