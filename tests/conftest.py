"""Every test starts from the same place: an empty home, an environment that configures nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

CI = os.environ.get("CI") == "true"

# The first examples of a slow machine must not fail a test for being slow.
settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("default"), max_examples=500)
settings.load_profile("ci" if CI else "default")

CONFIGURING = ("KEFU_", "LONGCAT_", "AWS_")
HOME_LIKE = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


@pytest.fixture(autouse=True)
def clean_slate(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary home and none of the developer's own settings, for the test and its children."""
    for name in [name for name in os.environ if name.startswith(CONFIGURING)]:
        monkeypatch.delenv(name)
    for name in HOME_LIKE:
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    return home
