"""What a table of reference lists is what exists: each name once, and no other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from kefu.context.tokens import estimate_tokens_v1
from kefu.settings import load
from kefu.settings.loading import NAMES
from kefu.web.schemas import DegradedReason, Problem
from tests.unit.docs.pages import GUIDES, ROOT, blocks, name_of, text_of

WEB = ROOT / "functions/kefu/web"

NOT_SETTINGS = {"KEFU_ARCH", "KEFU_CONFIG"}
"""Variables of the build, and the one that names the file of settings."""


OF_LANGUAGE = re.compile(
    r"^(data-(?:title|greeting|suggestions|consent|tip))-[a-z]{2}(?:-[a-z]{2})?$"
)
"""An attribute with a text for one language: `BY_LANGUAGE` of the widget's options."""


def section(page: str, heading: str) -> str:
    text = text_of(ROOT / page).split(f"\n## {heading}\n")[1]
    return text.partition("\n## ")[0]


def rows(text: str) -> list[str]:
    """The names in the first cells of a table."""
    cells = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def test_the_log_page_lists_every_field_once() -> None:
    """Add a row to docs/log.md for a new field."""
    record = text_of(WEB / "request_record.py")
    found = set(re.findall(r'^ +"(\w+)": |fields\["(\w+)"\]', record, re.MULTILINE))
    found = {name for match in found for name in match if name}
    for file in WEB.rglob("*.py"):
        found |= set(re.findall(r'\.facts\["(\w+)"\]', text_of(file)))
    [feedback] = re.findall(r"record\.facts \|= \{(.*)\}", text_of(WEB / "routes/chat.py"))
    found |= set(re.findall(r'"(\w+)":', feedback))
    for file in (ROOT / "functions/kefu/chat").glob("*.py"):
        for counts in re.findall(r'return (\{"passages": .*?\})', text_of(file)):
            found |= set(re.findall(r'"(\w+)":', counts))
    assert sorted(rows(section("docs/log.md", "Fields of a request"))) == sorted(found)


def test_the_log_page_lists_every_metric_once() -> None:
    """Add a row to docs/log.md for a new metric."""
    log = text_of(WEB / "log.py")
    found = set(re.findall(r'values\["(\w+)"\]|_metrics_of\(\{"(\w+)"|= \{"(\w+)": 1\}', log))
    names = {name for match in found for name in match if name}
    [measured] = re.findall(r"^_MEASURED = \((.*)\)$", log, re.MULTILINE)
    names |= set(re.findall(r'"(\w+)"', measured))
    listed = rows(section("docs/log.md", "Metrics"))
    assert len(listed) == len(set(listed))
    assert names - set(listed) == set()


def test_the_api_page_lists_every_reason_and_every_problem() -> None:
    listed = section("docs/api.md", "`/health` and `/ready`")
    reasons, problems = listed.split("`/ready` is 503")
    assert set(rows(reasons)) - {"reason"} == set(get_args(DegradedReason)) - {""}
    codes = get_args(get_type_hints(Problem)["code"])
    assert set(rows(problems)) - {"code"} == set(codes)


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    known = NAMES | NOT_SETTINGS
    named = set(re.findall(r"\b(?:KEFU|LONGCAT)_[A-Z_]+\b(?!=)(?<!_)", text_of(page)))
    assert named - known == set()


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_every_file_of_settings_on_a_page_is_accepted(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("prompt.md", "new-prompt.md", "replies.md"):
        (tmp_path / name).write_text("# Shop\n\nYou are the assistant of a shop.")
    for block in blocks(page, "toml"):
        if "samconfig" in block or "[tool" in block:
            continue
        tomllib.loads(block)
        (tmp_path / "kefu.toml").write_text(block)
        for name in re.findall(r"env:(\w+)", block):
            monkeypatch.setenv(name, "secret")
        needed = {
            "[bot_check]": ("KEFU_BOT_CHECK_SECRET", "secret"),
            "fallback": ("KEFU_FALLBACK_API_KEYS", "key"),
            'user = "required"': ("KEFU_IDENTITY_SECRETS", "s" * 64),
            "oidc": ("KEFU_ADMIN_OIDC_SECRET", "s"),
            "[admin]": ("ADMIN_TOKEN", "s" * 32),
        }
        load(dict(secret for sign, secret in needed.items() if sign in block))


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_every_path_of_the_api_that_a_page_names_exists(page: Path) -> None:
    listed = re.findall(r"^\| `[A-Z]+ (\S+)` \|", text_of(ROOT / "docs/api.md"), re.MULTILINE)
    known = {re.sub(r"\{\w+\}", "ID", path) for path in listed}
    for file in (WEB / "routes").glob("*.py"):
        of_panel = re.findall(r'router\.\w+\(\s*"(/api/[\w-]+)', text_of(file))
        known |= {f"/admin{path}" for path in of_panel}
        if of_router := re.search(r'panel_router\(panel(?:, "([^"]*)")?\)', text_of(file)):
            below = re.findall(r'router\.\w+\("(/[\w-]*|)[/"]', text_of(file))
            known |= {f"/admin/api{of_router[1] or ''}{path}" for path in below}
    named = re.findall(r"(?<![\w.])(?:/admin)?/(?:api|v1)/[\w{}/<>…-]+", text_of(page))
    plain = {re.sub(r"\{\w+\}|<\w+>|…", "ID", one).rstrip("/") for one in named}
    starts = tuple(f"{path}/" for path in known)
    missing = {
        one
        for one in plain
        if one not in known and not one.startswith(starts) and f"{one}/" not in " ".join(starts)
    }
    assert missing - {"/v1/models/NAME"} == set()


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_every_attribute_that_a_page_names_exists(page: Path) -> None:
    table = text_of(ROOT / "docs/widget.md").split("<!-- attributes -->")[1]
    known = set(re.findall(r"^\| `(data-[\w-]+)` \|", table, re.MULTILINE))
    source = text_of(ROOT / "widget/src/open/view/transcript.ts")
    known |= {f"data-{name}" for name in re.findall(r"node\.dataset\.(\w+) = ", source)}
    named = set(re.findall(r"\bdata-[a-z][a-z-]+[a-z]\b", text_of(page)))
    named = {name if name in known else OF_LANGUAGE.sub(r"\1", name) for name in named}
    assert {name for name in named if not name.startswith("data-access")} - known == set()


def test_the_costs_of_a_question_are_computed_as_kefu_counts() -> None:
    """F5: the table in docs/assistant.md, in English and Chinese."""
    pattern = (
        r"^\| ([\d,]+) (?:English|Chinese|个英文|个中文)\D*\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) "
        r"\| (\d+)(?: to | ?至 ?| ?到 ?)([\d,]+) \|$"
    )
    for name in ("docs/assistant.md", "docs/zh/assistant.md"):
        text = text_of(ROOT / name)
        found = re.findall(pattern, text, re.MULTILINE)
        assert len(found) == 6, name
        for number, row in enumerate(found):
            letter, question = ("a", "a" * 60) if number < 3 else ("中", "中" * 20)
            size, prompt, first, late, least, most = (int(cell.replace(",", "")) for cell in row)
            assert prompt == estimate_tokens_v1(letter * size)
            assert first == prompt + estimate_tokens_v1(question) + 300
            assert late == first + estimate_tokens_v1(letter * 6000)
            assert (least, most) == (2_000_000 // late, 2_000_000 // first)
