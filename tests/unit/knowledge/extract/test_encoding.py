"""Knowledge 4: a text that is not UTF-8 is read right, or named in the report."""

from __future__ import annotations

import codecs
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kefu.knowledge.extract.encoding import decoded
from kefu.knowledge.extract.files import Unreadable, read_file

CHINESE = "退货政策：七天内可以无理由退货，运费由我们承担。"
TRADITIONAL = "退貨政策：七天內可以無理由退貨，運費由我們承擔。"
JAPANESE = "返品は7日以内に承ります。送料は当社が負担いたします。"
GERMAN = "Öffnungszeiten: täglich von 9 bis 18 Uhr. Für Rücksendungen gilt eine Frist."
QUOTED = "It’s “free” – delivery to Zürich costs €5…"

TEXTS = [
    (CHINESE, "gbk"),
    (CHINESE, "gb2312"),
    (CHINESE + "㐀😀", "gb18030"),
    (TRADITIONAL, "big5"),
    (JAPANESE, "shift_jis"),
    (GERMAN, "iso-8859-1"),
    (QUOTED, "windows-1252"),
]
URL = "https://www.example.com/"


def page(text: str, meta: str = "") -> str:
    head = f"<!doctype html><html><head>{meta}<title>x</title></head>"
    return f"{head}<body><div class=main><p>{text}</p></div></body></html>"


def read(data: bytes, end: str, charset: str = "") -> tuple[str, str]:
    found, remark = read_file(data, end, URL, charset=charset)
    return found.page.blocks[0].text, remark


@pytest.mark.parametrize(("text", "encoding"), TEXTS)
def test_a_page_is_decoded_as_its_header_says(text: str, encoding: str) -> None:
    assert read(page(text).encode(encoding), ".html", encoding.upper()) == (text, "")
    assert read(text.encode(encoding), ".txt", encoding) == (text, "")


@pytest.mark.parametrize(
    "meta",
    [
        "<meta charset={}>",
        "<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset={}'>",
        "<!-- <meta charset=koi8-r> --><meta name=a content=b><meta charset='{}' />",
    ],
)
@pytest.mark.parametrize(("text", "encoding"), TEXTS)
def test_a_page_is_decoded_as_its_meta_says(text: str, encoding: str, meta: str) -> None:
    assert read(page(text, meta.format(encoding)).encode(encoding), ".html") == (text, "")


@pytest.mark.parametrize(("text", "encoding"), TEXTS)
@pytest.mark.parametrize("end", [".html", ".txt", ".md"])
def test_a_text_that_names_no_encoding_is_guessed_and_named(
    text: str, encoding: str, end: str
) -> None:
    data = (page(text) if end == ".html" else text).encode(encoding)
    found, remark = read(data, end)
    assert found == text
    assert re.fullmatch(r"names no encoding that fits, and was read as [\w-]+", remark)


@pytest.mark.parametrize("text", [CHINESE, GERMAN])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (b"", "utf-8"),
    ],
)
def test_unicode_is_read_without_a_remark(text: str, mark: bytes, encoding: str) -> None:
    """A byte order mark counts more than the header."""
    header = "iso-8859-1" if mark else ""
    assert read(mark + page(text).encode(encoding), ".html", header) == (text, "")
    assert read(mark + text.encode(encoding), ".txt", header) == (text, "")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [CHINESE, GERMAN, "Plain English, twice as long."])
def test_utf_16_without_a_mark_is_read(encoding: str, text: str) -> None:
    assert read(page(text).encode(encoding), ".html")[0] == text
    assert read(page(text).encode(encoding), ".html", encoding) == (text, "")
    assert read(text.encode(encoding), ".txt")[0] == text


def test_a_name_that_the_bytes_contradict_is_named() -> None:
    for wrong in ("iso-8859-1", "gbk", "big5"):
        assert read(page(CHINESE).encode(), ".html", wrong) == (
            CHINESE,
            f"is UTF-8, though it says {wrong}",
        )
    found, remark = read(page(CHINESE * 3).encode("gbk"), ".html", "utf-8")
    assert (found, bool(remark)) == (CHINESE * 3, True)
    found, remark = read(page(GERMAN, "<meta charset=utf-8>").encode("cp1252"), ".html")
    assert (found, bool(remark)) == (GERMAN, True)


@pytest.mark.parametrize(("text", "encoding"), [(CHINESE, "utf-8"), (CHINESE, "gb18030")])
def test_one_damaged_character_costs_no_other_and_is_counted(text: str, encoding: str) -> None:
    data = page(text * 4).encode(encoding)
    data = data.replace("，".encode(encoding), "，".encode(encoding)[:-1] + b"\xff", 1)
    found, remark = read(data, ".html", encoding)
    assert found.count("承担") == 4
    assert "\ufffd" in found
    assert (
        remark.endswith("characters are not utf-8, and are shown as \ufffd") or "gb18030" in remark
    )


@pytest.mark.parametrize(
    "name", ["unicode_escape", "utf-7", "idna", "rot13", "zlib", "x", "\x00", ""]
)
def test_codecs_that_are_not_of_the_web_are_not_used(name: str) -> None:
    assert read(page(r"a \x41 +AGE- b").encode(), ".html", name) == (r"a \x41 +AGE- b", "")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(Unreadable, match="is no text"):
        read(bytes(range(256)) * 20, ".txt")


def utf_8(data: bytes) -> str:
    """What valid UTF-8 is without a name, by the standard, even if it was meant otherwise."""
    return data.decode("utf-8", "ignore")


MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
CODECS = ["gb18030", "big5hkscs", "shift_jis", "cp1252", "utf-16-le", "euc_kr", "utf-8"]


@given(st.text(), st.sampled_from(CODECS), st.booleans())
def test_any_text_is_right_or_has_a_remark(text: str, encoding: str, named: bool) -> None:
    codec = {"shift_jis": "cp932", "euc_kr": "cp949"}.get(encoding, encoding)
    data = text.encode(codec, "ignore")
    assume(not data.startswith(MARKS))
    found = decoded(data, encoding if named else "")
    assume(found and not found.remark)
    assert found
    assert found.text in ({data.decode(codec)} if named else {data.decode(codec), utf_8(data)})


@given(st.binary(), st.sampled_from(["", "utf-8", "gbk", "big5", "iso-8859-1", "utf-16"]))
def test_no_bytes_lose_a_character_without_a_remark(data: bytes, charset: str) -> None:
    found = decoded(data, charset, is_html=True)
    assert found is None or found.remark or "\ufffd" not in found.text or "\ufffd".encode() in data
