"""`kefu init` writes a complete and valid file, and never overwrites one."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pydantic import SecretStr

from kefu.settings import Settings, load
from kefu.settings.example import example, value_of
from kefu.settings.loading import VARIABLES, key_of


def uncommented() -> str:
    return re.sub(r"^#(?=[\w\[])", "", example(), flags=re.MULTILINE)


def test_the_file_changes_nothing_until_it_is_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kefu.toml").write_text(example(), encoding="utf-8")
    assert load().model_dump() == Settings().model_dump()


def test_every_setting_is_in_the_file_and_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kefu.toml").write_text(uncommented(), encoding="utf-8")
    Path("prompt.md").write_text("Be kind.")
    tables = tomllib.loads(uncommented())
    for field in VARIABLES.values():
        value: object = tables
        for name in key_of(field):
            assert isinstance(value, dict)
            value = value.get(name)
        if key_of(field):
            secret = isinstance(field.default, SecretStr)
            assert value == (None if secret else value_of(field)), key_of(field)
    secrets = {"ADMIN_TOKEN": "s" * 32, "KEFU_ADMIN_OIDC_SECRET": "s"}
    settings = load({"KEFU_TRIM": "fifo", "KEFU_FALLBACK_API_KEYS": "key-one", **secrets})
    assert settings.system_prompt == "Be kind."
    assert settings.hooks == ("commands", "word_filter")
    assert settings.presets["short"].max_output_tokens == 300


def test_every_setting_has_a_key() -> None:
    documented = [name for name, field in VARIABLES.items() if not field.exclude]
    assert [name for name in documented if not key_of(VARIABLES[name])] == []


def init(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kefu", "init", *flags]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_init_writes_the_file_once_and_says_what_comes_next(tmp_path: Path) -> None:
    first = init(tmp_path)
    assert (first.returncode, first.stderr) == (0, "")
    assert "kefu serve" in first.stdout
    file = tmp_path / "kefu.toml"
    file.write_text("mine")
    second = init(tmp_path)
    assert (second.returncode, second.stdout) == (1, "")
    assert "kefu.toml exists and was not changed" in second.stderr
    assert file.read_text() == "mine"
    assert init(tmp_path, "--force").returncode == 0
    assert file.read_text(encoding="utf-8") == example()
