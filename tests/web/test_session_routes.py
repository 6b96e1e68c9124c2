"""`/api/sessions` and ratings with the real service: P14, P35, P36, T15, T19, T29."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator

import httpx
import pytest

from kefu.sessions.store.model import NewMessage, SessionId, TurnOutcome
from kefu.sessions.turn.tokens import SessionTokens
from tests.fakes import behaviours as b
from tests.fakes.asking import client, get
from tests.fakes.chatting import FILE, STORE, Visitor, new_id, store_of
from tests.fakes.fixtures import Staged
from tests.fakes.stage import FAST, ORIGIN, Stage, stage

ROUTES = [("/messages", "GET"), ("/export?format=txt", "GET"), ("", "DELETE")]


@pytest.fixture(scope="module")
def kept() -> Iterator[Stage]:
    with stage(20, **FAST, store=STORE) as running:
        yield running


@pytest.fixture
async def visitor(kept: Stage) -> Visitor:
    visitor = Visitor(kept)
    assert (await visitor.say("hello")).complete
    return visitor


async def test_p14_pages_go_back_to_the_beginning(visitor: Visitor) -> None:
    for number in range(5):
        await visitor.say(f"message {number}")
    seen: list[int] = []
    before = ""
    while True:
        page = (await visitor.look(f"/messages?limit=5{before}")).json()
        seen = [message["id"] for message in page["messages"]] + seen
        if page["before"] is None:
            break
        assert page["before"] == seen[0]
        before = f"&before={page['before']}"
    assert seen == list(range(1, 13))


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "before=0", "before=-1", "before="]
)
async def test_p14_a_wrong_page_is_400(visitor: Visitor, query: str) -> None:
    response = await visitor.look(f"/messages?{query}")
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_request")


async def test_t15_whatever_is_wrong_is_the_same_404(visitor: Visitor, kept: Stage) -> None:
    """For another visitor's session, a missing one, no token and a wrong token."""
    other = Visitor(kept)
    await other.say("mine alone")
    told = set()
    for session_id, token in (
        (visitor.session_id, other.token),
        (visitor.session_id, ""),
        (visitor.session_id, "1.x"),
        (visitor.session_id, visitor.token + "x"),
        ("0" * 32, visitor.token),
        ("x", visitor.token),
        ("%2e%2e", visitor.token),
        ("%0d%0aforged", visitor.token),
    ):
        stranger = Visitor(kept)
        stranger.session_id, stranger.token = session_id, token
        for rest, method in ROUTES:
            response = await stranger.look(rest, method)
            told.add((response.status_code, response.text, response.headers.get("Retry-After")))
        if session_id and "%" not in session_id:
            answer = await stranger.say("hello")
            told.add((answer.status, answer.raw.decode(), answer.headers.get("Retry-After")))
    [(status, text, _)] = told
    assert status == 404
    assert json.loads(text)["error"]["code"] == "session_not_found"
    assert len(await visitor.shown()) == 2
    assert len(await other.shown()) == 2


async def test_t15_no_time_tells_whether_a_session_is_there(visitor: Visitor, kept: Stage) -> None:
    """With a wrong token the store is not called, so the median times are similar."""
    ids = [visitor.session_id, "0" * 32]
    seconds: dict[str | None, list[float]] = {name: [] for name in ids}
    async with client() as browser:
        for turn in range(120):
            name = ids[turn % 2]
            started = time.perf_counter()
            url = f"{kept.url}/api/sessions/{name}/messages"
            await browser.get(url, headers={"X-Session-Token": "1.x"})
            seconds[name].append(time.perf_counter() - started)
    one, two = (sorted(times)[len(times) // 2] for times in seconds.values())
    assert max(one, two) < 2 * min(one, two) + 0.002


async def test_t15_visitors_have_no_list_and_no_token_in_a_url(
    visitor: Visitor, kept: Stage
) -> None:
    assert (await get(kept.url, "/api/sessions")).status_code == 403
    assert (await get(kept.url, "/api/sessions/")).status_code == 404
    path = f"/api/sessions/{visitor.session_id}/messages?token={visitor.token}"
    assert (await get(kept.url, f"{path}&X-Session-Token={visitor.token}")).status_code == 404


async def test_p35_every_answer_brings_a_new_token(visitor: Visitor) -> None:
    """Earlier tokens stay valid until they expire."""
    old = visitor.token
    await asyncio.sleep(1.1)  # a token differs from one of another second
    await visitor.say("again")
    assert visitor.token != old
    assert (await visitor.look()).status_code == 200
    visitor.token = old
    assert (await visitor.look()).status_code == 200


async def test_p35_an_expired_token_is_none(staged: Staged) -> None:
    running = staged(1, session_days=0.001 / 86400)
    visitor = Visitor(running)
    assert (await visitor.say("hello")).complete
    assert (await visitor.look()).status_code == 404


OLD, NEW = "a" * 32, "b" * 32


async def test_p35_chats_outlive_the_process_and_a_rotation_of_secrets(staged: Staged) -> None:
    """First with the stored secret, then with a secret of the site, then with its next one."""
    running = staged(1, store=STORE)
    visitor = Visitor(running)
    await visitor.say("hello")
    running.service.restart()
    assert (await visitor.look()).status_code == 200
    running.service.environment["KEFU_SESSION_SECRETS"] = f"{NEW},{OLD}"
    running.service.restart()
    assert (await visitor.look()).status_code == 404
    tokens = SessionTokens([OLD], 60)
    visitor.token = tokens.issue(SessionId(visitor.session_id or ""), time.time())
    assert (await visitor.say("again")).complete
    assert SessionTokens([NEW], 60).owns(
        visitor.token, SessionId(visitor.session_id or ""), time.time()
    )


async def test_p36_a_chat_is_taken_along(visitor: Visitor, kept: Stage) -> None:
    kept.script(b.answer("# Title\n<b>你好</b>"), asking="# not a heading")
    await visitor.say("# not a heading\nsecond line")
    exports = {name: await visitor.look(f"/export?format={name}") for name in ("json", "md", "txt")}
    for name, response in exports.items():
        assert response.status_code == 200
        disposition = response.headers["Content-Disposition"]
        assert disposition.startswith("attachment; filename=")
        assert disposition.endswith(f'.{name}"')
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Cache-Control"] == "no-store"
        assert "<b>你好</b>" in response.text
    whole = exports["json"].json()
    assert whole["id"] == visitor.session_id
    assert [m["content"] for m in whole["messages"]] == [
        "hello",
        "Hello from the model.",
        "# not a heading\nsecond line",
        "# Title\n<b>你好</b>",
    ]
    assert "\n> # not a heading\n> second line\n" in exports["md"].text
    assert (await visitor.look("/export?format=html")).status_code == 400
    assert (await visitor.look("/export")).headers["Content-Type"] == "application/json"


async def test_p36_a_long_chat_is_exported_whole(visitor: Visitor, kept: Stage) -> None:
    async with store_of(kept, time.time) as store:
        session = await store.session(SessionId(visitor.session_id or ""))
        assert session
        for number in range(120):
            begun = await store.begin(session, NewMessage(f"q{number}"), time.time())
            await store.finish(
                session.id, begun.message.id, TurnOutcome("ok", f"a{number}"), time.time()
            )
    messages = (await visitor.look("/export")).json()["messages"]
    assert [m["id"] for m in messages] == list(range(1, 243))


async def test_t29_a_deleted_chat_is_gone_everywhere(visitor: Visitor, kept: Stage) -> None:
    """The file contains no word of its messages and raw bodies."""
    mine = "CANARY-OF-A-VISITOR"
    kept.script(b.answer("CANARY-OF-A-MODEL"), asking=mine)
    await visitor.say(mine)
    response = await visitor.look("", "DELETE")
    assert (response.status_code, response.content) == (204, b"")
    for rest, method in ROUTES:
        expected = 204 if method == "DELETE" else 404  # a deletion may be repeated
        assert (await visitor.look(rest, method)).status_code == expected
    assert (await visitor.say("anybody?")).status == 404
    async with store_of(kept, time.time) as store:
        assert await store.calls(SessionId(visitor.session_id or "")) == []
    stored = b"".join(path.read_bytes() for path in kept.service.folder.glob(f"{FILE}*"))
    assert b"CANARY-OF-A" not in stored


async def test_p36_deleting_stops_a_running_answer(visitor: Visitor, kept: Stage) -> None:
    kept.script(b.answer(*["word "] * 100, delay=0.05), asking="<deleted>")
    asking = asyncio.create_task(visitor.say("<deleted>"))
    call = await kept.upstream.asked("<deleted>")
    await asyncio.sleep(0.3)
    assert (await visitor.look("", "DELETE")).status_code == 204
    assert await kept.upstream.until(lambda: call.closed_at is not None)
    await asyncio.wait({asking}, timeout=2)
    assert (await visitor.look()).status_code == 404


async def test_t1_looking_is_limited_apart_from_writing(staged: Staged) -> None:
    running = staged(1, session_requests_per_minute=3)
    visitor = Visitor(running)
    await visitor.say("hello")
    statuses = [(await visitor.look()).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    assert int((await visitor.look("", "DELETE")).headers["Retry-After"]) > 0
    assert (await visitor.say("more")).complete


async def test_t15_guessing_is_counted_by_the_address(staged: Staged) -> None:
    running = staged(1, ip_requests_per_minute=3)
    stranger = Visitor(running)
    stranger.session_id, stranger.token = "0" * 32, "1.x"
    assert [(await stranger.say("?")).status for _ in range(4)] == [404, 404, 404, 429]


async def rate(visitor: Visitor, mine: str, rating: str, *, kept: bool = True) -> int:
    body = {"client_message_id": mine, "rating": rating}
    body |= {"session_id": str(visitor.session_id)} if kept else {}
    async with client() as browser:
        url = f"{visitor.stage.url}/api/chat/feedback"
        return (await browser.post(url, json=body, headers=visitor.headers)).status_code


async def test_a_rating_is_stored_with_its_answer(visitor: Visitor, kept: Stage) -> None:
    mine = new_id()
    await visitor.say("rate me", client_message_id=mine)
    for rating, stored in (("up", "up"), ("down", "down"), ("none", None)):
        assert await rate(visitor, mine, rating) == 204
        exported = (await visitor.look("/export")).json()["messages"]
        assert [m["rating"] for m in exported] == [None, None, None, stored]
    assert await rate(visitor, new_id(), "up") == 404
    assert await rate(visitor, mine, "best") == 400
    visitor.token = "1.x"
    assert await rate(visitor, mine, "up") == 404


async def test_h8_a_comment_is_stored_on_one_line_without_secrets_and_leaves_with_the_chat(
    visitor: Visitor, kept: Stage
) -> None:
    """Exact secrets are replaced, as in messages, and words are not."""
    mine, secret = new_id(), kept.keys[0]
    await visitor.say("rate me", client_message_id=mine)

    async def comment(**fields: object) -> httpx.Response:
        body = {"client_message_id": mine, "rating": "down", **fields}
        async with client() as browser:
            url = f"{kept.url}/api/sessions/{visitor.session_id}/feedback"
            return await browser.post(url, json=body, headers=visitor.headers)

    said = f"  too\nlong,\tpallbearer at sk-learning-kit {secret} "
    assert (await comment(comment=said)).status_code == 204
    exported = (await visitor.look("/export")).json()["messages"]
    assert exported[-1]["comment"] == "too long, pallbearer at sk-learning-kit [key]"
    assert (await comment(rating="up", comment="good")).status_code == 400
    assert (await comment(comment="x" * 301)).status_code == 400
    assert (await comment(comment="🙂" * 300)).status_code == 204
    absent = await comment(client_message_id=new_id(), comment="x")
    # Not 404, which would mean that there is no such chat.
    assert (absent.status_code, absent.json()["error"]["param"]) == (400, "client_message_id")
    assert (await comment(rating="up")).status_code == 204
    assert "comment" not in (await visitor.look("/export")).json()["messages"][-1]
    visitor.token = "1.x"
    assert (await comment(comment="x")).status_code == 404
    assert "pallbearer" not in kept.service.stderr


async def test_feedback_without_a_chat_is_a_line_in_the_log(kept: Stage) -> None:
    mine = new_id()
    assert await rate(Visitor(kept), mine, "down", kept=False) == 204
    line = await kept.service.logged(path="/api/chat/feedback", client_message_id=mine)
    assert line["rating"] == "down"
    assert await rate(Visitor(kept), "no\nid", "down", kept=False) == 400


@pytest.mark.parametrize("path", ["/api/chat", "/api/sessions/x", "/api/sessions/x/messages"])
async def test_c18_a_page_may_send_and_read_the_sessions_headers(kept: Stage, path: str) -> None:
    preflight = await get(
        kept.url,
        path,
        method="OPTIONS",
        Origin=ORIGIN,
        Access_Control_Request_Method="DELETE",
        Access_Control_Request_Headers="content-type,x-session-token",
    )
    assert preflight.status_code == 204
    assert {"GET", "POST", "DELETE"} <= set(
        preflight.headers["Access-Control-Allow-Methods"].split(", ")
    )
    assert "*" in preflight.headers["Access-Control-Allow-Headers"]
    answer = await get(kept.url, path, Origin=ORIGIN)
    exposed = answer.headers["Access-Control-Expose-Headers"].lower()
    for name in ("x-session-id", "x-session-token", "retry-after"):
        assert name in exposed
    stranger = await get(kept.url, path, Origin="https://evil.example")
    assert stranger.status_code == 403
