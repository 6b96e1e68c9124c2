"""A reload, the next page or a broken line in Chromium: the widget takes up the same answer."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from kefu.sessions.store.overview import SessionFilter
from tests.fakes import behaviours as b
from tests.fakes.browser import told_by
from tests.fakes.chatting import STORE, store_of
from tests.fakes.stage import FAST, stage

SCRIPT = Path(__file__).with_name("resume.mjs")
WORDS = [f"word{number}" for number in range(60)]
TEXT = " ".join(WORDS)
WAYS = [("reload", at) for at in range(0, 60, 10)] + [("next page", 15), ("broken line", 25)]


@pytest.mark.slow
async def test_reload_at_every_tenth_chunk_shows_the_same_text_from_one_request_to_the_model() -> (
    None
):
    asked = [
        {"how": how, "word": f"word{at}", "question": f"{how} {at}?", "last": WORDS[-1]}
        for how, at in WAYS
    ]
    with stage(4, **FAST, store=STORE) as running:
        for one in asked:
            said = b.answer(*(f"{word} " for word in WORDS), delay=0.06)
            running.script(said, asking=one["question"])
        seen: dict[str, Any] = told_by(SCRIPT, running.url, json.dumps(asked))
        for one, shown in zip(asked, seen["answers"], strict=True):
            assert (one, shown["text"].strip()) == (one, TEXT)
            assert (one, shown["questions"], shown["troubles"]) == (one, 1, 0)
            assert len(running.upstream.calls(one["question"])) == 1
        async with store_of(running, time.time) as store:
            rows = (await store.newest(SessionFilter(), None, 50, time.time())).rows
            assert len(rows) == len(asked)
            for row in rows:
                kept = await store.messages(row.session.id, now=time.time())
                texts = [(m.role, m.status) for m in kept]
                assert (texts, kept[1].content) == ([("user", "ok"), ("assistant", "ok")], TEXT)
                assert len(await store.calls(row.session.id)) == 1
    # Nobody asked twice, and leaving the page cancelled nothing.
    assert (seen["posts"], seen["cancels"], seen["errors"]) == (len(asked), 0, [])
    # On a busy machine an answer may have ended before its page is back; not the broken line's.
    assert seen["resumed"] >= 1
