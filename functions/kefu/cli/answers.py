"""`kefu answers`: lists, exports, imports and withdraws the answers that people wrote."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.stores import open_chats
from kefu.knowledge.personal import personal_marks
from kefu.sessions.people.answer_files import as_file, file_name, from_file
from kefu.sessions.store.answers import MAX_ANSWERS, WrittenAnswer
from kefu.sessions.store.ports import Sessions
from kefu.settings import Settings
from kefu.terminal.clean import clean, one_line
from kefu.terminal.flags import WrongUse, read_settings, wrong_use

Files = Mapping[Path, WrittenAnswer]


def run(options: argparse.Namespace) -> int:
    """Returns the exit code. Raises WrongUse and StoreUnavailable."""
    settings = read_settings()
    if options.action == "import" and not Path(options.folder).is_dir():
        raise WrongUse(f"{options.folder} is not a folder.")
    with wrong_use(OSError):
        return asyncio.run(_run(settings, options))


async def _run(settings: Settings, options: argparse.Namespace) -> int:
    clock = SystemClock()
    # Answers may be imported before the service has started once.
    async with open_chats(settings, clock, makes=options.action == "import") as store:
        if options.action == "export":
            return _export(await store.answers(), Path(options.folder), mirror=options.mirror)
        if options.action == "import":
            return await _import(store, options, clock.now())
        if options.action == "withdraw":
            return await _withdraw(store, options.id)
        return _list(await store.answers())


def _list(stored: Sequence[WrittenAnswer]) -> int:
    for one in stored:
        day = f"{datetime.fromtimestamp(one.updated_at, UTC):%Y-%m-%d}"
        author = one_line(one.author, 60) or "-"
        sys.stdout.write(f"{one.id}  {day}  {author}  {one_line(one.question, 200)}\n")
    if not stored:
        sys.stdout.write("There is no answer.\n")
    return 0


def _export(stored: Sequence[WrittenAnswer], folder: Path, *, mirror: bool) -> int:
    """Write a file for each answer. An answer that has a file in the folder keeps its name."""
    folder.mkdir(parents=True, exist_ok=True)
    files, _ = _read(folder, 0.0)
    places = {one.id: path for path, one in files.items()}
    for one in stored:
        path = places.pop(one.id, None) or _new_path(folder, one)
        path.write_text(as_file(one), "utf-8", newline="\n")
    for path in places.values() if mirror else ():
        path.unlink()
        sys.stdout.write(f"Removed: {clean(str(path))}\n")
    sys.stdout.write(f"Answers written to {clean(str(folder))}: {len(stored)}\n")
    return 0


def _new_path(folder: Path, answer: WrittenAnswer) -> Path:
    """A path that no file has: several answers may have the same question."""
    more = (f"{answer.id}-{number}.md" for number in count(2))
    names = chain((file_name(answer), f"{answer.id}.md"), more)
    return next(path for name in names if not (path := folder / name).exists())


async def _import(store: Sessions, options: argparse.Namespace, now: float) -> int:
    """Save the answers of a folder; none if a file is wrong, or may name a person."""
    files, problems = _read(Path(options.folder), now)
    if not options.reviewed:
        problems += [text for path, one in files.items() for text in _marked(path, one)]
    stored = {one.id: one for one in await store.answers()}
    if len(stored.keys() | {one.id for one in files.values()}) > MAX_ANSWERS:
        problems.append(f"a service has at most {MAX_ANSWERS} answers")
    if len({one.id for one in files.values()}) < len(files):
        problems.append("two files have the same id")
    if problems:
        sys.stderr.write("".join(f"kefu: {clean(one)}\n" for one in problems))
        sys.stderr.write("kefu: nothing was imported.\n")
        return 1
    changed = [new for one in files.values() if (new := _new(one, stored.get(one.id), now))]
    for one in changed:
        await store.save_answer(one)
    gone = stored.keys() - {one.id for one in files.values()} if options.mirror else set()
    for id in gone:
        await store.withdraw_answer(id)
    sys.stdout.write(f"Answers read: {len(files)}, saved: {len(changed)}, withdrawn: {len(gone)}\n")
    return 0


def _new(one: WrittenAnswer, stored: WrittenAnswer | None, now: float) -> WrittenAnswer | None:
    """The answer to be saved; None if nothing has changed.

    An answer that was edited in its file, where its time stayed, has the time of the import.
    """
    if stored is None:
        return one
    same = one._replace(
        session_id=stored.session_id, created_at=stored.created_at, updated_at=stored.updated_at
    )
    if same == stored:
        return None
    at = one.updated_at if one.updated_at > stored.updated_at else now
    return same._replace(updated_at=at)


def _read(folder: Path, now: float) -> tuple[Files, list[str]]:
    """The answers of the files in a folder, and what is wrong with others. Raises OSError."""
    files, problems = dict[Path, WrittenAnswer](), list[str]()
    for path in sorted(folder.rglob("*.md")):
        if path.stem.upper() == "README":
            continue
        try:
            name = path.relative_to(folder).as_posix()
            files[path] = from_file(path.read_text("utf-8"), name, now)
        except ValueError as error:  # also of a file that is not UTF-8
            problems.append(f"{path}: {error}")
    return files, problems


def _marked(path: Path, answer: WrittenAnswer) -> list[str]:
    marked = [
        text[one.start : one.end]
        for text in (answer.question, answer.text)
        for one in personal_marks(text)
    ]
    shown = ", ".join(f"“{one}”" for one in marked)
    return [f"{path}: may name a person: {shown}. If all may read it: --reviewed"] if marked else []


async def _withdraw(store: Sessions, ids: Sequence[str]) -> int:
    missing = [id for id in ids if not await store.withdraw_answer(id)]
    for id in missing:
        sys.stderr.write(f"kefu: there is no answer {clean(id)}.\n")
    sys.stdout.write(f"Answers withdrawn: {len(ids) - len(missing)}\n")
    return 1 if missing else 0
