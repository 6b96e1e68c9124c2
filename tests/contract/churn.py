"""A process that creates and deletes chats in a file: `python -m tests.contract.churn FILE N`.

Eight writers share N chats. Every second chat is searched for and deleted as soon as it is
complete, while the other writers continue. Each line on stdout is the number of a chat whose
deletion was confirmed; the last line is `done`. The process ends with its stdin. With N = 0 it only
opens the file.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from kefu.sessions.store.model import NewMessage, Retention, Session, SessionId, TurnOutcome
from kefu.sessions.store.overview import SessionFilter
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.store import SqliteStore
from tests.contract.chats import body, call

WRITERS = 8
TURNS = 5
MARK = re.compile(rb"<(\d+):\w>")


def name_of(number: int) -> SessionId:
    """A session id. The ids are spread over the whole range of keys, as real ones are."""
    return SessionId(f"{random.Random(number).getrandbits(128):032x}")


def text(number: int, kind: str, size: int) -> str:
    """A text that repeats the number of its chat, so that every part of it can be recognised."""
    return f"<{number}:{kind}>" * max(1, size // 8)


def numbers_in(*files: Path) -> set[int]:
    """The chats whose text occurs in these files, also in unused pages."""
    content = b" ".join(path.read_bytes() for path in files if path.exists())
    return {int(found) for found in MARK.findall(content)}


async def fill(chats: Sessions, number: int) -> SessionId:
    """Store a complete chat, and let the other writers run after each write."""
    dice = random.Random(number)
    name, now = name_of(number), time.time()
    session = Session(name, text(number, "title", 40), "default", now, now)
    for turn in range(TURNS):
        now = session.created_at if turn == 0 else time.time()
        asked = NewMessage(text(number, "q", dice.randrange(10, 600)), f"id-{number}-{turn}")
        begun = await chats.begin(session, asked, now)
        image = text(number, "i", dice.randrange(10, 3000)).encode()
        await chats.save_images(name, begun.message.id, [image])
        await asyncio.sleep(0)
        ended = TurnOutcome("ok", text(number, "a", dice.randrange(10, 3000)))
        await chats.finish(name, begun.message.id, ended, time.time())
        await asyncio.sleep(0)
        if turn == TURNS - 1:
            comment = text(number, "c", dice.randrange(10, 300))
            await chats.rate(name, f"id-{number}-{turn}", "down", comment)
        sent = body([{"role": "user", "content": asked.content}], x=str(dice.random()) * 9)
        made = call(begun.message.id, now, request=sent)._replace(session_id=name)
        await chats.record(made)
    return name


async def work(chats: Sessions, numbers: Iterator[int]) -> None:
    for number in numbers:
        name = await fill(chats, number)
        if number % 2:
            # A search adds the turns so far to its index, with those of this chat.
            await chats.newest(SessionFilter(text=f"{number}"), None, 5, time.time())
            await chats.delete(name)
            print(number, flush=True)


async def main(file: str, count: int) -> None:
    store = SqliteStore(file, time.time)
    chats = store.sessions(Retention())
    await store.cooldowns()
    numbers = iter(range(count))
    await asyncio.gather(*(work(chats, numbers) for _ in range(WRITERS)))
    print("done", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
