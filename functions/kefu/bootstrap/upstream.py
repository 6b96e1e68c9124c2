"""Chooses the configured model, else quotations of the learnt pages ("sample mode")."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from kefu.chat.prompt import Sampling
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
    sampling: Sampling
    notice: str
    """A notice for the user, such as that the model is a small one for trials."""
    host: str = "127.0.0.1"
    """The name of its host; not the URL, which may contain a secret."""

    @property
    def name(self) -> str:
        return self.sampling.model


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def choose_model(settings: Settings, say: Callable[[str], None] = say) -> ChosenModel:
    """`say` is called with the progress of slow operations.

    Raises ConfigurationError if the small local model is asked for and not installed.
    """
    sampling = Sampling(settings.model, settings.temperature, settings.max_output_tokens)
    if not settings.without_model:
        url = settings.upstream_url or LONGCAT
        notice = "No API key is set: set LONGCAT_API_KEYS."
        if settings.keys_place:
            notice = f"No API key could be read from {settings.keys_place}."
        host = urlsplit(url).hostname or ""
        return ChosenModel(HttpUpstream(url), "remote", sampling, notice, host)
    if settings.model == local_model.NAME:
        return _local(sampling, say)
    # Imported here because the analysis of words would slow the start of other services.
    from kefu.upstream import sample

    quoting = sampling._replace(model=sample.NAME)
    return ChosenModel(sample.SampleUpstream(), "sample", quoting, sample.NOTICE)


def _local(sampling: Sampling, say: Callable[[str], None]) -> ChosenModel:
    file = local_model.weights()
    if file is None:
        raise ConfigurationError(
            f"KEFU_MODEL: {local_model.NAME} is not installed. Try: make .venv/model"
        )
    return ChosenModel(
        local_model.LocalModel(file, say),
        "local-model",
        sampling,
        local_model.NOTICE,
    )
