"""A client with a stored chat, which keeps the session's id and token as the widget does."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, Protocol

import httpx
from typing_extensions import TypeVar

from kefu.sessions.store.model import Retention
from kefu.sessions.store.ports import Sessions
from kefu.stores.dynamodb.store import DynamoStore
from kefu.stores.sql.store import SqlStore
from kefu.stores.sqlite.store import SqliteStore
from tests.fakes.asking import Answer, client
from tests.fakes.stage import Stage

FILE = "chats.sqlite3"
"""In the service's folder, as `store="sqlite:///chats.sqlite3"`."""

STORE = f"sqlite:///{FILE}"


class Site(Protocol):
    """A service in a `Stage`, or a Lambda function behind a gateway."""

    @property
    def url(self) -> str: ...

    async def ask(self, body: Any, *, headers: Mapping[str, str]) -> Answer: ...


S = TypeVar("S", bound=Site, default=Stage)


class Visitor(Generic[S]):
    def __init__(self, stage: S) -> None:
        self.stage = stage
        self.session_id: str | None = None
        self.token = ""

    async def say(self, text: str, *, new: bool = False, **more: Any) -> Answer:
        """Send one message; `new` starts another chat."""
        if new:
            self.session_id, self.token = None, ""
        body = {"message": text, **({"session_id": self.session_id} if self.session_id else {})}
        answer = await self.stage.ask({**body, **more}, headers=self.headers)
        self.session_id = answer.headers.get("X-Session-Id", self.session_id)
        self.token = answer.headers.get("X-Session-Token", self.token)
        return answer

    @property
    def headers(self) -> dict[str, str]:
        return {"X-Session-Token": self.token} if self.token else {}

    async def look(self, rest: str = "/messages", method: str = "GET") -> httpx.Response:
        async with client() as browser:
            url = f"{self.stage.url}/api/sessions/{self.session_id}{rest}"
            return await browser.request(method, url, headers=self.headers)

    async def shown(self) -> list[tuple[str, str, str]]:
        """The role, content and status of all messages, as `GET …/messages` returns them."""
        page = (await self.look("/messages?limit=100")).json()
        return [(m["role"], m["content"], m["status"]) for m in page["messages"]]


def new_id() -> str:
    return str(uuid.uuid4())


@asynccontextmanager
async def store_of(stage: Stage, now: Any) -> AsyncIterator[Sessions]:
    """The service's store, opened by this process as well."""
    address = stage.service.environment["KEFU_STORE"]
    store: SqlStore | DynamoStore
    if address.startswith("dynamodb:"):
        endpoint = stage.service.environment["AWS_ENDPOINT_URL_DYNAMODB"]
        store = DynamoStore(address.rpartition("/")[2], now, endpoint=endpoint)
    elif address.startswith("postgresql:"):
        # Not at the top: few tests need PostgreSQL.
        from kefu.stores.postgresql.store import PostgresStore

        store = PostgresStore(address, now)
    else:
        store = SqliteStore(stage.service.folder / FILE, now)
    yield store.sessions(Retention())
    await store.aclose()


def title_of(text: str) -> str:
    """The first 40 characters, the last of them an ellipsis if there are more."""
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39].rstrip()}…"
