"""Counts the trimmed prompts that exceed the model's limit: `python -m benchmarks.limits
[WINDOWS]`.

Trims 10,000 conversations by default, in twelve languages (Debian's translations in
/usr/share/locale), for a model of each of OpenAI's encodings: half of them with the estimate alone,
half with the default, which counts exactly near the limit. And the same number of hostile texts,
which have up to four times as many tokens as estimated, with the default.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from string import ascii_letters, punctuation

from benchmarks.calibrate import messages_of
from kefu.context import counter_for, trim_messages
from kefu.context.tokens.bpe import loaded_encoding

LANGUAGES = ("ar", "de", "es", "fr", "hi", "ja", "ko", "pt", "ru", "th", "vi", "zh_CN")
MODELS = {"gpt-4o": "o200k_base", "gpt-4": "cl100k_base"}


DICE = Random(7)
HOSTILE = {
    "base64": b64encode(DICE.randbytes(100_000)).decode(),
    "punctuation": "".join(DICE.choices(punctuation, k=100_000)),
    "letters": "".join(DICE.choices(ascii_letters, k=100_000)),
    "rare characters": "".join(map(chr, DICE.choices(range(0x1200, 0x2000), k=100_000))),
    "numbers and spaces": "".join(DICE.choices("0123456789  \n", k=100_000)),
}
"""Texts that no person writes."""


def catalogues(language: str) -> str:
    files = sorted(Path("/usr/share/locale", language).rglob("[!i]*.mo"))  # iso_*: only names
    return "\n".join(line for file in files for line in messages_of(file))[:3_000_000]


def fills(texts: dict[str, str], model: str, windows: int, *, exact: bool) -> list[float]:
    """The tokens of each window as OpenAI bills them, divided by the limit."""
    dice, found = Random(5), []
    estimate = None if exact else counter_for(model)
    for number in range(windows):
        text = list(texts.values())[number % len(texts)]
        messages = []
        for at in range(12 if texts is HOSTILE else 60):
            size = dice.randrange(20, 400)
            start = dice.randrange(len(text) - size)
            role = "assistant" if at % 2 else "user"
            messages.append({"role": role, "content": text[start : start + size]})
        messages.append({"role": "user", "content": "?"})
        limit = dice.choice((500, 1000, 3000))
        sent = trim_messages(messages, model=model, max_tokens=limit, reserve=0, counter=estimate)
        found.append(billed(sent, MODELS[model]) / limit)
    return found


def billed(messages: Sequence[dict[str, str]], encoding: str) -> int:
    """The prompt's tokens by OpenAI's cookbook, "How to count tokens with tiktoken"."""
    encode = loaded_encoding(encoding).tokenizer.encode_ordinary
    tokens = 3
    for message in messages:
        tokens += 3
        for key, value in message.items():
            tokens += len(encode(value)) + (key == "name")
    return tokens


def main() -> int:
    windows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    texts = {language: catalogues(language) for language in LANGUAGES}
    above: Counter[bool] = Counter()
    for model in MODELS:
        for kind, exact in (("estimate", False), ("exact near the limit", True), ("hostile", True)):
            share = windows // 2 if kind == "hostile" else windows // 4
            found = fills(HOSTILE if kind == "hostile" else texts, model, share, exact=exact)
            above.update(fill > 1 for fill in found)
            print(
                f"{model:7} {kind:21} {sum(f > 1 for f in found)} of {len(found)} above the limit;"
                f" fullest {max(found):.3f}, on average {sum(found) / len(found):.2f}"
            )
    return 1 if above[True] else 0


if __name__ == "__main__":
    sys.exit(main())
