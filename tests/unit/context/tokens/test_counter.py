from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kefu
from kefu.context.tokens import COUNTERS, counter
from kefu.errors import TiktokenMissing, UnknownCounter

FUNCTIONS = Path(kefu.__file__).parents[1]


@pytest.mark.parametrize("name", COUNTERS)
def test_cheap_counters_are_found_by_name_and_are_approximate(name: str) -> None:
    """Requirement X7."""
    found = counter(name)
    assert (found.name, found.approximate) == (name, True)
    assert found("hello 你好") == found.count("hello 你好") == COUNTERS[name]("hello 你好")


@pytest.mark.parametrize("name", ["", "gpt-4o", "tiktoken", "tiktoken:", "chars"])
def test_an_unknown_counter_is_refused_with_a_list_of_those_there_are(name: str) -> None:
    """Requirement X7."""
    with pytest.raises(ValueError, match=r"bytes4, calibrated, .*cjk_v1, tiktoken:<") as seen:
        counter(name)
    assert isinstance(seen.value, UnknownCounter)
    assert repr(name) in str(seen.value)


@pytest.mark.parametrize("name", ["p50k_base", "r50k_base", "gpt2"])
def test_an_encoding_that_is_not_here_is_refused_and_not_downloaded(name: str) -> None:
    """X16: the encoding's file is missing."""
    with pytest.raises(UnknownCounter, match="cl100k_base, o200k_base"):
        counter(f"tiktoken:{name}")


@pytest.mark.parametrize(
    ("asked", "name", "approximate"),
    [
        ("o200k_base", "o200k_base", False),
        ("o200k_harmony", "o200k_base", False),
        ("cl100k_base", "cl100k_base", False),
        ("gpt-4o-mini", "o200k_base", False),
        ("gpt-oss-120b", "o200k_base", False),
        ("gpt-4-0613", "cl100k_base", False),
        ("gpt-3.5-turbo", "cl100k_base", False),
        ("LongCat-Flash-Chat", "o200k_base", True),
        ("deepseek-chat", "o200k_base", True),
        ("text-davinci-003", "o200k_base", True),  # its encoding is not included
    ],
)
def test_a_model_is_counted_in_its_encoding_or_approximately(
    asked: str, name: str, approximate: bool
) -> None:
    """精确 Token 计数, X7, X16: a model without a public tokenizer is counted approximately."""
    found = counter(f"tiktoken:{asked}")
    assert (found.name, found.approximate) == (f"tiktoken:{name}", approximate)


def test_an_exact_counter_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Requirement X16."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ImportError, match=r"pip install tiktoken$") as seen:
        counter("tiktoken:gpt-4o")
    assert isinstance(seen.value, TiktokenMissing)


def test_choosing_an_exact_counter_loads_no_tables() -> None:
    """X16: the first count loads them. Importing does not even load tiktoken."""
    program = f"""
import sys; sys.path.append({str(FUNCTIONS)!r})
import kefu.context.tokens, kefu.context
assert not {{"tiktoken", "zlib", "importlib.resources"}} & set(sys.modules)
chosen = kefu.context.tokens.counter("tiktoken:gpt-4o")
from kefu.context.tokens import bpe
print(bpe.loaded_encoding.cache_info().currsize, end=" ")
print(chosen("hello"), bpe.loaded_encoding.cache_info().currsize)
"""
    child = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (child.stdout, child.stderr) == ("0 1 1\n", "")
