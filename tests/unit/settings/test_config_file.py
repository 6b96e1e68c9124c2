"""kefu.toml: its settings, its forbidden content, and its error messages."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from kefu.settings import ConfigurationError, Settings, load


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, text: str) -> Path:
    file = folder / "kefu.toml"
    file.write_text(text, encoding="utf-8")
    return file


def refused(folder: Path, text: str) -> str:
    """The error message for a file with this text."""
    written(folder, text)
    with pytest.raises(ConfigurationError) as error:
        load()
    return str(error.value)


def test_without_a_file_the_defaults_hold(folder: Path) -> None:
    assert load() == Settings()


def test_the_file_sets_what_its_keys_name(folder: Path) -> None:
    written(
        folder,
        """
        [model]
        name = "m"
        [chat]
        origins = ["https://A.example", "https://b.example:8443"]
        [limits]
        daily_tokens = 2_000_000
        [sessions]
        enabled = false
        [presets.short]
        temperature = 0.1
        [hooks.commands]
        [hooks.word_filter]
        words = ["x"]
        """,
    )
    settings = load()
    assert settings.model == "m"
    assert settings.allowed_origins == ("https://a.example", "https://b.example:8443")
    assert settings.daily_tokens == 2_000_000
    assert settings.keeps_chats is False
    assert settings.presets["short"].temperature == 0.1
    assert settings.hooks == ("commands", "word_filter")
    assert settings.hook_options["word_filter"] == {"words": ["x"]}


def test_the_environment_wins_over_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, "[limits]\ndaily_tokens = 5\n")
    monkeypatch.setenv("KEFU_DAILY_TOKENS", "7")
    monkeypatch.setenv("KEFU_MODEL", "")
    assert load().daily_tokens == 7
    assert load().model == "LongCat-2.0"
    assert load({"KEFU_DAILY_TOKENS": "9"}).daily_tokens == 9


def test_kefu_config_names_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder, "[model]\nname = 'not this'\n")
    other = folder / "other.toml"
    other.write_text("[model]\nname = 'this'\n")
    monkeypatch.setenv("KEFU_CONFIG", str(other))
    assert load().model == "this"
    assert load().config_file == str(other)
    other.unlink()
    with pytest.raises(ConfigurationError, match=r"other\.toml cannot be read: No such file"):
        load()


def test_a_folder_of_another_user_is_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests of CI run as root, whom no folder refuses."""

    def refused(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", refused)
    with pytest.raises(ConfigurationError, match=r"/kefu\.toml cannot be read: Permission denied"):
        load()


def test_a_value_may_be_the_text_of_a_file_beside_it(folder: Path) -> None:
    (folder / "site").mkdir()
    (folder / "site/prompt.md").write_text("你是客服。\n", encoding="utf-8")
    (folder / "site/handle.md").write_text("@kefu is me.\n")
    file = written(
        folder / "site",
        '[chat]\nsystem_prompt = "@prompt.md"\n'
        '[presets.a]\nsystem_prompt = "@handle.md"\n[presets.b]\nsystem_prompt = "@@kefu"',
    )
    settings = load({"KEFU_CONFIG": str(file)})
    assert settings.system_prompt == "你是客服。"
    assert settings.presets["a"].system_prompt == "@kefu is me."
    assert settings.presets["b"].system_prompt == "@kefu"
    # A path in a variable is relative to the current folder.
    text = load({"KEFU_CONFIG": str(file), "KEFU_SYSTEM_PROMPT": "@site/handle.md"})
    assert text.system_prompt == "@kefu is me."


MISTAKES = {
    "misspelt key": (
        "[limits]\n\ndaily_token = 5",
        "kefu.toml, line 3: [limits] daily_token is not a setting. Did you mean daily_tokens?",
    ),
    "key of another table": (
        "[chat]\ndaily_tokens = 5",
        "line 2: [chat] daily_tokens is not a setting. Did you mean daily_tokens in [limits]?",
    ),
    "unlike any key": ("[admin]\nzzz = 1", "line 2: [admin] zzz is not a setting. There are "),
    "misspelt table": (
        "[limit]\ndaily_tokens = 5",
        "line 2: there is no table [limit]. Did you mean [limits]?",
    ),
    "empty unknown table": ("[cat]\n", "line 1: there is no table [cat]. Did you mean [chat]?"),
    "no table": ("daily_tokens = 5", "line 1: daily_tokens is in no table. There are [model]"),
    "D7: a number that other programs name so": (
        "[model]\nmax_tokens = 500",
        "line 2: [model] max_tokens is not a setting. Did you mean max_output_tokens?",
    ),
    "D7: in a preset": (
        "[presets.a]\nmax_tokens = 500",
        "line 2: [presets.a] max_tokens is not a setting. Did you mean max_output_tokens?",
    ),
    "D7: base_url": (
        "[model]\nbase_url = 'https://a.example/v1'",
        "[model] base_url is not a setting. Did you mean url?",
    ),
    "D7: prompt": (
        "[chat]\nprompt = 'Be kind.'",
        "[chat] prompt is not a setting. Did you mean system_prompt?",
    ),
    "misspelt key of a preset": (
        "[presets.a]\ntemprature = 1",
        "line 2: [presets.a] temprature is not a setting. Did you mean temperature?",
    ),
    "wrong type": (
        "[limits]\ndaily_tokens = 'many'",
        "line 2: [limits] daily_tokens: should be a valid integer",
    ),
    "one of two": (
        "[admin]\nprices = [0.5]",
        "line 2: [admin] prices: must be two prices, of prompt and of answer",
    ),
    "true for a number": (
        "[limits]\ndaily_tokens = true",
        "line 2: [limits] daily_tokens must not be true or false.",
    ),
    "out of range": (
        "[presets.a]\ntemperature = 3",
        "line 2: [presets.a] temperature: should be less than or equal to 2",
    ),
    "in a list": (
        "[chat]\n# pages\norigins = [\n  'https://a.example',\n  'b.example',\n]\ntrim = 'v1'",
        "line 3: [chat] origins: 'b.example' is not an origin such as https://www.example.com",
    ),
    "an origin with a slash": (
        "[chat]\norigins = ['https://a.example/']",
        "https://a.example/' is not an origin such as https://www.example.com: leave out '/'",
    ),
    "an origin with a path": (
        "[chat]\norigins = ['http://localhost:3000/help/index.html']",
        "is not an origin such as https://www.example.com: leave out '/help/index.html'",
    ),
    "an option of the command": (
        "[server]\nport = 8080",
        "line 2: [server] port is not a setting: use `kefu serve --port`.",
    ),
    "a table for a value": (
        "[chat.origins]\na = 1",
        "line 2: there is no table [chat.origins]. There are [model], [model.fallback], [chat]",
    ),
    "a value for a table": ("limits = 3", "line 1: limits must be a table: [limits]."),
    "a preset that is no table": ("presets = 3", "line 1: presets: should be a valid dictionary"),
    "a hook that is no table": ("[hooks]\na = 3", "line 2: [hooks] a: should be a valid dict"),
    "more than the longest answer": (
        "[presets.a]\nmax_output_tokens = 5000",
        "[presets.a] max_output_tokens must be from 1 to 2048",
    ),
    "a parameter of Kefu's own": (
        "[model]\nname = 'm'\n[model.parameters]\ntools = []",
        "line 3: [model] parameters: tools is made by Kefu of each chat and cannot be set",
    ),
    "a parameter that is a setting": (
        "[presets.a.parameters]\nmax_tokens = 5",
        "[presets.a] parameters: max_tokens is a setting: write max_output_tokens under [model]",
    ),
    "a limit that is no number": (
        "[model.fallback.parameters]\nmax_completion_tokens = true",
        "max_completion_tokens must be a whole number of 1 or more",
    ),
    "a parameter that JSON has not": (
        "[model.parameters]\nseed = nan",
        "[model] parameters: a number must not be inf or nan",
    ),
    "a date": ("[model.parameters]\nday = 2026-11-26", "[model.parameters] day: "),
    "parameters that are no table": (
        "[model]\nparameters = 3",
        "line 2: parameters must be a table: [model.parameters].",
    ),
    "a header of the connection": (
        "[model.headers]\nHost = 'a'",
        "[model] headers: Host is not a header that can be set",
    ),
    "a header of two lines": (
        '[model.headers]\nX-A = "a\\u000ab"',
        "[model] headers: X-A must be a text",
    ),
    "a secret header": (
        "[model.headers]\napi-key = '0123456789'",
        '[model] headers: api-key looks like a secret, which must not be in this file: write "env:',
    ),
    "a secret header of Portkey": (
        "[model.headers]\nx-portkey-api-key = '0123456789'",
        "[model] headers: x-portkey-api-key looks like a secret",
    ),
    "a key in a header": (
        "[model.headers]\nX-A = 'sk-0123456789abcdef0123'",
        'remove it, and write "env:NAME" with the name of an environment variable',
    ),
    "a variable that is not set": (
        "[model]\nurl = 'https://a.example/v1?code=env:KEFU_TEST_UNSET'",
        "[model] names the environment variable KEFU_TEST_UNSET, which is not set",
    ),
    "a file that is not there": (
        "[chat]\nsystem_prompt = '@no.md'",
        "line 2: [chat] system_prompt: no.md cannot be read: No such file or directory",
    ),
    "not TOML": ("[limits]\ndaily_tokens = ", "kefu.toml is not valid TOML: "),
    "twice": ("[model]\nname = 'a'\nname = 'b'", "is not valid TOML: Cannot overwrite a value"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_stops_the_start_with_file_line_and_sentence(case: str, folder: Path) -> None:
    text, message = MISTAKES[case]
    said = refused(folder, text)
    assert message in said
    assert said.startswith("kefu.toml")
    assert "\n" not in said


def test_a_file_of_another_user_is_not_a_mistake_of_kefu_config(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder, "")

    def refused(path: Path, encoding: str) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(ConfigurationError, match=r"^kefu\.toml cannot be read: Permission denied$"):
        load()


def test_files_may_begin_with_the_mark_of_windows_editors(folder: Path) -> None:
    (folder / "prompt.md").write_text("\ufeffHello", "utf-8")
    (folder / "kefu.toml").write_text("\ufeff[chat]\nsystem_prompt = '@prompt.md'", "utf-8")
    assert load().system_prompt == "Hello"


def test_all_mistakes_are_reported_at_once(folder: Path) -> None:
    said = refused(folder, "[limits]\na = 1\nb = 1\n[model]\napi_key = 'x'")
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        "kefu.toml, line 2",
        "kefu.toml, line 3",
        "kefu.toml, line 5",
    ]


def test_a_file_that_is_not_utf_8_is_refused(folder: Path) -> None:
    (folder / "kefu.toml").write_bytes(b"[chat]\nsystem_prompt = '\xff'")
    with pytest.raises(ConfigurationError, match=r"kefu\.toml cannot be read: it is not UTF-8"):
        load()


NAMED_SECRETS = {
    "[model]\napi_keys = 'x'": "KEFU_API_KEYS",
    "[model]\napi_key = 'x'": "KEFU_API_KEYS",
    "[admin]\ntoken = 'x'": "ADMIN_TOKEN",
    "[admin]\npassword = 'x'": "ADMIN_TOKEN",
    "[bot_check]\nsecret = 'x'": "KEFU_BOT_CHECK_SECRET",
    "[identity]\nsecret = 'x'": "KEFU_IDENTITY_SECRETS",
    "[sessions]\nsecrets = 'x'": "KEFU_SESSION_SECRETS",
    "openai_key = 'x'": "KEFU_API_KEYS",
}


@pytest.mark.parametrize("text", NAMED_SECRETS)
def test_t20_a_secret_is_refused_by_the_name_of_its_key(text: str, folder: Path) -> None:
    said = refused(folder, text)
    assert "is a secret. This file must not contain secrets" in said
    assert f"set the environment variable {NAMED_SECRETS[text]} instead." in said


SHAPES = [
    "sk-canary-01-5f3c9a7e1b",
    "ak_1234567890abcdef1234",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_0123456789abcdefghijABCDEFGHIJ",
    "eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJrZWZ1In0.sig",
    "0x4AAAAAAAAjq6WYeRDKmebM_canary",
    "https://user:secret@api.example.com/v1",
    "smtp://user:secret@mail.example.com:587?to=help@example.com",
    "5f3c9a7e1b5f3c9a7e1b5f3c9a7e1b5f3c9a7e1b",
]


@pytest.mark.parametrize("secret", SHAPES)
@pytest.mark.parametrize(
    "text",
    [
        '[model]\nname = "{}"',
        '[chat]\norigins = ["https://a.example", "{}"]',
        '[presets.a]\nsystem_prompt = "Use {} for it."',
        '[hooks.word_filter]\nsalt = "{}"',
    ],
)
def test_t20_a_secret_is_refused_by_its_shape_and_never_quoted(
    text: str, secret: str, folder: Path
) -> None:
    said = refused(folder, text.format(secret))
    assert "looks like an API key or a password" in said
    assert secret not in said


@pytest.mark.parametrize(
    "text",
    [
        "meta-llama/Llama-3.1-70B-Instruct-Turbo-128k-preview-20250101",
        "Ask me-not: sk-learn and risk-free returns are words.",
        "ssm:/kefu/prod/api-keys",
        "smtp://127.0.0.1:25?to=help@example.com&from=chat@example.com",
        "https://api.example.com/v1/0199c2f0-7a7e-7d8c-b9f3-4f1f2a3b4c5d",
        "我们的营业时间是早上九点到晚上六点,欢迎光临。" * 5,
    ],
)
def test_ordinary_text_is_not_taken_for_a_secret(text: str, folder: Path) -> None:
    written(folder, f'[chat]\nsystem_prompt = "{text}"')
    assert load().system_prompt == text
