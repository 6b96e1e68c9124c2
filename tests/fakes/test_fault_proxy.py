"""The proxy simulates its faults correctly; other tests depend on that."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.fakes.fault_proxy import FaultProxy


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    """A proxy in front of a server that sends back each piece in upper case."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(connection,), daemon=True).start()

    def echo(connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(65536):
                    connection.sendall(data.upper())
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with FaultProxy(f"http://127.0.0.1:{listener.getsockname()[1]}") as proxy:
        yield proxy
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)


@pytest.fixture
def client(proxy: FaultProxy) -> Iterator[socket.socket]:
    with connected(proxy) as client:
        yield client


def connected(proxy: FaultProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=5)


def exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := client.recv(size - len(data))):
        data += piece
    return data


def asked(client: socket.socket, text: bytes) -> tuple[bytes, float]:
    started = time.monotonic()
    client.sendall(text)
    return exactly(client, len(text)), time.monotonic() - started


def test_without_faults_everything_passes(client: socket.socket) -> None:
    answer, took = asked(client, b"a" * 200_000)
    assert answer == b"A" * 200_000
    assert took < 20


def test_down_resets_and_refuses_until_it_is_up(proxy: FaultProxy, client: socket.socket) -> None:
    asked(client, b"open")
    proxy.set(down=True)
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connected(proxy)
    proxy.set()
    with connected(proxy) as again:
        assert asked(again, b"back")[0] == b"BACK"


def test_a_black_hole_accepts_and_never_responds(proxy: FaultProxy, client: socket.socket) -> None:
    asked(client, b"open")
    proxy.set(black_hole=True)
    for connection in (client, connected(proxy)):
        with connection:
            connection.sendall(b"hello?")
            connection.settimeout(0.3)
            with pytest.raises(TimeoutError):
                connection.recv(1)


def test_latency_delays_answers(proxy: FaultProxy, client: socket.socket) -> None:
    proxy.set(latency=0.3)
    answer, took = asked(client, b"slow")
    assert answer == b"SLOW"
    assert took >= 0.3


def test_a_reset_comes_after_so_many_bytes(proxy: FaultProxy, client: socket.socket) -> None:
    proxy.set(reset_after=3)
    client.sendall(b"four")
    # Data that arrived before the reset may be lost.
    with pytest.raises(ConnectionResetError):
        exactly(client, 4)


def test_bandwidth_is_limited(proxy: FaultProxy, client: socket.socket) -> None:
    proxy.set(bandwidth=1000)
    answer, took = asked(client, b"a" * 500)
    assert answer == b"A" * 500
    assert 0.4 < took < 20


def test_slices_arrive_one_by_one(proxy: FaultProxy, client: socket.socket) -> None:
    proxy.set(slices=2)
    most = 0
    for _ in range(50):  # a busy machine may read two slices at once
        client.sendall(b"abcdef")
        pieces: list[bytes] = []
        while sum(map(len, pieces)) < 6:
            pieces.append(client.recv(100))
        assert b"".join(pieces) == b"ABCDEF"
        most = max(most, len(pieces))
        if most > 1:
            break
    assert most > 1


def test_a_slow_close_keeps_the_connection_open(proxy: FaultProxy, client: socket.socket) -> None:
    proxy.set(slow_close=0.4)
    asked(client, b"bye")
    started = time.monotonic()
    client.shutdown(socket.SHUT_WR)
    assert client.recv(1) == b""
    assert time.monotonic() - started >= 0.4
