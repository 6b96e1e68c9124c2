"""Transforms a template as AWS and `sam local` do. Reads requests from stdin, one JSON per line.

It serves many requests, because SAM's libraries take seconds to load. Each kind of request loads
only its own.

Runs in an environment of its own (requirements/sam.txt), which mypy does not check.
"""

from __future__ import annotations

import copy
import functools
import json
import sys
import traceback
from typing import Any

from samtranslator.translator.transform import transform  # type: ignore[import-not-found]
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-not-found]


class _NoPolicies:
    def load(self) -> dict[str, str]:
        """The managed policies that SAM knows by name; the template uses none of them."""
        return {}


def transformed(text: str, parameters: dict[str, Any], package: str) -> dict[str, Any]:
    """The CloudFormation template that AWS makes. `package`: the name of the package in the
    bucket.
    """
    template = copy.deepcopy(parsed(text))
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = f"s3://bucket/{package}"
    defaults = {name: what.get("Default") for name, what in template["Parameters"].items()}
    found: dict[str, Any] = transform(template, {**defaults, **parameters}, _NoPolicies())
    return found


@functools.cache
def parsed(text: str) -> dict[str, Any]:
    template: dict[str, Any] = yaml_parse(text)
    return template


def local(path: str, parameters: dict[str, str]) -> dict[str, Any]:
    """The functions that `sam local` would run."""
    from samcli.lib.providers.sam_function_provider import (  # type: ignore[import-not-found]
        SamFunctionProvider,
    )
    from samcli.lib.providers.sam_stack_provider import (  # type: ignore[import-not-found]
        SamLocalStackProvider,
    )

    stacks, _ = SamLocalStackProvider.get_stacks(path, parameter_overrides=parameters)
    function = SamFunctionProvider(stacks).get("ChatFunction")
    return {
        "handler": function.handler,
        "runtime": function.runtime,
        "layers": [str(layer.arn) for layer in function.layers],
        "environment": function.environment["Variables"],
    }


def create_only(kind: str) -> dict[str, Any]:
    """The properties whose change replaces a resource, from AWS's schema of its type."""
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-not-found]

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("eu-west-1", kind).schema
    paths = [
        *schema.get("createOnlyProperties", ()),
        *schema.get("conditionalCreateOnlyProperties", ()),
    ]
    return {"properties": [path.removeprefix("/properties/") for path in paths]}


def answer_to(question: dict[str, Any]) -> dict[str, Any]:
    if "kind" in question:
        return create_only(question["kind"])
    if "path" in question:
        return local(question["path"], question["parameters"])
    return transformed(question["text"], question["parameters"], question.get("package", "package"))


def main() -> None:
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"found": answer_to(json.loads(line))}
        except Exception:  # noqa: BLE001 - the calling test shows the error
            answer = {"failed": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
