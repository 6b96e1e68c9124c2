"""Finding on documentation sites of up to 10,000 passages."""

from __future__ import annotations

from pathlib import Path

import pytest

from kefu.stores.sqlite.knowledge.read import KnowledgeFile
from tests.parts.documentation import SITES, headings, learn, share_found, shortened
from tests.parts.fetch import folder_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("site", SITES)
def test_headings_asked_as_questions_find_their_pages(site: str, tmp_path: Path) -> None:
    """G19: also with one word less, and so not as a whole."""
    part = folder_of("documentation")
    if part is None:
        pytest.skip("documentation is not in .parts/. Try: make parts")
    learn(part / site, tmp_path / "site.kefu")
    file = KnowledgeFile(tmp_path / "site.kefu")
    asked = headings(part / site)
    assert share_found(file, asked) >= 0.95
    assert share_found(file, shortened(asked)) >= 0.8
    file.close()
