"""A page of the web. The module imports no client, because tools without I/O use it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebPage:
    """A response. No redirect is followed."""

    status: int
    type: str
    """The media type, in lower case and without parameters."""
    body: bytes
    whole: bool
    """False if the body was cut at the requested limit."""
    location: str = ""
    """The target of a redirect, else empty."""
