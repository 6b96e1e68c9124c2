"""X7: texts whose estimate is far below the truth do not exceed the limit, either."""

from __future__ import annotations

import pytest

from benchmarks.limits import HOSTILE, MODELS
from kefu.context import counter_for, trim_messages
from kefu.context.tokens import counter


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if " and " not in kind])
def test_text_is_counted_exactly_although_its_estimate_fits(kind: str, model: str) -> None:
    texts = [HOSTILE[kind][at : at + 500] for at in range(0, 6_000, 500)]
    messages = [{"role": "user", "content": text} for text in texts]
    true, estimate = counter(f"tiktoken:{model}").count, counter_for(model)
    limit = int(estimate.safety * (sum(3 + estimate.count(text) for text in texts) + 3)) + 10
    assert sum(map(true, texts)) > limit
    sent = trim_messages(messages, model=model, max_tokens=limit, reserve=0)
    assert len(sent) < len(messages)
    assert 3 + sum(3 + true(message["content"]) for message in sent) <= limit


def test_a_providers_count_does_not_raise_the_limit_of_exact_counts() -> None:
    """The provider may have corrected an estimate that was too high."""
    messages = [
        {"role": "assistant" if at % 2 else "user", "content": f"{at}: " + "9 8 7 6 " * 20}
        for at in range(101)
    ]
    first = trim_messages(messages, model="gpt-4o", max_tokens=2000, reserve=0)
    state = first.state.calibrated(first.tokens // 2)
    sent = trim_messages(messages, model="gpt-4o", max_tokens=2000, reserve=0, state=state)
    assert sent.tokens <= 2000
    assert len(sent) == len(first)
