"""Runs the tools that the model calls, within the limits of the session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from kefu.agent.events import Action, Approval, EventBody, Observation, Policy
from kefu.agent.grammar import ParsedAction
from kefu.agent.instructions import joined_names
from kefu.agent.options import AgentDeps, AgentOptions, TurnError
from kefu.agent.tools.tool import Tool
from kefu.errors import ToolFailed

MAX_RUNS = 3
"""Maximum runs of an idempotent tool with the policy `retry`."""
REPEATED_CALLS, TOO_OFTEN = 3, 5
"""Identical calls in a row: from the third on the tool is not run; the fifth ends the turn."""


class TurnFailed(Exception):
    """Ends the turn without an answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.error = TurnError(code, message)


@dataclass(frozen=True, slots=True)
class _Result:
    content: str
    ok: bool = True
    failed: bool = False
    """The tool raised an error, so the tool policy applies. A time-out does not set it."""


Write = Callable[[EventBody], None]


class Workbench:
    """Runs the tools of one turn."""

    def __init__(self, deps: AgentDeps, options: AgentOptions, write: Write) -> None:
        self._deps = deps
        self._options = options
        self._write = write
        self._last: tuple[str, str] | None = None
        self._repeats = 0

    async def run(self, action: ParsedAction) -> str:
        """Run a tool call and write its events. Returns the observation. Raises TurnFailed."""
        self._write(Action(action.tool, action.input))
        started = self._deps.clock.monotonic()
        result = self._repeated(action) or await self._result(action)
        content, complete = capped(result.content, self._options.tool_output)
        spent = round((self._deps.clock.monotonic() - started) * 1000)
        truncated = None if complete else True
        self._write(
            Observation(
                content, tool=action.tool, ok=result.ok, duration_ms=spent, truncated=truncated
            )
        )
        if result.failed and self._options.tool_policy == "abort":
            raise TurnFailed("tool_failed", f"The tool {action.tool} failed: {content}")
        return content

    def _repeated(self, action: ParsedAction) -> _Result | None:
        call = (action.tool, action.input)
        self._repeats = self._repeats + 1 if call == self._last else 1
        self._last = call
        if self._repeats < REPEATED_CALLS:
            return None
        abort = self._repeats >= TOO_OFTEN
        decision = "abort" if abort else "skip"
        self._write(Policy(action.tool, decision, "repeated", self._repeats))
        if abort:
            raise TurnFailed("repeated_action", f"The model called {action.tool} again and again.")
        message = "You made this call before, with the same input: its result will not change."
        return _Result(message, ok=False)

    async def _result(self, action: ParsedAction) -> _Result:
        tool = self._deps.tools.get(action.tool)
        if tool is None:
            names = joined_names(self._deps.tools)
            return _Result(f"There is no tool {action.tool}. There are: {names}.", ok=False)
        if problem := json_problem(tool, action.input):
            return _Result(problem, ok=False)
        if self._deps.approve:
            approved = await self._deps.approve(tool, action.input)
            self._write(Approval(tool.name, approved))
            if not approved:
                return _Result("The user did not allow this call.", ok=False)
        return await self._with_retries(tool, action.input)

    async def _with_retries(self, tool: Tool, tool_input: str) -> _Result:
        tries = MAX_RUNS if self._options.tool_policy == "retry" and tool.idempotent else 1
        result = await self._run_once(tool, tool_input)
        for attempt in range(1, tries):
            if not result.failed:
                break
            self._write(Policy(tool.name, "retry", "failed", attempt))
            result = await self._run_once(tool, tool_input)
        if result.failed:
            decision = "abort" if self._options.tool_policy == "abort" else "skip"
            self._write(Policy(tool.name, decision, "failed", tries))
        return result

    async def _run_once(self, tool: Tool, tool_input: str) -> _Result:
        """Run the tool once. Returns after the time-out, even if the tool ignores cancellation."""
        running = asyncio.ensure_future(tool.call(tool_input))
        try:
            done, _ = await asyncio.wait({running}, timeout=self._options.tool_timeout)
        finally:
            if not running.done():
                running.cancel()
                running.add_done_callback(lambda task: task.cancelled() or task.exception())
        if not done:
            return _Result(f"No result within {self._options.tool_timeout:g} s.", ok=False)
        return _outcome(running)


def _outcome(task: asyncio.Future[str]) -> _Result:
    try:
        return _Result(task.result())
    except ToolFailed as error:
        return _Result(str(error), ok=False, failed=True)
    except asyncio.CancelledError:
        return _Result("The tool was stopped.", ok=False, failed=True)
    except Exception as error:  # noqa: BLE001 - a tool may be foreign code
        # The text of a foreign exception may be secret, so the model does not receive it.
        return _Result(f"The tool failed: {type(error).__name__}.", ok=False, failed=True)


def json_problem(tool: Tool, tool_input: str) -> str:
    """The error message for an input that should be JSON and is not; else empty."""
    if tool.parameters is None or not tool_input.startswith("{"):
        return ""
    try:
        json.loads(tool_input)
    except (ValueError, RecursionError):
        return f"The input of {tool.name} is not valid JSON."
    return ""


def capped(text: str, limit: int) -> tuple[str, bool]:
    """Returns the text cut to `limit` bytes of UTF-8, and whether it is complete."""
    # Only the needed part is encoded, because a result may have 100 MB.
    encoded = text[: limit + 1].encode("utf-8", "replace")
    if len(encoded) <= limit and len(text) <= limit:
        return encoded.decode(), True
    cut = encoded[:limit].decode("utf-8", "ignore")
    return f"{cut}\n[cut: {len(text)} characters in all]", False
