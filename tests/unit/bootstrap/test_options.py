"""The warnings at the start about limits that do not fit the model."""

from __future__ import annotations

import pytest

from kefu.bootstrap.options import prompt_policy, windows_of
from kefu.settings import Settings
from kefu.upstream import local_model


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
        settings = Settings.model_validate({"KEFU_TRIM": "fifo", "KEFU_MAX_PROMPT_TOKENS": 2000})
        counts[model] = prompt_policy(settings, model, said.append).trim.counter.count(text)
    assert counts["LongCat-2.0"] < counts["claude-sonnet-5"] < counts["gpt-4"]


def test_no_text_of_a_message_is_counted_whole_that_cannot_fit() -> None:
    """X17: a text of many megabytes is counted by samples, also of a prompt of the service."""
    settings = Settings.model_validate({"KEFU_TRIM": "fifo", "KEFU_MAX_PROMPT_TOKENS": 2000})
    counter = prompt_policy(settings, settings.model, list[str]().append).trim.counter
    assert (counter.longest, counter.room) == (1_000_000, 2000)


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


def test_x8_the_configured_prompt_is_the_limit_also_beyond_the_known_window() -> None:
    """A model may be served with a longer window than the table has."""
    for model, tokens in (("gpt-4", 20_000), ("nobody-knows-1", 50_000), ("gpt-4", 300)):
        settings = Settings.model_validate(
            {"KEFU_TRIM": "fifo", "KEFU_MAX_PROMPT_TOKENS": tokens, "KEFU_MODEL": model}
        )
        said = list[str]()
        assert prompt_policy(settings, model, said.append).trim.budget.room == tokens
        assert len(said) == (tokens == 20_000)


def test_c11_every_strategy_but_v1_cuts_in_steps() -> None:
    """`v1` ends as soon as it is below 6000 characters."""
    for trim, step in (("v1", 0.0), ("v1_steps", 0.5), ("fifo", 0.2), ("summary", 0.2)):
        settings = Settings.model_validate({"KEFU_TRIM": trim})
        assert prompt_policy(settings, "gpt-4", lambda _: None).trim.budget.trim_step == step


def test_records_name_the_window_of_every_known_model() -> None:
    """X8: looked up once, at the start. An unknown model has none, rather than a guess."""
    known = windows_of(["gpt-4", "openai/gpt-4o-mini", "mine", local_model.NAME])
    windows = {"gpt-4": 8192, "openai/gpt-4o-mini": 128_000}
    assert known == {**windows, local_model.NAME: local_model.CONTEXT_LENGTH}
