"""Chooses the configured model, else quotations of the learnt pages ("sample mode")."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from kefu.relay.attempt import Upstream
from kefu.settings import LONGCAT, ConfigurationError, Settings
from kefu.upstream import local_model
from kefu.upstream.client import HttpUpstream


class StartableUpstream(Upstream, Protocol):
    async def warm(self) -> None: ...

    async def aclose(self) -> None: ...


class ChosenModel(NamedTuple):
    upstream: StartableUpstream
    kind: Literal["remote", "local-model", "sample"]
    name: str
    notice: str
    """A notice for the user, such as that the model is a small one for trials."""
    host: str = "127.0.0.1"
    """The name of the upstream's host, without the URL, which may contain a secret."""


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def choose_model(settings: Settings, say: Callable[[str], None] = say) -> ChosenModel:
    """`say` is called with the progress of slow operations.

    Raises ConfigurationError if the small local model is asked for and not installed.
    """
    if not settings.without_model:
        url = settings.upstream_url or LONGCAT
        notice = "No API key is set: set LONGCAT_API_KEYS."
        if settings.keys_place:
            notice = f"No API key could be read from {settings.keys_place}."
        host = urlsplit(url).hostname or ""
        return ChosenModel(HttpUpstream(url), "remote", settings.model, notice, host)
    if settings.model == local_model.NAME:
        return _local(say)
    # Imported here because the analysis of words would slow the start of other services.
    from kefu.upstream import sample

    return ChosenModel(sample.SampleUpstream(), "sample", sample.NAME, sample.NOTICE)


def _local(say: Callable[[str], None]) -> ChosenModel:
    file = local_model.weights()
    if file is None:
        raise ConfigurationError(
            f"KEFU_MODEL: {local_model.NAME} is not installed. Try: make .venv/model"
        )
    return ChosenModel(
        local_model.LocalModel(file, say),
        "local-model",
        local_model.NAME,
        local_model.NOTICE,
    )
