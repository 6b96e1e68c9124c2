"""docs/errors.md, compared with the tree of errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kefu.errors import KefuError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/errors.md").read_text(encoding="utf-8")

CLIENTS = ("agent", "cli", "evaluation", "terminal", "upstream")
"""Packages whose errors no visitor gets."""
UNREAD = "A secret of the tool could not be read."
BUSY = ("UpstreamUnavailable", "RateLimited", "BudgetExhausted", "StoreFull", "StoreFailed")


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


@pytest.mark.slow
def test_every_503_and_429_says_when_to_try_again_or_that_waiting_does_not_help() -> None:
    """aws M3: the page says that a 503 without `Retry-After` is a mistake in the settings."""
    assert "Without a `Retry-After`, the model or its URL is wrong" in PAGE
    silent = {
        f"{path.relative_to(ROOT)}: {ast.unparse(call)}"
        for path in (ROOT / "functions/kefu").rglob("*.py")
        if path.relative_to(ROOT / "functions/kefu").parts[0] not in CLIENTS
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in BUSY
        and not {"retry_after", "should_retry"} & {word.arg for word in call.keywords}
    }
    assert silent == {
        "functions/kefu/relay/failures.py: UpstreamUnavailable(UNAVAILABLE_MESSAGE)",
        # Becomes the result of a call.
        f"functions/kefu/bootstrap/tools.py: UpstreamUnavailable({UNREAD!r})",
        # The reason of a stream that has begun.
        "functions/kefu/web/sending.py: UpstreamUnavailable('The answer was cut off.')",
    }
