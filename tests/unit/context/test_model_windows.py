from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.context import model_windows
from kefu.context.model_windows import _WINDOW_BY_MODEL, ModelWindow, resolve_window


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("LongCat-2.0", 1_048_576),
        ("LongCat-Flash-Chat", 131_072),
        ("LongCat-Flash-Thinking-2601", 262_144),
        ("LongCat-Flash-Lite", 327_680),
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("gpt-4o-mini", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("gpt-5-mini", 272_000),
        ("openai/gpt-4o", 128_000),
        ("OpenRouter/OpenAI/GPT-4o:free", 128_000),
        ("ft:gpt-4o-2024-08-06:kefu::abc", 128_000),
        ("claude-opus-4-1-20250805", 200_000),
        ("claude-opus-4-6", 1_000_000),
        ("deepseek-chat", 131_072),
        ("deepseek-ai/DeepSeek-V3.2", 131_072),
        ("qwen3-coder-plus", 997_952),
        ("Qwen/Qwen3-32B", 32_768),
        ("glm-4.6", 200_000),
        ("kimi-k2-0905-preview", 131_072),
        ("gemini-2.5-flash-lite", 1_048_576),
        ("meta-llama/Llama-3.3-70B-Instruct", 128_000),
        ("mistral-large-latest", 262_144),
    ],
)
def test_a_known_model_has_its_window(model: str, tokens: int) -> None:
    """X8: by exact name, or by the longest prefix in the table."""
    assert resolve_window(model) == ModelWindow(tokens, resolved=True)


@pytest.mark.parametrize("model", ["", "gpt-4one", "gpt-9", "my-gpt-4", "gpt", "local", "qwen3.9"])
def test_an_unknown_model_has_a_short_window_and_says_so(model: str) -> None:
    """Requirement X8."""
    assert resolve_window(model) == ModelWindow(8_192, resolved=False)


@pytest.mark.parametrize("override", [64_000, {"contextLength": 64_000}])
@pytest.mark.parametrize("name", ["gpt-4o", "GPT-4o", "my-model", "openai/gpt-4o"])
def test_an_override_comes_first(name: str, override: int | dict[str, int]) -> None:
    """X8: as a number, or with the key of the TypeScript version."""
    assert resolve_window(name, {name: override}) == ModelWindow(64_000, resolved=True)


def test_an_override_covers_versions_and_leaves_other_models_alone() -> None:
    """X8: a name with a provider in front applies to that provider only."""
    overrides = {"my-model": 16_000, "gpt-4o-mini": 32_000, "azure/gpt-4": 64_000}
    assert resolve_window("my-model-v2", overrides).context_length == 16_000
    assert resolve_window("gpt-4o-mini-2024", overrides).context_length == 32_000
    assert resolve_window("gpt-4o", overrides).context_length == 128_000
    assert resolve_window("azure/gpt-4", overrides).context_length == 64_000
    assert resolve_window("openai/gpt-4", overrides).context_length == 8_192


@pytest.mark.parametrize("override", [0, -1, True, 1.5, "128000", {}, {"context": 1}, None])
def test_an_override_that_is_no_number_of_tokens_is_refused(override: object) -> None:
    """Requirement X8."""
    with pytest.raises(ValueError, match="'mine'"):
        resolve_window("gpt-4o", {"mine": override})  # type: ignore[dict-item]


@given(st.text())
def test_any_name_has_some_window(name: str) -> None:
    """Requirement X8."""
    window = resolve_window(name)
    assert window.resolved or window.context_length == 8_192


def test_the_table_is_small_and_its_names_can_be_found() -> None:
    """X8: under 10 KB."""
    assert Path(model_windows.__file__).stat().st_size < 10_000
    for name, tokens in _WINDOW_BY_MODEL.items():
        assert resolve_window(name) == ModelWindow(tokens, resolved=True)
