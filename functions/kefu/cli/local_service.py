"""Starts the service of this folder as a child process, for `kefu test`."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import IO, NamedTuple

from kefu.auth.admin_tokens import Kind
from kefu.bootstrap.operator import operator_with
from kefu.settings import Settings
from kefu.terminal.flags import WrongUse

_READY_PREFIX = "Kefu is ready: "

_TEST_SETTINGS = {
    # The limits protect a public service. In a test, limits would only make the tests wait.
    "KEFU_BOT_CHECK": "off",
    "KEFU_DAILY_TOKENS": "0",
    "KEFU_IP_REQUESTS_PER_MINUTE": "0",
    "KEFU_MAX_STREAMS_PER_IP": "0",
    "KEFU_ORIGIN_SECRET": "",
    "KEFU_SESSIONS": "true",
    "KEFU_SESSION_REQUESTS_PER_MINUTE": "0",
    "KEFU_SITE_REQUESTS_PER_MINUTE": "0",
    # Tests store no chats among the chats of visitors.
    "KEFU_STORE": "memory:",
}
_COOLDOWN_SECONDS = "2"
"""Seconds, where the settings have no other value: the only key is soon asked again."""


class LocalService(NamedTuple):
    url: str
    operator: Callable[[Kind], str] | None
    """Signs the passes for its panel, if it has tools: the panel tells their arguments."""


@asynccontextmanager
async def service_for_tests(
    settings: Settings, tool_results: str = ""
) -> AsyncIterator[LocalService]:
    """The running service. Raises WrongUse if the service does not start.

    `tool_results`: the address from which calls of tools get their results.
    """
    environment, token = {**os.environ, **_TEST_SETTINGS}, secrets.token_urlsafe(24)
    if tool_results:
        environment["ADMIN_TOKEN"] = token
    if "cooldown" not in settings.model_fields_set:
        environment["KEFU_COOLDOWN"] = _COOLDOWN_SECONDS
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kefu", "serve", "--host", "127.0.0.1", "--port", "0"),
            *("--tool-results", tool_results),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            # Ctrl-C is for this process, which then ends the service.
            start_new_session=True,
        )
        try:
            url = await _address(process, log)
            yield LocalService(url, operator_with(token) if tool_results else None)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _address(process: asyncio.subprocess.Process, log: IO[bytes]) -> str:
    assert process.stdout
    async for line in process.stdout:
        if line.decode().startswith(_READY_PREFIX):
            return line.decode().removeprefix(_READY_PREFIX).strip()
    log.seek(0)
    raise WrongUse(f"the service does not start.\n{log.read().decode(errors='replace').rstrip()}")
