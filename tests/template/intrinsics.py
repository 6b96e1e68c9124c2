"""CloudFormation's functions, such as Fn::Sub and Fn::If, and the order of resources that they
imply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Template = dict[str, Any]
Parameters = dict[str, str]

PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-1",
    "AWS::StackName": "kefu",
    "AWS::URLSuffix": "amazonaws.com",
}
_NOTHING = object()
"""AWS::NoValue."""


class DeploymentFailed(Exception):
    """CloudFormation rolls back; the message is the reason."""


class Made(NamedTuple):
    """A resource of a stack as CloudFormation stores it."""

    kind: str
    physical_id: str
    properties: dict[str, Any]
    attributes: dict[str, Any]
    """DeletionPolicy, UpdateReplacePolicy, UpdatePolicy."""


def listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


class Values:
    """Resolves CloudFormation's functions, using the resources that exist so far."""

    def __init__(
        self, template: Template, parameters: Parameters, resources: dict[str, Made]
    ) -> None:
        defaults = {n: str(what.get("Default", "")) for n, what in template["Parameters"].items()}
        assert parameters.keys() <= defaults.keys()
        self.parameters = {**PSEUDO, **defaults, **parameters}
        self._template = template
        self._resources = resources

    def holds(self, condition: str) -> bool:
        return bool(self.of(self._template["Conditions"][condition]))

    def of(self, value: Any) -> Any:
        if isinstance(value, list):
            return [one for one in map(self.of, value) if one is not _NOTHING]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            [(name, given)] = value.items()
            if name in ("Ref", "Condition") or name.startswith("Fn::"):
                return self._function(name, given)
        found = {key: self.of(one) for key, one in value.items()}
        return {key: one for key, one in found.items() if one is not _NOTHING}

    def _function(self, name: str, given: Any) -> Any:
        functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Condition": self.holds,
            "Fn::GetAtt": self._attribute,
            "Fn::If": lambda one: self.of(one[1] if self.holds(one[0]) else one[2]),
            "Fn::Equals": lambda one: str(self.of(one[0])) == str(self.of(one[1])),
            "Fn::Not": lambda one: not self.of(one[0]),
            "Fn::And": lambda one: all(map(self.of, one)),
            "Fn::Or": lambda one: any(map(self.of, one)),
            "Fn::Join": lambda one: one[0].join(map(str, self.of(one[1]))),
            "Fn::Select": lambda one: self.of(one[1])[int(one[0])],
            "Fn::Split": lambda one: self.of(one[1]).split(one[0]),
            "Fn::FindInMap": self._in_map,
            "Fn::Sub": self._substituted,
        }
        return functions[name](given)

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _NOTHING
        return self.parameters[name] if name in self.parameters else self._made(name).physical_id

    def _made(self, name: str) -> Made:
        if name not in self._resources:
            raise DeploymentFailed(f"Unresolved resource dependencies [{name}]")
        return self._resources[name]

    def _attribute(self, given: str | list[str]) -> str:
        name, attribute = given.split(".", 1) if isinstance(given, str) else given
        made = self._made(name)
        if made.kind == "AWS::Lambda::Version" and attribute == "Version":
            return made.physical_id
        if made.kind == "AWS::DynamoDB::Table" and attribute == "Arn":
            return f"arn:aws:dynamodb:eu-west-1:123456789012:table/{made.physical_id}"
        return f"{made.physical_id}.{attribute}"

    def _in_map(self, given: list[Any]) -> Any:
        name, first, second = map(self.of, given)
        return self._template["Mappings"][name][first][second]

    def _substituted(self, given: Any) -> str:
        text, extra = given if isinstance(given, list) else (given, {})
        own = self.of(extra)

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name in own:
                return str(own[name])
            return str(self._attribute(name) if "." in name else self._ref(name))

        return re.sub(r"\$\{([^!}][^}]*)\}", value, text)


def in_order(wanted: dict[str, Any], values: Values) -> list[str]:
    """Sort the resources, each after those that it refers to."""
    order: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in order:
            return
        if name in above:
            raise DeploymentFailed(f"Circular dependency between resources: {above}")
        if name not in wanted:
            raise DeploymentFailed(f"Unresolved resource dependencies [{name}]")
        what = wanted[name]
        for other in sorted({*listed(what.get("DependsOn", [])), *_named(what, values)}):
            visit(other, (*above, name))
        order.append(name)

    for name in wanted:
        visit(name, ())
    return order


def _named(value: Any, values: Values) -> Iterator[str]:
    """Yield the resources that a value refers to, without the unused branches of Fn::If."""
    if isinstance(value, list):
        for one in value:
            yield from _named(one, values)
    if not isinstance(value, dict):
        return
    for key, given in value.items():
        names: list[str] = []
        if key == "Fn::If":
            yield from _named(given[1] if values.holds(given[0]) else given[2], values)
            continue
        if key == "Ref":
            names = [given]
        elif key == "Fn::GetAtt":
            names = [given.split(".")[0] if isinstance(given, str) else given[0]]
        elif key == "Fn::Sub":
            text, own = given if isinstance(given, list) else (given, {})
            names = [n.split(".")[0] for n in re.findall(r"\$\{([^!}]+)\}", text) if n not in own]
            yield from _named(own, values)
        else:
            yield from _named(given, values)
        known = {*values.parameters, "AWS::NoValue", "AWS::StackId"}
        yield from (name for name in names if name not in known)
