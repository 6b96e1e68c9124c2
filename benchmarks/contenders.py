"""The contenders: how each server is started, and the path of its endpoint."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import Server
from tests.fakes.service import SERVED

PEER = "passthrough"


@dataclass(frozen=True)
class Contender:
    name: str
    command: Callable[[str], list[str]]
    """From the upstream's base URL."""
    path: str = "/api/chat"
    env: Callable[[str, Path], Mapping[str, str]] = lambda _upstream, _folder: {}

    def start(self, upstream: str, folder: Path) -> Server:
        env = self.env(upstream, folder)
        return Server(self.command(upstream), env, folder / f"{self.name}.log")


def module(name: str, *arguments: str) -> Callable[[str], list[str]]:
    return lambda upstream: [sys.executable, "-m", name, *arguments, upstream]


def kefu_env(upstream: str, folder: Path, store: str) -> dict[str, str]:
    """All features are on. The limits count each request, but are too high to refuse any."""
    return {
        "KEFU_UPSTREAM_URL": upstream,
        "LONGCAT_API_KEYS": ",".join(f"sk-bench-{n}" for n in range(5)),
        "KEFU_STORE": store.format(folder=folder),
        "KEFU_TRIM": "v1",
        "KEFU_IP_REQUESTS_PER_MINUTE": "10000000",
        "KEFU_DAILY_TOKENS": "1000000000000",
    }


def served(**constants: object) -> list[str]:
    """The command of `kefu serve` with other constants."""
    return [sys.executable, "-P", str(SERVED), json.dumps(constants), "--port", "0"]


def kefu(name: str, store: str) -> Contender:
    return Contender(
        name,
        lambda _: served(max_streams=5000, max_streams_per_ip=0, overload_delay=60.0),
        env=lambda upstream, folder: kefu_env(upstream, folder, store),
    )


BASELINE = Contender(PEER, module("benchmarks.passthrough"))
KEFU = kefu("kefu", "sqlite:///{folder}/kefu.sqlite3")
KEFU_MEMORY = kefu("kefu (memory)", "memory:")
