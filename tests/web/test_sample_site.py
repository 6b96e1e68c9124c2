"""G30: the sample site that `make run` answers from."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

import kefu
from kefu.bootstrap.learn import Options, learn
from kefu.bootstrap.learnt_file import open_learnt_file
from tests.fakes.asking import ask, get
from tests.fakes.browser import told_by
from tests.fakes.service import Service
from tests.fakes.stage import Stage
from tests.parts.plugin import slow

SAMPLE = Path(kefu.__file__).parent / "web/static/sample"
CONFIG = Path(__file__).parents[2] / "sample/kefu.toml"


async def test_each_page_is_served_and_its_links_lead_somewhere(shared: Stage) -> None:
    for page in SAMPLE.glob("*.html"):
        served = await get(shared.url, f"/sample/{page.name}")
        assert served.status_code == 200
        assert "default-src 'none'" in served.headers["content-security-policy"]
        assert '<link rel="icon"' in served.text, "a browser would ask for /favicon.ico"
        for link in re.findall(r'href="(/sample/[^"]+)"', served.text):
            assert (SAMPLE / link.removeprefix("/sample/")).is_file()


def test_questions_find_their_page_with_a_link_to_it(tmp_path: Path) -> None:
    options = Options(tmp_path / "sample.kefu", "/sample")
    report = learn([str(SAMPLE)], options, lambda _: None)
    assert report.pages == len(list(SAMPLE.glob("*.html")))
    file = open_learnt_file(str(tmp_path / "sample.kefu"))
    questions = {
        "How long does delivery take?": "delivery",
        "do I have to pay customs": "customs",
        "can I send it back": "returns",
        "which size of boots should I choose": "sizes",
        "when are you open on saturday": "contact",
        "几天退款": "zh",
    }
    for question, page in questions.items():
        assert file.find(question, (), 6)[0].url.startswith(f"/sample/{page}.html"), question
    file.close()


def test_the_questions_that_a_sample_page_suggests_find_their_pages(tmp_path: Path) -> None:
    learn([str(SAMPLE)], Options(tmp_path / "sample.kefu", "/sample"), lambda _: None)
    file = open_learnt_file(str(tmp_path / "sample.kefu"))
    for page, pages in (
        ("index", ["delivery", "customs", "returns", "contact"]),
        ("zh", ["zh", "zh", "zh"]),
    ):
        html = (SAMPLE / f"{page}.html").read_text(encoding="utf-8")
        [suggested] = re.findall(r'data-suggestions="([^"]+)"', html)
        found = [file.find(question, (), 6)[0].url for question in suggested.split("|")]
        assert [url.partition(".html")[0].rpartition("/")[2] for url in found] == pages
    file.close()


RIGHT = {
    "How long does delivery take?": "three to five working days",
    "Who pays the customs?": "paid at checkout",
    "Can I send boots back?": "within thirty days",
    "When are you open?": "Monday to Friday, 10:00 to 18:00",
    "配送要多久？": "三到五个工作日",
    "怎么退款？": "五个工作日内退款",
    "可以退货吗？": "三十天内可以退货",
}


OF_THE_SHOP = {
    "Where is my order 1001?": "Order 1001 is packed",
    "Cancel order 1001": "Cancel order 1001?",
    "我的订单 1001 在哪里？": "订单 1001 已打包",
    "取消订单 1001": "取消订单 1001？",
}
"""Answers of the sample shop's tools, which cite no page; a card is no answer of the model."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "locale", "count"),
    [
        ("/", "en-US", 5),
        slow("/", "zh-CN", 5),
        slow("/sample/index.html", "en-US", 4),
        ("/sample/zh.html", "zh-CN", 3),
    ],
)
def test_w8_the_first_answers_of_a_newcomer_are_right_and_name_their_source(
    tmp_path: Path, page: str, locale: str, count: int
) -> None:
    """Without a key, in Chromium, by a click on each suggested question."""
    learn([str(SAMPLE)], Options(tmp_path / "sample.kefu", "/sample"), lambda _: None)
    knowledge = tmp_path / "sample.kefu"
    config = {"KEFU_CONFIG": str(CONFIG)}
    with Service(
        None, keys=(), allowed_origins="", knowledge=knowledge, environment=config
    ) as service:
        script = Path(__file__).with_name("first_minute.mjs")
        seen = told_by(script, f"{service.url}{page}", locale)
    assert seen["errors"] == []
    assert len(seen["asked"]) == count
    for one in seen["asked"]:
        if told := OF_THE_SHOP.get(one["question"]):
            assert told in one["answer"].translate({0x2068: None, 0x2069: None}), one
            continue
        assert RIGHT[one["question"]] in one["answer"].replace("\n", " "), one
        assert one["sources"], one
        assert ("示例模式" if locale == "zh-CN" else "Sample mode") in one["answer"]


def test_without_a_key_and_without_pages_the_first_answer_says_what_to_set() -> None:
    with Service(upstream=None, keys=(), allowed_origins="") as service:
        health = httpx.get(f"{service.url}/health").json()
        assert (health["status"], health["upstream"]) == ("ok", "sample")
        answer = asyncio.run(ask(service.url, "Hello?"))
    assert answer.complete
    assert "KEFU_API_KEYS" in answer.text
