"""G36: traditional and simplified Chinese find each other."""

from __future__ import annotations

import pytest

from kefu.knowledge.pages import Block, PageText
from kefu.knowledge.simplified import _FILE, in_other_region, simplified
from kefu.stores.sqlite.knowledge.index import in_memory
from kefu.stores.sqlite.knowledge.read import KnowledgeFile

PAGES = [
    PageText("tw", "退貨與換貨", [Block("三十天內，網路購買的商品可以免費退還。")], "zh-TW"),
    PageText("cn", "发票", [Block("请在订单页面下载电子发票。")], "zh-CN"),
    PageText("en", "Delivery", [Block("Parcels arrive within two days.")], "en"),
]


def test_the_table_has_one_simplified_character_for_each_traditional_one() -> None:
    traditional, plain = _FILE.read_text(encoding="utf-8").splitlines()
    assert len(traditional) == len(set(traditional)) == len(plain) > 3000
    assert not set(traditional).intersection(plain)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("開發環境與網路", "开发环境与网路"),
        ("头发后面", "头发后面"),
        ("Refund für かな", "Refund für かな"),
    ],
)
def test_characters_of_other_scripts_stay(text: str, expected: str) -> None:
    assert simplified(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("滑鼠和资料库", "鼠标和数据库"),
        ("資料庫檔案", "数据库文件"),
        ("鼠标和数据库", "滑鼠和资料库"),
        ("退貨", ""),
        ("Refund", ""),
    ],
)
def test_g36_words_of_taiwan_and_of_the_mainland_stand_for_each_other(
    text: str, expected: str
) -> None:
    assert in_other_region(text) == expected


@pytest.mark.parametrize(("title", "question"), [("短信", "簡訊"), ("簡訊", "短信")])
def test_g36_a_question_in_the_words_of_one_region_finds_pages_of_the_other(
    title: str, question: str
) -> None:
    page = PageText("sms", title, [Block("出貨時收到。")], "zh")
    file = KnowledgeFile(_FILE, in_memory([*PAGES, page]))
    assert "sms" in [one.page for one in file.find(question, (), 6)]
    file.close()


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("退货", "tw"),
        ("网路购买的商品怎么退还？", "tw"),
        ("網路購買的商品怎麼退還？", "tw"),
        ("電子發票在哪裡下載？", "cn"),
        ("电子发票在哪里下载？", "cn"),
    ],
)
def test_g36_a_question_in_one_kind_of_characters_finds_pages_in_both(
    question: str, page: str
) -> None:
    file = KnowledgeFile(_FILE, in_memory(PAGES))
    [best, *_] = file.find(question, (), 6)
    assert best.page == page
    assert 2 * len(best.terms) >= len(best.wanted) > 0
    assert best.text == next(one.blocks[0].text for one in PAGES if one.url == page)
    file.close()
