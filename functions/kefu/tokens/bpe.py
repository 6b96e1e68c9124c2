"""Exact counts: OpenAI's byte pair encodings, run by tiktoken. Its only home, loaded when used.

tiktoken gives the tokens; one thing is added. A long repetition is a single word to it, whose
tokens may be 128 characters long, and it works through it character by character. So a long
repetition is shortened first, by a number of characters that is known to be so many tokens.

That is exact (docs/decisions/0010-* has the proof): if each two neighbours in a list of tokens are
neighbours in the encoding of some text, the list is the encoding of its own text. So if a token
stands twice in a repetition, whole units apart, what lies between can be put in again and again:
no new neighbours arise.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate

from kefu.errors import TiktokenMissing, UnknownCounter
from kefu.lean_typing import NamedTuple, Protocol
from kefu.tokens.encodings import load
from kefu.tokens.repeats import SHORTEST, Repeat, repeats

# As tiktoken has them (tiktoken_ext/openai_public.py), MIT licence: see encodings/README.md.
_PATTERNS = {
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k_base": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
# The same for ordinary text: only its special tokens differ.
_ALIKE = {"o200k_harmony": "o200k_base"}
_UNKNOWN_MODELS = "o200k_base"

_SURROGATES = re.compile("[\ud800-\udfff]+")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

# Spaces from a line's or a word's end to a word are words of their own, but for the last, which
# begins the next: they are counted apart, once for each width. Narrower ones are one token.
_WIDE = " " * 80
_GAP = re.compile(rf"(?<![^\S\r\n])({_WIDE} *+)(?=\S)|{_WIDE} *+")

# Characters of a repetition that stay besides its cycles: more than its surroundings reach into.
_MARGIN = 256


class Tokenizer(Protocol):
    """What turns text into tokens; `tiktoken.Encoding` is one."""

    def encode_ordinary(self, text: str) -> list[int]:
        """All of the text as text: `<|endoftext|>` is seven tokens, not one."""


@dataclass(frozen=True, slots=True)
class ExactCounter:
    name: str
    """Of the encoding."""
    approximate: bool
    """The model's own encoding is another, or nobody knows it."""

    def count(self, text: str) -> int:
        """As many as `encode_ordinary` gives; a lone surrogate is one U+FFFD."""
        text = _transient(text)
        widths: list[int] = []
        if _WIDE in text:
            text, widths = _close_gaps(text)
        spaces = sum(_count_spaces(self.name, width) for width in widths)
        return _count(loaded_encoding(self.name), text) + spaces


def exact(encoding_or_model: str) -> ExactCounter:
    """Loads nothing yet. `UnknownCounter` for an encoding that is not here."""
    try:
        import tiktoken.model
    except ImportError as error:
        raise TiktokenMissing("Exact token counts need: pip install kefu[tokens]") from error
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
        known = ", ".join([*_PATTERNS, *_ALIKE])
        raise UnknownCounter(f"The encoding {name!r} is not part of Kefu. There are: {known}.")
    return ExactCounter(name, approximate)


class LoadedEncoding(NamedTuple):
    name: str
    tokenizer: Tokenizer
    lengths: bytes
    """Of each token, in bytes."""


@cache
def loaded_encoding(name: str) -> LoadedEncoding:
    """Takes a third of a second and 50 MB, half of that for cl100k_base; once."""
    from tiktoken import Encoding

    tokens = load(name)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    tokenizer = Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # tiktoken has its own by now; 25 MB
    return LoadedEncoding(name, tokenizer, bytes(map(len, tokens)))


def _transient(text: str) -> str:
    """A copy, if need be: tiktoken would leave a second form, UTF-8, inside the caller's text."""
    if text.isascii():
        return text
    try:
        return text.encode().decode()
    except UnicodeEncodeError:
        return _SURROGATES.sub(_mended, text)


def _mended(surrogates: re.Match[str]) -> str:
    """Pairs joined, others replaced, as tiktoken does it; its way is slow with many."""
    text = surrogates[0]
    if not _PAIR.search(text):
        return "\ufffd" * len(text)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _close_gaps(text: str) -> tuple[str, list[int]]:
    """The text with a single space in each gap, and how many spaces were taken out of each."""
    widths = []

    def closed(spaces: re.Match[str]) -> str:
        if spaces[1] is None:
            return spaces[0]
        widths.append(len(spaces[1]) - 1)
        return " "

    return _GAP.sub(closed, text), widths


@lru_cache(maxsize=4096)
def _count_spaces(name: str, width: int) -> int:
    return _count(loaded_encoding(name), " " * width)


def _count(encoding: LoadedEncoding, text: str) -> int:
    if len(text) >= SHORTEST and (found := list(repeats(text))):
        return _count_shortened(encoding, text, found)
    return len(encoding.tokenizer.encode_ordinary(text))


class _Cycle(NamedTuple):
    """What a repetition's encoding goes through over and over."""

    size: int
    """In bytes: whole units."""
    tokens: int


class _Cut(NamedTuple):
    """A repetition that was shortened, and where the rest of it lies in the shorter text."""

    start: int
    end: int
    cycle: _Cycle
    cycles: int


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


def _count_shortened(encoding: LoadedEncoding, text: str, found: Sequence[Repeat]) -> int:
    parts: list[str] = []
    cuts = list(_cuts(encoding, text, found, parts))
    tokens = encoding.tokenizer.encode_ordinary("".join(parts))
    ends = list(accumulate(map(encoding.lengths.__getitem__, tokens)))
    if not all(_goes_through(cut, tokens, ends) for cut in cuts):
        return len(encoding.tokenizer.encode_ordinary(text))
    return len(tokens) + sum(cut.cycles * cut.cycle.tokens for cut in cuts)


def _cuts(
    encoding: LoadedEncoding, text: str, found: Sequence[Repeat], parts: list[str]
) -> Iterator[_Cut]:
    """What is cut out, in order; `parts` gets what is left."""
    done = position = 0
    for repeat in found:
        cycle = _cycle(encoding, repeat.unit)
        if cycle is None:
            continue
        size = cycle.size * len(repeat.unit) // len(repeat.unit.encode())  # in characters
        cycles = (repeat.end - repeat.start - _MARGIN) // size - 3
        if cycles > 0:
            before = text[done : repeat.start]
            kept = text[repeat.start + cycles * size : repeat.end]
            parts += before, kept
            start = position + len(before.encode())
            position = start + len(kept.encode())
            done = repeat.end
            yield _Cut(start, position, cycle, cycles)
    parts.append(text[done:])


def _goes_through(cut: _Cut, tokens: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether what is left of a repetition holds its cycle from end to end."""
    first = bisect_left(ends, cut.start + 1)
    last = bisect_right(ends, cut.end) - cut.cycle.tokens
    return any(
        tokens[i] == tokens[i + cut.cycle.tokens]
        and ends[i + cut.cycle.tokens] - ends[i] == cut.cycle.size
        for i in range(first, last)
    )
