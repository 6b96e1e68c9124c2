"""Proxies and certificates of the environment, for each of the HTTP clients, on real sockets."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kefu.errors import CertificateRejected, HostUnreachable
from kefu.upstream.client import HttpUpstream
from kefu.upstream.crawl.fetch import Fetcher, Refused
from kefu.upstream.public_web import NoPage, PublicWeb
from kefu.upstream.siteverify import SiteVerify
from tests.fakes.certificate import self_signed
from tests.fakes.site import Site, html, served
from tests.unit.upstream.test_client import DONE, END, HEAD, Server, a_whole_answer, talking_to


class Proxy:
    """An HTTP proxy that forwards every host name to one local port."""

    def __init__(self, port: int) -> None:
        self.lines: list[bytes] = []
        self._port = port

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.lines.append(head.partition(b"\r\n")[0])
        inward, outward = await asyncio.open_connection("127.0.0.1", self._port)
        if head.startswith(b"CONNECT"):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            outward.write(head)
        await asyncio.gather(_copy(reader, outward), _copy(inward, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def behind_a_proxy(
    server: Server, monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Proxy]:
    """The environment names the proxy. Only the proxy can resolve `model.test`."""
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    proxy = Proxy(listening.sockets[0].getsockname()[1])
    proxying = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{proxying.sockets[0].getsockname()[1]}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, address)
        monkeypatch.delenv(name.lower(), raising=False)
    async with listening, proxying:
        yield proxy


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with behind_a_proxy(Server([HEAD, DONE, END]), monkeypatch) as proxy:
        upstream = HttpUpstream("http://model.test/v1")
        await a_whole_answer(upstream)
        await upstream.aclose()
    assert proxy.lines == [b"POST http://model.test/v1/chat/completions HTTP/1.1"]


ASKING = """
import asyncio
from kefu.upstream.client import HttpUpstream

async def ask():
    upstream = HttpUpstream("https://model.test/v1")
    response = await upstream.send(b"{}", "key")
    print((await response.read(5)).decode().removeprefix("data: ").strip())
    await response.aclose()
    await upstream.aclose()

asyncio.run(ask())
"""


async def test_tls_goes_through_a_proxy_and_trusts_ssl_cert_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tls = self_signed(tmp_path, "DNS:model.test")
    async with behind_a_proxy(Server([HEAD, DONE, END]), monkeypatch, tls) as proxy:
        upstream = HttpUpstream("https://model.test/v1")
        with pytest.raises(CertificateRejected):
            await upstream.send(b"{}", "key")
        await upstream.aclose()
        # A process loads the certificates once, so this test uses another process.
        environment = {**os.environ, "SSL_CERT_FILE": str(tmp_path / "certificate.pem")}
        command = (sys.executable, "-c", ASKING)
        child = await asyncio.create_subprocess_exec(*command, env=environment, stdout=PIPE)
        assert (await child.communicate())[0] == b"[DONE]\n"
    assert proxy.lines == [b"CONNECT model.test:443 HTTP/1.1"] * 2


async def test_no_proxy_is_used_for_this_machine_nor_for_names_in_no_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server([HEAD, DONE, END])
    async with behind_a_proxy(server, monkeypatch) as proxy, talking_to(server) as upstream:
        await a_whole_answer(upstream)
        monkeypatch.setenv("NO_PROXY", "model.test")
        direct = HttpUpstream("http://model.test/v1")
        with pytest.raises(HostUnreachable) as failed:
            await direct.send(b"{}", "key")
        await direct.aclose()
        assert not failed.value.request_sent
    assert proxy.lines == []


async def test_the_bot_check_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n"
    server = Server([head, b'{"success":true}'])
    async with behind_a_proxy(server, monkeypatch) as proxy:
        verifier = SiteVerify("http://provider.test/siteverify", "secret")
        verdict = await verifier.verify("token", "192.0.2.1")
        await verifier.aclose()
    assert verdict.passed
    assert proxy.lines == [b"POST http://provider.test/siteverify HTTP/1.1"]


async def test_pages_for_tools_never_go_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would resolve the name itself, so the check of the address would have no effect."""
    async with behind_a_proxy(Server([HEAD, END]), monkeypatch) as proxy:
        with pytest.raises(NoPage):
            await PublicWeb(lambda _: True).get("http://pages.test/", 1000)
    assert proxy.lines == []


async def test_learnt_pages_never_go_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with behind_a_proxy(Server([HEAD, END]), monkeypatch) as proxy:
        fetcher = Fetcher("agent", lambda _: True)
        with pytest.raises(Refused, match="has no address"):
            await fetcher.get("http://pages.test/", {}, lambda _: "")
        await fetcher.aclose()
    assert proxy.lines == []


async def test_learnt_pages_may_have_a_certificate_of_ssl_cert_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = Site()
    site.pages["/"] = html("Welcome")
    with served(site, self_signed(tmp_path)):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        fetcher = Fetcher("agent", lambda _: True)
        found = await fetcher.get(f"{site.url}/", {}, lambda _: "")
        await fetcher.aclose()
    assert b"Welcome" in found.body
