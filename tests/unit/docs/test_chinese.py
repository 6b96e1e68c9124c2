"""The Chinese pages say what the English ones say, as far as a program can compare it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.unit.docs.pages import ROOT, blocks, links, prose_of, text_of


class Pair(NamedTuple):
    english: str
    chinese: str
    is_whole: bool = True
    """Whether the Chinese page has everything that the English one has."""


PAIRS = [
    Pair("README.md", "README.zh-CN.md", is_whole=False),
    Pair("docs/start.md", "docs/zh/start.md"),
    Pair("docs/configuration.md", "docs/zh/configuration.md"),
    Pair("docs/models.md", "docs/zh/models.md"),
    Pair("docs/server.md", "docs/zh/server.md"),
    Pair("docs/compare.md", "docs/zh/compare.md"),
    Pair("docs/from-chatkit.md", "docs/zh/from-chatkit.md"),
    Pair("docs/from-anythingllm.md", "docs/zh/from-anythingllm.md"),
    Pair("docs/assistant.md", "docs/zh/assistant.md"),
    Pair("docs/trouble.md", "docs/zh/trouble.md"),
    Pair("docs/aws/deploy.md", "docs/zh/aws.md"),
    Pair("docs/widget.md", "docs/zh/widget.md"),
    Pair("docs/widget-look.md", "docs/zh/widget-look.md"),
    Pair("docs/widget-security.md", "docs/zh/widget-security.md"),
    Pair("docs/panel.md", "docs/zh/panel.md"),
    Pair("docs/contact.md", "docs/zh/contact.md"),
    Pair("docs/privacy.md", "docs/zh/privacy.md"),
    Pair("docs/translation.md", "docs/zh/translation.md"),
    Pair("docs/insights.md", "docs/zh/insights.md"),
    Pair("docs/login.md", "docs/zh/login.md"),
    Pair("docs/tools.md", "docs/zh/tools.md"),
    Pair("docs/knowledge.md", "docs/zh/knowledge.md"),
    Pair("docs/knowledge-report.md", "docs/zh/knowledge-report.md"),
    Pair("docs/answers.md", "docs/zh/answers.md"),
    Pair("docs/sites.md", "docs/zh/sites.md"),
    Pair("docs/bot-check.md", "docs/zh/bot-check.md"),
    Pair("docs/testing.md", "docs/zh/testing.md"),
    Pair("docs/testing-tools.md", "docs/zh/testing-tools.md"),
    Pair("docs/testing-visitors.md", "docs/zh/testing-visitors.md"),
    Pair("docs/context-counts.md", "docs/zh/context-counts.md"),
    Pair("docs/errors.md", "docs/zh/errors.md", is_whole=False),
]
CODE = ("sh", "toml", "ini", "nginx", "yaml", "html", "php", "jsx", "js", "css", "python", "text")
CHINESE = {pair.english: pair.chinese for pair in PAIRS}

pairs = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.chinese)


def code_of(page: str) -> list[str]:
    """The blocks of code, without comments."""
    return [
        re.sub(r" *#(?: .*)?$", "", block, flags=re.MULTILINE)
        for block in blocks(ROOT / page, *CODE)
    ]


def levels_of(page: str) -> list[int]:
    return [len(marks) for marks in re.findall(r"^(#+) ", prose_of(ROOT / page), re.MULTILINE)]


def names_of(page: str) -> set[str]:
    """Settings, variables, attributes, parameters and codes: names in code."""
    spans = re.findall(r"`([^`\n]+)`", prose_of(ROOT / page))
    return {span for span in spans if re.fullmatch(r"[A-Za-z_][\w.-]*", span)}


def targets_of(page: str) -> set[str]:
    """The pages that it links, by their English names."""
    english = {str((ROOT / name).resolve()): key for key, name in CHINESE.items()}
    found = set()
    for link in links(ROOT / page):
        path = link.partition("#")[0]
        if link.startswith("https:"):
            found.add(link)
        elif path:
            target = str(((ROOT / page).parent / path).resolve())
            found.add(english.get(target, str(Path(target).relative_to(ROOT))))
    return found - {pair.english for pair in PAIRS if page in (pair.chinese, pair.english)}


@pairs
def test_the_code_is_the_same(pair: Pair) -> None:
    english, chinese = code_of(pair.english), code_of(pair.chinese)
    if pair.is_whole:
        assert chinese == english
    assert [block for block in chinese if block not in english] == []


@pairs
def test_the_headings_and_names_are_the_same(pair: Pair) -> None:
    english, chinese = names_of(pair.english), names_of(pair.chinese)
    if pair.is_whole:
        assert levels_of(pair.chinese) == levels_of(pair.english)
        assert chinese == english
    if pair.english == "docs/errors.md":
        return  # its codes are compared below
    everywhere = english | names_of("docs/configuration.md") | {"origins", "message", "code"}
    assert chinese - everywhere == set()


@pairs
def test_the_links_are_the_same_and_lead_to_chinese_pages(pair: Pair) -> None:
    if pair.is_whole:
        assert targets_of(pair.chinese) == targets_of(pair.english)
    folder = (ROOT / pair.chinese).parent
    linked = {
        str((folder / link.partition("#")[0]).resolve()) for link in links(ROOT / pair.chinese)
    }
    in_chinese = {str((ROOT / english).resolve()) for english in CHINESE if english != pair.english}
    assert linked & in_chinese == set()


def test_the_chinese_page_of_errors_lists_every_code() -> None:
    row = re.compile(r"^\| (\d{3}) \| `(\w+)` \|", re.MULTILINE)
    english, chinese = (
        row.findall(text_of(ROOT / f"docs/{name}errors.md")) for name in ("", "zh/")
    )
    assert set(english) - set(chinese) == set()
