"""Presets (P2, P4) and hooks (P18 to P26) as a site switches them on: KEFU_CONFIGS, KEFU_HOOKS."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from kefu.assembly import build
from kefu.settings import ConfigurationError, Settings
from tests.fakes import behaviours as b
from tests.fakes.chatting import Visitor
from tests.fakes.fixtures import Staged
from tests.fakes.service import Service
from tests.fakes.stage import Stage

CONFIGS = """
[configs.short]
model = "small-model"
temperature = 0.1
max_tokens = 50
system_prompt = "Be short."

[configs.long]
temperature = 1.5
"""


@pytest.fixture
def configured(staged: Staged, tmp_path: Path) -> Stage:
    file = tmp_path / "kefu.toml"
    file.write_text(CONFIGS)
    return staged(1, configs=str(file), system_prompt="Ours.", max_output_tokens=100)


async def body(running: Stage, question: str) -> Any:
    return (await running.upstream.asked(question)).body


async def test_p2_a_page_chooses_a_preset_by_its_name(configured: Stage) -> None:
    visitor = Visitor(configured)
    assert (await visitor.say("<one>", config_id="short", model="evil")).complete
    sent = await body(configured, "<one>")
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("small-model", 0.1, 50)
    assert sent["messages"][0] == {"role": "system", "content": "Be short."}
    await visitor.say("<two>", temperature=0.7, max_tokens=5000)
    sent = await body(configured, "<two>")
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("small-model", 0.7, 50)


async def test_p4_a_chat_goes_on_with_its_own_preset(configured: Stage) -> None:
    visitor = Visitor(configured)
    await visitor.say("<first>", config_id="short")
    for other in ("long", "nonsense"):
        assert (await visitor.say(f"<{other}>", config_id=other)).complete
        assert (await body(configured, f"<{other}>"))["temperature"] == 0.1
    plain = Visitor(configured)
    await plain.say("<plain>")
    sent = await body(configured, "<plain>")
    assert sent["temperature"] == 0.5
    assert sent["messages"][0]["content"] == "Ours."


@pytest.mark.parametrize("name", ["nonsense", "", "SHORT", "https://evil.example"])
async def test_p2_an_unknown_preset_is_400_and_nothing_is_saved(
    configured: Stage, name: str
) -> None:
    answer = await Visitor(configured).say("<lost>", config_id=name)
    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert answer.error["param"] == "config_id"
    assert "X-Session-Id" not in answer.headers
    assert configured.upstream.calls("<lost>") == []


HOOKS = """
[hooks.word_filter]
words = ["damn", "坏话"]

[hooks.text_correction]
"退宽" = "退款"

[hooks.user_profile]
fields = ["name"]

[hooks.token_budget]
tokens = 1000

[hooks."site_hooks:shout"]
mark = "!!"
"""

SITE_HOOKS = """
from kefu.hooks import Given, Hook, Visit

class Shout(Hook):
    def __init__(self, mark):
        self.mark = mark
    def user_message(self, text: str, visit: Visit) -> str:
        return text + self.mark
    async def history(self, history, visit):
        raise RuntimeError("a mistake of the site's")

def shout(given: Given) -> Hook:
    return Shout(given.options["mark"])
"""


@pytest.fixture
def hooked(staged: Staged, tmp_path: Path) -> Stage:
    (tmp_path / "kefu.toml").write_text(HOOKS)
    (tmp_path / "site_hooks.py").write_text(SITE_HOOKS)
    names = "commands,text_correction,word_filter,user_profile,current_date,session_facts"
    return staged(
        1,
        configs=str(tmp_path / "kefu.toml"),
        hooks=f"{names},token_budget,site_hooks:shout",
        environment={"PYTHONPATH": str(tmp_path)},
    )


async def test_p18_to_p26_hooks_work_together(hooked: Stage) -> None:
    visitor = Visitor(hooked)
    hooked.script(b.answer("Well, da", "mn it", ": 坏", "话", " and damned."), asking="first")
    answer = await visitor.say("first: damn 退宽", profile={"name": "Ann", "card": "4111"})
    assert answer.text == "Well, *** it: *** and damned."
    assert (answer.finish, answer.done, answer.foreign) == ("stop", True, [])
    messages = (await body(hooked, "first"))["messages"]
    assert [m["role"] for m in messages] == ["system", "user"]
    assert messages[1]["content"] == "first: *** 退款!!"
    system = messages[0]["content"]
    for part in ("AI助手", '{"name": "Ann"}', "Now it is 20", "This chat began"):
        assert part in system
    assert "4111" not in system
    assert await visitor.shown() == [
        ("user", "first: *** 退款!!", "ok"),
        ("assistant", "Well, *** it: *** and damned.", "ok"),
    ]


async def test_p26_no_piece_of_a_hidden_word_leaves(hooked: Stage) -> None:
    """Nor in what a model thinks, nor where its answer is cut."""
    text = [*"oh damn 坏话 ok", "da"]
    cut = b.answer(*text, reasoning=["think da", "mn", " more"], finish=None, done=False)
    hooked.script(cut.then(ending="reset"), asking="cut")
    answer = await Visitor(hooked).say("cut")
    assert answer.error["code"] == "upstream_service_unavailable"
    # The error event is no chunk.
    answer.events.pop()
    assert answer.text == "oh *** *** okda"
    assert "".join(answer.deltas("reasoning_content")) == "think *** more"


async def test_p24_commands_ask_no_model_and_clear_what_it_is_told(hooked: Stage) -> None:
    visitor = Visitor(hooked)
    await visitor.say("<before>")
    calls = len(hooked.upstream.journal)
    for command, part in (("/help", "/clear"), (" /CLEAR\n", "forg"), ("/clear", "no longer")):
        answer = await visitor.say(command)
        assert answer.complete
        assert part in answer.text or "no longer" in answer.text
    assert len(hooked.upstream.journal) == calls
    await visitor.say("<after>")
    messages = (await body(hooked, "<after>"))["messages"]
    assert [m["content"] for m in messages[1:]] == ["<after>!!"]
    assert [status for _, _, status in await visitor.shown()] == ["ok"] * 10


async def test_a_sites_own_hook_that_fails_is_named_in_the_log_and_the_chat_goes_on(
    hooked: Stage,
) -> None:
    visitor = Visitor(hooked)
    await visitor.say("<one>")
    assert (await visitor.say("<two>")).complete
    assert len((await body(hooked, "<two>"))["messages"]) == 4
    assert "a hook failed: Shout: RuntimeError" in hooked.service.stderr


WRONG = {
    "not TOML": ("[configs", "", "is not TOML"),
    "no such file": (None, "", "cannot be read"),
    "unknown key": ("[configs.a]\nurl = 'https://x'", "", "[configs.a] url is not known"),
    "wrong type": ("[configs.a]\nmax_tokens = 'many'", "", "max_tokens must not be 'many'"),
    "too much": ("[configs.a]\nmax_tokens = 5000", "", "KEFU_MAX_OUTPUT_TOKENS"),
    "too warm": ("[configs.a]\ntemperature = 3", "", "temperature must be from 0 to 2"),
    "another API": ("[configs.a]\napi_type = 'other'", "", "api_type must be openai"),
    "no table": ("configs = 3", "", "[configs] must be tables"),
    "unknown hook": ("", "nonsense", "there is no hook 'nonsense'"),
    "no such module": ("", "no_such_module:x", "KEFU_HOOKS: no_such_module:x cannot be loaded"),
    "no such name": ("", "json:nonsense", "cannot be loaded"),
    "unused options": ("[hooks.commands]\nhelp = 'x'", "", "is not switched on in KEFU_HOOKS"),
    "wrong option": ("[hooks.summary]\ntokens = -1", "summary", "tokens must be a whole number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_stops_the_start_with_a_sentence(case: str, tmp_path: Path) -> None:
    """P2: not in the middle of a chat."""
    text, hooks, said = WRONG[case]
    file = tmp_path / "kefu.toml"
    if text is not None:
        file.write_text(text)
    named = {"KEFU_UPSTREAM_URL": "http://127.0.0.1:9", "KEFU_CONFIGS": str(file)}
    with pytest.raises(ConfigurationError) as error:
        build(Settings.model_validate({**named, "KEFU_HOOKS": hooks}))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_sentence_is_all_that_is_said(tmp_path: Path) -> None:
    service = Service("http://127.0.0.1:9", hooks="nonsense")
    child = subprocess.run(
        [sys.executable, "-m", "kefu", "serve", "--port", "0"],
        cwd=tmp_path,
        env=service.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    service.close()
    assert child.returncode == 2
    assert child.stderr.startswith("kefu: the configuration is wrong.\nKEFU_HOOKS: there is no")
    assert "Traceback" not in child.stderr


@pytest.mark.parametrize(
    "secrets", ["short", "x" * 31, ",".join(["x" * 32 + str(n) for n in range(3)])]
)
def test_p35_weak_secrets_stop_the_start(secrets: str) -> None:
    with pytest.raises(ValidationError, match="32 characters") as error:
        Settings.model_validate({"KEFU_SESSION_SECRETS": secrets})
    assert json.dumps(secrets) not in str(error.value)


@pytest.mark.parametrize(
    ("environment", "captured", "kept"),
    [
        ({}, "all", True),
        ({"AWS_LAMBDA_FUNCTION_NAME": "kefu"}, "errors", False),
        ({"AWS_LAMBDA_FUNCTION_NAME": "kefu", "KEFU_SESSIONS": "true"}, "errors", True),
        ({"AWS_LAMBDA_FUNCTION_NAME": "kefu", "KEFU_CAPTURE": "all"}, "all", False),
        ({"KEFU_CAPTURE": "off", "KEFU_SESSIONS": "false"}, "off", False),
    ],
)
def test_p33_on_aws_little_is_kept_unless_it_is_wanted(
    environment: dict[str, str], captured: str, kept: bool
) -> None:
    """T29: chats not at all, and bodies of calls that failed alone."""
    settings = Settings.model_validate(environment)
    assert (settings.captured, settings.keeps_chats) == (captured, kept)
    assert (settings.session_days, settings.raw_days) == (30, 7)
