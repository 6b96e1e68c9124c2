from __future__ import annotations

import pytest

from tests.fakes.growth import assert_linear


def letters(size: int) -> str:
    return "a" * size


def test_quadratic_work_is_distinguished_from_linear_work() -> None:
    assert_linear(letters, lambda text: [ord(one) for one in text], 80_000)
    with pytest.raises(AssertionError, match="times as long"):
        assert_linear(letters, lambda text: [one < two for one in text for two in text], 1600)
