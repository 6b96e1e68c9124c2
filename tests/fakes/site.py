"""A web site on loopback whose pages are difficult to crawl."""

from __future__ import annotations

import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import MappingProxyType
from typing import NamedTuple

TEXT = "This page says what a visitor of the shop may want to know about {0}. " * 3


class Answer(NamedTuple):
    body: bytes = b""
    status: int = 200
    type: str = "text/html; charset=utf-8"
    location: str = ""
    seconds: float = 0.0
    coding: str = ""
    """The header Content-Encoding."""
    more: Mapping[str, str] = MappingProxyType({})
    """More headers."""


def html(name: str, *links: str, head: str = "", body: str = "") -> Answer:
    items = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    text = body or f"<p>{TEXT.format(name)}</p>"
    page = f"<html lang=en><head><title>{name}</title>{head}</head><body>{text}<ul>{items}</ul>"
    return Answer(page.encode())


class Site:
    """The site. Its pages can be changed while it runs. `asked` and `sent` count requests and
    bodies, `hosts`, `cookies` and `sign_ins` the values of these headers.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Callable[[], Answer] | Answer] = {}
        self.asked = Counter[str]()
        self.sent = Counter[str]()
        self.hosts = Counter[str]()
        self.cookies = Counter[str]()
        self.sign_ins = Counter[str]()
        self.url = ""

    def answer(self, path: str) -> Answer:
        page = self.pages.get(path, Answer(b"not here", 404))
        return page() if callable(page) else page


@contextmanager
def served(site: Site, tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    site.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked[self.path] += 1
            site.hosts[self.headers["Host"]] += 1
            site.sign_ins[self.headers.get("Authorization", "")] += 1
            site.cookies[self.headers.get("Cookie", "")] += 1
            found = site.answer(self.path)
            time.sleep(found.seconds)
            etag = f'"{hash(found.body)}"'
            unchanged = found.status == 200 and self.headers.get("If-None-Match") == etag
            self.send_response(304 if unchanged else found.status)
            self.send_header("Content-Type", found.type)
            self.send_header("Content-Length", "0" if unchanged else str(len(found.body)))
            self.send_header("ETag", etag)
            if found.coding:
                self.send_header("Content-Encoding", found.coding)
            for name, value in found.more.items():
                self.send_header(name, value)
            if found.location:
                self.send_header("Location", found.location)
            self.end_headers()
            if not unchanged:
                site.sent[self.path] += 1
                self.wfile.write(found.body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler
