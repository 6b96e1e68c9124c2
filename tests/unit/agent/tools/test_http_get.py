"""S34, T22: the tool fetches pages of allowed hosts at public addresses, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.agent.tools import Workplace, tools_for
from kefu.agent.tools.http_get import MAX_PAGE_BYTES
from kefu.errors import ToolFailed
from kefu.upstream import public_web
from kefu.upstream.public_web import NotPublic, PublicWeb, is_public
from tests.fakes.running import HttpServer
from tests.fakes.spoken import result_of
from tests.unit.agent.tools.conftest import NOW, Ask


class Site(HttpServer):
    """A web site on loopback that counts its requests."""

    def __init__(self) -> None:
        site = self
        self.asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                status, headers, body = PAGES[self.path]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:  # the client closed the connection after it had read enough
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        super().__init__(Handler)


TEXT = {"Content-Type": "text/plain; charset=utf-8"}
PAGES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/": (200, TEXT, "你好".encode()),
    "/json": (200, {"Content-Type": "application/json"}, b'{"a": 1}'),
    "/image": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    "/long": (200, TEXT, b"a" * (MAX_PAGE_BYTES + 1)),
    "/exact": (200, TEXT, b"a" * MAX_PAGE_BYTES),
    "/gone": (404, TEXT, b"not here"),
    "/away": (302, {"Location": "http://127.0.0.1:1/admin"}, b""),
    "/bomb": (200, {**TEXT, "Content-Encoding": "gzip"}, gzip.compress(b"0" * 10_000_000)),
}


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


def open_to(site: Site, folder: Path) -> Ask:
    """The tool, for which the site's host is allowed and loopback counts as public."""
    web = PublicWeb(may=lambda address: address.is_loopback)
    host = site.address.removeprefix("http://")
    place = Workplace(
        folder, lambda: NOW, web.get, frozenset({host, host.replace("127.0.0.1", "localhost")})
    )
    tools = {tool.name: tool for tool in tools_for(place)}

    async def call(path: str, address: str) -> str:
        return await result_of(tools["http_get"], address + path)

    return call


async def test_a_page_of_an_allowed_host_is_fetched(site: Site, folder: Path) -> None:
    """S34: by its address and by its host name. A page that is too long is cut."""
    get = open_to(site, folder)
    assert await get("/", site.address) == "你好"
    assert await get("/", site.address.replace("127.0.0.1", "localhost")) == "你好"
    assert await get("/json", site.address) == '{"a": 1}'
    assert await get("/exact", site.address) == "a" * MAX_PAGE_BYTES
    long = await get("/long", site.address)
    assert long == "a" * MAX_PAGE_BYTES + f"\n[only the first {MAX_PAGE_BYTES} bytes were read]"
    assert await get("/image", site.address) == "[image/png, which is not text]"


async def test_a_failed_request_is_reported_to_the_model(site: Site, folder: Path) -> None:
    """T22: redirects are reported but not followed. Compressed content is not decompressed."""
    get = open_to(site, folder)
    with pytest.raises(
        ToolFailed, match=r"redirects to http://127\.0\.0\.1:1/admin, which is not followed"
    ):
        await get("/away", site.address)
    with pytest.raises(ToolFailed, match="answered 404"):
        await get("/gone", site.address)
    with pytest.raises(ToolFailed, match="compressed"):
        await get("/bomb", site.address)
    assert site.asked == ["/away", "/gone", "/bomb"]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::1]", "localhost."]
)
async def test_no_name_leads_to_this_machine(site: Site, folder: Path, host: str) -> None:
    """T22: the resolved address is checked, for allowed names and for every notation."""
    port = site.address.rpartition(":")[2]
    name = host.strip("[]").removesuffix(".")
    place = Workplace(folder, lambda: NOW, PublicWeb().get, frozenset({f"{name}:{port}"}))
    get = partial(result_of, {tool.name: tool for tool in tools_for(place)}["http_get"])
    # The HTTP client refuses the short notations, and some resolvers do not know `localhost.`.
    with pytest.raises(ToolFailed, match=r"is not a public address|could not be fetched"):
        await get(f"http://{host}:{port}/")
    assert site.asked == []


async def test_an_address_is_looked_at_for_every_connection(site: Site) -> None:
    """T22: the address is resolved and checked again for each connection."""
    allowed = [True, False]
    seen: list[str] = []

    def may(address: public_web.Address) -> bool:
        seen.append(str(address))
        return allowed.pop(0)

    web = PublicWeb(may)
    assert (await web.get(f"{site.address}/", 100)).status == 200
    with pytest.raises(NotPublic):
        await web.get(f"{site.address}/", 100)
    assert seen == ["127.0.0.1"] * 2
    assert site.asked == ["/"]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("file:///etc/passwd", "only http"),
        ("ftp://localhost/", "only http"),
        ("gopher://localhost/", "only http"),
        ("//localhost/", "only http"),
        ("localhost", "only http"),
        ("http://", "not an allowed host"),
        ("http:///etc/passwd", "not an allowed host"),
        ("http://[::1", "only http"),
        ("http://localhost:99999/", "only http"),
        ("http://localhost:8000/", "not an allowed host"),
        ("http://user@localhost/", "user's name"),
        ("http://localhost:80@169.254.169.254/", "user's name"),
        ("http://@localhost/", "user's name"),
        ("http://169.254.169.254/latest/meta-data/", "not an allowed host"),
        ("http://localhost.evil.example/", "not an allowed host"),
        ("http://evil.example#localhost", "not an allowed host"),
        ("http://evil.example\\@localhost/", "user's name|not an allowed host"),
        ("\0", "only http"),
    ],
)
async def test_only_pages_of_allowed_hosts_are_asked_for(ask: Ask, url: str, says: str) -> None:
    """T22: other hosts get no request."""
    with pytest.raises(ToolFailed, match=says):
        await ask("http_get", url)


async def test_with_no_host_allowed_nothing_is_fetched(folder: Path) -> None:
    """T22: the tool is off until the user names a host."""
    place = Workplace(folder, lambda: NOW, PublicWeb().get)
    get = partial(result_of, {tool.name: tool for tool in tools_for(place)}["http_get"])
    with pytest.raises(ToolFailed, match="--allow-host"):
        await get("https://example.com/")


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.8",
        "192.0.0.192",
        "192.0.0.255",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:168.63.129.16",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2001::7f00:1",
        "2001:2::1",
        "2001:10::1",
        "2001:1ff:ffff::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "3fff:fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ],
)
def test_addresses_that_are_not_everybodys_are_refused(address: str) -> None:
    """T22: addresses of private and other special networks are refused."""
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "93.184.216.34", "168.63.129.15", "168.63.129.17", "172.15.255.255"),
        *("172.32.0.0", "192.0.1.0", "191.255.255.255", "198.17.255.255", "198.20.0.0"),
        *("2606:4700::1111", "2001:200::1", "2001:db9::1", "::ffff:1.1.1.1"),
    ],
)
def test_addresses_of_the_internet_are_not(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@given(st.ip_addresses())
def test_no_address_is_public_that_python_knows_to_be_special(address: public_web.Address) -> None:
    """T22: hypothesis often generates addresses of special blocks. Kefu lists more than Python."""
    if is_public(address):
        # For IPv4 addresses in IPv6 notation the results of Python differ between versions.
        address = getattr(address, "ipv4_mapped", None) or address
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_reserved


async def test_a_server_that_drips_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """K7: the time limit applies to the whole exchange, also if data arrive all the time."""
    monkeypatch.setattr(public_web, "TIMEOUT_SECONDS", 0.5)

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        try:
            while True:
                writer.write(b".")
                await writer.drain()
                await asyncio.sleep(0.02)
        except OSError:
            left.set()
        finally:
            writer.close()

    left = asyncio.Event()
    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        started = time.monotonic()
        with pytest.raises(OSError, match="no whole answer within"):
            await PublicWeb(lambda _: True).get(f"http://127.0.0.1:{port}/", MAX_PAGE_BYTES)
        assert time.monotonic() - started < 5
        async with asyncio.timeout(5):
            await left.wait()  # otherwise the server's socket would stay open
