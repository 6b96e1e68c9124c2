"""Opens the model that reads answers and writes messages for `kefu test`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kefu.bootstrap.upstream import choose_model
from kefu.chat.prompt import request_body
from kefu.evaluation.judge import Complete
from kefu.messages import Message
from kefu.settings import Settings
from kefu.terminal.flags import WrongUse
from kefu.terminal.model import OpenModel


@asynccontextmanager
async def model_for_tests(settings: Settings, name: str | None) -> AsyncIterator[Complete]:
    """The model of the settings, or `name` of its provider. Raises WrongUse without a model."""
    chosen = choose_model(settings)
    if chosen.kind == "sample":
        raise WrongUse("judge and visitor need a model: set KEFU_API_KEYS or KEFU_UPSTREAM_URL.")
    name = name or chosen.name
    sampling = chosen.sampling._replace(model=name, max_tokens=500).asked(0.0)
    model = OpenModel(settings, chosen, keys=chosen.kind == "remote")

    async def complete(prompt: str) -> str:
        body = request_body([Message("user", prompt)], sampling)
        return (await model.complete(body, name)).text

    try:
        await model.warm()
        yield complete
    finally:
        await model.aclose()
