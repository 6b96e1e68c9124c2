"""`kefu doctor` prints each problem with the command that solves it, or a single line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kefu.bootstrap.doctor.model import CheckedProvider, check_keys
from kefu.chat.prompt import Sampling
from kefu.settings.endpoint import Endpoint
from tests.cli.conftest import Kefu
from tests.fakes import behaviours as b
from tests.fakes.aws_stack import AwsStack
from tests.fakes.odd_front import OddFront
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream

PAGE = "https://shop.example"
RIGHT = f'[chat]\norigins = ["{PAGE}"]\n'
WELL = "No problem found.\n"


@pytest.fixture
def right(folder: Path, upstream: ScriptedUpstream) -> Path:
    """A folder with a correct kefu.toml, and a model that answers."""
    upstream.script("*", b.answer("Hi"))
    file = folder / "kefu.toml"
    file.write_text(RIGHT)
    return file


# Checks of this machine


def test_a_right_machine_is_one_line_and_costs_one_call_for_each_key(
    right: Path, kefu: Kefu, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEFU_STORE", f"sqlite:///{right.parent}/data/kefu.db")
    ran = kefu("doctor")
    assert ran == (0, WELL, "")
    assert not (right.parent / "data").exists()  # the database belongs to the service's user
    (request,) = upstream.journal
    assert request.body["max_tokens"] == 1
    assert json.loads(kefu("doctor", "--json").out) == {"ok": True, "findings": []}


def test_a_store_in_memory_is_a_note(right: Path, kefu: Kefu) -> None:
    """owner D12: chats and the budget are lost at a restart."""
    ran = kefu("doctor")
    assert ran.code == 0
    assert "- Nothing is stored on disk: a restart loses the chats and the day's budget." in ran.out
    assert 'store = "sqlite:///' in ran.out


def test_a_wrong_file_is_named_line_by_line(right: Path, kefu: Kefu) -> None:
    right.write_text("[limits]\ndaily_token = 1\n\n[chat]\norigins = ['nonsense']\n")
    ran = kefu("doctor")
    assert ran.code == 1
    assert "kefu.toml, line 2: [limits] daily_token is not a setting." in ran.out
    assert "${EDITOR:-vi} kefu.toml" in ran.out
    right.write_text("[chat]\norigins = ['nonsense']\n[hooks.nonsense]\n")
    assert "line 2: [chat] origins: 'nonsense' is not an origin" in kefu("doctor").out
    right.write_text("[hooks.nonsense]\n")
    said = kefu("doctor").out
    assert "There is no hook 'nonsense'" in said
    assert "PYTHONPATH=." in said


def test_a_budget_below_one_answer_is_named(right: Path, kefu: Kefu) -> None:
    tables = "[limits]\ndaily_tokens = {}\n[model]\nmax_output_tokens = 300\n"
    right.write_text(f"{RIGHT}{tables.format(300)}[presets.cheap]\nmax_output_tokens = 200\n")
    ran = kefu("doctor")
    assert ran.code == 1
    said = " ".join(ran.out.split())
    assert said.count("Every chat is refused: daily_tokens in [limits] is 300") == 1
    assert "one answer may take 300 tokens" in said
    assert "[limits] daily_tokens = 30000" in said
    right.write_text(RIGHT + tables.format(5000))
    assert "Every chat" not in kefu("doctor").out


REFUSALS = {
    401: ("refuses the API key", "without this key"),
    404: ("does not know the model LongCat-2.0", "[model]"),
    429: ("the provider's limit is reached", "raise the limit"),
    500: ("answers 500", "curl -v"),
}


@pytest.mark.parametrize("status", REFUSALS)
def test_a_key_that_is_refused_is_named_by_its_fingerprint(
    status: int, right: Path, kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    upstream.script("*", b.status(status))
    ran = kefu("doctor")
    said, fix = REFUSALS[status]
    flat = " ".join(ran.out.split())
    assert said in flat
    assert fix in flat
    assert "key-one" not in ran.out
    assert ran.code == 1


@pytest.mark.parametrize(
    "body",
    [
        b'{"code":"Client specified an invalid argument","error":"Incorrect API key provided"}',
        b'[{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]',
    ],
    ids=["xAI", "Gemini"],
)
def test_a_key_that_is_refused_with_400_is_named_with_the_providers_words(
    body: bytes, right: Path, kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    upstream.script("*", b.status(400, body=body))
    flat = " ".join(kefu("doctor").out.split())
    assert "refuses the API key" in flat
    assert "400, “" in flat
    assert "without this key" in flat


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b.html_200(), "answers 200 without an event stream"),
        (b.json_200(), "answers 200 without an event stream"),
        (b.status(200, {"error": {"message": "Token expired."}}), "stream, “Token expired.”"),
    ],
    ids=["HTML", "JSON", "error"],
)
def test_a_200_without_an_event_stream_is_named(
    answer: b.Behaviour, said: str, right: Path, kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    """The page of a portal, or a server that cannot stream: each chat would be answered 503."""
    upstream.script("*", answer)
    ran = kefu("doctor")
    assert said in " ".join(ran.out.split())
    assert ran.code == 1
    # As the service asks: a server may compress for others, or stream for no others.
    asked = upstream.journal[0].headers
    assert (asked["accept"], asked["accept-encoding"]) == ("text/event-stream", "identity")


def test_a_stream_of_another_type_is_right(
    right: Path, kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    upstream.script("*", replace(b.answer("Hi"), headers={"Content-Type": "text/plain"}))
    assert kefu("doctor").code == 0


def test_a_wrong_variable_is_named_with_the_command_that_removes_it(
    right: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEFU_DAILY_TOKENS", "many")
    ran = kefu("doctor")
    assert "x KEFU_DAILY_TOKENS: should be a valid integer" in ran.out
    assert "unset KEFU_DAILY_TOKENS" in ran.out


def test_no_key_no_model_and_no_store_are_named(
    right: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    (right.parent / "file").write_text("no folder")
    monkeypatch.setenv("LONGCAT_API_KEYS", ",")
    monkeypatch.setenv("KEFU_STORE", f"sqlite:///{right.parent}/file/kefu.db")
    ran = kefu("doctor")
    assert ran.code == 1
    assert "No API key is set" in ran.out
    assert "export KEFU_API_KEYS=" in ran.out
    assert "x The store fails: " in ran.out
    assert f"ls -ld {right.parent}/file" in ran.out
    assert "2 problems." in ran.out


def test_a_store_that_cannot_be_opened_is_named_with_its_files(
    right: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder may be in order, and the file belong to root."""
    file = right.parent / "kefu.db"
    file.mkdir()  # no user can open it, root neither
    monkeypatch.setenv("KEFU_STORE", f"sqlite:///{file}")
    ran = kefu("doctor")
    assert "x The store fails: " in ran.out
    assert f"ls -ld {file.parent} {file}*" in ran.out


def test_a_file_that_is_refused_is_named_with_its_owner(
    right: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    right.write_bytes(b"\xff")
    ran = kefu("doctor")
    assert f"x {right.name} cannot be read: " in ran.out
    assert f"ls -l {right.name}" in ran.out
    assert "KEFU_CONFIG" not in ran.out


def test_a_model_that_cannot_be_reached_is_named_once(
    right: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEFU_UPSTREAM_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LONGCAT_API_KEYS", "key-one,key-two")
    ran = kefu("doctor")
    assert "cannot be reached: Connection refused." in " ".join(ran.out.split())
    assert "1 problem." in ran.out


def test_r3_a_model_whose_headers_come_too_late_is_named_with_its_time(
    upstream: ScriptedUpstream,
) -> None:
    upstream.script("*", b.answer("Hi", before=0.3))
    slow = CheckedProvider(
        Endpoint(upstream.base_url, {}, {}, ()), Sampling("m"), "LONGCAT_API_KEYS", "model", 0.2
    )
    [finding] = check_keys(slow, ["key-one", "key-two"])
    assert re.search(r"after 0\.[3-9] s, and chats wait for 0\.2 s", finding.message)
    assert 'patience = "slow"' in finding.fix
    assert list(check_keys(slow._replace(patience=60), ["key-one"])) == []


def test_the_keys_of_the_fallback_are_asked_as_well(
    right: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    right.write_text(f"{RIGHT}[model.fallback]\nurl = 'http://127.0.0.1:9/v1'\n")
    monkeypatch.setenv("KEFU_FALLBACK_API_KEYS", "key-two")
    ran = kefu("doctor")
    assert "The model's server http://127.0.0.1:9/v1 cannot be reached" in ran.out
    assert "1 problem." in ran.out


NOTES = {
    "no page": ("", {}, "the list of origins is empty"),
    "every page": ('[chat]\norigins = ["*"]', {}, 'origins has "*"'),
    "no encryption": ('[chat]\norigins = ["http://shop.example"]', {}, "is not encrypted"),
    "misspelt variable": (RIGHT, {"KEFU_DAYLY_TOKENS": "1"}, "Did you mean KEFU_DAILY_TOKENS?"),
}


@pytest.mark.parametrize("case", NOTES)
def test_what_may_be_meant_is_a_note_and_fails_no_build(
    case: str, right: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, variables, said = NOTES[case]
    right.write_text(text)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ran = kefu("doctor")
    assert ran.code == 0
    assert said in " ".join(ran.out.split())


# Checks of a service at a URL


@pytest.fixture(scope="module")
def running() -> Iterator[Service]:
    with (
        ScriptedUpstream() as upstream,
        Service(upstream.base_url, allowed_origins=PAGE) as running,
    ):
        upstream.script("*", b.drip(12, delay=0.06))
        yield running


@pytest.fixture
def service(right: Path, running: Service) -> Service:
    """A correct service, which all tests ask, and a folder with its correct kefu.toml."""
    return running


def test_a_right_service_is_one_line(service: Service, kefu: Kefu) -> None:
    assert kefu("doctor", "--url", service.url) == (0, WELL, "")
    assert kefu("doctor", "--url", f"{service.url}/api/chat", "--origin", PAGE) == (0, WELL, "")


FRONTS: dict[str, tuple[Callable[[OddFront], object], str]] = {
    "collected": (lambda front: setattr(front, "collects", True), "arrive all at once"),
    "no widget": (lambda front: front.missing.add("/chat-widget.js"), "pages show no chat"),
    "no ready": (lambda front: front.missing.add("/ready"), "an older version"),
    "another site": (
        lambda front: front.says.update({"/health": (200, b"<html>")}),
        "not as Kefu does",
    ),
    "store full": (
        lambda front: front.says.update(
            {"/health": (200, b'{"version": "1", "status": "degraded", "reason": "store_full"}')}
        ),
        "The store is nearly full",
    ),
    "tools missing": (
        lambda front: front.says.update(
            {"/ready": (200, b'{"ready": true, "problems": [], "notes": ["shop is not there."]}')}
        ),
        "shop is not there.",
    ),
    "headers removed": (
        lambda front: front.removed_headers.add("access-control-allow-origin"),
        "has no Access-Control-Allow-Origin",
    ),
    "chat lost": (lambda front: front.missing.add("/api/chat"), "was answered 404"),
}


@pytest.mark.parametrize("case", FRONTS)
def test_a_proxy_that_does_wrong_is_named(case: str, service: Service, kefu: Kefu) -> None:
    make_wrong, said = FRONTS[case]
    with OddFront(service.url) as front:
        assert kefu("doctor", "--url", front.address) == (0, WELL, "")
        make_wrong(front)
        ran = kefu("doctor", "--url", front.address)
        assert said in " ".join(ran.out.split())
        assert ran.code == (0 if case == "no ready" else 1)


@pytest.mark.slow
def test_a_service_that_refuses_the_page_or_accepts_all_is_named(
    right: Path, kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    upstream.script("*", b.drip(12, delay=0.06))
    with Service(upstream.base_url, allowed_origins="https://other.example") as running:
        ran = kefu("doctor", "--url", running.url)
        assert f"The service refuses the page {PAGE}" in ran.out
        assert ran.code == 1
    with Service(upstream.base_url, allowed_origins="*") as running:
        ran = kefu("doctor", "--url", running.url)
        assert "The service accepts every page on the Web" in ran.out
        assert ran.code == 1


def test_a_service_without_keys_is_named(
    right: Path, kefu: Kefu, upstream: ScriptedUpstream
) -> None:
    with Service(upstream.base_url, keys=(",",), allowed_origins=PAGE) as running:
        ran = kefu("doctor", "--url", running.url)
        assert "The service cannot answer chats. No API key is set" in ran.out
        assert "A question was answered 503" in ran.out
        assert ran.code == 1


def test_an_address_without_a_service_is_named(right: Path, kefu: Kefu) -> None:
    assert "cannot be reached: Connection refused" in kefu("doctor", "--url", "http://[::1]:9").out
    assert "shop.example is not a URL" in kefu("doctor", "--url", "shop.example").out


def test_an_origin_without_a_service_to_ask_is_wrong_use(right: Path, kefu: Kefu) -> None:
    assert kefu("doctor", "--origin", PAGE) == (2, "", "kefu: --origin is for --url and --stack.\n")


# Checks of a stack on AWS


@pytest.fixture
def aws(
    service: Service, monkeypatch: pytest.MonkeyPatch, shared_loader: None
) -> Iterator[AwsStack]:
    with AwsStack(service.url) as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        yield fake


def test_a_right_stack_is_one_line(aws: AwsStack, kefu: Kefu) -> None:
    assert kefu("doctor", "--stack", "kefu") == (0, WELL, "")


def test_one_snapshot_to_go_back_to_is_no_problem(aws: AwsStack, kefu: Kefu) -> None:
    """aws M2: nor are the versions that visitors reach."""
    aws.versions, aws.snapshots = ["$LATEST", "8", "9", "10", "11"], {"9", "10", "11"}
    aws.alias = "10"
    aws.alias_weights = {"11": 0.1}
    assert "snapshot" not in kefu("doctor", "--stack", "kefu").out


STACKS: dict[str, tuple[dict[str, object], str, str]] = {
    "no such stack": ({"exists": False}, "does not exist", "describe-stacks"),
    "failed": (
        {"status": "UPDATE_ROLLBACK_COMPLETE"},
        "the last deployment failed",
        "describe-stack-events",
    ),
    "old version": (
        {"alias": "9"},
        "Visitors reach version 9 of the function, and the newest is version 10",
        "sam deploy",
    ),
    "no keys": ({"parameters": {}}, "ParameterNotFound", "aws ssm put-parameter --name /kefu"),
    "empty keys": (
        {"parameters": {"/kefu/api-keys": " , "}},
        "it contains no key",
        "aws ssm put-parameter",
    ),
    "keys in the open": ({"keys_from": "key-one"}, "contains API keys", "KeysFrom="),
    "no reference": ({"keys_from": ""}, "LONGCAT_API_KEYS is not set", "KeysFrom="),
    "small quota": (
        {"concurrency": 10},
        "may run 10 functions at once",
        "request-service-quota-increase",
    ),
    "stopped": ({"reserved": 0}, "The function is stopped", "delete-function-concurrency"),
    "mail": (
        {"subscriptions": ["PendingConfirmation"]},
        "ops@example.com has not confirmed",
        "aws sns subscribe",
    ),
    "contact mail": (
        {"contact_mail": "PendingConfirmation"},
        "help@example.com has not confirmed that it wants the requests of visitors",
        "aws sns subscribe",
    ),
    "snapshots": (
        {"versions": ["$LATEST", "2", "3", "9", "10"], "snapshots": {"2", "3", "9", "10"}},
        "AWS bills a snapshot for each of the versions 2, 3 (WarmStart), which no visitor reaches",
        "for version in 2 3; do aws lambda delete-function --function-name kefu-Chat",
    ),
    "service away": ({"url": "http://127.0.0.1:9"}, "cannot be reached", "curl"),
}


@pytest.mark.parametrize("case", STACKS)
def test_a_stack_that_is_wrong_is_named(case: str, aws: AwsStack, kefu: Kefu) -> None:
    wrong, said, fix = STACKS[case]
    for name, value in wrong.items():
        assert hasattr(aws, name)
        setattr(aws, name, value)
    ran = kefu("doctor", "--stack", "kefu")
    flat = " ".join(ran.out.split())
    assert said in flat
    assert fix in flat
    assert "1 problem." in flat
    assert ran.code == 1
    assert "key-one" not in ran.out.replace('"key-one,key-two"', "")


def test_a_stack_is_asked_as_a_visitor_asks(aws: AwsStack, service: Service, kefu: Kefu) -> None:
    """By its output `Url`: chunks arrive as they are made, and its pages are accepted."""
    with OddFront(service.url) as front:
        aws.url = front.address
        front.collects = True
        ran = kefu("doctor", "--stack", "kefu", "--origin", "https://other.example")
    said = " ".join(ran.out.split())
    assert "arrive all at once" in said
    assert "lighttpd: server.stream-response-body = 1" in said
    assert "The service refuses the page https://other.example" in said
    assert "2 problems." in said
    assert ran.code == 1


STACK_NOTES: dict[str, tuple[dict[str, object], str]] = {
    "in progress": ({"alias": "9", "alias_weights": {"10": 0.1}}, "a deployment is in progress"),
    "nobody": ({"subscriptions": [], "emails": []}, "Nobody receives the alarms"),
    "denied": ({"denied": {"ListSubscriptionsByTopic"}}, "was not checked: AccessDenied"),
}


@pytest.mark.parametrize("case", STACK_NOTES)
def test_what_may_be_meant_of_a_stack_is_a_note(case: str, aws: AwsStack, kefu: Kefu) -> None:
    wrong, said = STACK_NOTES[case]
    for name, value in wrong.items():
        setattr(aws, name, value)
    ran = kefu("doctor", "--stack", "kefu")
    assert said in " ".join(ran.out.split())
    assert ran.code == 0


def test_without_a_region_the_command_that_sets_one_is_named(
    right: Path, kefu: Kefu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    ran = kefu("doctor", "--stack", "kefu")
    assert (ran.code, "You must specify a region" in ran.out) == (1, True)
    assert "aws configure" in ran.out
