from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st

from kefu.context.tokens import counter, encodings
from kefu.context.tokens.bpe import LoadedEncoding, _count_shortened, loaded_encoding
from kefu.context.tokens.repeats import MIN_REPETITION_CHARS, Repeat, repeats

Reference = Mapping[str, tiktoken.Encoding]

ENCODINGS = sorted(encodings.SHA256)
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # also unpaired surrogates

MANY = 200_000
HAN = "".join(random.Random(16).choices([chr(c) for c in range(0x4E00, 0xA000)], k=MANY))
ENGLISH = "The quick brown fox can't jump over 12,345 lazy dogs; they're asleep.\n\n"
LONG = {
    "english": ENGLISH * 2000,
    "chinese": "您好，我想咨询一下签证的办理流程和费用。" * 5000,
    "mixed": "订单号 A-10293 已发货，tracking number 是 SF1234567890。Thanks! 😀\n" * 2000,
    "code": "def add(a: int, b: int) -> int:\n    return a + b  # 加\n\n\n" * 3000,
    "json": '{"id": 12, "name": "林默", "tags": ["a", "b"], "ok": true}, ' * 3000,
    "emoji": "👩‍👩‍👧‍👦🇨🇳👍🏽😀" * 5000,
    "lone surrogates": "\ud800" * MANY,
    "surrogates among letters": "ab\udc00你\ud83d\ude00" * 20_000,
    "special tokens": "<|endoftext|><|fim_prefix|><|endofprompt|>" * 3000,
    "one letter": "a" * MANY,
    "one capital": "A" * MANY,
    "spaces": " " * MANY,
    "random han": HAN,
    "one han": "哈" * MANY,
    "digits": "1" * MANY,
    "wide digits": "１" * MANY,
    "newlines": "\n" * MANY,
    "lines of spaces": " \t\r\n" * 50_000,
    "a rule": "=-" * 100_000,
    "a box": "─" * MANY,
    "wide spaces": "\u3000" * MANY,
    "accents": "e" + "\u0301" * MANY,
    "a contraction": "it'" + "s" * MANY,
    "one emoji": "😀" * 50_000,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", LONG)
def test_exact_counts_of_long_texts_are_those_of_tiktoken(
    reference: Reference, encoding: str, kind: str
) -> None:
    """精确 Token 计数, Token 计数一致性, X16."""
    expected = len(reference[encoding].encode_ordinary(LONG[kind]))
    assert counter(f"tiktoken:{encoding}")(LONG[kind]) == expected


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=ANY_TEXT)
@example("")
@example("<|endoftext|>")
@example("\ufeff\ud800")
def test_exact_counts_of_any_text_are_those_of_tiktoken(
    reference: Reference, encoding: str, text: str
) -> None:
    """X16: every character, and unpaired surrogates."""
    expected = len(reference[encoding].encode_ordinary(text))
    assert counter(f"tiktoken:{encoding}")(text) == expected


UNITS = [
    *" \n\taAé你=-#.'/\\_0１─　\u200b\u0301\ufffd\ud800😀ス한جǅʰ\x00\x1c\xa0\u2028",
    *["\r\n", " \n", "=-", "ab", "aB", "AB", "- ", "12", "1 ", "' ", "'s", "</", "/\n", "你好"],
    *["abc", "haha ", "\t  ", " \x1c", "nnnnnna", "-=+", "lorem ipsum ", "a\u0301"],
]
REPETITION = st.builds(
    lambda unit, times, part: unit * (times // len(unit)) + unit[:part],
    st.sampled_from(UNITS),
    st.integers(MIN_REPETITION_CHARS, 3 * MIN_REPETITION_CHARS),
    st.integers(0, 3),
)
SEAM = st.one_of(
    st.sampled_from(["", "'s", "'ll", " ", "\n", "!", "x", "X", "/", "1", "你", "\u0301", "a'"]),
    ANY_TEXT,
)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(pairs=st.lists(st.tuples(SEAM, REPETITION), min_size=1, max_size=4), end=SEAM)
def test_exact_counts_of_repetitions_are_those_of_tiktoken(
    reference: Reference, encoding: str, pairs: list[tuple[str, str]], end: str
) -> None:
    """X16: for any repeated text, any number of repetitions, and any text around them."""
    text = "".join(seam + repetition for seam, repetition in pairs) + end
    expected = len(reference[encoding].encode_ordinary(text))
    assert counter(f"tiktoken:{encoding}")(text) == expected


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(unit=st.text("ab=-. \n\t/你─", min_size=1, max_size=6), before=ANY_TEXT, behind=ANY_TEXT)
def test_exact_counts_hold_for_any_unit_of_repetition(
    reference: Reference, encoding: str, unit: str, before: str, behind: str
) -> None:
    """Requirement X16."""
    text = before + unit * (2 * MIN_REPETITION_CHARS // len(unit)) + behind
    expected = len(reference[encoding].encode_ordinary(text))
    assert counter(f"tiktoken:{encoding}")(text) == expected


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("size", [33, 100, 500, 511, 512, 513])
def test_exact_counts_hold_for_long_units_of_repetition(
    reference: Reference, encoding: str, size: int
) -> None:
    """Requirement X16: also for lines of spaces, and for a text of which half is such lines."""
    dice = random.Random(size)
    for letters in ("abcX", " ", "!-"):
        unit = "".join(dice.choices(letters, k=size - 1)) + ("\n" if letters == " " else letters[0])
        for text in (unit * 20, f"Hello {unit * 12}{unit[:7]}, you."):
            expected = len(reference[encoding].encode_ordinary(text))
            assert counter(f"tiktoken:{encoding}")(text) == expected


GAP_SEAM = st.one_of(st.text("\n\r\t a1!/你\xa0\x1c\x85'", max_size=3), ANY_TEXT)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(gaps=st.lists(st.tuples(GAP_SEAM, st.integers(70, 400)), max_size=6), end=GAP_SEAM)
def test_exact_counts_of_wide_gaps_are_those_of_tiktoken(
    reference: Reference, encoding: str, gaps: list[tuple[str, int]], end: str
) -> None:
    """X16: wide columns and deep indentation, with any text around them."""
    text = "".join(seam + " " * width for seam, width in gaps) + end
    expected = len(reference[encoding].encode_ordinary(text))
    assert counter(f"tiktoken:{encoding}")(text) == expected


class Recording:
    """tiktoken, with a record of the length of its inputs."""

    def __init__(self, encoding: LoadedEncoding) -> None:
        self.encoding = encoding
        self.characters = 0

    def encode_ordinary(self, text: str) -> list[int]:
        self.characters += len(text)
        return self.encoding.tokenizer.encode_ordinary(text)


@pytest.mark.parametrize("unit", [" ", "a", "\n", "\r\n", "=-", "─", "😀", "你", "\u0301"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_tiktoken_never_works_through_a_long_repetition(
    reference: Reference, encoding: str, unit: str
) -> None:
    """Token 计数性能, X16: of 200,000 characters, tiktoken receives a few thousand."""
    recording = Recording(loaded_encoding(encoding))
    watched = loaded_encoding(encoding)._replace(tokenizer=recording)
    text = f"before {unit * (MANY // len(unit))}behind"
    count = _count_shortened(watched, text, list(repeats(text)))
    assert count == len(reference[encoding].encode_ordinary(text))
    assert recording.characters < 8000


class Fickle:
    """A tokenizer with one token a byte for short texts, and one for two bytes for long texts."""

    def encode_ordinary(self, text: str) -> list[int]:
        size = 1 if len(text) == 4096 else 2
        return [size, 0] * (len(text) // (2 * size)) if size == 1 else [2] * (len(text) // 2)


def test_what_does_not_repeat_its_tokens_is_counted_at_full_length() -> None:
    """X16: a repetition in the text whose tokens do not repeat is not extrapolated."""
    fickle = LoadedEncoding("fickle", Fickle(), bytes([1, 1, 2]))
    assert _count_shortened(fickle, "a" * 10_000, [Repeat(0, 10_000, "a")]) == 5_000


@pytest.mark.parametrize("unit", ["a", " ", "=-", "\r\n", "abcdefgh", "你", "\t" * 3 + "  "])
@pytest.mark.parametrize("lead", [0, 1, 511, 600])
def test_every_long_repetition_is_found_from_end_to_end(unit: str, lead: int) -> None:
    """X16: a repetition is found in its whole length."""
    before = "x1" * (lead // 2) + "1"
    text = before + unit * (MIN_REPETITION_CHARS // len(unit) + 1) + "7 done"
    (found,) = [r for r in repeats(text) if r.start >= len(before)]
    assert (found.start, text[found.end :]) == (len(before), "7 done")
    assert found.unit == unit[: len(found.unit)]


@pytest.mark.parametrize("text", [ENGLISH * 100, "12" * 2000, "1" * 2000, "aB" * 2000, "a " * 2000])
def test_what_is_many_words_is_no_repetition(text: str) -> None:
    """X16: only a long word is slow, and tokens depend on their neighbours only within a word."""
    assert list(repeats(text)) == []


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_damaged_table_is_refused(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X16: one byte of the table is wrong."""
    content = bytearray(resources.files(encodings).joinpath(f"{encoding}.bin").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / f"{encoding}.bin").write_bytes(content)
    monkeypatch.setattr(encodings, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match="damaged"):
        encodings.load(encoding)


def test_counting_leaves_no_second_form_of_a_text_in_it() -> None:
    """X18: CPython would store the UTF-8 form inside a `str` as long as it lives."""
    text = "你好" * 50_000
    before = sys.getsizeof(text)
    assert counter("tiktoken:o200k_base")(text) == 50_000
    assert sys.getsizeof(text) == before
