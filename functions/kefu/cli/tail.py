"""`kefu tail`: prints the chats of a running service as they happen."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from typing import Any

from kefu.bootstrap.operator import operator_of
from kefu.errors import UpstreamUnavailable
from kefu.terminal.clean import clean, one_line
from kefu.terminal.flags import WrongUse, read_settings
from kefu.upstream.kefu_server import KefuServer, ServerVisitor

_POLL_SECONDS = 2.0
_OVERLAP_SECONDS = 30.0
"""Seconds of the past that each request covers again, because clocks differ."""
_ENDED_STATUSES = ("ok", "failed", "partial", "interrupted")


def run(options: argparse.Namespace) -> int:
    """Print messages until Ctrl-C. Returns the exit code. Raises WrongUse and KefuError."""
    operator = operator_of(read_settings())
    if not operator:
        raise WrongUse("tail needs the operator's token, ADMIN_TOKEN")
    server = KefuServer(options.server, ServerVisitor(operator=operator))
    asyncio.run(_Tail(server, options).run())
    return 0


class _Tail:
    def __init__(self, server: KefuServer, options: argparse.Namespace) -> None:
        self._server = server
        self._options = options
        self._since = time.time() - options.minutes * 60
        self._printed: set[tuple[str, int]] = set()

    async def run(self) -> None:
        connected = False
        while True:
            try:
                await self._poll()
                connected = True
            except UpstreamUnavailable:
                if not connected:
                    raise
            if self._options.once:
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def _poll(self) -> None:
        errors = "&has_error=true" if self._options.errors else ""
        path = f"/admin/api/sessions?limit=200&since={max(0.0, self._since):.3f}{errors}"
        page: Any = await self._server.read(path)
        for row in reversed(page["rows"]):
            await self._print_new(row["id"])
            self._since = max(self._since, row["updated_at"] - _OVERLAP_SECONDS)

    async def _print_new(self, name: str) -> None:
        chat: Any = await self._server.read(f"/admin/api/sessions/{name}")
        for message in chat["messages"]:
            mark = name, message["id"]
            rated = message.get("rating") == "down"
            if mark in self._printed or message["created_at"] < self._since - _OVERLAP_SECONDS:
                continue
            if message["status"] not in _ENDED_STATUSES or (self._options.rated_down and not rated):
                continue
            self._printed.add(mark)
            self._print(name, message)

    def _print(self, name: str, message: dict[str, Any]) -> None:
        if self._options.json:
            line = json.dumps({"session_id": name, **message}, ensure_ascii=False)
        else:
            at = time.strftime("%H:%M:%S", time.localtime(message["created_at"]))
            who = "visitor" if message["role"] == "user" else "answer"
            notes = [message["status"] if message["status"] != "ok" else ""]
            comment = one_line(clean(message.get("comment") or ""), 300)
            rated = f"rated {message['rating']}" if message.get("rating") else ""
            notes += [f"{rated}: {comment}" if comment else rated]
            note = ", ".join(filter(None, notes))
            text = one_line(clean(message["content"]), 300)
            line = f"{at}  {name[:8]}  {who:<7}  {text}{f'  ({note})' if note else ''}"
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
