"""`kefu.bootstrap.pre_traffic.handler`: a Lambda function that CodeDeploy runs in a deployment.

The function asks the new version for `/ready` before that version receives traffic. CodeDeploy
rolls the deployment back if the version cannot answer chats. The template sets KEFU_NEW_VERSION.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final

from kefu.settings import new_version
from kefu.stores.new_version import problems_of, tell_codedeploy

PAUSE_SECONDS: Final = (2, 4, 8, 16)
"""Seconds between the attempts: a change of a role takes some time to apply everywhere."""


def handler(event: dict[str, str], _context: object) -> Mapping[str, object]:
    """Return the problems, for a person who invokes the function by hand."""
    return check(event, new_version(), PAUSE_SECONDS)


def check(event: dict[str, str], version: str, pauses: Iterable[float]) -> Mapping[str, object]:
    """Ask the version until it is ready, and again after each pause. Report to CodeDeploy."""
    problems = _ask(version)
    for pause in pauses:
        if not problems:
            break
        time.sleep(pause)
        problems = _ask(version)
    for problem in problems:
        print(f"The new version is not ready: {problem}")  # noqa: T201 - the function's log
    tell_codedeploy(event, succeeded=not problems)
    return {"ready": not problems, "problems": problems}


def _ask(version: str) -> list[str]:
    try:
        return problems_of(version)
    except Exception as error:  # noqa: BLE001 - without an answer CodeDeploy would wait an hour
        return [f"{type(error).__name__}: {error}"]
