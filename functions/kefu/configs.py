"""Named presets of the server. A page chooses one by its name, and says nothing else of it."""

from __future__ import annotations

from collections.abc import Mapping

from kefu.errors import InvalidRequest
from kefu.lean_typing import NamedTuple
from kefu.prompt import PromptPolicy

DEFAULT = "default"


class Config(NamedTuple):
    id: str
    model: str
    temperature: float
    max_tokens: int
    policy: PromptPolicy
    """Its system prompt, and how a history is cut to what its model takes."""
    api_type: str = "openai"


class Configs(NamedTuple):
    known: Mapping[str, Config]
    default: str = DEFAULT

    def chosen(self, config_id: str | None) -> Config:
        """What a new chat goes by. Raises InvalidRequest for a name that is not there."""
        name = self.default if config_id is None else config_id
        if name not in self.known:
            raise InvalidRequest("config_id: there is no such config.", param="config_id")
        return self.known[name]

    def of_session(self, config_id: str) -> Config:
        """What a chat goes on by: the default one if its own is there no longer."""
        return self.known.get(config_id) or self.known[self.default]
