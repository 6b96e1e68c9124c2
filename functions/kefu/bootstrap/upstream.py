"""Chooses the model: a configured one, else a small local one, else scripted answers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from kefu.relay.completion_stream import Upstream
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
    """A notice for the user, such as that the model is a small one for trials."""
    host: str = "127.0.0.1"
    """The name of its host; not the URL, which may contain a secret."""
    system_prompt: str = ""
    """The system prompt if the settings contain none."""


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def choose_model(settings: Settings, say: Callable[[str], None] = say) -> ChosenModel:
    """`say` is called with the progress of slow operations."""
    if not settings.wants_local_model:
        url = settings.upstream_url or LONGCAT
        notice = "No API key is set: set LONGCAT_API_KEYS."
        if settings.keys_place:
            notice = f"No API key could be read from {settings.keys_place}."
        host = urlsplit(url).hostname or ""
        return ChosenModel(HttpUpstream(url), "remote", settings.model, notice, host)
    if file := local_model.weights():
        upstream = local_model.LocalModel(file, say)
        return ChosenModel(
            upstream,
            "local-model",
            local_model.NAME,
            local_model.NOTICE,
            # With the usual Chinese system prompt, this model answers in wrong languages.
            system_prompt=local_model.SYSTEM_PROMPT,
        )
    return ChosenModel(scripted.ScriptedUpstream(), "scripted", scripted.NAME, scripted.NOTICE)
