"""The parameters of a request to a model: those of the owner, and those that a model refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

LIMIT: Final = "max_tokens"
NEW_LIMIT: Final = "max_completion_tokens"
"""The name of `max_tokens` for OpenAI's reasoning models."""

_REFUSABLE: Final = (LIMIT, "temperature", "stream_options", "stop", "seed")
"""Fields that a model may refuse, and that a request can do without, or under another name."""

_REFUSES: Final = re.compile(
    r"unsupported|not support|deprecated|not permitted|not allowed|extra (inputs|fields)"
    r"|extraneous|only \S+ is allowed|un(known|recognized|expected)|unsupported_(parameter|value)",
    re.IGNORECASE,
)
"""Words of an error about a parameter that the model does not take, rather than its value."""


def with_parameters(fields: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request with the owner's parameters.

    Their `max_completion_tokens` takes the place of `max_tokens`, which stays the upper limit.
    """
    made = {**fields, **parameters}
    if NEW_LIMIT in parameters:
        made[NEW_LIMIT] = min(made[NEW_LIMIT], made.pop(LIMIT, made[NEW_LIMIT]))
    return made


def refused_parameter(body: Mapping[str, object]) -> str:
    """The field of the request that an error's body says the model does not take; else empty."""
    error = body.get("error", body)
    facts = error if isinstance(error, dict) else {"message": error}
    text = " ".join(str(facts.get(name) or "") for name in ("message", "detail", "code", "param"))
    if not _REFUSES.search(text):
        return ""
    named = [name for name in _REFUSABLE if re.search(rf"\b{name}\b", text)]
    return str(facts["param"]) if facts.get("param") in named else "".join(named[:1])


class Parameters:
    """How the requests to one upstream differ from those that the callers of the relay make."""

    def __init__(
        self,
        model: str = "",
        own: Mapping[str, object] = MappingProxyType({}),
        left_out: Collection[str] = (),
    ) -> None:
        """`model` replaces the model in the request; empty to leave it. `own` are the parameters of
        a second upstream, and `left_out` the names of those of the first, which it never gets.
        """
        self.model = model
        self.own = own
        self.left_out = left_out
        self._refused: dict[str, set[str]] = {}
        """What each model has refused in this process."""
        self.differ = bool(model or own or left_out)
        """Whether `apply` changes anything."""

    def apply(self, body: bytes) -> bytes:
        """The body of a request for this upstream."""
        fields = json.loads(body)
        if NEW_LIMIT in self.left_out and NEW_LIMIT in fields:
            fields[LIMIT] = fields[NEW_LIMIT]
        fields = {name: value for name, value in fields.items() if name not in self.left_out}
        fields = with_parameters(fields, self.own)
        fields["model"] = self.model or fields["model"]
        refused = self._refused.get(fields["model"], set())
        if LIMIT in refused and LIMIT in fields:
            fields[NEW_LIMIT] = fields[LIMIT]
        fields = {name: value for name, value in fields.items() if name not in refused}
        return json.dumps(fields).encode()

    def learn(self, sent: bytes, refused: str) -> str:
        """Remember a parameter that the model of the request `sent` refuses.

        Returns what is done instead, for the log; empty if the request did not have it.
        """
        fields = json.loads(sent)
        if refused not in fields:
            return ""
        known = self._refused.setdefault(fields["model"], set())
        known.add(refused)
        self.differ = True
        if refused != LIMIT:
            return f"the model refuses {refused}: none is sent"
        # It is a reasoning model, which refuses these in the next answer.
        known.update(("temperature", "stop"))
        return f"the model refuses {LIMIT}: {NEW_LIMIT} is sent, and no temperature"
