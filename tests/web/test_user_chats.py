"""D2: `GET /api/sessions` lists the chats of a signed-in user, so that they follow to devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import get
from tests.fakes.chatting import STORE, Visitor
from tests.fakes.fixtures import Staged
from tests.fakes.stage import FAST, ORIGIN, Stage, stage
from tests.web.test_identity import FORGED, NEW, token


class User(Visitor):
    """A browser in which this user has signed in."""

    def __init__(self, running: Stage, name: str) -> None:
        super().__init__(running)
        self.name = name

    @property
    def headers(self) -> dict[str, str]:
        user = {"X-User-Token": token(self.name)} if self.name else {}
        return {**super().headers, **user}

    async def listed(self, query: str = "") -> httpx.Response:
        user = {"X-User-Token": token(self.name)} if self.name else {}
        return await get(self.stage.url, f"/api/sessions?{query}", Origin=ORIGIN, **user)

    async def chats(self, query: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            (await self.listed(query)).raise_for_status().json()["sessions"]
        )
        return found


@pytest.fixture(scope="module", params=["memory:", STORE])
def running(request: pytest.FixtureRequest) -> Iterator[Stage]:
    with stage(1, **FAST, store=request.param, identity_secrets=NEW) as one:
        one.script(b.answer("hi"))
        yield one


async def test_d2_chats_follow_a_user_to_another_device_and_go_on_there(running: Stage) -> None:
    laptop, phone = User(running, "ann"), User(running, "ann")
    await laptop.say("First chat")
    await laptop.say("Where is my parcel?", new=True)
    newest, first = await phone.chats()
    assert (newest["title"], first["title"]) == ("Where is my parcel?", "First chat")
    assert set(newest) == {"id", "token", "title", "config_id", "created_at", "updated_at"}
    phone.session_id, phone.token = newest["id"], newest["token"]
    assert [one[1] for one in await phone.shown()] == ["Where is my parcel?", "hi"]
    assert (await phone.say("And now?")).complete
    assert [one[1] for one in await laptop.shown()][-2:] == ["And now?", "hi"]


async def test_d2_nobody_else_sees_or_opens_the_chats_of_a_user(running: Stage) -> None:
    """Another's id and token get the same answer as an id that does not exist."""
    cara, dan, anonymous = User(running, "cara"), User(running, "dan"), User(running, "")
    await cara.say("Private")
    await anonymous.say("Anonymous")
    assert await dan.chats() == []
    [own] = await cara.chats()
    for stranger in (dan, anonymous):
        stranger.session_id, stranger.token = own["id"], own["token"]
        foreign = await stranger.look()
        stranger.session_id = "0" * 32
        unknown = await stranger.look()
        assert (foreign.status_code, foreign.json()) == (404, unknown.json())


async def test_d2_anonymous_and_forged_callers_get_a_clear_error(running: Stage) -> None:
    refused = await User(running, "").listed()
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "identity_rejected")
    assert "signed-in user" in refused.json()["error"]["message"]
    for forged in ("alg none", "expired", "another's name"):
        answer = await get(running.url, "/api/sessions", Origin=ORIGIN, X_User_Token=FORGED[forged])
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "identity_rejected")


async def test_d2_the_list_comes_in_bounded_pages(running: Stage) -> None:
    user = User(running, "eve")
    for number in range(5):
        await user.say(f"Chat {number}", new=True, client_message_id=f"eve-chat-{number}")
    titles: list[str] = []
    cursor = ""
    while True:
        page = (await user.listed(f"limit=2&cursor={cursor}")).json()
        assert len(page["sessions"]) <= 2
        titles += [one["title"] for one in page["sessions"]]
        if not (cursor := page["cursor"]):
            break
    assert titles == [f"Chat {number}" for number in (4, 3, 2, 1, 0)]
    for query, param in (("limit=101", "limit"), ("limit=x", "limit"), ("cursor=x", "cursor")):
        refused = await user.listed(query)
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)


async def test_d2_the_list_has_a_rate_of_its_own(staged: Staged) -> None:
    running = staged(1, identity_secrets=NEW, session_requests_per_minute=3)
    fay, gus = User(running, "fay"), User(running, "gus")
    assert [(await fay.listed()).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert (await gus.listed()).status_code == 200


async def test_d2_a_server_without_the_sites_secret_has_no_lists(staged: Staged) -> None:
    assert (await User(staged(1), "hal").listed()).status_code == 403


async def test_d2_only_pages_of_the_site_may_ask_for_the_list(running: Stage) -> None:
    foreign = {"Origin": "https://evil.example", "X-User-Token": token("ann")}
    answer = await get(running.url, "/api/sessions", **foreign)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_not_allowed")
    asked = await get(
        running.url,
        "/api/sessions",
        method="OPTIONS",
        Origin=ORIGIN,
        Access_Control_Request_Method="GET",
        Access_Control_Request_Headers="x-user-token",
    )
    assert "*" in asked.headers["access-control-allow-headers"]
