"""The function reads kefu.toml; the template sets only variables that depend on the stack."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from kefu.settings import Settings, load
from kefu.settings.example import example, toml_of, value_of
from kefu.settings.loading import NAMES, key_of
from kefu.tools.mcp_offer import LOCK_FILE
from tests.template.test_build import build

ROOT = Path(__file__).parents[2]

OF_THE_STACK = {
    "ADMIN_TOKEN",
    "KEFU_BOT_CHECK_SECRET",
    "KEFU_CONFIG",
    "KEFU_CONTACT_PASSWORD",
    "KEFU_CONTACT_WEBHOOK",
    "KEFU_FALLBACK_API_KEYS",
    "KEFU_IDENTITY_SECRETS",
    "KEFU_ORIGIN_SECRET",
    "KEFU_STORE",
    "LONGCAT_API_KEYS",
}

FIELDS = [field for field in Settings.model_fields.values() if key_of(field)]


def test_the_template_sets_nothing_that_belongs_into_kefu_toml(text: str) -> None:
    """The environment wins over the file, so such a setting could not be changed there."""
    variables = re.findall(r"^          ((?:ADMIN|KEFU|LONGCAT)_[A-Z_]+):", text, re.MULTILINE)
    assert set(variables) == OF_THE_STACK
    assert NAMES >= OF_THE_STACK


def test_every_parameter_is_described(text: str) -> None:
    section = text[text.index("\nParameters:\n") : text.index("\nRules:\n")]
    names = re.findall(r"^  (\w+): \{$", section, re.MULTILINE)
    assert len(names) == len(re.findall(r"^      Description: \".{10,}\",$", section, re.MULTILINE))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "package").mkdir()
    return tmp_path


def packed(site: Path, text: str) -> dict[str, bytes]:
    """The files that kefu.toml adds to the package."""
    package = site / "package"
    shutil.rmtree(package)
    package.mkdir()
    (site / "kefu.toml").write_text(text, encoding="utf-8")
    build.add_settings(site / "kefu.toml", package)
    files = (path for path in package.rglob("*") if path.is_file())
    return {str(path.relative_to(package)): path.read_bytes() for path in files}


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: ".".join(key_of(field)))
def test_each_setting_of_kefu_toml_changes_the_package(site: Path, field: Any) -> None:
    """A changed package is a new version: tests/template/test_life.py."""
    *table, key = key_of(field)
    (site / "prompt.md").write_text("Be kind.")
    before = packed(site, f"[{'.'.join(table)}]\n")
    secret = isinstance(field.default, SecretStr)
    line = f"{key} = {'true' if secret else toml_of(value_of(field))}"
    after = packed(site, f"[{'.'.join(table)}]\n{line}\n")
    assert after != before
    assert tomllib.loads(after["kefu.toml"].decode())


def test_the_function_reads_the_packed_file_and_the_files_that_it_names(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "prompts").mkdir()
    (site / "prompts/sales.md").write_text("Sell.", encoding="utf-8")
    (site / "prompt.md").write_text("Be kind.", encoding="utf-8")
    text = """
        [chat]
        system_prompt = "@prompt.md"
        [limits]
        daily_tokens = 5
        [presets.sales]
        system_prompt = "@prompts/sales.md"
    """
    found = packed(site, text)
    assert set(found) == {"kefu.toml", "prompt.md", "prompts/sales.md"}
    (site / "prompt.md").write_text("Be short.", encoding="utf-8")
    assert packed(site, text) != found
    monkeypatch.setenv("KEFU_CONFIG", str(site / "package/kefu.toml"))
    settings = load()
    assert (settings.system_prompt, settings.daily_tokens) == ("Be short.", 5)
    assert settings.presets["sales"].system_prompt == "Sell."


def test_the_lock_of_the_tools_of_mcp_servers_is_packed(site: Path) -> None:
    """A1: without it the function would offer none of them. A new lock is a new version."""
    (site / "kefu.tools.lock").write_text("{}")
    found = packed(site, "")
    assert found == {"kefu.toml": b"", "kefu.tools.lock": b"{}"}
    assert build.LOCK == LOCK_FILE


def test_without_a_kefu_toml_the_defaults_hold(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build.add_settings(site / "kefu.toml", site / "package")
    monkeypatch.setenv("KEFU_CONFIG", str(site / "package/kefu.toml"))
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "kefu")
    settings = load()
    assert settings.model == "LongCat-2.0"
    assert (settings.site_limit, settings.token_budget) == (300, 2_000_000)
    monkeypatch.setenv("KEFU_DAILY_TOKENS", "0")
    assert load().token_budget == 0
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME")
    assert load().site_limit == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        '[chat]\norigins = ["https://www.example.com"]\n[bot_check]\nprovider = "turnstile"',
        '[model.fallback]\nurl = "https://api.example.com/v1"',
    ],
)
def test_a_kefu_toml_with_which_the_function_starts_is_built(site: Path, text: str) -> None:
    packed(site, text)
    build.check_settings(site / "package/kefu.toml")


def test_the_file_of_kefu_init_is_packed_as_it_is(site: Path) -> None:
    """Its empty `[model.fallback]` stopped the build, as docs/aws/deploy.md describes it."""
    (site / "kefu.toml").write_text(example(), encoding="utf-8")
    build.add_settings(site / "kefu.toml", site / "package")
    build.check_settings(site / "package/kefu.toml")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[limits]\ndaily_tokens = -1", "kefu.toml, line 2: .*daily_tokens"),
        ("\n[limits]\ndaily_token = 5", "kefu.toml, line 3: .*daily_token"),
        ('[model]\napi_keys = "sk-canary"', "must not contain secrets"),
    ],
)
def test_a_kefu_toml_with_which_the_function_would_not_start_stops_the_build(
    site: Path, text: str, complaint: str
) -> None:
    packed(site, text)
    with pytest.raises(SystemExit, match=complaint) as caught:
        build.check_settings(site / "package/kefu.toml")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[chat\n", "kefu.toml: "),
        ('[chat]\nsystem_prompt = "@none.md"', "kefu.toml: @none.md: there is no such file"),
        ('[chat]\nsystem_prompt = "@../secret"', "kefu.toml: @../secret is outside the folder"),
        ('[chat]\nsystem_prompt = "@run.sh"', "kefu.toml: @run.sh: the package has another"),
    ],
)
def test_a_kefu_toml_that_cannot_be_packed_stops_the_build(
    site: Path, text: str, complaint: str
) -> None:
    (site / "kefu.toml").write_text(text)
    (site / "run.sh").write_text("mine")
    (site / "package/run.sh").write_text("Kefu's")
    with pytest.raises(SystemExit, match=complaint):
        build.add_settings(site / "kefu.toml", site / "package")
