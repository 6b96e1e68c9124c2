"""G33: the file of one of several sites is opened by its first question, and replaced as others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kefu.stores.sqlite.knowledge.reloading import (
    NO_FACTS,
    REFRESH_AFTER,
    RETRY_AFTER,
    LocalFile,
    ReloadingKnowledge,
)
from tests.contract.engines import HandClock
from tests.web.test_knowledge import SHOP, learn, page


class OfSite:
    def __init__(self, path: Path, clock: HandClock) -> None:
        self.faults = list[str]()
        self.pages = ReloadingKnowledge(path, clock, self.faults.append, LocalFile(path))

    async def found(self, question: str) -> list[str]:
        return [one.page for one in await self.pages.find(question, (), 6)]


@pytest.fixture
async def site(tmp_path: Path, clock: HandClock) -> AsyncIterator[OfSite]:
    made = OfSite(learn(tmp_path / "north.kefu"), clock)
    yield made
    await made.pages.aclose()


async def test_g33_the_first_question_opens_the_file(site: OfSite) -> None:
    assert site.pages.facts == NO_FACTS
    assert await site.found("parcels to Norway") == [f"{SHOP}/delivery", f"{SHOP}/customs"]
    assert site.pages.facts.pages == 3
    assert site.faults == []


async def test_g12_a_new_file_of_a_site_is_taken_within_a_minute(
    site: OfSite, tmp_path: Path, clock: HandClock
) -> None:
    assert await site.found("hats for dogs") == []
    learn(tmp_path / "north.kefu", page("hats", "Hats for dogs are new."))
    clock.now += REFRESH_AFTER
    assert REFRESH_AFTER < 60
    assert await site.found("hats for dogs") == [f"{SHOP}/hats"]


async def test_g33_a_file_that_vanished_finds_nothing_until_it_is_there_again(
    site: OfSite, tmp_path: Path, clock: HandClock
) -> None:
    file = tmp_path / "north.kefu"
    file.rename(tmp_path / "away")
    assert await site.found("parcels to Norway") == []
    assert "does not exist" in site.faults[0]
    (tmp_path / "away").rename(file)
    clock.now += RETRY_AFTER
    assert len(await site.found("parcels to Norway")) == 2
