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

        Without an Origin, which no page of another origin can leave out, the site that has the
        name in the address: browsers send none with a page's GET requests to its own origin. None
        for another name: the preset that such a request names, or that its chat has, decides.
        """
        origin = request.headers.get("origin")
        if origin is not None:
            return self.by_origin.get(origin, "")
        host = request.headers.get("host", "").lower()
        return self.by_origin.get(f"https://{host}", self.by_origin.get(f"http://{host}"))
