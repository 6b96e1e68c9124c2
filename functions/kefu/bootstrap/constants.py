"""Numbers of the service that no setting changes."""

from __future__ import annotations

from typing import NamedTuple


class Constants(NamedTuple):
    """Tests give `build` others: smaller limits, shorter waits, a bot check on this machine."""

    trim_chars: int = 6000
    """With `v1` and `v1_steps`: characters of a history, without those of the system prompt."""
    trim_step: float = 0.2
    """With a `trim` that counts tokens: the part of the prompt's room that a cut frees at least, so
    that several prompts begin alike and a provider's prompt cache can serve them."""
    trim_chars_step: float = 0.5
    """The same with `v1_steps`. Its room is small, so a smaller part would soon be full again."""
    session_requests_per_minute: int = 20
    """Messages that one stored chat may send in a minute; 0: no limit."""
    openai_requests_per_minute: int = 120
    """Chats that one key of `KEFU_OPENAI_KEYS` may start in a minute."""
    max_streams: int = 1000
    """Concurrent answers of one process."""
    max_streams_per_ip: int = 50
    """Concurrent answers of one process for one address, if addresses have a limit at all."""
    max_body_bytes: int = 65536
    """The longest request body, unless longer messages are allowed."""
    max_message_chars: int = 16000
    """The longest message."""
    body_timeout: float = 10.0
    """Seconds for a client to send its request."""
    write_timeout: float = 30.0
    """Seconds for a client to read what was sent."""
    store_timeout: float = 0.1
    """Seconds for the store to answer a chat."""
    overload_delay: float = 0.25
    """Seconds by which requests may be late before an overloaded process refuses chats."""
    store_max_mb: int | None = None
    """Megabytes that the store may take, in a file or in memory; 0: no limit. None: those of
    `kefu.bootstrap.stores.limit_of`."""
    raw_days: float = 7.0
    """Days for which the raw requests and responses of calls to the model are stored."""
    max_retries: int = 3
    """Further keys that are tried for one request."""
    max_duration: float | None = None
    """Seconds for a whole answer; None: those of the setting `patience`."""
    bot_check_url: str = ""
    """Where visitors' tokens are verified; "": the address of the provider."""


CONSTANTS = Constants()

SAMPLE = "sample.kefu"
"""The name of the file with the pages of the sample site, which `make run` makes."""

KNOWLEDGE_TOKENS = 2000
"""Tokens of a request that passages of the learnt pages may take."""
LOCAL_KNOWLEDGE_TOKENS = 500
"""The same for the small local model, which reads slowly."""

FILE_MEGABYTES = 1000
"""The store's file may take as much, however small the disk is."""
MEMORY_MEGABYTES = 100
"""Chats in memory may take as much."""

BYTES_PER_CHARACTER = 4
"""Of UTF-8, at most: a body has room for one message of the longest length."""
