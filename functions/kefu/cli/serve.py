"""`kefu serve`: the service under uvicorn, on this machine."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from kefu.cli.protocol import guarded_protocol
from kefu.settings import Settings
from kefu.web.exchange import Desk

DRAIN = 1.0
"""Seconds in which a stopping server still tells new requests 503, before it closes the door."""


def serve(app: FastAPI, settings: Settings, host: str, port: int) -> int:
    """Run until SIGTERM or Ctrl-C. Returns the exit code."""
    try:
        sock = _listen(host, port)
    except OSError as error:
        sys.stderr.write(
            f"kefu: cannot listen on {host}:{port}: {error.strerror}. "
            "Try another port: kefu serve --port 0\n"
        )
        return 1
    config = uvicorn.Config(
        app,
        http=guarded_protocol(settings.body_timeout, settings.write_timeout),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )
    server = _Server(config, app.state.desk, f"http://{_shown(host)}:{sock.getsockname()[1]}/")
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[sock]))
    return 0 if server.started else 1


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    return sock


def _shown(host: str) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared only
    return f"[{host}]" if ":" in host else host


class _Server(uvicorn.Server):
    """Says where it is once it is ready; on a signal ends its streams properly, then itself."""

    def __init__(self, config: uvicorn.Config, desk: Desk, address: str) -> None:
        super().__init__(config)
        self._desk = desk
        self._address = address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(f"Kefu is ready: {self._address}\n")
        sys.stdout.flush()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._leave)
        yield

    def _leave(self) -> None:
        if self._desk.admission.closed:
            self.force_exit = self.should_exit = True
            return
        self._desk.admission.closed = True
        self._desk.running.drain()
        busy = bool(self.server_state.tasks)
        asyncio.get_running_loop().call_later(DRAIN if busy else 0, self._close)

    def _close(self) -> None:
        self.should_exit = True
