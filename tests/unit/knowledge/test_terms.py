"""G14: pages and questions are divided into terms by the same function."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.knowledge.terms import (
    asked_language,
    guessed_language,
    is_pair,
    page_language,
    question_terms,
    replaced,
    terms,
    typed_terms,
    unmarked,
    unmarked_terms,
)


def test_words_of_one_stem_are_one_term() -> None:
    assert terms("Deliveries, delivered", "en") == terms("delivery DELIVER", "en")
    assert terms("доставка доставки", "")[0] == terms("доставку", "")[0]
    assert terms("Lieferungen", "de") == terms("Lieferung", "de")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("退款政策", ["退款", "款政", "政策"]),
        ("カート", ["カー", "ート"]),
        ("배송비", ["배송", "송비"]),
        ("ค่าจัดส่ง", ["ค่า", "่าจ", "าจั", "จัด", "ัดส", "ดส่", "ส่ง"]),
        ("vận chuyển", ["vận", "chuyển"]),
        ("税", ["税"]),
        ("iPhone15手机壳", ["iphone15", "手机", "机壳"]),
        ("ＡＢＣ①", ["abc1"]),
        ("İPTAL", ["iptal"]),
        ("re\u200bfund so\u00adft", ["refund", "soft"]),
    ],
)
def test_text_without_spaces_and_marks_is_kept_whole(text: str, found: list[str]) -> None:
    assert terms(text, "") == found


def test_a_question_loses_its_stop_words_but_never_all_of_them() -> None:
    assert question_terms("How do I return the shoes?", ["en"]) == ["return", "shoe"]
    assert question_terms("怎么退款？", [""]) == ["退款"]
    assert question_terms("who are you", ["en"]) == ["who", "are", "you"]


def test_a_question_is_looked_up_with_the_stems_of_all_languages_of_the_site() -> None:
    found = question_terms("Lieferungen", ["de", "en"])
    assert terms("Lieferung", "de")[0] in found
    assert terms("Lieferungen", "en")[0] in found


def test_a_page_that_names_no_language_gets_a_guessed_one() -> None:
    assert guessed_language("Wir liefern nicht auf die Inseln und das ist mit der Post so.") == "de"
    assert guessed_language("Thanks.") == "en"
    # Of a manual of LilyPond: "de" and "la" are frequent in Romanian, too.
    assert guessed_language("Le type de la portée, suivi de la liste de la page") == "fr"
    assert page_language("pt-BR", "the and of to") == "pt"
    assert page_language("xx", "Les colis sont dans le bureau et pas chez vous") == "fr"


@pytest.mark.parametrize(
    ("tag", "text", "expected"),
    [
        ("zh-CN", "怎么插入超链接 LibreOffice Writer", "zh"),
        ("zh-CN", "This page was not translated, and it is in English", "en"),
        ("zh-CN", "DATEVALUE(Text) de la que los", "en"),
        ("", "如何安裝", "zh"),
        ("", "中文说明如下，请看 `import os; print(os.getcwd())`", "zh"),
        ("", "返品は三十日以内にお願いします", "ja"),
        ("", "배송비는 얼마인가요", "ko"),
        ("uk", "Доставка", "uk"),
        ("", "Доставка", "ru"),
        ("km", "ការដឹកជញ្ជូន", "km"),
        ("ta", "விநியோகம்", "ta"),
        ("", "ডেলিভারি খরচ কত", "bn"),
    ],
)
def test_the_language_of_a_page_in_another_script_is_not_guessed_from_its_latin_words(
    tag: str, text: str, expected: str
) -> None:
    """The model that writes search words is told the languages of the pages."""
    assert page_language(tag, text) == expected


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("cs", "Pokud se na to podíváte, je to v nastavení a do o po"),
        ("eu", "Testua aldatu nahi baduzu, on da eta du"),
    ],
)
def test_a_page_in_czech_or_basque_is_not_taken_for_another_language(tag: str, text: str) -> None:
    """Its words would get the stems and the stop words of Polish or English."""
    assert page_language(tag, text) == tag[:2]


def test_czech_and_basque_words_have_their_own_stems() -> None:
    assert terms("tabulkami", "cs") == terms("tabulka", "cs")
    assert terms("etxeak", "eu") == terms("etxe", "eu")


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("hr", "datotekama", "datoteka"),
        ("bs", "računa", "račun"),
        ("sk", "tabuľkami", "tabuľka"),
        ("sl", "datoteke", "datoteka"),
        ("sr", "датотекама", "датотека"),
        ("sr", "датотекама", "datoteka"),
        ("sr", "račun", "рачуна"),
        ("fa", "حساب\u200cهای", "حساب"),
        ("fa", "كتابها", "کتاب"),
    ],
)
def test_forms_of_a_word_are_one_term_in_its_own_language(
    language: str, one: str, other: str
) -> None:
    """Serbs write both scripts. Persians may have Arabic keyboards, with other letters."""
    assert page_language(language, one) == language
    assert terms(one, language) == terms(other, language)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Pokud jste ještě neměli zálohu, jak je možné ji vytvořit, když to není povoleno?", "cs"),
        ("Kako mogu vratiti proizvod koji nije ispravan, ili se to ne može?", "hr"),
        ("Hogyan lehet visszaküldeni, ha nem jó a méret, és meg kell fizetni?", "hu"),
        ("Miten voin palauttaa tuotteen, kun se ei sovi, ja mitä se maksaa?", "fi"),
    ],
)
def test_the_language_of_a_question_is_told_by_its_words(text: str, language: str) -> None:
    """Czech and Croatian visitors got the fixed texts in Portuguese, and pages Polish stems."""
    assert asked_language(text) == language
    assert page_language("", text) == language


def test_latin_words_of_a_page_in_another_script_have_english_stems() -> None:
    assert terms("插入 hyperlinks", "zh") == terms("插入 hyperlink", "zh")


@given(st.text(), st.sampled_from(["en", "de", "vi", ""]))
def test_any_text_has_terms_that_the_index_splits_nowhere(text: str, language: str) -> None:
    for term in terms(text, language):
        assert term
        assert not any(c.isspace() or (c.isascii() and not c.isalnum()) for c in term)


@pytest.mark.parametrize(
    ("first", "last"),
    [("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\U00020000", "\U000323af")],
)
def test_chinese_characters_are_those_of_three_ranges(first: str, last: str) -> None:
    assert is_pair(first)
    assert is_pair(first + last)
    assert not is_pair(chr(ord(first) - 1))
    assert not is_pair(chr(ord(last) + 1))
    assert not is_pair(3 * first)
    assert not is_pair(f"a{first}")
    assert not is_pair("")


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("phòng của bạn", "vi", ["´phong", "´cua", "´ban"]),
        ("réservation annulée, merci", "fr", ["´reserv", "´annule"]),
        ("Łódź zażółć", "pl", ["´lodz", "´zazolc"]),
        ("ışık İstanbul", "tr", ["´isik"]),
        ("Încărcător și", "ro", ["´incarc", "´si"]),
        ("ώρες λειτουργίας", "el", ["´ωρ", "´λειτουργι"]),
        ("plain words, 退货 ий", "en", []),
        ("हिन्दी", "hi", []),
    ],
)
def test_g36_words_with_accents_have_a_term_without(
    text: str, language: str, found: list[str]
) -> None:
    assert unmarked_terms(text, language) == found


def test_g36_a_question_without_accents_has_the_terms_of_words_with_accents() -> None:
    assert typed_terms("reservation annulee", ("fr",)) == ["´reserv", "´annule"]
    assert typed_terms("réservation annulee", ("fr",)) == ["´annule"]
    for word in ("réservations", "annulées", "élève", "payé"):
        assert typed_terms(unmarked(word), ("fr",)) == unmarked_terms(word, "fr")


def test_g36_words_are_replaced_and_all_else_stays() -> None:
    assert replaced("Can I RETRN it, 退货?", lambda word: word.upper()) == "CAN I RETRN IT, 退货?"
