from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kefu.settings import ConfigurationError, load

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_generated_pages_match_their_source() -> None:
    """Run `make docs` after a change of the settings or of the widget."""
    child = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")


def test_the_settings_page_names_every_setting_once() -> None:
    from kefu.settings import Settings
    from kefu.settings.loading import key_of

    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for field in Settings.model_fields.values():
        name = field.alias or ".".join(key_of(field))
        assert page.count(f"| `{name}` |") == (0 if field.exclude else 1)


def test_a_long_prompt_is_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For long prompts on Lambda, where environment variables are limited to 4 KB."""
    file = tmp_path / "prompt.txt"
    file.write_text("你是客服。\n" * 1000, encoding="utf-8")
    monkeypatch.setenv("KEFU_SYSTEM_PROMPT", f"@{file}")
    assert load().system_prompt == ("你是客服。\n" * 1000).strip()
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match=r"KEFU_SYSTEM_PROMPT: .* it is not UTF-8"):
        load()
