"""Exact token counts in OpenAI's byte pair encodings, computed by tiktoken.

`bpe` is imported only when an exact counter is used, because tiktoken is optional.

tiktoken is slow for long repetitions such as 100,000 times "a": it treats them as a single word.
Therefore a long repetition is shortened before it is encoded. The tokens of the removed part are
known and are added to the count.

The result is exact; docs/decisions/0010-* has the proof. A list of tokens is the encoding of its
own text if every pair of adjacent tokens is also adjacent in the encoding of some text. Take two
equal tokens of a repetition, a whole number of units apart. The tokens between both form a cycle.
Repeating it creates no new pair of adjacent tokens, so the longer list is an encoding too.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import NamedTuple, Protocol

from kefu.context.tokens.encodings import load
from kefu.context.tokens.repeats import MIN_REPETITION_CHARS, Repeat, repeats
from kefu.errors import TiktokenMissing, UnknownCounter

# Copied from tiktoken (tiktoken_ext/openai_public.py), MIT licence: see encodings/README.md.
_PATTERNS = {
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k_base": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
# Encodings with the same tokens for ordinary text: only the special tokens differ.
_ALIKE = {"o200k_harmony": "o200k_base"}
_UNKNOWN_MODELS = "o200k_base"

# Pairs, perhaps with lone surrogates between them, or one kind of lone surrogates. Each pattern
# takes a run as a whole, because a search for a pair would look at each surrogate of the run.
_HIGH, _LOW = "[\ud800-\udbff]", "[\udc00-\udfff]"
_SURROGATES = re.compile(f"((?:{_HIGH}++{_LOW}++)++)|{_HIGH}+|{_LOW}+")

# The encodings treat a gap of spaces before a word as one word; the last space belongs to the next
# word. So wide gaps of spaces can be counted separately, once per width. A gap of fewer than 80
# spaces is one token and needs no such treatment.
_WIDE_GAP = " " * 80
_GAP = re.compile(rf"(?<![^\S\r\n])({_WIDE_GAP} *+)(?=\S)|{_WIDE_GAP} *+")

# Characters of a repetition that are kept in addition to whole cycles. The text around a repetition
# affects fewer characters than this.
_MARGIN_CHARS = 256


class Tokenizer(Protocol):
    """An encoder of text to token ids; `tiktoken.Encoding` is one."""

    def encode_ordinary(self, text: str) -> list[int]:
        """The text's tokens. Special tokens are encoded as text: `<|endoftext|>` is seven
        tokens."""


def exact_count(name: str, text: str) -> int:
    """The number of tokens of `encode_ordinary`. A lone surrogate counts as one U+FFFD.

    `name`: of an encoding, whose tables the first count loads.
    """
    text = _uncached(text)
    widths: list[int] = []
    if _WIDE_GAP in text:
        text, widths = _collapse_gaps(text)
    spaces = sum(_count_spaces(name, width) for width in widths)
    return _count(loaded_encoding(name), text) + spaces


def encoding_of(encoding_or_model: str) -> tuple[str, bool]:
    """The name of the encoding, and whether the model's is another or unknown.

    Raises UnknownCounter for an encoding that Kefu does not include, and TiktokenMissing.
    """
    try:
        import tiktoken.model
    except ImportError as error:
        raise TiktokenMissing("Exact token counts need: pip install tiktoken") from error
    name = encoding_or_model
    approximate = False
    if name not in tiktoken.list_encoding_names():
        try:
            name = tiktoken.model.encoding_name_for_model(name)
        except KeyError:
            name = ""
        if _ALIKE.get(name, name) not in _PATTERNS:
            name, approximate = _UNKNOWN_MODELS, True
    name = _ALIKE.get(name, name)
    if name not in _PATTERNS:
        names = ", ".join([*_PATTERNS, *_ALIKE])
        raise UnknownCounter(f"The encoding {name!r} is not part of Kefu. There are: {names}.")
    return name, approximate


class LoadedEncoding(NamedTuple):
    name: str
    tokenizer: Tokenizer
    lengths: bytes
    """The length of each token in bytes, indexed by token id."""


@cache
def loaded_encoding(name: str) -> LoadedEncoding:
    """Loads an encoding once: o200k_base takes 0.3 s and 50 MB, cl100k_base half of that."""
    from tiktoken import Encoding

    tokens = load(name)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    tokenizer = Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # tiktoken has copied the table: this frees 25 MB
    return LoadedEncoding(name, tokenizer, bytes(map(len, tokens)))


def _uncached(text: str) -> str:
    """A copy of non-ASCII text: tiktoken caches the UTF-8 form in the string that it is given."""
    if text.isascii():
        return text
    try:
        return text.encode().decode()
    except UnicodeEncodeError:
        return _SURROGATES.sub(_replace_surrogates, text)


def _replace_surrogates(surrogates: re.Match[str]) -> str:
    """Joins surrogate pairs and replaces lone surrogates by U+FFFD.

    tiktoken does the same, but slowly if there are many.
    """
    if not surrogates[1]:
        return "\ufffd" * len(surrogates[0])
    return surrogates[1].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _collapse_gaps(text: str) -> tuple[str, list[int]]:
    """Returns the text with one space per wide gap, and the number of spaces removed from each."""
    widths = []

    def collapse(spaces: re.Match[str]) -> str:
        if spaces[1] is None:
            return spaces[0]
        widths.append(len(spaces[1]) - 1)
        return " "

    return _GAP.sub(collapse, text), widths


@lru_cache(maxsize=4096)
def _count_spaces(name: str, width: int) -> int:
    return _count(loaded_encoding(name), " " * width)


def _count(encoding: LoadedEncoding, text: str) -> int:
    if len(text) >= MIN_REPETITION_CHARS and (repetitions := list(repeats(text))):
        return _count_shortened(encoding, text, repetitions)
    return len(encoding.tokenizer.encode_ordinary(text))


class _Cycle(NamedTuple):
    """The sequence of tokens that recurs in the encoding of a repetition."""

    size: int
    """Length in bytes: a multiple of the unit's length."""
    tokens: int
    """The number of tokens."""


class _Cut(NamedTuple):
    """A shortened repetition, and its position in the shortened text."""

    start: int
    """Position in bytes."""
    end: int
    """Position in bytes, exclusive."""
    cycle: _Cycle
    cycles: int
    """The number of cycles that were removed."""


@lru_cache(maxsize=256)
def _cycle(encoding: LoadedEncoding, unit: str) -> _Cycle | None:
    size = len(unit.encode())
    tokens = encoding.tokenizer.encode_ordinary(unit * (4096 // size))
    ends = list(accumulate(encoding.lengths[token] for token in tokens))
    first = len(tokens) // 4
    for i in range(first + 1, len(tokens)):
        length = ends[i] - ends[first]
        if tokens[i] == tokens[first] and length % size == 0:
            return _Cycle(length, i - first)
    return None


def _count_shortened(encoding: LoadedEncoding, text: str, repetitions: Sequence[Repeat]) -> int:
    parts: list[str] = []
    cuts = list(_cuts(encoding, text, repetitions, parts))
    tokens = encoding.tokenizer.encode_ordinary("".join(parts))
    ends = list(accumulate(map(encoding.lengths.__getitem__, tokens)))
    if not all(_contains_cycle(cut, tokens, ends) for cut in cuts):
        return len(encoding.tokenizer.encode_ordinary(text))
    return len(tokens) + sum(cut.cycles * cut.cycle.tokens for cut in cuts)


def _cuts(
    encoding: LoadedEncoding, text: str, repetitions: Sequence[Repeat], parts: list[str]
) -> Iterator[_Cut]:
    """Yields the cuts in order, and appends the remaining text to `parts`."""
    done = position = 0
    for repeat in repetitions:
        cycle = _cycle(encoding, repeat.unit)
        if cycle is None:
            continue
        size = cycle.size * len(repeat.unit) // len(repeat.unit.encode())  # bytes to characters
        cycles = (repeat.end - repeat.start - _MARGIN_CHARS) // size - 3
        if cycles > 0:
            before = text[done : repeat.start]
            kept = text[repeat.start + cycles * size : repeat.end]
            parts += before, kept
            start = position + len(before.encode())
            position = start + len(kept.encode())
            done = repeat.end
            yield _Cut(start, position, cycle, cycles)
    parts.append(text[done:])


def _contains_cycle(cut: _Cut, tokens: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether the encoding of the shortened repetition contains a whole cycle."""
    first = bisect_left(ends, cut.start + 1)
    last = bisect_right(ends, cut.end) - cut.cycle.tokens
    return any(
        tokens[i] == tokens[i + cut.cycle.tokens]
        and ends[i + cut.cycle.tokens] - ends[i] == cut.cycle.size
        for i in range(first, last)
    )
