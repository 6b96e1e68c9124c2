"""Parameters, headers and query values that the owner gives for a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from kefu.bootstrap.upstream import sampling_of
from kefu.settings import ConfigurationError, Settings, load, unknown_variables

FILE = """\
[model]
url = "https://a.example/openai?api-version=2024-10-21&code=env:MY_CODE"
temperature = "none"
[model.parameters]
max_completion_tokens = 900
chat_template_kwargs = { enable_thinking = false, tags = ["a", 1.5] }
[model.headers]
api-key = "env:MY_KEY"
X-Title = "Shop"
x-portkey-provider = "openai"
X-Stored = "ssm:/kefu/stored"
[model.fallback]
url = "http://127.0.0.1:11434/v1"
[model.fallback.parameters]
top_k = 20
[presets.warm]
temperature = 1
[presets.short]
parameters = { reasoning_effort = "low" }
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    Path("kefu.toml").write_text(FILE, encoding="utf-8")
    monkeypatch.setenv("MY_CODE", "code/of+mine")
    monkeypatch.setenv("MY_KEY", "Token secret-of-mine")
    return load()


def test_values_of_the_query_and_headers_may_be_in_the_environment(settings: Settings) -> None:
    endpoint = settings.endpoint
    assert endpoint.url == "https://a.example/openai"
    assert endpoint.query == {"api-version": "2024-10-21", "code": "code/of+mine"}
    assert endpoint.headers == {
        "api-key": "Token secret-of-mine",
        "X-Title": "Shop",
        "x-portkey-provider": "openai",
        "X-Stored": "ssm:/kefu/stored",
    }
    assert settings.fallback_endpoint.headers == {}


def test_the_whole_url_that_a_provider_shows_is_that_of_its_base(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Azure's portal shows a deployment so. What was asked then was /chat/completions twice."""
    base = "https://a.openai.azure.com/openai/deployments/mine"
    whole = f"{base}/chat/completions?api-version=2024-10-21"
    monkeypatch.setenv("KEFU_UPSTREAM_URL", whole)
    endpoint = load().endpoint
    assert endpoint.url == base
    assert endpoint.query == {"api-version": "2024-10-21"}


def test_d8_secret_values_are_hidden_in_each_form_and_others_are_not(settings: Settings) -> None:
    hidden = {"code/of+mine", "code%2Fof%2Bmine", "Token secret-of-mine", "secret-of-mine"}
    assert hidden <= set(settings.secrets)
    assert not {"Shop", "openai", "2024-10-21"} & set(settings.secrets)
    assert "mine" not in repr(settings) + repr(settings.endpoint)


def test_d8_upstream_without_keys_gets_one_empty_key(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only without a variable: one that holds no key is a mistake. Without a URL there is none."""
    assert (settings.keys, settings.fallback_keys) == (("",), ("",))
    monkeypatch.setenv("LONGCAT_API_KEYS", ",")
    assert load().keys == ()
    assert Settings().keys == ()


def test_m2_parameters_are_sent_as_they_are_and_presets_replace_them(settings: Settings) -> None:
    sampling = sampling_of(settings, "m")
    assert sampling.parameters == {
        "max_completion_tokens": 900,
        "chat_template_kwargs": {"enable_thinking": False, "tags": ["a", 1.5]},
    }
    short = settings.presets["short"].model_dump(exclude_unset=True)
    assert short == {"parameters": {"reasoning_effort": "low"}}


def test_d4_no_temperature_is_sent_whatever_a_request_asks_for(settings: Settings) -> None:
    """A preset can have one again."""
    sampling = sampling_of(settings, "m")
    assert sampling.temperature is None
    assert sampling.asked(0.3).temperature is None
    warm = settings.model_copy(update=settings.presets["warm"].model_dump(exclude_unset=True))
    assert sampling_of(warm, "m").asked(0.3).temperature == 0.3


def test_d8_keys_have_two_names_and_both_are_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`LONGCAT_API_KEYS` is the specification's name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LONGCAT_API_KEYS", "key-one")
    assert load().keys == ("key-one",)
    monkeypatch.setenv("KEFU_API_KEYS", "key-two")
    with pytest.raises(ConfigurationError, match=r"^LONGCAT_API_KEYS: KEFU_API_KEYS is set, too"):
        load()
    monkeypatch.setenv("LONGCAT_API_KEYS", "")
    assert load().keys == ("key-two",)
    assert list(unknown_variables()) == []


@pytest.mark.parametrize("text", ['"sk-one"', "'sk-one','sk-two'", '"sk-one,sk-two"', "sk-a;sk-b"])
def test_d8_keys_with_the_quotes_of_a_file_or_a_semicolon_are_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """`docker run --env-file` keeps quotes. The message does not contain the keys."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KEFU_API_KEYS", text)
    with pytest.raises(ConfigurationError) as refused:
        load()
    assert str(refused.value) == (
        "KEFU_API_KEYS: holds quotes or a semicolon: write the keys without quotes, and commas "
        "between them"
    )
