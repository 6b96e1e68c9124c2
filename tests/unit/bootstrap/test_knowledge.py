"""G34: the time that one page may take which the panel's API names."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kefu.bootstrap import knowledge
from kefu.knowledge.pages import PageText
from tests.fakes.site import Site, html, served


class File:
    """A file of learnt pages that keeps what is added."""

    is_writable = True

    def __init__(self, url: str) -> None:
        self._url = url
        self.added: list[PageText] = []

    async def sources(self) -> Sequence[str]:
        return [self._url]

    async def add(self, page: PageText, now: float) -> None:
        assert now == 1.0
        self.added.append(page)


async def test_g34_a_slow_page_keeps_its_text_and_its_password_is_kept_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with served(Site()) as site:
        site.pages = {"/slow": html("Slow")._replace(seconds=3), "/a": html("A")}
        file = File(f"{site.url}/a")
        base = cast("Any", SimpleNamespace(clock=SimpleNamespace(now=lambda: 1.0)))
        learn = knowledge.page_learner(base, [cast("Any", file)])
        assert learn
        monkeypatch.setattr(knowledge, "PAGE_SECONDS", 0.5)
        assert await learn(f"{site.url}/slow") == ("failed", "not complete within 0.5 s")
        assert not file.added
        monkeypatch.undo()
        signed = site.url.replace("http://", "http://staging:s3cret@")
        assert await learn(f"{signed}/a") == ("learnt", "")
        assert [one.url for one in file.added] == [f"{site.url}/a"]
        assert len(site.sign_ins) == 2
