"""Settings, template and docs know the same settings; this needs no tool of SAM's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import SecretStr

from kefu.settings import Settings

ROOT = Path(__file__).parents[2]

NOT_ON_AWS = {
    "LONGCAT_API_KEYS": "keys come by reference; it is there for sam local alone, empty",
    "ADMIN_TOKEN": "comes by reference, as the keys do",
    "KEFU_BOT_CHECK_SECRET": "comes by reference, as the keys do",
    "KEFU_BODY_TIMEOUT": "API Gateway reads the whole body before it calls the function",
    "KEFU_WRITE_TIMEOUT": "API Gateway reads the answer, at its own speed",
    "KEFU_IDENTITY_SECRETS": "comes by reference, as the keys do",
    "KEFU_SESSION_SECRETS": "no secret stands in the environment; the table keeps one",
    "KEFU_LOG_FORMAT": "metrics are in the JSON lines",
    "KEFU_TRUSTED_PROXY_HOPS": "API Gateway tells the address",
}
MADE_BY_THE_TEMPLATE = {
    "KEFU_ADMIN_TOKEN_FROM",
    "KEFU_BOT_CHECK_SECRET_FROM",
    "KEFU_IDENTITY_SECRETS_FROM",
    "KEFU_KEYS_FROM",
    "KEFU_STORE",
}
"""Set from the parameters of other names, or from resources."""

FIELDS = {field.alias: field for field in Settings.model_fields.values() if not field.exclude}


def environment(text: str) -> dict[str, str]:
    """Variable -> the parameter it is taken from, "" where it is made of several."""
    found = re.findall(r"^          ([A-Z][A-Z_0-9]+):(?: !Ref (\w+)$)?", text, re.MULTILINE)
    return dict(found)


def parameters(text: str) -> dict[str, dict[str, str]]:
    section = text[text.index("\nParameters:\n") : text.index("\nRules:\n")]
    found: dict[str, dict[str, str]] = {}
    for line in section.splitlines():
        if name := re.fullmatch(r"  (\w+):", line):
            found[name[1]] = {}
        elif pair := re.fullmatch(r"    (\w+): (.+)", line):
            found[list(found)[-1]][pair[1]] = pair[2].split(" #")[0].strip("\"'")
    return found


def test_every_setting_is_in_the_template_or_has_a_reason_not_to_be(text: str) -> None:
    variables = {name for name in environment(text) if name.startswith(("KEFU_", "LONGCAT_"))}
    assert variables - {"LONGCAT_API_KEYS"} == set(FIELDS) - set(NOT_ON_AWS)


def test_docs_name_every_setting_of_the_template() -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:KEFU|LONGCAT)_[A-Z_]+\b", template))
    assert {name for name in named - {"KEFU_ARCH"} if f"`{name}`" not in page} == set()


def test_parameters_are_named_after_their_setting_and_have_its_default(text: str) -> None:
    """A stack with no parameters behaves as a server with no settings."""
    known = parameters(text)
    for variable, parameter in environment(text).items():
        if variable not in FIELDS or variable in {*NOT_ON_AWS, *MADE_BY_THE_TEMPLATE}:
            continue
        words = variable.removeprefix("KEFU_").split("_")
        assert parameter == "".join(word.capitalize() for word in words)
        default = FIELDS[variable].default
        choices = get_args(FIELDS[variable].annotation)
        if choices and all(isinstance(choice, str) for choice in choices):
            offered = re.findall(r"[\w-]+", known[parameter]["AllowedValues"])
            assert offered == list(choices), parameter
        if isinstance(default, SecretStr | tuple) or default is None:
            default = ""
        if isinstance(default, bool):
            default = str(default).lower()
        given = known[parameter]["Default"]
        same = float(given) == default if known[parameter]["Type"] == "Number" else given == default
        assert same, f"{parameter}: {given!r} is not the setting's {default!r}"


def test_every_parameter_is_described_and_grouped_once(text: str) -> None:
    groups = text[text.index("ParameterGroups:") : text.index("\nParameters:\n")]
    for name, what in parameters(text).items():
        assert what.get("Description"), name
        assert len(re.findall(rf"\b{name}\b", groups)) == 1, name
        assert what["Type"] in ("String", "Number"), name


def test_the_longest_settings_fit_into_lambdas_four_kilobytes(text: str) -> None:
    """Names, values, and the quotes around them."""
    known = parameters(text)
    arn = (
        "secretsmanager:arn:aws:secretsmanager:eu-central-1:123456789012:secret:kefu/secret-Ab1234"
    )
    given = {
        "SystemPrompt": "x" * int(known["SystemPrompt"]["MaxLength"]),
        "AllowedOrigins": "https://www.example.com,https://shop.example.com",
        "UpstreamUrl": "https://api.example.com/openai/v1",
        "Hooks": "commands,current_date,word_filter",
        "Configs": "kefu.toml",
    }
    variables = {
        name: given.get(parameter, known[parameter]["Default"]) if parameter else arn
        for name, parameter in environment(text).items()
    }
    assert len(variables) > 60
    assert len(json.dumps(variables, separators=(",", ":"))) <= 4096


@pytest.mark.parametrize(
    "parameter",
    [
        *("KeysParameter", "KeysSecretArn", "AdminTokenParameter", "AdminTokenArn"),
        *("BotCheckSecretParameter", "BotCheckSecretArn"),
        *("IdentitySecretsParameter", "IdentitySecretsArn"),
    ],
)
def test_a_key_put_where_its_place_belongs_is_refused(text: str, parameter: str) -> None:
    """T20."""
    pattern = parameters(text)[parameter]["AllowedPattern"]
    assert not re.fullmatch(pattern, "sk-canary-5f3c9a7e1b")
    assert not re.fullmatch(pattern, "ak_canary,ak_canary2")
    assert not re.fullmatch(pattern, "0x4AAAAAcanary")
