"""G12: learnt pages in S3 are taken by their ETag, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from kefu.bootstrap.learnt_file import open_learnt_file
from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.stores.s3_object import S3Object
from kefu.stores.sqlite.knowledge.reloading import (
    FIRST_PATIENCE,
    REFRESH_AFTER,
    RETRY_AFTER,
    ReloadingKnowledge,
)
from kefu.stores.sqlite.knowledge.write import Run, write
from tests.fakes.aws_objects import AwsObjects

ADDRESS, PATH = "s3://pages/site.kefu", "/pages/site.kefu"


def learnt(folder: Path, text: str) -> bytes:
    page = PageText("https://shop.example/returns", "Returns", [Block(text)], "en")
    write(folder / "site.kefu", Run([Learnt(page, {})], [], 1_800_000_000.0))
    return (folder / "site.kefu").read_bytes()


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsObjects]:
    with AwsObjects() as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        fake.objects[PATH] = learnt(tmp_path, "Refunds take thirty days.")
        yield fake
        fake.open.set()


class Reader:
    def __init__(self) -> None:
        self.now = 0.0
        self.faults = list[str]()
        self.copy = S3Object(ADDRESS)
        self.knowledge = ReloadingKnowledge(
            self.copy.path, lambda: self.now, self.faults.append, self.copy
        )

    async def text(self) -> str:
        found = await self.knowledge.find("refund", (), 6)
        return found[0].text if found else ""


@asynccontextmanager
async def reading() -> AsyncIterator[Reader]:
    reader = Reader()
    yield reader
    await reader.knowledge.aclose()
    assert not reader.copy.path.parent.exists()


async def test_g12_a_newer_object_is_taken_within_a_minute(s3: AwsObjects, tmp_path: Path) -> None:
    async with reading() as reader:
        assert reader.knowledge.facts.pages == 0
        assert "thirty" in await reader.text()
        s3.objects[PATH] = learnt(tmp_path, "Refunds take ninety days.")
        assert "thirty" in await reader.text()
        assert (s3.asked, REFRESH_AFTER) == (1, 30)
        reader.now += REFRESH_AFTER
        assert "ninety" in await reader.text()
        assert reader.faults == []


async def test_g12_an_unchanged_object_is_not_sent_again(s3: AwsObjects) -> None:
    async with reading() as reader:
        for _ in range(4):
            assert "thirty" in await reader.text()
            reader.now += REFRESH_AFTER
            reader.knowledge.disconnect()
        assert (s3.asked, s3.sent) == (4, [PATH])


@pytest.mark.parametrize("damage", ["broken", "gone", "refused"])
async def test_g12_the_pages_from_before_serve_while_there_are_no_newer_ones(
    s3: AwsObjects, damage: str
) -> None:
    async with reading() as reader:
        await reader.text()
        if damage == "broken":
            s3.objects[PATH] = b"broken"
        elif damage == "gone":
            del s3.objects[PATH]
        else:
            s3.error = "AccessDenied"
        reader.now += REFRESH_AFTER
        assert "thirty" in await reader.text()
        (fault,) = reader.faults
        assert fault.startswith("The learnt pages from before are used. ")
        assert reader.knowledge.trouble == ""


async def test_s10_an_object_that_is_too_large_is_not_read(s3: AwsObjects, tmp_path: Path) -> None:
    """The fake sends the beginning alone: reading on would wait for the rest."""
    async with reading() as reader:
        await reader.text()
        s3.objects[PATH] = learnt(tmp_path, "Refunds take ninety days.")
        s3.sizes[PATH] = 400_000_001
        reader.now += REFRESH_AFTER
        assert "thirty" in await reader.text()
        assert reader.faults == [
            f"The learnt pages from before are used. {ADDRESS} is larger than 400 MB."
        ]
        s3.sizes.clear()
        reader.now += REFRESH_AFTER
        assert "ninety" in await reader.text()


async def test_g12_a_slow_object_keeps_no_answer_waiting_for_long(
    s3: AwsObjects, tmp_path: Path
) -> None:
    async with reading() as reader:
        await reader.text()
        s3.objects[PATH] = learnt(tmp_path, "Refunds take ninety days.")
        s3.open.clear()
        reader.now += REFRESH_AFTER
        assert "thirty" in await reader.text()
        assert s3.asked == 2
        s3.open.set()
        async with asyncio.timeout(30):
            while "ninety" not in await reader.text():  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_g12_without_an_object_nothing_is_found_until_there_is_one(
    s3: AwsObjects, tmp_path: Path
) -> None:
    object_ = s3.objects.pop(PATH)
    async with reading() as reader:
        assert await reader.text() == ""
        assert reader.knowledge.trouble == f"{ADDRESS} cannot be read: NoSuchKey."
        assert reader.faults == [f"There are no learnt pages. {reader.knowledge.trouble}"]
        s3.objects[PATH] = object_
        reader.now += RETRY_AFTER
        assert "thirty" in await reader.text()
        assert (reader.knowledge.trouble, RETRY_AFTER > FIRST_PATIENCE) == ("", True)


def test_a_command_reads_the_object_too_and_leaves_no_copy(s3: AwsObjects) -> None:
    with closing(open_learnt_file(ADDRESS)) as file:
        assert "thirty" in file.find("refund", (), 1)[0].text


@pytest.mark.parametrize("address", ["s3://", "s3://pages", "s3://pages/", "s3://PAGES/a.kefu"])
def test_an_address_that_names_no_object_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="is not the address of an object: s3://BUCKET/KEY"):
        open_learnt_file(address)
