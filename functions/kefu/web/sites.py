"""Several sites on one service. The origin of a page decides which one it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request

from kefu.chat.presets import Configs
from kefu.chat.services import Services


class Site(NamedTuple):
    """One of several sites: a preset with origins of its own."""

    services: Services
    """With the limits and the pages of the site."""
    contact_link: str


class Sites(NamedTuple):
    """The sites beside that of the service, whose name is ""."""

    configs: Configs
    by_origin: Mapping[str, str]
    """The name of the site of each of their origins."""
    by_name: Mapping[str, Site]

    def of(self, request: Request) -> str | None:
        """The site of the page that sends a request. The origin was checked before: see `Edge`.

        None without an Origin: no page of another origin can leave it out, and a page may not set
        it. The preset that such a request names, or that its chat has, decides.
        """
        origin = request.headers.get("origin")
        return None if origin is None else self.by_origin.get(origin, "")
