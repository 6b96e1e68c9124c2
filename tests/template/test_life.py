"""Deployments of a stack, simulated with the transformed template: the version that `live` has.

CloudFormation's rules are in tests/template/cloudformation.py. Copies of the template here contain
the faults of earlier templates, and the simulation must find each of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.template.cloudformation import Account, Stack
from tests.template.conftest import Look
from tests.template.intrinsics import DeploymentFailed

SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:kefu/keys-a1B2c3"
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0a1b"
CANARY = {"Deployment": "Canary10Percent5Minutes"}

CHANGES: dict[str, dict[str, str]] = {
    "AdminTokenFrom": {"AdminTokenFrom": "ssm:/kefu/admin-token"},
    "AlarmEmail": {"AlarmEmail": "me@example.com"},
    "Architecture": {"Architecture": "x86_64"},
    "BotCheckSecretFrom": {"BotCheckSecretFrom": "ssm:/kefu/turnstile"},
    "Cdn": {"Cdn": "on"},
    "CertificateArn": {"DomainName": "chat.example.com", "CertificateArn": CERTIFICATE},
    "ContactEmail": {"ContactEmail": "support@example.com"},
    "Deployment": CANARY,
    "DomainName": {"DomainName": "chat.example.org", "CertificateArn": CERTIFICATE},
    "FallbackKeysFrom": {"FallbackKeysFrom": "ssm:/kefu/fallback-keys"},
    "HostedZoneId": {
        "DomainName": "chat.example.com",
        "CertificateArn": CERTIFICATE,
        "HostedZoneId": "Z1",
    },
    "IdentitySecretsFrom": {"IdentitySecretsFrom": SECRET},
    "KeysFrom": {"KeysFrom": SECRET},
    "LogRetentionDays": {"LogRetentionDays": "7"},
    "MemorySize": {"MemorySize": "2048"},
    "RequestsPerSecond": {"RequestsPerSecond": "500"},
    "ReservedConcurrency": {"ReservedConcurrency": "20"},
    "StageName": {"StageName": "v2"},
    "UseTable": {"UseTable": "kefu-restored"},
    "WafRequestsPerFiveMinutes": {"WafRequestsPerFiveMinutes": "100"},
    "WarmStart": {"WarmStart": "snapshot"},
}
"""Parameter -> a change of it, with the parameters that it needs."""

REACH_THE_FUNCTION = {
    "AdminTokenFrom",
    "Architecture",
    "BotCheckSecretFrom",
    "Cdn",
    "ContactEmail",
    "FallbackKeysFrom",
    "IdentitySecretsFrom",
    "KeysFrom",
    "MemorySize",
    "UseTable",
    "WarmStart",
}
"""Or what it may do: its versions must change with them."""

READ = {"ssm": "ssm:GetParameter", "secretsmanager": "secretsmanager:GetSecretValue"}


def visitors_are_served(account: Account) -> None:
    """At each moment, the live version finds its table and may read its secrets."""
    if not account.alias:
        return
    variables = account.live["Environment"]["Variables"]
    table = variables["KEFU_STORE"].removeprefix("dynamodb://")
    assert table in account.tables, f"live uses the table {table}, which is gone"
    arn = f"arn:aws:dynamodb:eu-west-1:123456789012:table/{table}"
    assert account.may("dynamodb:UpdateItem", arn), f"live may not use its table {table}"
    for name, reference in variables.items():
        if reference.startswith("sns:"):
            assert account.may("sns:Publish", reference[4:]), "live may not publish to its topic"
        if reference.startswith("bedrock:"):
            assert account.may("bedrock:CallWithBearerToken", "*"), "live may not sign keys"
        if reference.startswith(tuple(READ)):
            service, _, place = reference.partition(":")
            if service == "ssm":
                place = f"arn:aws:ssm:eu-west-1:123456789012:parameter{place}"
            assert account.may(READ[service], place), f"live may not read {name}={reference}"


class Life:
    """A stack that is deployed again and again with all its parameters, as `sam deploy` does."""

    def __init__(self, look: Look, text: str, create_only: Callable[[str], list[str]]) -> None:
        self.look = look
        self.text = text
        self.parameters: dict[str, str] = {}
        self.package = "package-1"
        self.account = Account()
        self.account.tables.add("kefu-restored")
        self.stack = Stack(self.account, create_only, visitors_are_served)

    def deploy(self, *, package: str = "", **changes: str) -> int:
        """Deploy. Returns the number of the live version, which must have the deployed
        configuration.
        """
        parameters, package = {**self.parameters, **changes}, package or self.package
        template = self.look(parameters, text=self.text, package=package)
        self.stack.deploy(template, parameters)
        self.parameters, self.package = parameters, package
        assert self.account.live == self.account.latest, "live is not what was deployed"
        return self.account.alias


@pytest.fixture(scope="session")
def create_only(look: Look) -> Callable[[str], list[str]]:
    known: dict[str, list[str]] = {}

    def of(kind: str) -> list[str]:
        if kind not in known:
            known[kind] = look(kind=kind)["properties"]
        return known[kind]

    return of


@pytest.fixture
def life(look: Look, text: str, create_only: Callable[[str], list[str]]) -> Life:
    return Life(look, text, create_only)


def faulty(life: Life, *faults: tuple[str, str]) -> Life:
    """Put faults into the template of this stack."""
    for pattern, replacement in faults:
        life.text, found = re.subn(pattern, replacement, life.text)
        assert found, f"the template has no {pattern}"
    return life


def test_every_parameter_is_rehearsed(stack: dict[str, Any]) -> None:
    assert set(CHANGES) == set(stack["Parameters"])


@pytest.mark.parametrize("parameter", CHANGES)
@pytest.mark.parametrize("how", ["AllAtOnce", "Canary10Percent5Minutes"])
def test_a_changed_parameter_is_live_after_its_deployment(
    life: Life, parameter: str, how: str
) -> None:
    """At no moment does the live version lack its table or its keys."""
    if parameter != "Deployment":
        life.parameters["Deployment"] = how
    first = life.deploy()
    before = dict(life.parameters)
    changed = life.deploy(**CHANGES[parameter])
    assert (changed != first) is (parameter in REACH_THE_FUNCTION)
    life.parameters = before
    life.deploy()
    assert len(life.account.policies) == 1


def test_a_changed_package_is_live_after_its_deployment(life: Life) -> None:
    """kefu.toml is part of the package, so every change of it is deployed as well."""
    first = life.deploy()
    second = life.deploy(package="package-2")
    assert second == first + 1
    assert life.account.live["Code"]["S3Key"] == "package-2"
    assert life.deploy(package="package-1", MemorySize="2048") == second + 1
    assert life.deploy() == second + 1


def test_a_life_from_creation_to_deletion(life: Life) -> None:
    life.deploy(**CANARY)
    life.deploy(package="package-2", AdminTokenFrom="ssm:/kefu/admin-token")
    own = life.account.live["Environment"]["Variables"]["KEFU_STORE"].removeprefix("dynamodb://")
    life.deploy(UseTable="kefu-restored")
    assert own in life.account.tables  # a restored table does not stay in place of the stack's own
    life.deploy(package="package-1", UseTable="")
    life.deploy(Cdn="on")
    life.stack.delete()
    assert life.account.tables == {own, "kefu-restored"}
    assert not life.account.policies
    assert not life.account.versions
    assert not life.stack.resources


def test_another_contact_address_replaces_the_former_one(life: Life) -> None:
    """The former address gets no mails any more. The function stays as it is."""
    first = life.deploy(ContactEmail="support@example.com")
    topic, mail = (life.stack.resources[name] for name in ("ContactTopic", "ContactMail"))
    variables = life.account.live["Environment"]["Variables"]
    assert variables["KEFU_CONTACT_WEBHOOK"] == f"sns:{topic.physical_id}"
    assert life.deploy(ContactEmail="help@example.com") == first
    replaced = life.stack.resources["ContactMail"]
    assert replaced.physical_id != mail.physical_id
    assert replaced.properties["Endpoint"] == "help@example.com"
    assert life.stack.resources["ContactTopic"].physical_id == topic.physical_id


def test_a_first_deployment_that_fails_leaves_nothing(life: Life) -> None:
    faulty(life, (r"(?m)^  Dashboard:\n", "  Dashboard:\n    DependsOn: Distribution\n"))
    with pytest.raises(DeploymentFailed, match="Distribution"):
        life.deploy()
    assert life.account.tables == {"kefu-restored"}
    assert not life.account.policies
    assert not life.stack.resources


def test_versions_stay_for_a_rollback_by_hand_after_which_the_stack_deploys(life: Life) -> None:
    """As in docs/aws/upgrade.md, with the default kind of deployment."""
    first = life.deploy()
    life.deploy(package="package-2", MemorySize="2048")
    life.deploy(MemorySize="1024")
    life.account.alias = first  # simulates `aws lambda update-alias`
    assert life.account.live["Code"]["S3Key"] == "package-1"
    visitors_are_served(life.account)
    assert life.deploy(package="package-3") == 4


def test_after_a_rollback_by_hand_a_gradual_stack_deploys_all_at_once(life: Life) -> None:
    """CodeDeploy refuses an alias that was moved by hand; docs/aws/upgrade.md has the remedy."""
    first = life.deploy(**CANARY)
    life.deploy(package="package-2")
    life.account.alias = first
    with pytest.raises(DeploymentFailed, match="AppSpec"):
        life.deploy(package="package-3")
    life.account.alias = first
    life.deploy(package="package-3", Deployment="AllAtOnce")
    life.deploy(package="package-4", **CANARY)


def test_alarms_that_are_on_do_not_stop_the_mend(life: Life) -> None:
    """The model fails, so ServerErrorsAlarm is on. Another model is deployed."""
    life.deploy(**CANARY)
    life.account.alarms_on = {"ServerErrorsAlarm", "FunctionErrorsAlarm", "AllKeysCoolingAlarm"}
    life.deploy(package="package-2")
    life.account.alarms_on = {"VersionErrorsAlarm"}
    with pytest.raises(DeploymentFailed, match="alarms"):
        life.deploy(package="package-3")
    assert life.account.live["Code"]["S3Key"] == "package-2"
    life.deploy(package="package-3", Deployment="AllAtOnce")


def test_a_version_that_is_not_ready_receives_no_traffic(life: Life) -> None:
    """C13: with a gradual deployment. The whole stack is rolled back."""
    first = life.deploy(**CANARY)
    life.account.not_ready = {"package-2"}
    with pytest.raises(DeploymentFailed, match="not ready"):
        life.deploy(package="package-2")
    assert (life.account.alias, life.account.live["Code"]["S3Key"]) == (first, "package-1")
    assert life.deploy(package="package-3") == first + 1


def test_the_hook_is_there_while_deployments_are_gradual(life: Life) -> None:
    life.deploy()
    assert not life.account.hooks
    life.deploy(package="package-2", **CANARY)
    assert list(life.account.hooks) == ["CodeDeployHook_kefu"]
    life.account.not_ready = {"package-3"}
    life.deploy(package="package-3", Deployment="AllAtOnce")
    assert not life.account.hooks


WITHOUT_DESCRIPTION = (r"(?m)^      VersionDescription: .*\n", "")
CONSTANT_POLICY = (
    r'(?m)^      Description: !Sub \["\$\{KeysFrom\}.*\n',
    "      Description: all\n",
)


@pytest.mark.parametrize("parameter", sorted(REACH_THE_FUNCTION))
def test_the_rehearsal_finds_a_parameter_that_makes_no_version(life: Life, parameter: str) -> None:
    """SAM's default: the version's id is a hash of the references to parameters, not of their
    values.
    """
    faulty(life, WITHOUT_DESCRIPTION)
    life.deploy()
    with pytest.raises(AssertionError, match="live"):
        life.deploy(**CHANGES[parameter])


def test_e6_the_role_may_ask_bedrock_only_while_its_keys_are_signed(life: Life) -> None:
    life.deploy()
    action = "bedrock:InvokeModelWithResponseStream"
    assert not life.account.may(action, "*")
    life.deploy(KeysFrom="bedrock")
    variables = life.account.live["Environment"]["Variables"]
    assert variables["LONGCAT_API_KEYS"] == "bedrock:eu-west-1"
    assert life.account.may(action, "*")
    life.deploy(KeysFrom="ssm:/kefu/api-keys")
    assert not life.account.may(action, "*")


@pytest.mark.parametrize("parameter", ["KeysFrom", "UseTable"])
def test_the_rehearsal_finds_permissions_that_change_before_the_version(
    life: Life, parameter: str
) -> None:
    faulty(life, CONSTANT_POLICY)
    life.deploy()
    with pytest.raises(AssertionError, match="live may not"):
        life.deploy(**CHANGES[parameter])


def test_the_rehearsal_finds_codedeploy_in_the_way_of_a_rollback(life: Life) -> None:
    faulty(life, ("AllAtOnce: { Enabled: false }", "AllAtOnce: { Enabled: true }"))
    with pytest.raises(DeploymentFailed, match="AppSpec"):
        test_versions_stay_for_a_rollback_by_hand_after_which_the_stack_deploys(life)


def test_the_rehearsal_finds_an_alarm_that_stops_the_mend(life: Life) -> None:
    faulty(life, (r"\[!Ref VersionErrorsAlarm\]", "[!Ref ServerErrorsAlarm]"))
    with pytest.raises(DeploymentFailed, match="alarms"):
        test_alarms_that_are_on_do_not_stop_the_mend(life)


def test_the_rehearsal_finds_a_hook_that_nobody_runs(life: Life) -> None:
    faulty(life, (r"(?m)^        Hooks: .*\n", ""))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_version_that_is_not_ready_receives_no_traffic(life)


@pytest.mark.parametrize(
    ("pattern", "replacement", "reason"),
    [
        ("CodeDeployHook_", "hook-of-", "not authorized"),
        ("KEFU_NEW_VERSION: !Ref ChatFunction.Version", "KEFU_NEW_VERSION: live", "it asks live"),
    ],
)
def test_the_rehearsal_finds_a_hook_that_cannot_check_the_version(
    life: Life, pattern: str, replacement: str, reason: str
) -> None:
    faulty(life, (pattern, replacement))
    life.deploy(**CANARY)
    with pytest.raises(DeploymentFailed, match=reason):
        life.deploy(package="package-2")


def test_the_rehearsal_finds_versions_that_do_not_stay(life: Life) -> None:
    faulty(life, (r"    UpdateReplacePolicy: Retain # SAM .*\n", ""))
    life.deploy()
    life.deploy(MemorySize="2048")
    assert life.account.versions[0] == {}


def test_the_rehearsal_finds_a_dependency_on_what_a_condition_leaves_out(life: Life) -> None:
    faulty(life, (r"(?m)^  Api:\n", "  Api:\n    DependsOn: AlarmTopic\n"))
    with pytest.raises(DeploymentFailed, match="AlarmTopic"):
        life.deploy()
    life.deploy(AlarmEmail="me@example.com")
