"""Named presets of the server. A page chooses a preset by name and cannot change its values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kefu.chat.prompt import PromptPolicy, Sampling
from kefu.errors import InvalidRequest

DEFAULT = "default"


class Config(NamedTuple):
    """One preset."""

    id: str
    sampling: Sampling
    policy: PromptPolicy
    """The system prompt, and the trimming of the history."""
    api_type: str = "openai"
    tools: tuple[str, ...] | None = None
    """The names of its tools; None for all."""


class Configs(NamedTuple):
    by_id: Mapping[str, Config]
    default: str = DEFAULT

    def chosen(self, config_id: str | None) -> Config:
        """The preset for a new chat. Raises InvalidRequest for an unknown name."""
        name = self.default if config_id is None else config_id
        if name not in self.by_id:
            raise InvalidRequest("config_id: there is no such config.", param="config_id")
        return self.by_id[name]

    def of_session(self, config_id: str) -> Config:
        """The preset of a stored chat; the default one if its preset was removed."""
        return self.by_id.get(config_id) or self.by_id[self.default]
