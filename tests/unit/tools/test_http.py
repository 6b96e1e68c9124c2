"""A1, A7, A12, A13: a call becomes a request, and a response becomes a text for the model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import jwt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kefu.errors import UpstreamUnavailable
from kefu.tools.http import HttpCall, http_run, outcome_of, tool_request
from kefu.tools.request import ToolResponse
from kefu.tools.tool import Effect, Outcome, Visitor
from kefu.tools.url import MAX_URL, Unfit, filled
from kefu.tools.user_token import USER_HEADER, user_signer, user_token
from kefu.upstream.tool_http import ToolHttp
from tests.fakes.tool_shop import USER_SECRET, Fault, ToolShop

ADA = Visitor("chat", "ada", {"plan": "gold"})
ANYBODY = Visitor("chat")
ORDER = "https://shop.example/orders/{id}"


@pytest.fixture
def shop() -> Iterator[ToolShop]:
    with ToolShop() as running:
        yield running


@pytest.fixture
async def send() -> AsyncIterator[ToolHttp]:
    sender = ToolHttp()
    yield sender
    await sender.aclose()


async def ask(send: ToolHttp, call: HttpCall, **arguments: object) -> Outcome:
    return await http_run(call, send, "read")(arguments, ANYBODY, "")


# The request


async def test_a1_arguments_stand_in_path_query_and_body(shop: ToolShop, send: ToolHttp) -> None:
    url = f"{shop.url}/bookings/{{room}}?day={{day}}&fixed=1&part={{part}}"
    call = HttpCall("POST", url, body=("name", "seats", "note"))
    given = {"room": "Süd 1/2?"[:5], "day": "1 & 2", "name": "Zoë\n2", "seats": 2, "extra": "x=y"}
    await http_run(call, send, "write")(given, ANYBODY, "key-1")
    request = shop.requests[0]
    assert (request.method, unquote(request.path)) == ("POST", "/bookings/Süd 1")
    assert request.query == {"day": ["1 & 2"], "fixed": ["1"], "extra": ["x=y"]}
    assert request.json == {"name": "Zoë\n2", "seats": 2}
    assert request.headers["content-type"] == "application/json"
    assert request.headers["idempotency-key"] == "key-1"


async def test_a1_headers_are_the_owners_and_a_read_has_no_key(
    shop: ToolShop, send: ToolHttp
) -> None:
    headers = {"Authorization": "canary-token", "ACCEPT": "application/vnd.shop+json"}
    await ask(send, HttpCall("GET", f"{shop.url}/orders/{{id}}", lambda: headers), id="5")
    seen = shop.requests[0].headers
    assert (seen["authorization"], seen["accept"]) == ("canary-token", "application/vnd.shop+json")
    assert not {"idempotency-key", "content-type", "cookie", "user-agent"} & seen.keys()


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        ({}, ""),
        ({"q": "a b&c=d#e+f"}, "?q=a%20b%26c%3Dd%23e%2Bf"),
        ({"n": 5.0, "x": 1.5, "yes": True, "no": None}, "?n=5&x=1.5&yes=true"),
        ({"tag": ["a", "b"], "e f": ".."}, "?tag=a&tag=b&e%20f=.."),
    ],
)
def test_a1_other_arguments_are_fields_of_the_query(
    arguments: dict[str, object], query: str
) -> None:
    call = HttpCall("GET", "https://shop.example/stock")
    assert tool_request(call, arguments, ANYBODY, "").url == f"https://shop.example/stock{query}"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        *(("..", "path"), (".", "path"), ("../6", "path"), ("5/cancel", "path"), ("5\\6", "path")),
        *(("", "empty"), ("5\n", "one line"), ("5\x00", "one line"), ("\ud800", "one line")),
        *((None, "missing"), ({"a": 1}, "text"), (["5"], "text"), ("5" * MAX_URL, "too long")),
    ],
)
def test_a13_a_value_that_would_lead_elsewhere_is_refused_in_words(
    value: object, says: str
) -> None:
    with pytest.raises(Unfit, match=says):
        filled(ORDER, {"id": value})


@pytest.mark.parametrize("value", ["", "5\r\nX: y", {"a": 1}])
def test_a13_a_field_of_the_query_has_a_value_of_one_line(value: object) -> None:
    for template, others in (("https://shop.example/?id={id}", []), ("https://a.example/", ["id"])):
        with pytest.raises(Unfit, match="id"):
            filled(template, {"id": value}, others)


async def test_a7_an_unfit_argument_sends_nothing(shop: ToolShop, send: ToolHttp) -> None:
    outcome = await ask(send, HttpCall("GET", f"{shop.url}/orders/{{id}}"), id="../stock/tea")
    assert outcome.state == "failed"
    assert "id must not be a path" in outcome.text
    assert shop.requests == []


TEXTS = st.text(min_size=1, max_size=8) | st.text("./\\%?#&;@:é +", min_size=1, max_size=5)


@given(TEXTS, TEXTS)
@example("%2e%2e", "%2F")
@example("...", "+")
@example("5;a=1", "%")
def test_a13_no_value_changes_the_shape_of_an_address(in_path: str, in_query: str) -> None:
    """Whatever the value: one segment of the path and one field of the query, with just that."""
    import yarl

    template = "https://shop.example/orders/{id}/items?q={q}&fixed=1"
    try:
        url = filled(template, {"id": in_path, "q": in_query})
    except Unfit:
        return
    # As aiohttp reads and sends it.
    parsed = yarl.URL(url)
    assert parsed.origin() == yarl.URL("https://shop.example")
    assert parsed.raw_path.count("/") == 3
    assert parsed.parts == ("/", "orders", in_path, "items")
    assert list(parsed.query.items()) == [("q", in_query), ("fixed", "1")]


async def test_a7_a_secret_that_is_not_there_and_a_number_that_is_none_are_failures(
    shop: ToolShop, send: ToolHttp
) -> None:
    def missing() -> Mapping[str, str]:
        raise UpstreamUnavailable("The service cannot read a secret.")

    outcome = await ask(send, HttpCall("GET", shop.url, missing))
    assert outcome == Outcome("The service cannot read a secret.", "failed")
    call = HttpCall("POST", shop.url, body=("n",))
    assert "not finite" in (await ask(send, call, n=float("nan"))).text
    assert shop.requests == []


# The user


def test_a12_the_token_names_the_user_for_one_host_and_one_minute() -> None:
    forged = Visitor("chat", "ada", {"plan": "gold", "sub": "bob", "aud": "kefu", "exp": "9e9"})
    token = user_token(forged, USER_SECRET, "shop.example", 1_790_000_000.9)
    read = jwt.decode(token, USER_SECRET, ["HS256"], options={"verify_signature": False})
    assert read == {
        "plan": "gold",
        "sub": "ada",
        "aud": "shop.example",
        "iat": 1_790_000_000,
        "exp": 1_790_000_060,
    }


async def test_a12_the_shop_gives_a_customer_her_own_orders_alone(
    shop: ToolShop, send: ToolHttp
) -> None:
    import time

    url = f"{shop.url}/customers/{{customer}}/orders"
    now = [time.time()]
    sign = user_signer(lambda: USER_SECRET, shop.host, lambda: now[0])
    call = HttpCall("GET", url, {USER_HEADER.upper(): "the owner's mistake"}, sign=sign)
    sent = tool_request(call, {"customer": "ada"}, ADA, "").headers
    assert [name for name in sent if name.lower() == "kefu-user"] == ["Kefu-User"]
    run = http_run(call, send, "read")
    own = await run({"customer": "ada"}, ADA, "")
    assert [one["id"] for one in json.loads(own.text)["orders"]] == ["5", "6"]
    assert "HTTP 403" in (await run({"customer": "bob"}, ADA, "")).text
    assert "HTTP 401" in (await run({"customer": "ada"}, ANYBODY, "")).text
    now[0] -= 61
    assert "HTTP 401" in (await run({"customer": "ada"}, ADA, "")).text
    elsewhere = HttpCall("GET", url, sign=user_signer(lambda: USER_SECRET, "b.example", time.time))
    assert (
        "HTTP 401" in (await http_run(elsewhere, send, "read")({"customer": "ada"}, ADA, "")).text
    )


# The response


def response(status: int, body: bytes = b"", type: str = "", **more: Any) -> ToolResponse:
    return ToolResponse(status, {"content-type": type} if type else {}, body, **more)


JSON = "application/json"
CONTENTS: list[tuple[ToolResponse, str, str, str]] = [
    # response, state of a read, state of a write, text
    (response(200, b'{ "id": 5,\n "n": "\xc3\xa9" }', JSON), "done", "done", '{"id":5,"n":"é"}'),
    (response(200, b"[1]", "application/hal+json; charset=utf-8"), "done", "done", "[1]"),
    (response(200, b" 89.00 EUR\xff\n", "text/plain"), "done", "done", "89.00 EUR\ufffd"),
    (response(200, b'"\\ud800"', JSON), "done", "done", '"?"'),
    (response(204), "done", "done", "Done: HTTP 204 (No Content)"),
    (response(200, b"{oh", JSON), "failed", "done", "damaged JSON"),
    (response(200, b"[" * 50_000, JSON), "failed", "done", "damaged JSON"),
    (response(200, b"%PDF", "application/pdf"), "failed", "done", "readable (application/pdf)"),
    (response(200, b"x"), "failed", "done", "readable (without a type)"),
    (response(200, b"<p>canary", "text/html"), "failed", "unsure", "a web page"),
    (response(200, b"\n<!DOCTYPE html>canary", "text/plain"), "failed", "unsure", "a web page"),
    (response(200, b'"' + b"x" * 9, JSON, is_whole=False), "done", "done", "x\n(The rest was too"),
]


@pytest.mark.parametrize(("given", "read", "write", "text"), CONTENTS)
def test_a7_contents_that_are_no_data_are_named(
    given: ToolResponse, read: str, write: str, text: str
) -> None:
    for effect, state in (("read", read), ("write", write)):
        outcome = outcome_of(given, effect, "status")  # type: ignore[arg-type]
        assert outcome.state == state
        assert text in outcome.text
        assert "canary" not in outcome.text


STATES = {
    **dict.fromkeys((400, 401, 403, 404, 409, 422, 425, 429, 304, 307, 308), "failed"),
    **dict.fromkeys((500, 502, 503, 504, 599, 408, 301, 302, 303), "unsure"),
}


@pytest.mark.parametrize("status", STATES)
def test_a10_an_error_of_a_write_is_certain_only_if_it_was_refused(status: int) -> None:
    given = response(status, b"canary", "text/plain")
    write, read = outcome_of(given, "write", "status"), outcome_of(given, "read", "status")
    assert (write.state, read.state) == (STATES[status], "failed")
    assert f"HTTP {status}" in write.text
    assert ("not known" in write.text) is (write.state == "unsure")
    assert "canary" not in write.text + read.text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (response(409, b"Already sent. " * 99, "text/plain"), "It says: Already sent."),
        (response(422, b'{ "error": "No such day" }', JSON), '{"error":"No such day"}'),
        (response(404, b"<html>x", "text/html"), "The service answered HTTP 404 (Not Found)."),
        (response(302, b"x", "text/plain"), "Redirects are not followed."),
    ],
)
def test_a7_the_owner_can_show_the_text_of_errors(given: ToolResponse, text: str) -> None:
    outcome = outcome_of(given, "read", "text")
    assert text in outcome.text
    assert len(outcome.text) < 600
    assert "<html" not in outcome.text


# With a shop that fails: state and times of a read, and of a write
FAULTS: dict[Fault, tuple[str, int, str]] = {
    "500_before": ("failed", 1, "unsure"),
    "500_after": ("failed", 1, "unsure"),
    "reset_before": ("done", 2, "unsure"),
    "reset_after": ("done", 2, "unsure"),
    "cut": ("done", 2, "unsure"),
    "html": ("failed", 1, "unsure"),
    "bad_json": ("failed", 1, "done"),
    "big": ("done", 1, "done"),
    "redirect": ("failed", 1, "unsure"),
    "bomb": ("failed", 1, "done"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a7_a_read_is_sent_again_once_and_a_write_never(
    shop: ToolShop, send: ToolHttp, fault: Fault
) -> None:
    read, times, write = FAULTS[fault]
    shop.fail(fault, path="/stock")
    outcome = await ask(send, HttpCall("GET", f"{shop.url}/stock/{{sku}}"), sku="tea")
    assert (outcome.state, len(shop.requests)) == (read, times)
    for number, method in enumerate(("POST", "PUT", "DELETE")):
        await _write_once(shop, send, fault, write if method == "POST" else "", method)
        assert len(shop.requests) == times + number + 1
    assert shop.cancelled["5"] == (fault not in ("500_before", "reset_before"))


async def _write_once(
    shop: ToolShop, send: ToolHttp, fault: Fault, state: str, method: str
) -> None:
    shop.fail(fault)
    run = http_run(HttpCall(method, f"{shop.url}/orders/{{id}}/cancel"), send, "write")
    outcome = await run({"id": "5"}, ANYBODY, "one-key")
    assert state in ("", outcome.state)
    assert "canary" not in outcome.text


@pytest.mark.parametrize("effect", ["read", "write"])
async def test_a7_a_service_that_is_down_has_certainly_done_nothing(
    shop: ToolShop, send: ToolHttp, effect: Effect
) -> None:
    call = HttpCall("POST" if effect == "write" else "GET", f"{shop.url}/orders/{{id}}/cancel")
    run = http_run(call, send, effect)
    shop.kill()
    outcome = await run({"id": "5"}, ANYBODY, "")
    assert outcome.state == "failed"
    assert outcome.text == "The service could not be reached: no connection (ClientConnectorError)."
    shop.revive()
    assert (await run({"id": "5"}, ANYBODY, "")).state == (
        "done" if effect == "write" else "failed"
    )
