"""G8, G12: the built package answers from learnt pages that were packed, or that lie in S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kefu.knowledge.learning import Learnt
from kefu.knowledge.pages import Block, PageText
from kefu.stores.sqlite.knowledge.write import Run, write
from tests.aws_lambda.conftest import Deploy
from tests.fakes import behaviours as b
from tests.fakes.asking import get
from tests.fakes.aws_objects import AwsObjects

pytestmark = pytest.mark.slow


@pytest.fixture
def learnt(tmp_path: Path) -> Path:
    page = PageText(
        "https://shop.example/returns", "Returns", [Block("Refunds take ten days.")], "en"
    )
    write(tmp_path / "site.kefu", Run([Learnt(page, {})], [], 1_800_000_000.0))
    return tmp_path / "site.kefu"


async def answered(deploy: Deploy, **settings: Any) -> None:
    site = deploy(**settings)
    site.upstream.script("*", b.answer("Ten days [1]."))
    answer = await site.ask("When is the refund?", headers={})
    assert answer.text == "Ten days [1]."
    assert "Refunds take ten days." in site.upstream.journal[0].body["messages"][-1]["content"]
    assert (await get(site.url, "/ready")).json() == {"ready": True, "problems": []}
    health = (await get(site.url, "/health")).json()
    assert health["knowledge"] == {"pages": 1, "made": 1_800_000_000, "sample": False}


async def test_g8_the_package_finds_in_a_packed_file(deploy: Deploy, learnt: Path) -> None:
    await answered(deploy, knowledge=str(learnt))


@pytest.fixture
def s3(learnt: Path) -> Iterator[AwsObjects]:
    with AwsObjects() as fake:
        fake.objects["/kefu-pages/site.kefu"] = learnt.read_bytes()
        yield fake


async def test_g12_pages_in_s3_are_found_by_the_first_question(
    deploy: Deploy, s3: AwsObjects
) -> None:
    await answered(deploy, knowledge="s3://kefu-pages/site.kefu", environment=s3.environment)
    assert s3.sent == ["/kefu-pages/site.kefu"]
