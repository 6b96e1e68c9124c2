"""The space that the store may take."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kefu.bootstrap.stores import limit_of

GIGABYTE = 1_000_000_000


def test_a_file_may_take_a_tenth_of_its_disk_and_a_gigabyte_in_any_case(tmp_path: Path) -> None:
    """Also where the folder of the file does not exist yet."""
    allowed = limit_of(f"sqlite:///{tmp_path}/later/kefu.db")
    assert allowed == max(GIGABYTE, shutil.disk_usage(tmp_path).total // 10)


@pytest.mark.parametrize(("store", "allowed"), [("memory:", 100_000_000), ("dynamodb://kefu", 0)])
def test_memory_has_a_limit_and_dynamodb_has_none(store: str, allowed: int) -> None:
    assert limit_of(store) == allowed
