"""T16: the site names its users; forged, swapped and expired tokens are refused."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import Answer
from tests.fakes.fixtures import Staged
from tests.fakes.stage import FAST, Stage
from tests.fakes.stage import stage as running_stage

OLD, NEW = "site-secret-old-" + "o" * 48, "site-secret-new-" + "n" * 48


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    settings = {**FAST, "identity_secrets": f"{NEW},{OLD}", "hooks": "user_profile"}
    with running_stage(1, sessions="true", **settings) as running:
        yield running


def token(
    user: object = "user-1",
    secret: str = NEW,
    algorithm: str = "HS256",
    *,
    without: str = "",
    **claims: object,
) -> str:
    whole = {"sub": user, "aud": "kefu", "exp": int(time.time()) + 300, **claims}
    whole.pop(without, None)
    return jwt.encode(whole, secret, algorithm)


async def say(stage: Stage, user: str, session: Answer | None = None) -> Answer:
    headers, body = {"X-User-Token": user} if user else {}, {"message": "hello"}
    if session:
        headers["X-Session-Token"] = session.headers["x-session-token"]
        body["session_id"] = session.headers["x-session-id"]
    return await stage.ask(body, headers=headers)


def unsigned() -> str:
    head, claims, _ = token().split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').decode().rstrip("=")
    assert head
    return f"{none}.{claims}."


def swapped() -> str:
    """A token whose user was replaced after it was signed."""
    head, claims, signature = token().split(".")
    whole = json.loads(base64.urlsafe_b64decode(claims + "=="))
    other = base64.urlsafe_b64encode(json.dumps({**whole, "sub": "user-2"}).encode())
    return f"{head}.{other.decode().rstrip('=')}.{signature}"


FORGED: dict[str, Any] = {
    "alg none": unsigned(),
    "another algorithm of the same kind": token(algorithm="HS512"),
    "a secret that is nobody's": token(secret="x" * 64),
    "another's name": swapped(),
    "a signature cut short": token()[:-2],
    "another audience": token(aud="somebody-else"),
    "no audience": token(without="aud"),
    "expired": token(exp=int(time.time()) - 60),
    "no expiry": token(without="exp"),
    "no name": token(without="sub"),
    "an empty name": token(""),
    "a name that is long": token("x" * 300),
    "a name with half of a surrogate pair": token("user-\ud800"),
    "a name with a line break": token("user-1\r\nX-Admin: 1"),
    "no token at all": "hello",
    "dots": "..",
    "one that is long": token(more="x" * 5000),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
async def test_t16_token_that_is_not_good_is_refused_before_anything_is_asked(
    stage: Stage, forged: str
) -> None:
    calls = len(stage.upstream.journal)
    answer = await say(stage, forged)
    assert (answer.status, answer.json["error"]["code"]) == (403, "identity_rejected")
    assert len(stage.upstream.journal) == calls


async def test_t16_chat_of_a_user_is_that_users_alone(stage: Stage) -> None:
    stage.script(b.answer("hi"))
    first = await say(stage, token())
    assert first.complete
    assert (await say(stage, token(secret=OLD), first)).complete
    for stranger in ("", token("user-2")):
        answer = await say(stage, stranger, first)
        assert (answer.status, answer.json["error"]["code"]) == (404, "session_not_found")


async def test_t16_an_anonymous_chat_belongs_to_no_user(stage: Stage) -> None:
    stage.script(b.answer("hi"))
    first = await say(stage, "")
    assert (await say(stage, "", first)).complete
    assert (await say(stage, token(), first)).status == 404


async def test_t16_p21_the_signed_profile_overrides_that_of_the_page(
    stage: Stage,
) -> None:
    stage.script(b.answer("hi"))
    claims = {"name": "Lin", "plan": "gold"}
    body = {"message": "hello", "profile": {"name": "Mallory", "city": "Xi'an"}}
    assert (await stage.ask(body, headers={"X-User-Token": token(**claims)})).complete
    system = stage.upstream.journal[-1].body["messages"][0]["content"]
    assert "Lin" in system
    assert "Mallory" not in system


async def test_t16_without_a_secret_no_user_token_is_needed(staged: Staged) -> None:
    stage = staged(1, sessions="true")
    stage.script(b.answer("hi"))
    assert (await say(stage, "anything")).complete
