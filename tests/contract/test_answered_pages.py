"""G31: answers of people are found on every engine, by the same rules as pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kefu.errors import StoreUnavailable
from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText, page_id
from kefu.sessions.store.answers import WrittenAnswer
from kefu.sessions.store.ports import Sessions
from kefu.stores.sqlite.knowledge.answered import LOOK_AFTER, AnsweredPages
from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge
from kefu.stores.sqlite.knowledge.write import Run, write
from tests.contract.engines import HandClock

PAGES = [
    ("delivery", "en", "Parcels to Norway take five working days."),
    ("returns", "en", "Boots can be sent back within thirty days."),
    ("lieferung", "de", "Pakete nach Norwegen brauchen fünf Tage."),
    ("退货", "zh", "靴子可以在三十天内退货。"),
]
ANSWERS = [
    ("svalbard", "Do you deliver to Svalbard?", "Yes, **Longyearbyen** in ten days."),
    ("gutschein", "Kann ich Gutscheine verschenken?", "Ja, als Brief oder per E-Mail."),
    ("hanoi", "Có giao hàng đến Hà Nội không?", "Có, trong năm ngày làm việc."),
    ("hats", "可以定制帽子吗？", "可以，二十顶起订，两周交货。"),
    (
        "warranty",
        "How long is the warranty?",
        "\n\n".join(f"Part {n}: " + "x " * 700 for n in (1, 2)),
    ),
]


class Answered:
    def __init__(self, file: Path, sessions: Sessions, clock: HandClock) -> None:
        self.store, self.clock = sessions, clock
        self.file = ReloadingKnowledge(file, clock, pytest.fail)
        self.pages = AnsweredPages(self.file, sessions, clock)

    async def save(self, id: str, question: str, text: str, **more: str) -> None:
        at = self.clock.now
        await self.store.save_answer(
            WrittenAnswer(f"answer-{id}", question, text, created_at=at, updated_at=at, **more)
        )

    async def found(self, question: str, *, of_person: bool = True) -> str:
        """The source of the first passage, once it is of a person, or of a page."""
        first = ""
        for _ in range(40):  # DynamoDB's version is eventually consistent
            self.clock.now += LOOK_AFTER
            passages = await self.pages.find(question, (), 6)
            first = passages[0].page if passages else ""
            if first.startswith("answer:") == of_person:
                break
            await asyncio.sleep(0.02)
        return first


@pytest.fixture
async def answered(sessions: Sessions, clock: HandClock, tmp_path: Path) -> AsyncIterator[Answered]:
    file, home = tmp_path / "a.kefu", "https://shop.example"
    pages = [
        Learnt(PageText(f"{home}/{name}", name, [Block(text)], language), {})
        for name, language, text in PAGES
    ]
    write(file, Run(pages, [], 1.0))
    made = Answered(file, sessions, clock)
    for answer in ANSWERS:
        await made.save(*answer)
    yield made
    await made.file.aclose()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Do you deliver to Svalbard?", "answer:answer-svalbard"),
        ("delivering on SVALBARD", "answer:answer-svalbard"),
        ("ten days to Longyearbyen", "answer:answer-svalbard"),  # in the words of the text
        ("Verschenken Sie Gutscheine?", "answer:answer-gutschein"),
        ("Gutschein per Brief", "answer:answer-gutschein"),
        ("你们能定制帽子吗", "answer:answer-hats"),
        ("起订多少顶", "answer:answer-hats"),
        ("co giao hang den ha noi khong", "answer:answer-hanoi"),
        ("Do you deliver to Svalbrad?", "answer:answer-svalbard"),
    ],
)
async def test_g31_answers_are_found_by_stems_languages_and_pairs_of_characters(
    answered: Answered, question: str, expected: str
) -> None:
    assert await answered.found(question) == expected


async def test_g31_a_long_answer_is_cut_as_a_page_and_pages_keep_their_questions(
    answered: Answered,
) -> None:
    assert await answered.found("How long is the warranty?") == "answer:answer-warranty"
    found = await answered.pages.find("How long is the warranty?", (), 6)
    assert [one.page for one in found].count("answer:answer-warranty") == 2
    for question, page in (
        ("How long do parcels to Norway take?", "delivery"),
        ("Wie lange brauchen Pakete nach Norwegen?", "lieferung"),
        ("靴子可以退货吗", "退货"),
    ):
        first, *_ = await answered.pages.find(question, (), 6)
        assert first.page == f"https://shop.example/{page}"


async def test_g31_an_answer_is_cited_by_the_name_of_its_author_or_of_the_site(
    answered: Answered,
) -> None:
    await answered.save("boots", "Boots for dogs?", "Yes.", author="Anna", page="https://x.example")
    assert await answered.found("boots for dogs") == "answer:answer-boots"
    boots, *_ = await answered.pages.find("boots for dogs", (), 6)
    assert (boots.cited_as, boots.url) == ("Answered by Anna, 2 Oct 2096", "https://x.example")
    hats, *_ = await answered.pages.find("可以定制帽子吗", (), 6)
    assert (hats.cited_as, hats.url) == ("本站 于 2096 年 10 月 2 日回答", "")
    gift, *_ = await answered.pages.find("Verschenken Sie Gutscheine?", (), 6)
    assert gift.cited_as == "Antwort von dieser Website, 02.10.2096"
    place = page_id("answer:answer-hats")
    assert [one.text for one in await answered.pages.page(place)] == [ANSWERS[3][2]]
    assert not await answered.pages.page("https://shop.example/nothing")


async def test_g31_answers_of_another_site_are_not_found(
    answered: Answered, sessions: Sessions, clock: HandClock
) -> None:
    await answered.save("other", "Do you sell skis?", "Yes.", site="north")
    assert await answered.found("Do you deliver to Svalbard?") == "answer:answer-svalbard"
    found = await answered.pages.find("Do you sell skis?", (), 6)
    assert "answer:answer-other" not in [one.page for one in found]
    north = AnsweredPages(answered.file, sessions, clock, "north")
    found = await north.find("Do you sell skis?", (), 6)
    assert found[0].page == "answer:answer-other"
    found = await north.find("Do you deliver to Svalbard?", (), 6)
    assert not [one for one in found if one.page.startswith("answer:")]


async def test_g31_while_the_store_fails_the_known_answers_are_found(
    answered: Answered, sessions: Sessions, clock: HandClock
) -> None:
    """And a withdrawn one is gone as soon as it answers again."""
    question = "Do you deliver to Svalbard?"
    assert await answered.found(question) == "answer:answer-svalbard"

    class Failing:
        async def answers_version(self) -> int:
            raise StoreUnavailable("away")

    answered.pages._store = Failing()  # type: ignore[assignment]
    assert await answered.found(question) == "answer:answer-svalbard"
    new = AnsweredPages(answered.file, Failing(), clock)  # type: ignore[arg-type]
    page = "https://shop.example/delivery"
    assert [one.page for one in await new.find(question, (), 6)] == [page]
    answered.pages._store = sessions
    await sessions.withdraw_answer("answer-svalbard")
    assert await answered.found(question, of_person=False) == page
