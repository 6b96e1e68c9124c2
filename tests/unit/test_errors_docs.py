"""docs/errors.md, compared with the tree of errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kefu.errors import KefuError

PAGE = (Path(__file__).parents[2] / "docs/errors.md").read_text(encoding="utf-8")


def error_classes(base: type[KefuError] = KefuError) -> Iterator[type[KefuError]]:
    for child in base.__subclasses__():
        yield child
        yield from error_classes(child)


def test_the_error_table_lists_every_error_a_client_may_see() -> None:
    """Requirement C8."""
    rows = re.findall(r"^\| (\d{3}) \| `([a-z_]+)` \|", PAGE, re.MULTILINE)
    of_kefu = {
        (str(cls.status), cls.code) for cls in error_classes() if cls.__module__ == "kefu.errors"
    }
    assert sorted(rows) == sorted(of_kefu)
