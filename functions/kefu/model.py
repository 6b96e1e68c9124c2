"""Which model answers: the one that is set, else the small one on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal
from urllib.parse import urlsplit

from kefu.answer import Upstream
from kefu.lean_typing import NamedTuple, Protocol
from kefu.settings import LONGCAT, Settings
from kefu.upstream import local_model, scripted
from kefu.upstream.client import HttpUpstream


class StartableUpstream(Upstream, Protocol):
    async def warm(self) -> None: ...

    async def aclose(self) -> None: ...


class ChosenModel(NamedTuple):
    upstream: StartableUpstream
    kind: Literal["remote", "local-model", "scripted"]
    name: str
    notice: str
    """What a person should know of it."""
    host: str = "127.0.0.1"
    """Where it runs; never a URL, which might hold more."""
    system_prompt: str = ""
    """What it is told where nobody has said anything else."""


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def choose_model(settings: Settings, say: Callable[[str], None] = say) -> ChosenModel:
    """`say` hears what takes a while."""
    if not settings.wants_local_model:
        url = settings.upstream_url or LONGCAT
        notice = "No API key is set: set LONGCAT_API_KEYS."
        if settings.keys_from:
            notice = "No API key could be read from where KEFU_KEYS_FROM says."
        host = urlsplit(url).hostname or ""
        return ChosenModel(HttpUpstream(url), "remote", settings.model, notice, host)
    if file := local_model.weights():
        upstream = local_model.LocalModel(file, say)
        return ChosenModel(
            upstream,
            "local-model",
            local_model.NAME,
            local_model.NOTICE,
            # Told who it is in Chinese, as others are, it answers in odd languages.
            system_prompt=local_model.SYSTEM_PROMPT,
        )
    return ChosenModel(scripted.ScriptedUpstream(), "scripted", scripted.NAME, scripted.NOTICE)
