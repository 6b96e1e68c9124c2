"""L5: what `kefu doctor` reads of a deployed stack, against AWS's protocols."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from kefu.stores.aws_stack import StackReader, StackUnknown
from kefu.stores.new_version import tell_codedeploy
from tests.fakes.aws_stack import CONTACT_TOPIC, FUNCTION, TOPIC, AwsStack


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, shared_loader: None) -> Iterator[AwsStack]:
    with AwsStack("https://chat.example.com") as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        yield fake


def test_a_stack_has_its_status_outputs_and_resources(aws: AwsStack) -> None:
    stack = StackReader("kefu").stack()
    assert stack.status == "UPDATE_COMPLETE"
    assert stack.outputs == {"Url": "https://chat.example.com", "FunctionName": FUNCTION}
    expected = {"ChatFunction": FUNCTION, "AlarmTopic": TOPIC, "ContactTopic": CONTACT_TOPIC}
    assert stack.resources == expected


def test_a_stack_that_cannot_be_read_says_why(aws: AwsStack) -> None:
    aws.exists = False
    with pytest.raises(StackUnknown, match="Stack with id kefu does not exist") as unknown:
        StackReader("kefu").stack()
    assert unknown.value.fix == ""


@pytest.mark.parametrize("missing", ["AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"])
def test_without_a_region_or_credentials_the_command_that_sets_them_is_named(
    aws: AwsStack, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (missing, "AWS_REGION", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(StackUnknown) as unknown:
        StackReader("kefu").stack()
    assert unknown.value.fix == "aws configure"


def test_the_newest_version_is_the_largest_number(aws: AwsStack) -> None:
    aws.snapshots = {"10", "9", "$LATEST"}
    traffic = StackReader("kefu").traffic(FUNCTION)
    assert (traffic.live, traffic.newest, traffic.shared_with) == ("10", "10", ())
    assert traffic.snapshots == ["9", "10"]


def test_versions_that_share_the_requests_are_named(aws: AwsStack) -> None:
    aws.alias, aws.alias_weights, aws.versions = "9", {"10": 0.1}, ["$LATEST"]
    traffic = StackReader("kefu").traffic(FUNCTION)
    assert (traffic.live, traffic.shared_with) == ("9", ("10",))
    assert (traffic.newest, traffic.snapshots) == ("0", [])


def test_settings_and_limits_of_the_function_are_read(aws: AwsStack) -> None:
    reader = StackReader("kefu")
    assert reader.variables(FUNCTION) == {"LONGCAT_API_KEYS": "ssm:/kefu/api-keys"}
    assert (reader.concurrency(), reader.reserved(FUNCTION)) == (1000, None)
    aws.reserved, aws.keys_from = 0, ""
    assert (reader.reserved(FUNCTION), reader.variables(FUNCTION)) == (0, {})


def test_a_mailbox_that_has_not_confirmed_is_told_apart(aws: AwsStack) -> None:
    reader = StackReader("kefu")
    assert reader.subscriptions(TOPIC) == {"ops@example.com": True}
    aws.subscriptions = ["PendingConfirmation"]
    assert reader.subscriptions(TOPIC) == {"ops@example.com": False}
    assert reader.subscriptions(CONTACT_TOPIC) == {"help@example.com": True}
    aws.denied = {"ListSubscriptionsByTopic"}
    with pytest.raises(ClientError, match="AccessDenied"):
        reader.subscriptions(TOPIC)


@pytest.mark.parametrize(("succeeded", "status"), [(True, "Succeeded"), (False, "Failed")])
def test_codedeploy_is_told_the_result_of_its_hook(
    aws: AwsStack, succeeded: bool, status: str
) -> None:
    event = {"DeploymentId": "d-1", "LifecycleEventHookExecutionId": "hook"}
    tell_codedeploy(event, succeeded=succeeded)
    expected = {"deploymentId": "d-1", "lifecycleEventHookExecutionId": "hook", "status": status}
    assert aws.told == [expected]
