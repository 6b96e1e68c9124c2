"""Chooses the configured model, else quotations of the learnt pages ("sample mode")."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from kefu.chat.prompt import Sampling
from kefu.relay.attempt import Upstream
from kefu.settings import ConfigurationError, Settings
from kefu.settings.endpoint import Endpoint
from kefu.settings.fields import place_in
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
    """The name of the upstream's host, without the URL, which may contain a secret."""

    @property
    def name(self) -> str:
        return self.sampling.model


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def sampling_of(settings: Settings, model: str) -> Sampling:
    return Sampling(model, settings.temperature, settings.max_output_tokens, settings.parameters)


def upstream_at(endpoint: Endpoint) -> HttpUpstream:
    """The upstream. Its values that are stored in AWS are to be read: see `stored_values`."""

    def known(values: Mapping[str, str]) -> dict[str, str]:
        return {name: "" if place_in(text) else text for name, text in values.items()}

    made = HttpUpstream(endpoint.url)
    made.use(query=known(endpoint.query), headers=known(endpoint.headers))
    return made


class StoredValue(NamedTuple):
    """A header, or a value of the query, that is stored in AWS."""

    place: str
    what: str
    """Its name in log lines."""
    set_secrets: Callable[[tuple[str, ...]], None]


def stored_values(endpoint: Endpoint, upstream: Upstream) -> Iterator[StoredValue]:
    """`upstream` is the one at the endpoint, which gets the values."""
    for kind, values in (("query", endpoint.query), ("headers", endpoint.headers)):
        for name, text in values.items():
            if isinstance(upstream, HttpUpstream) and (place := place_in(text)):
                use = partial(_use, upstream, kind, name)
                yield StoredValue(place, f"{name} of the model's {kind}", use)


def _use(upstream: HttpUpstream, kind: str, name: str, secrets: tuple[str, ...]) -> None:
    if len(secrets) > 1:
        raise ValueError("holds more than one value")
    upstream.use(**{kind: {name: secrets[0]}})


def choose_model(settings: Settings, say: Callable[[str], None] = say) -> ChosenModel:
    """`say` is called with the progress of slow operations.

    Raises ConfigurationError if the small local model is asked for and not installed.
    """
    sampling = sampling_of(settings, settings.model)
    if not settings.without_model:
        endpoint = settings.endpoint
        notice = "No API key is set: set KEFU_API_KEYS."
        if settings.keys_place:
            notice = f"No API key could be read from {settings.keys_place}."
        host = urlsplit(endpoint.url).hostname or ""
        return ChosenModel(upstream_at(endpoint), "remote", sampling, notice, host)
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
