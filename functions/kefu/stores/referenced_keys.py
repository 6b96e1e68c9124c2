"""API keys, and other secrets, kept in SSM or Secrets Manager: read by reference, and again.

Nobody waits for a reading but a chat that has no key at all, and that one not for long. A reading
that fails changes nothing: the keys of the last one stay.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from kefu.keypool import keys_in

RETRY: Final = 10.0
"""Seconds after a reading that failed until another is tried."""

PATIENCE: Final = 3.0
"""Seconds a chat waits for the first keys: boto3 may still be loading."""


class ReferencedKeys:
    def __init__(
        self,
        read: Callable[[], str],
        learn: Callable[[tuple[str, ...]], None],
        clock: Callable[[], float],
        *,
        ttl: float,
        on_degraded: Callable[[str], None],
        what: str = "the API keys",
    ) -> None:
        """`read` blocks, is called in a thread, and gives the text that holds the keys; `learn` is
        told the keys whenever they were read, and may refuse them with a ValueError. `ttl`:
        seconds until they are read again. `what` they are, for the log.
        """
        self._read = read
        self._learn = learn
        self._clock = clock
        self._ttl = ttl
        self._on_degraded = on_degraded
        self._what = what
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="kefu-keys")
        self._reading: asyncio.Task[None] | None = None
        self._next = 0.0
        self._known = False

    def prefetch(self) -> None:
        """Start a reading if one is due; returns at once."""
        # A clock that went back would put the next reading off for ever.
        due = not self._next - self._ttl - RETRY <= self._clock() < self._next
        if due and (self._reading is None or self._reading.done()):
            self._reading = asyncio.create_task(self._refresh())

    async def ready(self) -> None:
        """Wait for the first keys while they are being read; not at all once they are known.

        Starts a reading if one is due: not everybody who needs them is a chat.
        """
        self.prefetch()
        if not self._known and self._reading is not None:
            await asyncio.wait({self._reading}, timeout=PATIENCE)

    async def aclose(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})

    async def _refresh(self) -> None:
        try:
            text = await asyncio.wrap_future(self._threads.submit(self._read))
            if not (keys := keys_in(_text_in(text))):
                raise ValueError("holds no key")
            self._learn(keys)
        except Exception as error:  # noqa: BLE001 - whatever breaks there, chats go on with what is known
            self._next = self._clock() + RETRY
            self._on_degraded(f"reading {self._what}: {_why(error)}")
            return
        self._next = self._clock() + self._ttl
        self._known = True


def _text_in(text: str) -> str:
    """The list of keys in a text, or the lists in the JSON object that Secrets Manager makes."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        values = json.loads(text).values()
    except ValueError:
        # Without the text: the error would quote it.
        raise ValueError("is neither a list of keys nor a JSON object") from None
    return ",".join(value for value in values if isinstance(value, str))


def _why(error: Exception) -> str:
    """Why, without the words of an error that may quote a key."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        return str(response.get("Error", {}).get("Code", "unknown"))
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed"
    return str(error) if type(error) is ValueError else type(error).__name__
