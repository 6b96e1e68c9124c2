"""Simulates how CloudFormation creates, updates and deletes a stack, as far as Kefu's template
needs it.

The rules: a resource is identified by its logical id. A changed property updates the resource; a
changed create-only property (listed in AWS's schemas) replaces it. Dependencies come first.
Replaced and removed resources are deleted at the end, unless their policy keeps them. A failed
operation is rolled back. For Lambda: a version is a copy of the function's configuration, and none
is published without a change.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tests.template.intrinsics import (
    DeploymentFailed,
    Made,
    Parameters,
    Template,
    Values,
    in_order,
    listed,
)

CreateOnly = Callable[[str], list[str]]
"""Resource type -> the properties whose change replaces a resource."""


class Account:
    """The resources of an AWS account, inside and outside of stacks."""

    def __init__(self) -> None:
        self.latest: dict[str, Any] = {}
        """The function's configuration, $LATEST."""
        self.versions: list[dict[str, Any]] = []
        self.alias = 0
        """The number of the version that `live` points to."""
        self.policies: dict[str, dict[str, Any]] = {}
        """ARN -> the properties of a managed policy."""
        self.tables: set[str] = set()
        self.hooks: dict[str, dict[str, Any]] = {}
        """Name -> the configuration of a function that CodeDeploy may run."""
        self.not_ready: set[str] = set()
        """Packages whose versions cannot answer a chat."""
        self.alarms_on: set[str] = set()
        """Metrics that are bad, by the logical id of their alarm."""
        self.made = 0

    @property
    def live(self) -> dict[str, Any]:
        return self.versions[self.alias - 1]

    def may(self, action: str, resource: str) -> bool:
        """Whether a policy of the function's role allows this action."""
        return any(
            action in listed(statement["Action"]) and resource in listed(statement["Resource"])
            for policy in self.policies.values()
            for statement in policy["PolicyDocument"]["Statement"]
        )


class Stack:
    def __init__(
        self, account: Account, create_only: CreateOnly, check: Callable[[Account], None]
    ) -> None:
        """`check` is called with the account after each single change."""
        self.account = account
        self.resources: dict[str, Made] = {}
        self._create_only = create_only
        self._check = check

    def deploy(self, template: Template, parameters: Parameters) -> None:
        """Create or update the stack. Raises DeploymentFailed after a rollback."""
        before = copy.deepcopy((self.resources, vars(self.account)))
        try:
            self._update(template, parameters)
        except DeploymentFailed:
            created = {name: made for name, made in self.resources.items() if name not in before[0]}
            self.resources = before[0]
            vars(self.account).update(before[1])
            for made in created.values():
                if made.attributes.get("DeletionPolicy") == "Retain":
                    self._keep(made)
            raise

    def delete(self) -> None:
        for name in reversed(list(self.resources)):
            made = self.resources.pop(name)
            if not made.attributes.get("DeletionPolicy", "").startswith("Retain"):
                self._remove(made)

    def _keep(self, made: Made) -> None:
        if made.kind == "AWS::DynamoDB::Table":
            self.account.tables.add(made.physical_id)

    def _update(self, template: Template, parameters: Parameters) -> None:
        values = Values(template, parameters, self.resources)
        wanted = {
            name: what
            for name, what in template["Resources"].items()
            if "Condition" not in what or values.holds(what["Condition"])
        }
        replaced = []
        for name in in_order(wanted, values):
            old = self.resources.get(name)
            made, is_new = self._apply(name, wanted[name], values, old)
            self.resources[name] = made
            if old and is_new and made.attributes.get("UpdateReplacePolicy") != "Retain":
                replaced.append(old)
            self._check(self.account)
        for old in replaced:
            self._remove(old)
            self._check(self.account)
        for name in [name for name in self.resources if name not in wanted]:
            gone = self.resources.pop(name)
            if not gone.attributes.get("DeletionPolicy", "").startswith("Retain"):
                self._remove(gone)
            self._check(self.account)

    def _apply(
        self, name: str, what: dict[str, Any], values: Values, old: Made | None
    ) -> tuple[Made, bool]:
        kind = what["Type"]
        properties = values.of(what.get("Properties", {}))
        attributes: dict[str, Any] = {
            key: values.of(what[key])
            for key in ("DeletionPolicy", "UpdateReplacePolicy", "UpdatePolicy")
            if key in what
        }
        changed = {
            key
            for key in properties.keys() | (old.properties.keys() if old else set())
            if not old or properties.get(key) != old.properties.get(key)
        }
        is_new = old is None or bool(changed.intersection(self._create_only(kind)))
        identity = properties.get("FunctionName") or self._id(name, kind)
        made = Made(kind, identity if is_new else _id_of(old), properties, attributes)
        if is_new or changed:
            made = self._change(made, old)
        return made, is_new

    def _id(self, name: str, kind: str) -> str:
        self.account.made += 1
        given = f"kefu-{name}-{self.account.made}"
        if kind == "AWS::IAM::ManagedPolicy":
            return f"arn:aws:iam::123456789012:policy/{given}"
        if kind == "AWS::SNS::Topic":
            return f"arn:aws:sns:eu-west-1:123456789012:{given}"
        if kind == "AWS::SecretsManager::Secret":
            return f"arn:aws:secretsmanager:eu-west-1:123456789012:secret:{given}"
        return given

    def _change(self, made: Made, old: Made | None) -> Made:
        account = self.account
        if _is_hook(made):
            account.hooks[made.physical_id] = made.properties
        elif made.kind == "AWS::Lambda::Function":
            account.latest = {
                key: value
                for key, value in made.properties.items()
                if key != "ReservedConcurrentExecutions"
            }
        elif made.kind == "AWS::Lambda::Version":
            if account.versions and account.versions[-1] == account.latest:
                raise DeploymentFailed(
                    f"A version for this Lambda function exists ( {len(account.versions)} )"
                )
            account.versions.append(copy.deepcopy(account.latest))
            return made._replace(physical_id=str(len(account.versions)))
        elif made.kind == "AWS::Lambda::Alias":
            self._move_alias(made, old)
        elif made.kind == "AWS::IAM::ManagedPolicy":
            account.policies[made.physical_id] = made.properties
        elif made.kind == "AWS::DynamoDB::Table":
            account.tables.add(made.physical_id)
        return made

    def _move_alias(self, made: Made, old: Made | None) -> None:
        target = int(made.properties["FunctionVersion"])
        if old and "CodeDeployLambdaAliasUpdate" in made.attributes.get("UpdatePolicy", {}):
            if str(self.account.alias) != old.properties["FunctionVersion"]:
                raise DeploymentFailed(
                    "The alias version does not match the current version in AppSpec"
                )
            watched = {
                alarm["Name"]
                for resource in self.resources.values()
                if resource.kind == "AWS::CodeDeploy::DeploymentGroup"
                for alarm in resource.properties["AlarmConfiguration"].get("Alarms", [])
            }
            on = {
                made.physical_id
                for name, made in self.resources.items()
                if name in self.account.alarms_on
            }
            if watched & on:
                raise DeploymentFailed("One or more alarms have been activated")
            self._run_hook(made.attributes["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"], target)
        self.account.alias = target

    def _run_hook(self, update: dict[str, str], target: int) -> None:
        """CodeDeploy's role may invoke only functions whose names begin with CodeDeployHook_."""
        if "BeforeAllowTrafficHook" not in update:
            return
        name = update["BeforeAllowTrafficHook"]
        if not name.startswith("CodeDeployHook_"):
            raise DeploymentFailed("BeforeAllowTraffic: not authorized to perform InvokeFunction")
        asked = self.account.hooks[name]["Environment"]["Variables"]["KEFU_NEW_VERSION"]
        if asked != str(target):
            raise DeploymentFailed(f"BeforeAllowTraffic: it asks {asked}, not version {target}")
        if self.account.versions[target - 1]["Code"]["S3Key"] in self.account.not_ready:
            raise DeploymentFailed("BeforeAllowTraffic: the version is not ready")

    def _remove(self, made: Made) -> None:
        account = self.account
        if made.kind == "AWS::IAM::ManagedPolicy":
            del account.policies[made.physical_id]
        elif made.kind == "AWS::DynamoDB::Table":
            account.tables.discard(made.physical_id)
        elif _is_hook(made):
            del account.hooks[made.physical_id]
        elif made.kind == "AWS::Lambda::Function":
            account.latest, account.versions, account.alias = {}, [], 0
        elif made.kind == "AWS::Lambda::Version":
            account.versions[int(made.physical_id) - 1] = {}


def _is_hook(made: Made) -> bool:
    """Only the hook has a FunctionName; CloudFormation names the chat function."""
    return made.kind == "AWS::Lambda::Function" and "FunctionName" in made.properties


def _id_of(old: Made | None) -> str:
    assert old
    return old.physical_id
