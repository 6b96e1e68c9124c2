from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kefu.visitor_texts import VisitorTexts, texts_in

WIDGET = Path(__file__).parents[2] / "widget/src/languages"
LANGUAGES = ["en", *("zh" if one.stem == "zh-CN" else one.stem for one in WIDGET.glob("*.ts"))]
FIELDS = {"answered": {"name", "date"}, "subject": {"host"}, "wrote": {"name", "host"}}


def test_other_languages_get_the_english_texts() -> None:
    assert texts_in("fi") is texts_in("") is texts_in("en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_of_the_widget_has_every_text_with_its_facts(language: str) -> None:
    texts = texts_in(language)
    assert (texts is texts_in("en")) == (language == "en")
    for field, text in texts._asdict().items():
        facts = FIELDS.get(field, {"site"} if field == "go_on" else set())
        assert set(re.findall(r"\{(\w+)", text)) == facts
    shown = texts.answered.format(name="Ada", date=datetime(2026, 3, 4, tzinfo=UTC))
    assert "Ada" in shown
    assert "2026" in shown
    assert len(set(texts)) == len(VisitorTexts._fields)
