"""`kefu replay`: sends questions of the past again and shows both answers side by side."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kefu.agent.events import Log, read_lines
from kefu.bootstrap.operator import operator_of
from kefu.bootstrap.upstream import choose_model
from kefu.chat.prompt import Sampling
from kefu.errors import KefuError
from kefu.evaluation.recorded import (
    Recorded,
    ToolCalled,
    changed,
    final_text,
    has_same_calls,
    of_chat,
    of_log,
)
from kefu.relay.chunks import Usage
from kefu.sessions.turn.call_log import IMAGE_REFERENCE
from kefu.settings import Settings
from kefu.stores.jsonl import SessionLogs
from kefu.terminal.clean import clean
from kefu.terminal.flags import ChatFlags, WrongUse
from kefu.terminal.logs import session_ending_in
from kefu.terminal.model import OpenModel
from kefu.terminal.options import settings_of
from kefu.upstream.kefu_server import KefuServer, ServerVisitor

_ATTEMPTS, _MAX_WAIT_SECONDS = 4, 120
_PAGE_CHATS = 200
"""Chats that the panel's API returns at once."""


class Replayed(NamedTuple):
    recorded: Recorded
    answer: str
    usage: Usage | None
    error: str = ""
    calls: Sequence[ToolCalled] = ()

    @property
    def has_calls(self) -> bool:
        return bool(self.calls or self.recorded.calls)

    @property
    def has_same_calls(self) -> bool:
        return has_same_calls(self.recorded.calls, self.calls)


def run(options: argparse.Namespace) -> int:
    """Replay the requests. Returns the exit code.

    Raises WrongUse, HistoryUnavailable and KefuError.
    """
    if (options.session is None) != options.rated_down:
        raise WrongUse("name a session, or --rated-down with --server")
    if options.rated_down and not options.server:
        raise WrongUse("--rated-down is for --server")
    settings = settings_of(
        ChatFlags(model=options.model, base_url=options.base_url, system=options.system)
    )
    return asyncio.run(_replay(options, settings))


async def _replay(options: argparse.Namespace, settings: Settings) -> int:
    chosen = choose_model(settings)
    model = OpenModel(settings, chosen, keys=chosen.kind == "remote")
    done: list[Replayed] = []
    left_out = pictured = 0
    try:
        await model.warm()
        async for recorded in _recorded(options, settings, chosen.sampling):
            if not recorded.body:
                left_out += 1
                continue
            if IMAGE_REFERENCE.encode() in recorded.body:
                pictured += 1
                continue
            system = settings.system_prompt if options.system is not None else None
            body = changed(recorded.body, options.model, system)
            done.append(await _again(model, recorded, body, chosen.name))
            _show(done[-1], as_json=options.json)
    finally:
        await model.aclose()
    if left_out:
        sys.stderr.write(f"kefu: {left_out} requests were not captured: KEFU_CAPTURE=all\n")
    if pictured:
        sys.stderr.write(f"kefu: {pictured} requests had pictures, which no record has\n")
    if not done:
        raise WrongUse("there is nothing to replay")
    if not options.json:
        sys.stdout.writelines(_totals(done, settings))
    return int(any(one.error for one in done))


async def _recorded(
    options: argparse.Namespace, settings: Settings, sampling: Sampling
) -> AsyncIterator[Recorded]:
    if not options.server:
        for one in of_log(_log(options.session, options.log_dir), sampling):
            yield one
        return
    operator = operator_of(settings)
    if not operator:
        raise WrongUse("--server needs the operator's token, ADMIN_TOKEN")
    server = KefuServer(options.server, ServerVisitor(operator=operator))
    try:
        ids = _ids(server) if options.rated_down else _one(options.session)
        async for name in ids:
            chat = await server.read(f"/admin/api/sessions/{name}/export?format=json")
            for one in of_chat(chat, rated_down=options.rated_down):
                yield one
    finally:
        await server.aclose()


async def _one(name: str) -> AsyncIterator[str]:
    yield name


async def _ids(server: KefuServer) -> AsyncIterator[str]:
    cursor = ""
    while True:
        page = await server.read(f"/admin/api/sessions?limit={_PAGE_CHATS}&cursor={cursor}")
        rows = page["rows"]
        assert isinstance(rows, list)
        for row in rows:
            yield str(row["id"])
        if not page["cursor"]:
            return
        cursor = str(page["cursor"])


def _log(name: str, log_dir: str) -> Log:
    if not Path(name).is_file():
        logs = SessionLogs(Path(log_dir))
        return logs.read(session_ending_in(logs, name))
    with Path(name).open("rb") as lines:
        return read_lines(lines)


async def _again(model: OpenModel, recorded: Recorded, body: bytes, name: str) -> Replayed:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            made = await model.complete(body, name)
            return Replayed(recorded, final_text(made.text), made.usage, calls=made.calls)
        except KefuError as error:
            wait = error.retry_after or 0
            if attempt == _ATTEMPTS or not 0 < wait <= _MAX_WAIT_SECONDS:
                return Replayed(recorded, "", None, error.message)
            await asyncio.sleep(wait)
    raise AssertionError("the last attempt returns")


def _show(one: Replayed, *, as_json: bool) -> None:
    before = one.recorded
    if as_json:
        now = {"answer": one.answer, "usage": _json(one.usage), "error": one.error or None}
        line = {
            "place": before.place,
            "question": before.question,
            "before": {
                "answer": before.answer,
                "usage": _json(before.usage),
                **_calls(one, before),
            },
            "now": {**now, **_calls(one, one)},
            **({"same_calls": one.has_same_calls} if one.has_calls else {}),
        }
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        sys.stdout.flush()
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(clean(f"{before.place}  {before.question}")), title_justify="left")
    table.add_column(f"before, {_tokens(before.usage)}", ratio=1)
    table.add_column(f"now, {_tokens(one.usage)}", ratio=1)
    table.add_row(Text(_side(before.calls, before.answer)), Text(_side(one.calls, one.answer)))
    if one.error or one.has_calls:
        same = "the same calls" if one.has_same_calls else "other calls"
        table.add_row("", Text(clean(one.error) or same))
    table.expand = True
    Console(file=sys.stdout).print(table)


def _json(usage: Usage | None) -> dict[str, int] | None:
    return usage._asdict() if usage else None


def _calls(one: Replayed, of: Recorded | Replayed) -> dict[str, object]:
    """The calls of one side; nothing if neither side has calls."""
    calls = [{"name": name, "arguments": arguments} for name, arguments in of.calls]
    return {"calls": calls} if one.has_calls else {}


def _side(calls: Sequence[ToolCalled], answer: str) -> str:
    """The text of an answer, and the calls of tools after it."""
    return "\n".join(clean(line) for line in (answer, *map(" ".join, calls)) if line)


def _tokens(usage: Usage | None) -> str:
    return f"{usage.prompt} + {usage.completion} tokens" if usage else "tokens unknown"


def _totals(done: Iterable[Replayed], settings: Settings) -> Iterator[str]:
    with_calls = [one for one in done if one.has_calls]
    if with_calls:
        same = sum(one.has_same_calls for one in with_calls)
        yield f"calls:  the same in {same} of {len(with_calls)} answers with calls of tools\n"
    columns = {"before": [one.recorded.usage for one in done], "now": [one.usage for one in done]}
    for name, usages in columns.items():
        known = [usage for usage in usages if usage]
        total = Usage(sum(one.prompt for one in known), sum(one.completion for one in known))
        cost = ""
        if settings.prices:
            prompt, answer = settings.prices
            millionths = total.prompt * prompt + total.completion * answer
            cost = f", cost {millionths / 1e6:.6f}"
        yield f"{name + ':':<8}{_tokens(total)}{cost}\n"
