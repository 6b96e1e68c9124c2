"""Compares Kefu's counts with the providers' own: `python -m benchmarks.providers`.

Needs `make peers`. Prints two tables. The first has the errors of the estimate that `trim_messages`
uses for a model, before its safety factor, on the texts of `benchmarks.tokens`. Their tokens are
counted by the tokenizers in `benchmarks.trials.providers`. The second has whole requests: with the
counts that a provider's documentation gives, or that its library makes of a request.

Claude since version 3, Gemini, Grok and LongCat have no tokenizer that works without a network.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from benchmarks.context import PEERS_PYTHON
from benchmarks.processes import ROOT
from benchmarks.tokens import MESSAGE, samples
from kefu.context import counter_for, trim_messages
from kefu.context.tokens import counter
from kefu.context.wire.media import image_tokens
from tests.unit.context.wire.test_published_counts import ASKED, COOKBOOK, REFERENCE, WEATHER

MODELS = {
    "GPT-4o": "gpt-4o",
    "GPT-4": "gpt-4",
    "Claude 2": "claude-2",
    "Qwen 3.6": "qwen3.6-27b",
    "DeepSeek V4": "deepseek-chat",
    "Mistral Nemo": "open-mistral-nemo",
    "Llama 4": "llama-4-maverick",
}
"""A model of each tokenizer: the model decides which estimate is used."""


class Request(NamedTuple):
    source: str
    model: str
    billed: int
    """The prompt's tokens by the provider's count."""
    messages: list[Any]
    beside: Mapping[str, Any] = {}
    """The arguments `system` and `tools` of `trim_messages`."""


def published() -> Iterator[Request]:
    """Requests with their counts in the documentation of OpenAI, Anthropic and Google."""
    yield Request("OpenAI's API reference", "gpt-4o", 19, REFERENCE)
    for model, messages, tool in (("gpt-4", 129, 105), ("gpt-4o", 124, 101)):
        yield Request("OpenAI's cookbook, messages", model, messages, COOKBOOK)
        yield Request("OpenAI's cookbook, a tool", model, tool, ASKED, {"tools": [WEATHER]})
    hello = [{"role": "user", "content": "Hello, Claude"}]
    system = {"system": "You are a scientist"}
    yield Request("Anthropic's guide, a greeting", "claude-opus-5", 14, hello, system)
    location = {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}
    weather = {
        "name": "get_weather",
        "description": "Get the current weather in a given location",
        "input_schema": {
            "type": "object",
            "properties": {"location": location},
            "required": ["location"],
        },
    }
    asked = [{"role": "user", "content": "What's the weather like in San Francisco?"}]
    yield Request("Anthropic's guide, a tool", "claude-opus-5", 403, asked, {"tools": [weather]})
    fox = [{"role": "user", "parts": [{"text": "The quick brown fox jumps over the lazy dog."}]}]
    yield Request("Gemini's API reference", "gemini-1.5-flash", 11, fox)


IMAGES = (
    ("OpenAI's guide, image 1024 x 1024", (1024, 1024), "gpt-4o", 765),
    ("OpenAI's guide, image 2048 x 4096", (2048, 4096), "gpt-4o", 1105),
    ("Anthropic's guide, image 200 x 200", (200, 200), "claude-sonnet-4", 54),
    ("Anthropic's guide, image 1000 x 1000", (1000, 1000), "claude-sonnet-4", 1334),
    ("Anthropic's guide, image 1092 x 1092", (1092, 1092), "claude-sonnet-4", 1590),
)
"""The source, the width and height in pixels, the model, and the provider's count."""


def chat() -> list[dict[str, str]]:
    """A system prompt and 19 messages of 150 characters."""
    text = samples()["english"]
    made = [{"role": "system", "content": "You answer for a shop."}]
    for at in range(19):
        role = "assistant" if at % 2 else "user"
        made.append({"role": role, "content": text[150 * at : 150 * (at + 1)].strip()})
    return made


def counted(texts: Sequence[str]) -> dict[str, Any]:
    """The counts of `benchmarks.trials.providers`, and those of OpenAI's tokenizers."""
    done = subprocess.run(
        [str(PEERS_PYTHON), "-m", "benchmarks.trials.providers"],
        cwd=ROOT,
        input=json.dumps({"texts": texts, "chat": chat(), "tools": [WEATHER]}),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    for name in ("GPT-4o", "GPT-4"):
        count = counter(f"tiktoken:{MODELS[name]}").count
        found["tokens"][name] = [*map(count, texts)]
    return found


def errors(pieces: Mapping[str, Sequence[str]], tokens: Mapping[str, Sequence[int]]) -> str:
    """The table of texts: the error of all text, and the mean error of a message.

    `pieces`: by kind of text, the whole text and then its messages. `tokens`: of all pieces.
    """
    lines = ["all text; a message".ljust(20) + "".join(name.rjust(14) for name in MODELS)]
    whole: dict[str, list[float]] = {name: [] for name in MODELS}
    start = 0
    for kind, texts in pieces.items():
        cells = []
        for name, model in MODELS.items():
            count, exact = counter_for(model).count, tokens[name][start : start + len(texts)]
            off = [count(text) / known - 1 for text, known in zip(texts, exact, strict=True)]
            whole[name].append(off[0])
            cells.append(f"{off[0]:+.0%}; {mean(map(abs, off[1:])):.0%}")
        start += len(texts)
        lines.append(kind.ljust(20) + "".join(cell.rjust(14) for cell in cells))
    means = (f"{mean(map(abs, found)):.0%}".rjust(14) for found in whole.values())
    lines.append("mean, all text".ljust(20) + "".join(means))
    return "\n".join(lines)


def request_lines(prompts: Mapping[str, int]) -> Iterator[str]:
    """The table of requests."""
    yield _line("request", "model", "provider", "exact", "estimate", "error")
    messages, tool = chat(), {"tools": [WEATHER]}
    rendered = (
        Request("Mistral's library, a chat", "open-mistral-nemo", prompts["mistral"], messages),
        Request(
            "Mistral's library, a chat and a tool",
            "open-mistral-nemo",
            prompts["mistral, tool"],
            messages,
            tool,
        ),
        Request("Meta's library, a chat", "llama-3.3-70b", prompts["llama 3"], messages),
    )
    for one in (*published(), *rendered):
        is_exact = one.model.startswith("gpt")
        exact = _tokens(one, f"tiktoken:{one.model}") if is_exact else "-"
        estimate = _tokens(one, counter_for(one.model))
        error = f"{estimate / one.billed - 1:+.0%}"
        yield _line(one.source, one.model, one.billed, exact, estimate, error)
    for source, size, model, billed in IMAGES:
        made = image_tokens(size, model)
        yield _line(source, model, billed, "-", made, f"{made / billed - 1:+.0%}")


def _tokens(request: Request, count: Any) -> int:
    sent = trim_messages(
        request.messages, model=request.model, reserve=0, counter=count, **request.beside
    )
    return sent.tokens


def _line(source: str, model: str, *cells: object) -> str:
    return f"{source:38}{model:20}" + "".join(str(cell).rjust(10) for cell in cells)


def main() -> int:
    if not PEERS_PYTHON.exists():
        sys.stderr.write("The tokenizers are not installed. Try: make peers\n")
        return 1
    pieces = {
        kind: [
            text,
            *(text[at : at + MESSAGE] for at in range(0, len(text) - MESSAGE + 1, MESSAGE)),
        ]
        for kind, text in samples().items()
    }
    found = counted([text for texts in pieces.values() for text in texts])
    print(errors(pieces, found["tokens"]))
    print()
    print(*request_lines(found["prompts"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
