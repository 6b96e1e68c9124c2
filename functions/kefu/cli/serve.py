"""`kefu serve`: runs the service with uvicorn on this machine."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from kefu.auth.admin_tokens import PASS_LIFE
from kefu.bootstrap.constants import CONSTANTS, Constants
from kefu.bootstrap.service import build
from kefu.cli.admin_link import link
from kefu.settings import Settings
from kefu.terminal.flags import read_settings, wrong_settings
from kefu.web.server.guard import MAX_HEADER_BYTES
from kefu.web.server.linger import App, lingering
from kefu.web.server.protocol import guarded_protocol

BURST_REQUESTS = 100
"""Requests after which the idle server returns freed memory to the system."""

IDLE_SECONDS = 0.1
"""Seconds between two checks whether a draining server has requests left."""

DRAIN_SECONDS = 1.0
"""Seconds in which a stopping server answers new requests with 503, before it stops listening."""


def run(options: argparse.Namespace) -> int:
    """Run the server until SIGTERM or Ctrl-C. Returns the exit code. Raises WrongUse."""
    # Until the server is up. Without a handler, the first process of a container gets no SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    settings, constants = read_settings(), options.constants or CONSTANTS
    constants = constants._replace(tool_results=options.tool_results)
    settings = settings.with_panel() if options.panel else settings
    try:
        sock = _listen(options.host, options.port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", "a port is a number from 0 to 65535")
        sys.stderr.write(
            f"kefu: cannot listen on {options.host}:{options.port}: {reason}. "
            "Try another port: kefu serve --port 0\n"
        )
        return 1
    with sock:
        return _serve(options, settings, constants, sock)


def _serve(
    options: argparse.Namespace, settings: Settings, constants: Constants, sock: socket.socket
) -> int:
    own_port = sock.getsockname()[1]
    address = f"http://{_url_host(options.host)}:{own_port}/"
    with wrong_settings():
        service = build(settings, raise_open_files(), constants._replace(own_port=own_port))
    config = _config(service.app, constants)
    greeting = f"Kefu is ready: {address}\n"
    if options.panel and settings.panel_token:
        panel = link(settings.panel_token, address, life=PASS_LIFE)
        greeting += f"Link to the panel, which opens once: {panel}\n"
    server = _Server(config, service.close, greeting, settings.drain)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve(sockets=[sock]))
    return 0 if server.started else 1


def _config(app: App, constants: Constants) -> uvicorn.Config:
    return uvicorn.Config(
        lingering(app),
        http=guarded_protocol(constants.body_timeout, constants.write_timeout),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_graceful_shutdown=2,
        timeout_notify=1,
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # IPPROTO_TCP is given explicitly: asyncio sets TCP_NODELAY only on sockets with this protocol.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except BaseException:
        sock.close()
        raise
    return sock


def _url_host(host: str) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared only
    return f"[{host}]" if ":" in host else host


class _Server(uvicorn.Server):
    """A server that prints its address when it is ready. A signal ends its streams, then itself."""

    def __init__(
        self, config: uvicorn.Config, close: Callable[[], bool], greeting: str, drain: int
    ) -> None:
        """`drain`: seconds for which the first signal lets running answers go on."""
        super().__init__(config)
        self._close_app = close
        self._drain = drain
        self._draining: asyncio.Task[None] | None = None
        self._greeting = greeting
        self._trim = memory_trimmer()
        self._trimmed_at = 0
        config.callback_notify = self._trim_when_idle

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(self._greeting)
        sys.stdout.flush()

    async def _trim_when_idle(self) -> None:
        state = self.server_state
        if (
            self._trim
            and not state.tasks
            and state.total_requests - self._trimmed_at >= BURST_REQUESTS
        ):
            self._trimmed_at = state.total_requests
            self._trim()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._leave)
        yield

    def _leave(self) -> None:
        if self._drain and self._draining is None:
            # The proxy sends new requests to other servers as soon as this one does not listen.
            for listening in self.servers:
                listening.close()
            self._draining = asyncio.create_task(self._when_idle())
            return
        if self._draining is not None:
            self._draining.cancel()
        self._end()

    async def _when_idle(self) -> None:
        """End the server when no request is left, or the time for draining is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._drain):
                while self.server_state.tasks:  # noqa: ASYNC110 - uvicorn has no event for it
                    await asyncio.sleep(IDLE_SECONDS)
        self._end()

    def _end(self) -> None:
        if not self._close_app():
            self.force_exit = self.should_exit = True
            return
        busy = bool(self.server_state.tasks)
        asyncio.get_running_loop().call_later(DRAIN_SECONDS if busy else 0, self._close)

    def _close(self) -> None:
        self.should_exit = True


def raise_open_files() -> int | None:
    """Raise the soft limit to the hard limit. Returns the new limit, or None if there is none.

    Shells and systemd set a soft limit of 1024, and each answer takes two sockets.
    """
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # macOS reports no hard limit, but refuses high values
        hard = soft
    return None if hard == resource.RLIM_INFINITY else hard


def memory_trimmer() -> Callable[[], object] | None:
    """A function that calls glibc's `malloc_trim`; None without glibc.

    glibc keeps freed memory for later use: some 10 MiB after a few hundred streams. On a small
    machine, other processes may need the memory. A call takes milliseconds, so it should be made
    while the process is idle.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return lambda: trim(0)
