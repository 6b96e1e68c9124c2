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
    is_site: bool = False
    """Whether only the pages of its origins may use it."""

    @property
    def site(self) -> str:
        """The site that uses the preset; "" for that of the service."""
        return self.id if self.is_site else ""


class Configs(NamedTuple):
    by_id: Mapping[str, Config]
    default: str = DEFAULT

    def site_of(self, config_id: str) -> str:
        """The site of a preset, which has its name; "" for the site of the service."""
        config = self.by_id.get(config_id)
        return config.site if config else ""

    def chosen(self, config_id: str | None, site: str | None = None) -> Config:
        """The preset for a new chat.

        `site`: that of the page; None if it is not known. Raises InvalidRequest for an unknown
        name, and for a preset of another site.
        """
        name = site or self.default if config_id is None else config_id
        if name not in self.by_id or (site is not None and self.site_of(name) != site):
            raise InvalidRequest("config_id: there is no such preset.", param="config_id")
        return self.by_id[name]

    def serves(self, config_id: str, site: str | None) -> bool:
        """Whether the pages of a site may see a stored chat with this preset."""
        return site is None or self.site_of(config_id) == site

    def of_session(self, config_id: str) -> Config:
        """The preset of a stored chat; the default one if its preset was removed."""
        return self.by_id.get(config_id) or self.by_id[self.default]
