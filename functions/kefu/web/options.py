"""The configuration values of the web layer, which does not import the settings itself."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Callable
from typing import NamedTuple

IMAGES_OFF = "Pictures are off here: `images = true` in [chat] of kefu.toml turns them on."


class BodyLimits(NamedTuple):
    bytes: int = 65536
    depth: int = 32
    seconds: float = 10.0
    """The time limit for receiving the whole body."""
    too_long: str = ""
    """A sentence for the error about a body that is too long."""
    usual: int = 0
    """Bytes of a body that waits for no place."""
    places: Semaphore | None = None
    """Held while a longer body is received, because each takes memory; None: no limit."""


class WebOptions(NamedTuple):
    origins: tuple[str, ...] = ()
    """The allowed origins, compared exactly; `*` allows all."""
    body: BodyLimits = BodyLimits()
    images: bool = False
    """Whether messages may have images."""
    max_messages: int = 200
    max_message_chars: int = 16000
    on_aws: bool = False
    openai_api: bool = True
    openai_tools: bool = False
    """Whether `/v1` passes tools, tool calls and their results."""
    openai_server_tools: bool = False
    """Whether the model may use the service's tools for clients of `/v1`."""
    contact_link: str = ""
    """The address at which visitors reach a person; "": no link."""
    opens_at: Callable[[float], str | None] | None = None
    """When a person answers again, by Unix time; None as its result: now. None: nobody knows."""
    demo: bool = True
    overload_delay: float = 0.25
    """Seconds by which requests may be late before an overloaded process refuses chats."""
