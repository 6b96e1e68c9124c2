"""Reads the state of a deployed stack from AWS, for `kefu doctor`. Every method blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class StackUnknown(Exception):
    """The stack cannot be read; the text is the reason."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason)
        self.fix = fix
        """The command that mends the error, if known."""


class Stack(NamedTuple):
    status: str
    outputs: Mapping[str, str]
    resources: Mapping[str, str]
    """Logical id -> physical id."""


class Traffic(NamedTuple):
    """The versions of the function."""

    live: str
    """The version that the alias `live` names."""
    shared_with: Sequence[str]
    """Versions that receive a part of the requests: a deployment is in progress."""
    newest: str
    snapshots: Sequence[str]
    """Versions that have a snapshot (SnapStart), from the oldest to the newest."""


class StackReader:
    """Raises StackUnknown for a stack that cannot be read, ClientError for an unreadable part."""

    def __init__(self, name: str) -> None:
        try:
            import boto3
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError
        except ModuleNotFoundError:
            raise StackUnknown("boto3 is not installed.", "pip install boto3") from None
        self._name = name
        config = Config(connect_timeout=5, read_timeout=15, retries={"total_max_attempts": 3})
        session = boto3.Session()
        try:
            self._cloudformation: Any = session.client("cloudformation", config=config)
            self._lambda: Any = session.client("lambda", config=config)
            self._sns: Any = session.client("sns", config=config)
        except BotoCoreError as error:  # no region is set
            raise StackUnknown(str(error), "aws configure") from None

    def stack(self) -> Stack:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            (found,) = self._cloudformation.describe_stacks(StackName=self._name)["Stacks"]
            pages = self._cloudformation.get_paginator("list_stack_resources")
            resources = {
                one["LogicalResourceId"]: one.get("PhysicalResourceId", "")
                for page in pages.paginate(StackName=self._name)
                for one in page["StackResourceSummaries"]
            }
        except ClientError as error:
            raise StackUnknown(error.response["Error"]["Message"]) from None
        except BotoCoreError as error:  # no credentials, no network
            raise StackUnknown(str(error), "aws configure") from None
        outputs = {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", [])}
        return Stack(found["StackStatus"], outputs, resources)

    def traffic(self, function: str) -> Traffic:
        alias = self._lambda.get_alias(FunctionName=function, Name="live")
        pages = self._lambda.get_paginator("list_versions_by_function")
        versions = {
            int(one["Version"]): one.get("SnapStart", {}).get("ApplyOn") == "PublishedVersions"
            for page in pages.paginate(FunctionName=function)
            for one in page["Versions"]
            if one["Version"].isdecimal()
        }
        others = (alias.get("RoutingConfig") or {}).get("AdditionalVersionWeights") or {}
        newest = str(max(versions, default=0))
        snapshots = [str(version) for version in sorted(versions) if versions[version]]
        return Traffic(alias["FunctionVersion"], tuple(others), newest, snapshots)

    def variables(self, function: str) -> Mapping[str, str]:
        """The environment of the version that visitors reach."""
        found = self._lambda.get_function_configuration(FunctionName=function, Qualifier="live")
        variables: Mapping[str, str] = found.get("Environment", {}).get("Variables", {})
        return variables

    def concurrency(self) -> int:
        """The number of concurrent executions that the account allows."""
        limits = self._lambda.get_account_settings()["AccountLimit"]
        return int(limits["ConcurrentExecutions"])

    def reserved(self, function: str) -> int | None:
        """The concurrent executions reserved for the function; None: no reservation."""
        found = self._lambda.get_function_concurrency(FunctionName=function)
        reserved: int | None = found.get("ReservedConcurrentExecutions")
        return reserved

    def subscriptions(self, topic: str) -> Mapping[str, bool]:
        """The subscribed addresses of a topic, and whether each has confirmed."""
        pages = self._sns.get_paginator("list_subscriptions_by_topic")
        found = [one for page in pages.paginate(TopicArn=topic) for one in page["Subscriptions"]]
        # An unconfirmed subscription has a word such as PendingConfirmation for its ARN.
        return {one["Endpoint"]: one["SubscriptionArn"].startswith("arn:") for one in found}
