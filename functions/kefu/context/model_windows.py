"""The context windows of known models, by name or prefix of a name.

If a provider limits input and output separately, the figure is the limit of the input. Sources:
the price list of litellm 1.106 (MIT licence), and LongCat's API documentation; November 2026.
An unknown model gets a short window. The real window of a model can be configured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

UNKNOWN_WINDOW = 8_192
"""Tokens. Nearly every current model has at least this context window."""

_KIBI = 1024
_MEBI = 1024 * 1024

# A name is also a prefix: "gpt-4o" matches "gpt-4o-mini", but not "gpt-4one". The longest match
# applies.
_WINDOW_BY_MODEL = {
    # LongCat
    "longcat-2.0": _MEBI,
    "longcat-flash": 128 * _KIBI,
    "longcat-flash-lite": 320 * _KIBI,
    "longcat-flash-thinking": 256 * _KIBI,
    # OpenAI
    "chatgpt-4o": 128_000,
    "codex-mini": 200_000,
    "gpt-3.5-turbo": 16_385,
    "gpt-3.5-turbo-0613": 4_096,
    "gpt-3.5-turbo-instruct": 4_096,
    "gpt-35-turbo": 4_097,  # Azure's name
    "gpt-35-turbo-16k": 16_385,
    "gpt-4": 8_192,
    "gpt-4-0125-preview": 128_000,
    "gpt-4-1106-preview": 128_000,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-5": 272_000,
    "gpt-5-chat": 128_000,
    "gpt-5.1": 272_000,
    "gpt-5.1-chat": 128_000,
    "gpt-5.2": 272_000,
    "gpt-5.2-chat": 128_000,
    "gpt-5.3-chat": 128_000,
    "gpt-5.3-codex": 272_000,
    "gpt-5.4": 1_050_000,
    "gpt-5.4-mini": 272_000,
    "gpt-5.4-nano": 272_000,
    "gpt-5.5": 1_050_000,
    "gpt-5.6": 922_000,
    "gpt-5.6-cyber": 400_000,
    "gpt-6": 922_000,
    "gpt-6.1": 922_000,
    "gpt-audio": 128_000,
    "gpt-oss": 131_072,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    # Anthropic
    "claude-3": 200_000,
    "claude-fable-5": 1_000_000,
    "claude-haiku-4-5": 200_000,
    "claude-haiku-5": 1_000_000,
    "claude-mythos": 1_000_000,
    "claude-opus-4": 200_000,
    "claude-opus-4-6": 1_000_000,
    "claude-opus-4-7": 1_000_000,
    "claude-opus-4-8": 1_000_000,
    "claude-opus-5": 1_000_000,
    "claude-sonnet-4": 200_000,
    "claude-sonnet-4-6": 1_000_000,
    "claude-sonnet-5": 1_000_000,
    # DeepSeek
    "deepseek-chat": 128 * _KIBI,
    "deepseek-coder": 128_000,
    "deepseek-flash": 1_000_000,
    "deepseek-r1": 64 * _KIBI,
    "deepseek-reasoner": 128 * _KIBI,
    "deepseek-v3": 64 * _KIBI,
    "deepseek-v3.1": 128 * _KIBI,
    "deepseek-v3.2": 128 * _KIBI,
    "deepseek-v4": 1_000_000,
    # Qwen
    "qwen-coder": 1_000_000,
    "qwen-flash": 997_952,
    "qwen-max": 30_720,
    "qwen-plus": 129_024,
    "qwen-plus-2025-07-28": 997_952,
    "qwen-plus-2025-09-11": 997_952,
    "qwen-plus-latest": 997_952,
    "qwen-turbo": 129_024,
    "qwen2.5": 32_768,
    "qwen3": 32_768,
    "qwen3-30b-a3b": 129_024,
    "qwen3-coder": 262_144,
    "qwen3-coder-flash": 997_952,
    "qwen3-coder-plus": 997_952,
    "qwen3-max": 258_048,
    "qwen3-next": 262_144,
    "qwen3-vl": 131_072,
    "qwen3-vl-plus": 260_096,
    "qwen3.5-plus": 991_808,
    "qwen3.7": 991_808,
    "qwen3.8": 991_808,
    "qwq": 98_304,
    # GLM
    "glm-4": 128_000,
    "glm-4.5": 128_000,
    "glm-4.5v": 128_000,
    "glm-4.6": 200_000,
    "glm-4.7": 200_000,
    "glm-5": 200_000,
    "glm-5.1": 200_000,
    "glm-5.2": 1_000_000,
    "glm-5.3": 1_000_000,
    # Kimi
    "kimi-k2": 128 * _KIBI,
    "kimi-k2.5": 256 * _KIBI,
    "kimi-k2.6": 256 * _KIBI,
    "kimi-k2.7": 229_376,
    "kimi-k2-thinking": 229_376,
    "kimi-k3": _MEBI,
    "moonshot-v1": 8_192,
    "moonshot-v1-128k": 128 * _KIBI,
    "moonshot-v1-32k": 32 * _KIBI,
    "moonshot-v1-auto": 128 * _KIBI,
    # Google
    "gemini-1.5": _MEBI,
    "gemini-2.0": _MEBI,
    "gemini-2.5": _MEBI,
    "gemini-2.5-computer-use": 128_000,
    "gemini-2.5-pro-preview-tts": 8_192,
    "gemini-3": _MEBI,
    "gemini-3.1": _MEBI,
    "gemini-3.5": _MEBI,
    "gemini-3.6": _MEBI,
    "gemini-3.7": _MEBI,
    "gemini-3.8": _MEBI,
    "gemini-4": _MEBI,
    "gemini-flash": _MEBI,
    "gemini-pro-latest": _MEBI,
    "gemma-3": 128 * _KIBI,
    "gemma-3-1b": 32 * _KIBI,
    "gemma-4": 256 * _KIBI,
    # Meta
    "llama-3": 8_192,
    "llama-3.1": 128_000,
    "llama-3.2": 128_000,
    "llama-3.3": 128_000,
    "llama-4-maverick": 1_000_000,
    "llama-4-scout": 10_000_000,
    # Mistral
    "codestral": 128_000,
    "devstral": 256_000,
    "magistral": 262_144,
    "ministral": 131_072,
    "mistral-code": 128_000,
    "mistral-large": 128_000,
    "mistral-large-2512": 262_144,
    "mistral-large-3": 262_144,
    "mistral-large-4": _MEBI,
    "mistral-large-latest": 262_144,
    "mistral-medium": 128_000,
    "mistral-medium-2604": 262_144,
    "mistral-medium-3": 262_144,
    "mistral-medium-3.5": 262_144,
    "mistral-medium-latest": 262_144,
    "mistral-small": 32_000,
    "mistral-small-2603": 262_144,
    "mistral-small-latest": 262_144,
    "mistral-tiny": 32_000,
    "mixtral": 32_000,
    "open-mistral-nemo": 128_000,
    "pixtral": 128_000,
    # Others
    "command-a": 128_000,
    "command-a-03-2025": 256_000,
    "command-r": 128_000,
    "command-r7b": 128_000,
    "doubao-seed-2-0": 256_000,
    "doubao-seed-2-1": 256_000,
    "grok-4.20": 1_000_000,
    "grok-4.3": 1_000_000,
    "grok-4.5": 500_000,
    "grok-4.6": 500_000,
    "grok-4.7": 500_000,
    "grok-code-fast": 256_000,
    "jamba": 256_000,
    "minimax-m2": 200_000,
    "minimax-m2.1": 1_000_000,
    "minimax-m2.5": 1_000_000,
    "minimax-m3": 1_000_000,
    "sonar-deep-research": 128_000,
    "sonar-pro": 200_000,
    "sonar-reasoning": 128_000,
    # `kefu serve` starts this small model if it is the name of the model and there is no API key.
    "smollm2-135m": 4_096,
}
_PREFIX_ENDS = "-:@"

Override = int | Mapping[str, int]


class ModelWindow(NamedTuple):
    """The context window of a model."""

    context_length: int
    """Size in tokens."""
    resolved: bool
    """False if the model is unknown: `context_length` is then `UNKNOWN_WINDOW`."""


def resolve_window(model: str, overrides: Mapping[str, Override] | None = None) -> ModelWindow:
    """Looks a model up in `overrides`, then in the built-in table: by exact name, then by prefix.

    An override is a number of tokens or `{"contextLength": 128000}`. Letter case is ignored. A
    provider's prefix (`openai/gpt-4o`, `ft:gpt-4o`) is ignored too, unless an override contains it.
    Raises ValueError for an override that is not a positive number of tokens.

    Example: `resolve_window("openai/GPT-4o-mini").context_length == 128_000`.
    """
    lowered_overrides = {
        name.lower(): _tokens(name, value) for name, value in (overrides or {}).items()
    }
    lowered = model.lower()
    for table in (lowered_overrides, _WINDOW_BY_MODEL):
        for name in (lowered, lowered.rpartition("/")[2].removeprefix("ft:")):
            entry = _longest_prefix(name, table)
            if entry is not None:
                return ModelWindow(table[entry], resolved=True)
    return ModelWindow(UNKNOWN_WINDOW, resolved=False)


def _longest_prefix(name: str, table: Mapping[str, int]) -> str | None:
    """The entry for the exact name, else the longest entry that is a prefix.

    A prefix must end before one of the characters `-`, `:` and `@`.
    """
    if name in table:
        return name
    ends = [i for i, character in enumerate(name) if character in _PREFIX_ENDS]
    return next((name[:end] for end in reversed(ends) if name[:end] in table), None)


def _tokens(name: str, override: Override) -> int:
    value = override.get("contextLength") if isinstance(override, Mapping) else override
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(f"The window of {name!r} is not a positive number of tokens: {value!r}")
    return value
