"""Loads API keys and other secrets from SSM or Secrets Manager, and refreshes them periodically.

A refresh runs in the background. Only a request without any key waits for a refresh, for
`PATIENCE_SECONDS` at most. After a failed refresh the previous keys stay in use.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from kefu.relay.key_pool import keys_in
from kefu.stores.aws import RANDOM

RETRY_SECONDS: Final = 10.0
"""Seconds between a failed refresh and the next refresh, while the previous keys are in use."""

FIRST_RETRY: Final = (0.5, 1.5)
"""Seconds between refreshes without a key, a range: SSM throttles instances that start together."""

PATIENCE_SECONDS: Final = 3.0
"""Seconds that a chat waits for the first keys. This time includes the import of boto3."""


class ReferencedKeys:
    def __init__(
        self,
        read: Callable[[], str],
        set_secrets: Callable[[tuple[str, ...]], None],
        clock: Callable[[], float],
        *,
        ttl: float,
        on_degraded: Callable[[str], None],
        what: str = "the API keys",
    ) -> None:
        """`read` returns the text with the keys, and may block, because a thread calls it.

        `set_secrets` receives the keys after every refresh, and raises ValueError to refuse them.
        `ttl`: seconds between refreshes. `what`: the name of the secrets in the log.
        """
        self._read = read
        self._set_secrets = set_secrets
        self._clock = clock
        self._ttl = ttl
        self._on_degraded = on_degraded
        self.what = what
        self.trouble = "they are not read yet"
        """The reason why the last refresh failed, without any part of the secrets."""
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="kefu-keys")
        self._reading: asyncio.Task[None] | None = None
        self._next = 0.0
        self._pause = 0.0
        self.loaded = False
        """Whether a refresh has succeeded."""

    def prefetch(self) -> None:
        """Start a refresh if one is due, and return at once."""
        # If the clock was set back, a refresh is due at once, instead of much later.
        due = not self._next - self._pause <= self._clock() < self._next
        if due and (self._reading is None or self._reading.done()):
            self._reading = asyncio.create_task(self._refresh())

    async def ready(self, patience: float = PATIENCE_SECONDS) -> None:
        """Wait for the first keys, for `patience` seconds at most.

        Returns at once if keys were loaded before. Starts a refresh if one is due.
        """
        self.prefetch()
        if not self.loaded and self._reading is not None:
            await asyncio.wait({self._reading}, timeout=patience)

    async def aclose(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})

    async def _refresh(self) -> None:
        try:
            text = await asyncio.wrap_future(self._threads.submit(self._read))
            if not (keys := secrets_in(text)):
                raise ValueError("contains no key")
            self._set_secrets(keys)
        except Exception as error:  # noqa: BLE001 - after any failure the previous keys stay in use
            self._wait(RETRY_SECONDS if self.loaded else RANDOM.uniform(*FIRST_RETRY))
            self.trouble = cause_of(error)
            self._on_degraded(f"reading {self.what}: {self.trouble}")
            return
        self._wait(self._ttl)
        self.loaded = True

    def _wait(self, seconds: float) -> None:
        self._pause = seconds
        self._next = self._clock() + seconds


def secrets_in(text: str) -> tuple[str, ...]:
    """The keys in the text of a parameter or of a secret. Raises ValueError.

    The text is a list with commas, or a JSON object of such lists, as the console of Secrets
    Manager saves it.
    """
    if not text.lstrip().startswith("{"):
        return keys_in(text)
    try:
        values = json.loads(text).values()
    except ValueError:
        # `from None`, because the message of the JSON error may quote the secret.
        raise ValueError("is neither a list of keys nor a JSON object") from None
    return keys_in(",".join(value for value in values if isinstance(value, str)))


def cause_of(error: Exception) -> str:
    """Return the cause for the log, without error messages that may quote a key."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        return str(response.get("Error", {}).get("Code", "unknown"))
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed"
    return str(error) if type(error) is ValueError else type(error).__name__
