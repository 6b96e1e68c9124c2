"""Reads the arguments and results of calls, which a service tells only to its operator."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from kefu.evaluation.heard import Heard
from kefu.evaluation.steps import CallStep
from kefu.tools.use import fields_in
from kefu.upstream.kefu_server import KefuServer

_ATTEMPTS, _WAIT_SECONDS = 20, 0.1
"""The store may have an answer a moment after its last byte."""


async def told_calls(server: KefuServer, heard: Sequence[Heard]) -> list[CallStep]:
    """The calls of a chat's latest answers, with what the panel's API knows of them.

    Raises the server's error.
    """
    steps = [[*one.steps.values()] for one in heard]
    if not server.has_operator or not server.session_id or not any(steps):
        return [step for answer in steps for step in answer]
    for _ in range(_ATTEMPTS):
        chat: Mapping[str, Any] = await server.read(f"/admin/api/sessions/{server.session_id}")
        asked = [one for one in chat["messages"] if one["role"] == "user"][-len(heard) :]
        told = [{use["id"]: use for use in one.get("steps") or ()} for one in asked]
        if len(told) == len(steps) and all(map(_has_all, told, steps)):
            both = zip(told, steps, strict=True)
            return [_with(uses[step.id], step) for uses, answer in both for step in answer]
        await asyncio.sleep(_WAIT_SECONDS)
    return [step for answer in steps for step in answer]


def _has_all(uses: Mapping[str, Any], steps: Sequence[CallStep]) -> bool:
    return all(step.id in uses for step in steps)


def _with(use: Mapping[str, Any], step: CallStep) -> CallStep:
    # What is not an object is no call with arguments, and the service has refused it.
    return step._replace(arguments=fields_in(use["arguments"]), result=use.get("result", ""))
