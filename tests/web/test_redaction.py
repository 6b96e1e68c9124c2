"""T18, H13: secrets are redacted everywhere; words that only look like a secret are unchanged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes import behaviours as b
from tests.fakes.asking import Answer
from tests.fakes.chatting import FILE, STORE, Visitor, title_of
from tests.fakes.fixtures import Staged
from tests.fakes.stage import FAST, Stage, stage

WORDS = Path(__file__).with_name("innocent_words.txt").read_text(encoding="utf-8").splitlines()
CHATS = 10
TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
KEPT: dict[str, Any] = {"store": STORE, "capture": "all", "sessions": "true"}


async def repeat(exchange: b.Exchange) -> None:
    """A behaviour that answers with the text of the question."""
    await b.answer(exchange.body["messages"][-1]["content"])(exchange)


class Talked:
    """Chats of twenty sentences each. The model answers each sentence by repeating it."""

    def __init__(self, running: Stage) -> None:
        self.running = running
        self.visitors = [Visitor(running) for _ in range(CHATS)]
        self.answers: dict[str, Answer] = {}
        asyncio.run(self._talk())

    def texts_of(self, number: int) -> list[str]:
        return WORDS[number::CHATS]

    async def _talk(self) -> None:
        await asyncio.gather(*map(self._chat, range(CHATS)))

    async def _chat(self, number: int) -> None:
        for text in self.texts_of(number):
            self.answers[text] = await self.visitors[number].say(text)

    def exports(self, form: str) -> list[str]:
        """The exports of all chats, as their visitors get them."""
        return [exported(visitor, form) for visitor in self.visitors]

    def panel(self, rest: str = "") -> list[httpx.Response]:
        """The exports of all chats, as an operator gets them."""
        return [in_panel(visitor, rest) for visitor in self.visitors]


def exported(visitor: Visitor, form: str) -> str:
    url = f"{visitor.stage.url}/api/sessions/{visitor.session_id}/export?format={form}"
    return httpx.get(url, headers=visitor.headers).text


def in_panel(visitor: Visitor, rest: str = "") -> httpx.Response:
    url = f"{visitor.stage.url}/admin/api/sessions/{visitor.session_id}{rest}"
    return httpx.get(url, headers={"Authorization": f"Bearer {TOKEN}"})


@pytest.fixture(scope="module")
def talked() -> Iterator[Talked]:
    with stage(2, **{**FAST, **KEPT}, environment={"ADMIN_TOKEN": TOKEN}) as running:
        running.script(repeat)
        yield Talked(running)


def test_there_are_200_sentences_of_many_kinds() -> None:
    assert len(set(WORDS)) == 200
    kinds = ("Bearer ", "bearer", "sk-", "客", "Authorization: ", "eyJ", "base64", "$", "`")
    assert all(any(kind in text for text in WORDS) for kind in kinds)


def test_innocent_words_reach_the_model_and_the_visitor_unchanged(talked: Talked) -> None:
    asked = {call.body["messages"][-1]["content"] for call in talked.running.upstream.journal}
    assert asked == set(WORDS)
    assert {text: answer.text for text, answer in talked.answers.items()} == {
        text: text for text in WORDS
    }


def test_innocent_words_are_sent_to_the_model_unchanged(talked: Talked) -> None:
    last = {talked.texts_of(number)[-1]: number for number in range(CHATS)}
    for call in talked.running.upstream.journal:
        told = call.body["messages"]
        messages = [message["content"] for message in told if message["role"] != "system"]
        if (number := last.get(messages[-1])) is not None:
            history = talked.texts_of(number)[-11:-1]
            assert messages[:-1] == [text for text in history for _ in range(2)]


def test_innocent_words_are_stored_unchanged(talked: Talked) -> None:
    for number, export in enumerate(talked.exports("json")):
        kept = [message["content"] for message in json.loads(export)["messages"]]
        assert kept == [text for text in talked.texts_of(number) for _ in range(2)]
    path = talked.running.service.folder
    stored = b"".join(one.read_bytes() for one in path.glob(f"{FILE}*"))
    assert not [text for text in WORDS if text.encode() not in stored]


@pytest.mark.parametrize("form", ["md", "txt"])
def test_innocent_words_are_exported_unchanged(talked: Talked, form: str) -> None:
    for number, export in enumerate(talked.exports(form)):
        lines = [line.removeprefix("> ") for line in export.split("\n")]
        for text in talked.texts_of(number):
            assert lines.count(text) >= 2, text


def test_innocent_words_are_in_the_panel_unchanged(talked: Talked) -> None:
    """In messages, titles, and the requests as they were sent."""
    for number, answer in enumerate(talked.panel()):
        shown, texts = answer.json(), talked.texts_of(number)
        assert shown["session"]["title"] == title_of(texts[0])
        assert [one["content"] for one in shown["messages"][::2]] == texts
        for call, text in zip(shown["calls"], texts, strict=True):
            assert json.loads(call["request"])["messages"][-1]["content"] == text
            assert call["response"]["choices"][0]["message"]["content"] == text
            assert "redacted" not in call["meta"]
    for number, answer in enumerate(talked.panel("/export?format=md")):
        lines = answer.text.split("\n")
        assert not [text for text in talked.texts_of(number) if lines.count(text) < 2]


CANARIES = {
    "KEFU_SESSION_SECRETS": "canary-session-new-5f3c9a7e1b6d20,canary-session-old-5f3c9a7e1b6d20",
    "KEFU_IDENTITY_SECRETS": "canary-user-new-5f3c9a7e1b6d20c8,canary-user-old-5f3c9a7e1b6d20c8",
    "KEFU_BOT_CHECK_SECRET": 'canary-"bot"-\\5f3c\\-é客',
    "ADMIN_TOKEN": TOKEN,
}


async def test_t18_no_configured_secret_is_kept_logged_or_shown(staged: Staged) -> None:
    """In messages and answers: as plain text, in JSON, and in JSON inside JSON; at level DEBUG."""
    running = staged(3, **KEPT, log_level="DEBUG", environment=CANARIES)
    both = ("KEFU_SESSION_SECRETS", "KEFU_IDENTITY_SECRETS")
    secrets = [secret for name in both for secret in CANARIES[name].split(",")]
    secrets += [CANARIES["KEFU_BOT_CHECK_SECRET"], TOKEN, *running.keys]
    visitor = Visitor(running)
    for secret in secrets:
        whole = f"<{secret}> {json.dumps({'key': secret})} {json.dumps(json.dumps([secret]))}"
        # The relay breaks off an answer that contains the key of its own request.
        running.script(b.answer(f"You said {whole}") if secret not in running.keys else repeat)
        assert (await visitor.say(whole)).complete
    shown = [exported(visitor, form) for form in ("json", "md", "txt")]
    shown += [in_panel(visitor, rest).text for rest in ("/export", "/export?format=md", "")]
    shown += [(await visitor.look()).text]
    stored = b"".join(one.read_bytes() for one in running.service.folder.glob(f"{FILE}*"))
    shown += [stored.decode(errors="replace"), running.service.stderr]
    assert [text.count("<[key]>") >= len(secrets) for text in shown[:-2]] == [True] * 7
    for secret in secrets:
        escaped = json.dumps(secret)[1:-1]
        for spelling in (secret, escaped, json.dumps(escaped)[1:-1]):
            assert not [text[:200] for text in shown if spelling in text]
    assert all("[key]" in call.question for call in running.upstream.journal)
