"""Numbers of the service that no setting changes."""

from __future__ import annotations

from typing import NamedTuple


class Constants(NamedTuple):
    """Tests pass other values to `build`, such as smaller limits and shorter waits."""

    trim_chars: int = 6000
    """Characters of a history, without the system prompt, if `trim` is `v1` or `v1_steps`."""
    trim_step: float = 0.2
    """The part of the prompt's room that a cut frees at least, with a strategy that counts tokens.
    Several prompts then begin alike, so that a provider's prompt cache can serve them."""
    trim_chars_step: float = 0.5
    """The part that a cut frees with `v1_steps`. The room is small: a smaller part soon fills up.
    """
    session_requests_per_minute: int = 20
    """Messages that one stored chat may send in a minute; 0: no limit."""
    openai_requests_per_minute: int = 120
    """Chats that one key of `KEFU_OPENAI_KEYS` may start in a minute."""
    max_streams: int = 1000
    """Concurrent answers of one process."""
    max_streams_per_ip: int = 50
    """Concurrent answers of one process for one IP address, if the settings limit addresses."""
    max_body_bytes: int = 65536
    """The longest request body, unless longer messages are allowed."""
    max_message_chars: int = 16000
    """The longest message."""
    body_timeout: float = 10.0
    """Seconds for a client to send its request."""
    write_timeout: float = 30.0
    """Seconds for a client to read the sent bytes."""
    store_timeout: float = 0.1
    """Seconds for the store to answer a chat."""
    overload_delay: float = 0.25
    """Seconds by which requests may be late before an overloaded process refuses chats."""
    store_max_mb: int | None = None
    """Megabytes that the store may take, in a file or in memory; 0: no limit. With None,
    `kefu.bootstrap.stores.limit_of` chooses the limit."""
    visitor_mail_seconds: float = 180.0
    """Seconds after which an operator's line that no page has shown is mailed to the visitor. An
    open page asks for lines once a minute or more often, also in a tab in the background."""
    raw_days: float = 7.0
    """Days for which the raw requests and responses of calls to the model are stored."""
    max_retries: int = 3
    """Further keys that are tried for one request."""
    max_duration: float | None = None
    """Seconds for a whole answer; None: the setting `patience` decides."""
    own_port: int = 0
    """The port on which the service listens, to which no tool may connect; 0: not known."""
    bot_check_url: str = ""
    """The address at which visitors' tokens are verified; "": the provider's address."""
    tool_results: str = ""
    """The address of `kefu test`, from which calls of tools get their results; "": from the tools.
    """


CONSTANTS = Constants()

SAMPLE_FILE = "sample.kefu"
"""The name of the file with the pages of the sample site, which `make run` makes."""

KNOWLEDGE_TOKENS = 2000
"""Tokens of a request that passages of the learnt pages may take."""
LOCAL_KNOWLEDGE_TOKENS = 500
"""Tokens of passages in a request to the small local model, which reads slowly."""

FILE_MEGABYTES = 1000
"""Megabytes that the store's file may take, however small the disk is."""
MEMORY_MEGABYTES = 100
"""Megabytes that chats in memory may take."""

BYTES_PER_CHARACTER = 4
"""The longest character in UTF-8. A body has room for one message of the longest length."""
