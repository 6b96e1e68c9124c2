"""The pages lead somewhere, are short, and say everything once."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.unit.docs.pages import ALL, GUIDES, ROOT, anchors, links, name_of, prose_of, text_of

REFERENCES = {
    "docs/api.md",
    "docs/cli.md",
    "docs/context-reference.md",
    "docs/events.md",
    "docs/panel.md",
    "benchmarks/README.md",
    "docs/sessions.md",
    "docs/settings.md",
    "docs/tools.md",
    "docs/widget.md",
}
"""Pages in which readers look things up, so that they may be long."""

MOST_WORDS = 1200
SHORTEST = 7
"""Words of a sentence that may not be there twice."""


@pytest.mark.parametrize("page", ALL, ids=name_of)
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            assert link.startswith(("https://", "mailto:")), link
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_a_page_that_is_no_reference_is_short(page: Path) -> None:
    words = re.findall(r"\w\S*", re.sub(r"\]\([^)]*\)", "]", prose_of(page)))
    assert name_of(page) in REFERENCES or len(words) <= MOST_WORDS


def sentences(page: Path) -> set[str]:
    """The sentences of a page outside of code; cells of a table and items of a list are apart."""
    found = set()
    for part in re.split(r"\n\s*\n|\n(?=[|\-#*\d])", prose_of(page)):
        for cell in " ".join(part.split()).split(" | "):
            text = re.sub(r"\]\([^)]*\)|`[^`]*`", "]", cell)
            found |= {one.strip(" |-*") for one in re.split(r"(?<=[.!?:])\s+", text)}
    return {one for one in found if len(one.split()) >= SHORTEST}


def test_no_sentence_is_on_two_pages() -> None:
    where = defaultdict(list)
    for page in GUIDES:
        for sentence in sentences(page):
            where[sentence].append(name_of(page))
    assert {text: pages for text, pages in where.items() if len(pages) > 1} == {}


def linked_from(page: Path) -> set[Path]:
    return {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}


def test_the_index_leads_to_every_page_directly_or_by_one_page() -> None:
    index = ROOT / "docs/README.md"
    found = linked_from(index)
    for page in [one for one in found if one.suffix == ".md"]:
        found |= linked_from(page)
    assert [name_of(page) for page in GUIDES if page.resolve() not in found | {index}] == []


def source() -> str:
    """The source as one text, in which strings over several lines are one."""
    files = [
        *ROOT.glob("functions/kefu/**/*.py"),
        *ROOT.glob("widget/src/**/*.ts"),
        *ROOT.glob("widget/panel/**/*.ts"),
    ]
    return " ".join(re.sub(r'"\s*\n\s*f?"', "", text_of(file)) for file in files)


@pytest.mark.parametrize(
    ("page", "files"),
    [
        (
            "docs/trouble.md",
            ("open/english.ts", "answer/english.ts", "features/refusal/index.ts"),
        ),
        ("docs/zh/trouble.md", ("languages/zh-CN.ts",)),
    ],
)
def test_the_page_of_faults_begins_with_every_note_of_the_widget(
    page: str, files: tuple[str, ...]
) -> None:
    """A visitor reads such a note in place of an answer, and tells the owner."""
    texts = "".join(text_of(ROOT / "widget/src" / name) for name in files)
    refusals = re.findall(r'^ +(?:refused|tooLong|spent|notHuman): "(.+)",$', texts, re.MULTILINE)
    [endings] = re.findall(r"endings: \{(.*?)\n  \}", texts, re.DOTALL)
    failures = re.findall(r'^ +(?!whole|stopped)\w+: "(.+)",$', endings, re.MULTILINE)
    assert (len(refusals), len(failures) >= 7) == (4, True)
    listed = text_of(ROOT / page).split("\n## ")[0]
    assert [note for note in [*refusals, *failures] if note not in listed] == []


def test_every_message_at_start_that_the_chinese_page_explains_is_in_the_source() -> None:
    table = text_of(ROOT / "docs/zh/errors.md").split("\n## 启动时的消息\n")[1]
    cells = re.findall(r"^\| (`.+`) \|", table, re.MULTILINE)
    quoted = [span for cell in cells for span in re.findall(r"`([^`]+)`", cell)]
    assert len(quoted) > 10
    known = source()
    assert [one for one in quoted if one not in known] == []


def test_every_message_that_a_page_quotes_is_in_the_source() -> None:
    """In the pages about faults and the log, text in quotes or after `misconfigured=` is output."""
    known = source()
    for name in ("docs/trouble.md", "docs/zh/trouble.md", "docs/log.md", "docs/errors.md"):
        text = text_of(ROOT / name)
        quoted = re.findall(r'"([^"\n`=]{12,})"', text)
        quoted += re.findall(r"misconfigured=([^`\n]+)", text)
        quoted += re.findall(r"console say[s]? `([^`]+)`\?", text)
        quoted += re.findall(r"“([^”\n`]{6,})”", text)
        quoted += re.findall(r"[：:] ([\u4e00-\u9fff][^|]*[。？]) \|", text)
        missing = [one for one in quoted if one not in known]
        assert missing == [], name
