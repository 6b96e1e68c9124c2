"""The warnings at the start about limits that do not fit the model."""

from __future__ import annotations

import pytest

from kefu.bootstrap.options import prompt_policy
from kefu.settings import Settings


def warnings(**settings: object) -> list[str]:
    names = {name: field.alias or name for name, field in Settings.model_fields.items()}
    said: list[str] = []
    given = Settings.model_validate({names[name]: value for name, value in settings.items()})
    prompt_policy(given, given.model, said.append)
    return said


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"model": "gpt-4", "system_prompt": "word " * 9000}, "gpt-4 takes 8192 tokens"),
        ({"model": "gpt-4", "max_output_tokens": 9000}, "KEFU_MAX_OUTPUT_TOKENS is 9000"),
        (
            {"model": "gpt-4", "trim": "fifo", "max_prompt_tokens": 8000},
            "gpt-4 has room for 6144 tokens of prompt",
        ),
        (
            {"trim": "summary", "max_prompt_tokens": 500, "system_prompt": "word " * 900},
            "no history will be sent",
        ),
    ],
)
def test_limits_that_do_not_fit_the_model_are_named_at_the_start(
    settings: dict[str, object], says: str
) -> None:
    (said,) = warnings(**settings)
    assert says in said


def test_the_estimate_follows_the_model() -> None:
    """X7: for gpt-4, the estimate for Chinese is 1.5 times that of the default weights."""
    text = "我上周下的订单还没有收到，请问什么时候能送达？"
    counts, said = {}, list[str]()
    for model in ("LongCat-2.0", "gpt-4", "claude-sonnet-5"):
        settings = Settings.model_validate({"KEFU_TRIM": "fifo", "KEFU_CONTEXT_LENGTH": 9999})
        counts[model] = prompt_policy(settings, model, said.append).trim.counter.count(text)
    assert counts["LongCat-2.0"] < counts["claude-sonnet-5"] < counts["gpt-4"]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model": "gpt-4"},
        {"model": "gpt-4", "trim": "fifo"},
        {"model": "gpt-4", "trim": "fifo", "max_prompt_tokens": 6000},
    ],
)
def test_limits_that_fit_are_not_mentioned(settings: dict[str, object]) -> None:
    assert warnings(**settings) == []
