"""Runs the tools that the model asks for, within the limits of the session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from kefu.errors import ToolFailed
from kefu.events import Action as ActionEvent
from kefu.events import Approval, Body, Observation, Policy
from kefu.react.grammar import Action
from kefu.react.options import AgentDeps, AgentOptions, TurnError
from kefu.tools.tool import Tool

TRIES = 3
"""For a tool that may be run again."""
REPEATED, TOO_OFTEN = 3, 5
"""The same call in a row: from the third on it is not run, with the fifth the turn ends."""


class TurnFailed(Exception):
    """The turn ends here, without an answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.error = TurnError(code, message)


@dataclass(frozen=True, slots=True)
class _Result:
    content: str
    ok: bool = True
    failed: bool = False
    """By the tool's own word: the tool policy decides. Not when it took too long."""


Write = Callable[[Body], None]


class Workbench:
    """The tools of one turn."""

    def __init__(self, deps: AgentDeps, options: AgentOptions, write: Write) -> None:
        self._deps = deps
        self._options = options
        self._write = write
        self._last: tuple[str, str] | None = None
        self._repeats = 0

    async def run(self, action: Action) -> str:
        """The observation; all that happens is written as events. Raises TurnFailed."""
        self._write(ActionEvent(action.tool, action.input))
        started = self._deps.clock.monotonic()
        result = self._repeated(action) or await self._result(action)
        content, whole = capped(result.content, self._options.tool_output)
        spent = round((self._deps.clock.monotonic() - started) * 1000)
        truncated = None if whole else True
        self._write(
            Observation(
                content, tool=action.tool, ok=result.ok, duration_ms=spent, truncated=truncated
            )
        )
        if result.failed and self._options.tool_policy == "abort":
            raise TurnFailed("tool_failed", f"The tool {action.tool} failed: {content}")
        return content

    def _repeated(self, action: Action) -> _Result | None:
        call = (action.tool, action.input)
        self._repeats = self._repeats + 1 if call == self._last else 1
        self._last = call
        if self._repeats < REPEATED:
            return None
        abort = self._repeats >= TOO_OFTEN
        decision = "abort" if abort else "skip"
        self._write(Policy(action.tool, decision, "repeated", self._repeats))
        if abort:
            raise TurnFailed("repeated_action", f"The model called {action.tool} again and again.")
        said = "You made this call before, with the same input: its result will not change."
        return _Result(said, ok=False)

    async def _result(self, action: Action) -> _Result:
        tool = self._deps.tools.get(action.tool)
        if tool is None:
            names = ", ".join(self._deps.tools) or "none"
            return _Result(f"There is no tool {action.tool}. There are: {names}.", ok=False)
        if problem := not_json(tool, action.input):
            return _Result(problem, ok=False)
        if self._deps.approve:
            approved = await self._deps.approve(tool, action.input)
            self._write(Approval(tool.name, approved))
            if not approved:
                return _Result("The user did not allow this call.", ok=False)
        return await self._tried(tool, action.input)

    async def _tried(self, tool: Tool, given: str) -> _Result:
        tries = TRIES if self._options.tool_policy == "retry" and tool.idempotent else 1
        result = await self._once(tool, given)
        for attempt in range(1, tries):
            if not result.failed:
                break
            self._write(Policy(tool.name, "retry", "failed", attempt))
            result = await self._once(tool, given)
        if result.failed:
            decision = "abort" if self._options.tool_policy == "abort" else "skip"
            self._write(Policy(tool.name, decision, "failed", tries))
        return result

    async def _once(self, tool: Tool, given: str) -> _Result:
        """Comes back in time, even if the tool does not heed that it is cancelled."""
        running = asyncio.ensure_future(tool.call(given))
        try:
            done, _ = await asyncio.wait({running}, timeout=self._options.tool_timeout)
        finally:
            if not running.done():
                running.cancel()
                running.add_done_callback(_forget)
        if not done:
            return _Result(f"No result within {self._options.tool_timeout:g} s.", ok=False)
        return _outcome(running)


def _forget(task: asyncio.Future[str]) -> None:
    if not task.cancelled():
        task.exception()


def _outcome(task: asyncio.Future[str]) -> _Result:
    try:
        return _Result(task.result())
    except ToolFailed as error:
        return _Result(str(error), ok=False, failed=True)
    except asyncio.CancelledError:
        return _Result("The tool was stopped.", ok=False, failed=True)
    except Exception as error:  # noqa: BLE001 - a tool is anybody's code
        # Without its words: they are not meant for the model.
        return _Result(f"The tool failed: {type(error).__name__}.", ok=False, failed=True)


def not_json(tool: Tool, given: str) -> str:
    """What is wrong with an input that ought to be JSON; empty: nothing."""
    if tool.parameters is None or not given.startswith("{"):
        return ""
    try:
        json.loads(given)
    except (ValueError, RecursionError):
        return f"The input of {tool.name} is not valid JSON."
    return ""


def capped(text: str, limit: int) -> tuple[str, bool]:
    """The text cut to so many bytes of UTF-8, and whether it is whole."""
    # Never encoded whole when a part will do: a tool may give 100 MB.
    encoded = text[: limit + 1].encode("utf-8", "replace")
    if len(encoded) <= limit and len(text) <= limit:
        return encoded.decode(), True
    cut = encoded[:limit].decode("utf-8", "ignore")
    return f"{cut}\n[cut: {len(text)} characters in all]", False
