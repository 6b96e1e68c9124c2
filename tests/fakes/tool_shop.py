"""A shop on loopback whose interface the tools call. It fails in as many ways as a test wants.

GET /orders/{id}             {"id", "customer", "state", "items", "total"}
POST /orders/{id}/cancel     {"id", "state"}; honours `Idempotency-Key`
GET /stock/{sku}             {"sku", "left"}
POST /bookings               {"number"}, and the fields that were sent; honours `Idempotency-Key`
GET /customers/{id}/orders   {"orders"}, with the signed token of this customer alone
"""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import jwt

from kefu.tools.request import MAX_BODY
from tests.fakes.running import Running

USER_SECRET = "canary-a-secret-that-shop-and-kefu-share"

Fault = Literal[
    "500_before",  # an error before the work is done
    "500_after",  # the same after it is done
    "reset_before",  # the connection is reset, before the work
    "reset_after",
    "cut",  # half a body
    "silent",  # done, and then nothing is sent
    "drip",  # one byte of the body in 20 ms
    "html",
    "bad_json",
    "big",  # 2 MB
    "redirect",
    "bomb",  # 8 MB, compressed
]
TRACE = b'{"error": "canary-stack-trace"}'
BOMB = gzip.compress(bytes(8 * MAX_BODY), 1)
HTML = b"<!DOCTYPE html><title>Sign in</title><p>canary-markup</p>"

MY_ORDERS = """
[tools.my_orders]
url = "{shop}/customers/{{customer_id}}/orders"
description = "The customer's orders."
user = "required"
bind = {{ customer_id = "user.sub" }}
"""
"""A table of kefu.toml, to be formatted with `shop`, the address of a shop."""


def order_tools(approve: str, *, status: str = "", cancel: str = "") -> str:
    """The tables `order_status` and `cancel_order`, to be formatted as `MY_ORDERS` is.

    `approve`: the text of the card, in TOML. `status`, `cancel`: more lines of the two tables.
    """
    return f"""
[tools.order_status]
url = "{{shop}}/orders/{{{{order_id}}}}"
description = "State of an order."
parameters.order_id = {{{{ type = "string", description = "The number on the invoice." }}}}
{status}
[tools.cancel_order]
url = "{{shop}}/orders/{{{{order_id}}}}/cancel"
method = "POST"
description = "Cancels an order."
parameters.order_id = {{{{ type = "string" }}}}
approve = {approve}
preview = "order_status"
{cancel}
"""


class ShopRequest(NamedTuple):
    method: str
    target: str
    """Path and query as they were sent."""
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ToolShop(Running):
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.orders: dict[str, dict[str, Any]] = {
            "5": {"id": "5", "customer": "ada", "state": "paid", "items": 2, "total": "89.00 EUR"},
            "6": {"id": "6", "customer": "ada", "state": "sent", "items": 1, "total": "12.50 EUR"},
            "7": {"id": "7", "customer": "bob", "state": "paid", "items": 4, "total": "40.00 EUR"},
        }
        self.stock = {"tea": 12, "pot": 0}
        self.bookings: list[dict[str, Any]] = []
        self.cancelled: Counter[str] = Counter()
        """How often each order was really cancelled."""
        self.requests: list[ShopRequest] = []
        self.at_once = 0
        """The most requests that were answered at the same time."""
        self.opened = 0
        """How many connections there were."""
        self.delay = 0.0
        """Seconds before each answer, after its work."""
        self._faults: list[tuple[Fault, str]] = []
        self._always: Fault | None = None
        self._by_key: dict[str, tuple[int, Any]] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._connections: set[socket.socket] = set()
        self._answering = 0
        self._tls = tls
        self._listen(0)
        self.port = self._server.server_port
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.host}"

    def fail(self, fault: Fault, times: int = 1, path: str = "") -> None:
        """The next `times` requests whose path contains `path` go wrong."""
        self._faults += [(fault, path)] * times

    def fail_always(self, fault: Fault | None) -> None:
        """Every request goes wrong, until this is called with None."""
        self._always = fault

    def wait_for(self, count: int) -> Sequence[ShopRequest]:
        """The requests, when so many have come."""
        end = time.monotonic() + 60
        while len(self.requests) < count:
            assert time.monotonic() < end, self.requests
            time.sleep(0.005)
        return self.requests

    def start(self) -> ToolShop:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def kill(self) -> None:
        """Reset all connections, and listen no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        with self._lock:
            for connection in self._connections:
                reset(connection)

    def revive(self) -> None:
        """Listen at the same port again, after `kill`."""
        self._listen(self.port)
        self.start()

    def stop(self) -> None:
        self._ended.set()
        self.kill()

    def _listen(self, port: int) -> None:
        handler = type("Handler", (_Handler,), {"shop": self})
        self._server = _Server(("127.0.0.1", port), handler)
        if self._tls:
            self._server.socket = self._tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )

    def fault_for(self, path: str) -> Fault | None:
        with self._lock:
            for at, (fault, part) in enumerate(self._faults):
                if part in path:
                    del self._faults[at]
                    return fault
        return self._always

    def answer(self, request: ShopRequest) -> tuple[int, Any]:
        """Do what a request asks for, at most once for an `Idempotency-Key`."""
        key = request.headers.get("idempotency-key", "")
        with self._lock:
            if not key:
                return self._done(request)
            if key not in self._by_key:
                self._by_key[key] = self._done(request)
            return self._by_key[key]

    def _done(self, request: ShopRequest) -> tuple[int, Any]:
        match (request.method, *map(unquote, request.path.split("/")[1:])):
            case ("GET", "orders", number) if number in self.orders:
                return 200, self.orders[number]
            case ("POST", "orders", number, "cancel") if number in self.orders:
                return self._cancel(number)
            case ("GET", "stock", sku) if sku in self.stock:
                return 200, {"sku": sku, "left": self.stock[sku]}
            case ("POST", "bookings"):
                self.bookings.append(request.json)
                return 201, {"number": len(self.bookings), **request.json}
            case ("GET", "customers", customer, "orders"):
                return self._orders_of(customer, request.headers.get("kefu-user", ""))
        return 404, {"error": "There is nothing here."}

    def _cancel(self, number: str) -> tuple[int, Any]:
        if self.orders[number]["state"] != "paid":
            return 409, {"error": f"Order {number} is {self.orders[number]['state']}."}
        self.cancelled[number] += 1
        self.orders[number] = {**self.orders[number], "state": "cancelled"}
        return 200, {"id": number, "state": "cancelled"}

    def _orders_of(self, customer: str, token: str) -> tuple[int, Any]:
        try:
            claims = jwt.decode(
                token,
                USER_SECRET,
                algorithms=["HS256"],
                audience=[self.host, "127.0.0.1"],
                options={"require": ["aud", "exp", "sub"]},
            )
        except jwt.InvalidTokenError as error:
            return 401, {"error": type(error).__name__}
        if claims["sub"] != customer:
            return 403, {"error": "These are another customer's orders."}
        orders = [one for one in self.orders.values() if one["customer"] == customer]
        return 200, {"orders": orders}


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    """Connections that wait: with the usual 5, a crowd would wait for a second."""


def reset(connection: socket.socket) -> None:
    """End a connection without a good-bye. Its thread closes it."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        """It has ended already."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    shop: ToolShop

    def handle(self) -> None:
        with self.shop._lock:
            self.shop._connections.add(self.connection)
            self.shop.opened += 1
        try:
            super().handle()
        except OSError:
            """The client has gone, or this side has reset the connection."""
        finally:
            with self.shop._lock:
                self.shop._connections.discard(self.connection)

    def do_GET(self) -> None:
        shop = self.shop
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = ShopRequest(self.command, self.path, headers, body)
        fault = shop.fault_for(request.path)
        with shop._lock:
            shop.requests.append(request)
            shop._answering += 1
            shop.at_once = max(shop.at_once, shop._answering)
        try:
            self._answer(request, fault)
        finally:
            with shop._lock:
                shop._answering -= 1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self.do_GET
        raise AttributeError(name)

    def _answer(self, request: ShopRequest, fault: Fault | None) -> None:
        if fault == "reset_before":
            self._hang_up()
        elif fault == "500_before":
            self._send(500, {}, TRACE)
        else:
            status, found = self.shop.answer(request)
            self.shop._ended.wait(self.shop.delay)
            self._misbehave(fault, status, json.dumps(found, indent=1).encode())

    def _misbehave(self, fault: Fault | None, status: int, body: bytes) -> None:
        if fault == "silent":
            self.shop._ended.wait(60)
        elif fault == "drip":
            self._drip(status, body)
        elif fault == "cut":
            self._send(status, {"Content-Length": str(len(body))}, body[: len(body) // 2])
        elif fault != "reset_after":
            return self._send(*self._response(fault, status, body))
        self._hang_up()
        return None

    def _response(
        self, fault: Fault | None, status: int, body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        faulty: dict[Fault | None, tuple[int, dict[str, str], bytes]] = {
            "500_after": (500, {}, TRACE),
            "html": (200, {"Content-Type": "text/html; charset=utf-8"}, HTML),
            "bad_json": (status, {}, body[:-2]),
            "big": (status, {}, b'"' + b"x" * 2 * MAX_BODY + b'"'),
            "redirect": (302, {"Location": f"{self.shop.url}/orders/7"}, b""),
            "bomb": (status, {"Content-Encoding": "gzip"}, BOMB),
        }
        return faulty.get(fault, (status, {}, body))

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        usual = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        self.send_response(status)
        for name, value in {**usual, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _drip(self, status: int, body: bytes) -> None:
        self._send(status, {"Content-Length": str(len(body))}, b"")
        for octet in body:
            self.wfile.write(bytes([octet]))
            if self.shop._ended.wait(0.02):
                return

    def _hang_up(self) -> None:
        self.close_connection = True
        reset(self.connection)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        """Log nothing, because `requests` has them."""
