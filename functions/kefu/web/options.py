"""What the web edge needs to know of the configuration: plain values, given from outside."""

from __future__ import annotations

from kefu.lean_typing import NamedTuple


class BodyLimits(NamedTuple):
    bytes: int = 65536
    depth: int = 32
    seconds: float = 10.0
    """For the whole body to arrive."""


class WebOptions(NamedTuple):
    origins: tuple[str, ...] = ()
    """Pages that may ask, exact; `*`: all."""
    body: BodyLimits = BodyLimits()
    max_messages: int = 200
    max_message_chars: int = 16000
    temperature: float = 0.5
    max_output_tokens: int = 2048
    trusted_proxy_hops: int = 0
    behind_adapter: bool = False
    """Only the Lambda Web Adapter can reach the server, so its headers are believed."""
    openai_api: bool = True
    demo: bool = True
