"""Chats that an earlier version stored: all of them can be read, and go on.

`tests.fixtures.make` has made the files and tables, by running those versions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.fakes.asking import conversation, get
from tests.fakes.fixtures import Staged
from tests.fakes.stage import ORIGIN
from tests.fixtures.earlier import FOLDER, VERSIONS, copy_file, facts, is_in
from tests.fixtures.old import user_token
from tests.fixtures.reopened import ENVIRONMENT, SETTINGS, Earlier, in_table, table_of
from tests.parts.plugin import each


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=each("sqlite", "dynamodb_local", "dynalite"))
async def earlier(
    request: pytest.FixtureRequest,
    staged: Staged,
    version: str,
    tmp_path: Path,
    aws_environment: dict[str, str],
) -> AsyncIterator[Earlier]:
    if request.param == "sqlite":
        file = copy_file(version, tmp_path)
        running = staged(1, store=f"sqlite:///{file}", environment=ENVIRONMENT, **SETTINGS)
        yield Earlier(running, facts(version, "sqlite"))
        return
    endpoint = request.getfixturevalue(request.param)
    table = await table_of(version, endpoint)
    yield Earlier(staged(1, **in_table(table, endpoint)), facts(version, "table"))
    await table.aclose()


async def test_every_chat_call_line_and_request_of_an_earlier_version_is_read(
    earlier: Earlier,
) -> None:
    """The visitor's view, the operator's with the calls to the model, the list and its sums."""
    for name, kept in earlier.facts["chats"].items():
        shown = await earlier.visitor(kept).look("/messages?limit=100")
        assert is_in(kept["messages"], shown.json()["messages"]), name
        seen = earlier.operator(f"/sessions/{kept['id']}")
        assert is_in(kept["operator"], seen), name
        exported = await earlier.visitor(kept).look("/export?format=txt")
        assert all(one["content"] in exported.text for one in kept["messages"]), name
    pending = earlier.facts["pending"]["id"]
    rows = [row for row in earlier.listed() if row["id"] != pending]
    assert is_in(earlier.facts["rows"], rows)
    contacts = earlier.operator("/contacts")["requests"]
    assert is_in(earlier.facts["contacts"], contacts)
    gone = await earlier.visitor(earlier.facts["gone"]).look()
    assert gone.status_code == 404


async def test_sums_of_an_earlier_version_are_read(earlier: Earlier) -> None:
    """The sums have one chat more, with which the earlier version was killed."""
    for day in earlier.facts["days"]:
        [now] = earlier.operator(f"/days?since={day['date']}&until={day['date']}")["days"]
        assert {name: now[name] - count for name, count in day.items() if name != "date"} == {
            **{name: 0 for name in day if name != "date"},
            **_of_one_chat(day, now),
        }


def _of_one_chat(day: Mapping[str, int], now: Mapping[str, int]) -> Mapping[str, int]:
    more = {"chats": 1, "first_words": 1} if "chats" in day else {}
    names = ("prompt_tokens", "completion_tokens", *(["first_word_ms"] if more else []))
    return {**more, "turns": 1, **{name: now[name] - day[name] for name in names}}


async def test_chats_of_an_earlier_version_go_on_with_their_history(earlier: Earlier) -> None:
    """A chat that a person has taken over waits for the person."""
    for name, kept in earlier.facts["chats"].items():
        visitor, question = earlier.visitor(kept), f"And now, {name}?"
        assert (await visitor.say(question, client_message_id=f"now-of-{name}")).complete
        shown = [(one["role"], one["content"], one["status"]) for one in kept["messages"]]
        shown += [("user", question, "ok")]
        if kept["operator"]["session"].get("attendance", {}).get("state") != "person":
            shown += [("assistant", "Hello from the model.", "ok")]
            sent = earlier.stage.upstream.calls(question)[0].body["messages"]
            before = [one["content"] for one in kept["messages"] if one["status"] == "ok"]
            assert [one["content"] for one in sent if one["role"] != "system"][:-1] == before
        assert await visitor.shown() == shown


async def test_question_at_which_an_earlier_version_was_killed_is_answered(
    earlier: Earlier,
) -> None:
    kept = earlier.facts["pending"]
    visitor = earlier.visitor(kept)
    *_, last = await visitor.shown()
    assert last == ("user", "Who is killed?", "interrupted")
    again = await visitor.say("Who is killed?", client_message_id=kept["client_message_id"])
    assert again.complete
    assert [one[1:] for one in await visitor.shown()] == [
        ("Is the shop open?", "ok"),
        ("Hello from the model.", "ok"),
        ("Who is killed?", "ok"),
        ("Hello from the model.", "ok"),
    ]


async def test_chat_of_an_earlier_version_is_found_and_deleted(earlier: Earlier) -> None:
    """By its words, its filters, and then not any more.

    A table of a version that did not count ratings has no chats with one.
    """
    ann, bo = (earlier.facts["chats"][name]["id"] for name in ("ann", "bo"))

    def found(query: str) -> list[str]:
        return [row["id"] for row in earlier.listed(query)]

    assert found("text=Svalbard") == [ann]
    if "ups" in earlier.facts["days"][0]:
        assert (found("rating=up"), found("rating=down")) == ([ann], [bo])
    assert found("has_error=true") == [earlier.facts["chats"]["failed"]["id"]]
    visitor = earlier.visitor(earlier.facts["chats"]["ann"])
    assert (await visitor.look("", "DELETE")).status_code == 204
    assert found("text=Svalbard") == found("rating=up") == []
    assert (await visitor.look()).status_code == 404


@pytest.mark.parametrize(
    "learnt", sorted(FOLDER.glob("*/shop.kefu")), ids=lambda at: at.parent.name
)
async def test_learnt_file_of_an_earlier_version_answers(staged: Staged, learnt: Path) -> None:
    """Chinese and English passages are found, and the widget gets their sources."""
    running = staged(1, knowledge=str(learnt))
    for question, page, words in (
        ("How long do parcels to Norway take?", "delivery", "three to five working days"),
        ("靴子可以退货吗？", "returns", "靴子三十天内可退"),
    ):
        answer = await running.ask(conversation(question, sources=True))
        assert answer.complete
        [call] = running.upstream.calls(question)
        assert words in call.body["messages"][-1]["content"]
        assert f"{ORIGIN}/help/{page}" in answer.raw.decode()


async def test_d2_chat_of_a_signed_in_user_of_an_earlier_file_is_listed(
    staged: Staged, version: str, tmp_path: Path
) -> None:
    """0.1.0 did not store the user of a chat."""
    store = f"sqlite:///{copy_file(version, tmp_path)}"
    running = staged(1, store=store, environment=ENVIRONMENT, **SETTINGS)
    answer = await get(running.url, "/api/sessions", X_User_Token=user_token())
    listed = [one["id"] for one in answer.raise_for_status().json()["sessions"]]
    kept = facts(version, "sqlite")["chats"]["user"]["id"]
    assert listed == ([] if version == "0.1.0" else [kept])
