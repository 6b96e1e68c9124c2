"""Looks at a template as AWS and as `sam local` will: questions on stdin, a line of JSON each.

Stays for the next question: SAM's libraries take three seconds to load.

Runs in an environment of its own (requirements/sam.txt), which mypy does not see.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

from samcli.lib.providers.sam_function_provider import (  # type: ignore[import-not-found]
    SamFunctionProvider,
)
from samcli.lib.providers.sam_stack_provider import (  # type: ignore[import-not-found]
    SamLocalStackProvider,
)
from samtranslator.translator.transform import transform  # type: ignore[import-not-found]
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-not-found]


class _NoPolicies:
    def load(self) -> dict[str, str]:
        """The managed policies that SAM may name; this template names none of them."""
        return {}


def transformed(text: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The CloudFormation that AWS makes of the template."""
    template = yaml_parse(text)
    template["Resources"]["ChatFunction"]["Properties"]["CodeUri"] = "s3://bucket/package"
    defaults = {name: what.get("Default") for name, what in template["Parameters"].items()}
    found: dict[str, Any] = transform(template, {**defaults, **parameters}, _NoPolicies())
    return found


def local(path: str, parameters: dict[str, str]) -> dict[str, Any]:
    """What `sam local` would run."""
    stacks, _ = SamLocalStackProvider.get_stacks(path, parameter_overrides=parameters)
    function = SamFunctionProvider(stacks).get("ChatFunction")
    return {
        "handler": function.handler,
        "runtime": function.runtime,
        "layers": [str(layer.arn) for layer in function.layers],
        "environment": function.environment["Variables"],
    }


def answer_to(question: dict[str, Any]) -> dict[str, Any]:
    if "path" in question:
        return local(question["path"], question["parameters"])
    return transformed(question["text"], question["parameters"])


def main() -> None:
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"found": answer_to(json.loads(line))}
        except Exception:  # noqa: BLE001 - whatever it is, the test that asked shows it
            answer = {"failed": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
