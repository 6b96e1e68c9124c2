"""The space that the store may take."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kefu.bootstrap.stores import limit_of, made_folder

GIGABYTE = 1_000_000_000


def test_a_file_may_take_a_tenth_of_its_disk_and_a_gigabyte_in_any_case(tmp_path: Path) -> None:
    """Also where the folder of the file does not exist yet."""
    allowed = limit_of(f"sqlite:///{tmp_path}/later/kefu.db")
    assert allowed == max(GIGABYTE, shutil.disk_usage(tmp_path).total // 10)


@pytest.mark.parametrize(("store", "allowed"), [("memory:", 100_000_000), ("dynamodb://kefu", 0)])
def test_memory_has_a_limit_and_dynamodb_has_none(store: str, allowed: int) -> None:
    assert limit_of(store) == allowed


def test_a_relative_folder_that_a_store_makes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    for store in ("memory:", "sqlite:///a.db", "sqlite:///there/a.db", f"sqlite:///{tmp_path}/x/a"):
        assert made_folder(store) == ""
    assert made_folder("sqlite:///var/lib/a.db") == (
        f"The store is {tmp_path}/var/lib/a.db, in a new folder. A path from the root has four "
        "slashes: sqlite:////var/lib/a.db."
    )
