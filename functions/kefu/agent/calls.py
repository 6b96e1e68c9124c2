"""The tool calls of a turn: they are logged, and retried as the options of the session say.

`kefu.tools.workbench` checks and runs them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from kefu.agent.events import Action, Approval, Observation, Policy
from kefu.agent.grammar import ParsedAction
from kefu.agent.instructions import arguments_of
from kefu.agent.journal import Write
from kefu.agent.options import AgentDeps, AgentOptions, TurnFailed
from kefu.tools.card import outcome_sentence
from kefu.tools.tool import Arguments, Outcome, Tool, Visitor
from kefu.tools.use import Use, settled
from kefu.tools.workbench import REPEATED_CALLS, TOO_OFTEN, Limits, Surroundings, Workbench

MAX_RUNS = 3
"""Maximum runs of an idempotent tool with the policy `retry`."""


class TurnCalls:
    """The tool calls of one turn."""

    def __init__(self, deps: AgentDeps, options: AgentOptions, write: Write) -> None:
        self._deps = deps
        self._options = options
        self._write = write
        self.action = ParsedAction("", "", "")
        """The current call, as the model wrote it."""
        self._waited = 0
        """Milliseconds for which the user was asked."""
        self._has_failed = False

    def bench(self, session_id: str, turn: int, earlier: Iterable[Use]) -> Workbench:
        """The tools of the turn. `earlier`: the calls of earlier turns."""
        deps, options = self._deps, self._options
        around = Surroundings(
            deps.clock.now,
            deps.clock.monotonic,
            redact=deps.redact,
            ask=self._ask if deps.approve else None,
            asks_always=options.approve_each,
        )
        limits = Limits(
            steps=options.max_steps,
            calls=1,
            call_seconds=options.tool_timeout,
            seconds=float("inf"),
            result=sys.maxsize,  # `observe` cuts it
            arguments=sys.maxsize,
        )
        return Workbench(
            {name: self._with_policy(tool) for name, tool in deps.tools.items()},
            Visitor(session=session_id),
            around,
            limits=limits,
            question_id=turn,
            earlier=earlier,
        )

    def take(self, action: ParsedAction, bench: Workbench) -> list[Use]:
        """Give a call to the workbench. Raises TurnFailed for a call that was made too often."""
        self._write(Action(action.tool, action.input))
        self.action, self._waited = action, 0
        self._has_failed = False
        tool = bench.tools.get(action.tool)
        arguments = arguments_of(tool, action.input) if tool else action.input
        uses = bench.take([(action.tool, arguments)], 0)
        repeats = max(bench.repeats.values())
        if repeats >= REPEATED_CALLS:
            decision = "abort" if repeats >= TOO_OFTEN else "skip"
            self._write(Policy(action.tool, decision, "repeated", repeats))
        if repeats >= TOO_OFTEN:
            raise TurnFailed("repeated_action", f"The model called {action.tool} again and again.")
        return uses

    def observe(self, use: Use, bench: Workbench) -> Use:
        """Log the result of a call. Returns the call with the result as the model receives it."""
        content, complete = capped(use.result, self._options.tool_output)
        self._write(
            Observation(
                content,
                tool=self.action.tool,
                ok=use.state == "done",
                duration_ms=use.ms + self._waited,
                truncated=None if complete else True,
            )
        )
        return bench.update(use._replace(result=content))

    def check(self, use: Use) -> None:
        """Raises TurnFailed if the tool has failed, and the policy is to end the turn."""
        if self._has_failed and self._options.tool_policy == "abort":
            raise TurnFailed("tool_failed", f"The tool {use.name} failed: {use.result}")

    def _with_policy(self, tool: Tool) -> Tool:
        """The same, and what happens after a failure. A time-out is no failure."""
        policy = self._options.tool_policy
        tries = MAX_RUNS if policy == "retry" and tool.idempotent else 1

        async def run(arguments: Arguments, visitor: Visitor, key: str) -> Outcome:
            outcome, attempt = await tool.run(arguments, visitor, key), 1
            while outcome.state == "failed" and attempt < tries:
                self._write(Policy(tool.name, "retry", "failed", attempt))
                outcome, attempt = await tool.run(arguments, visitor, key), attempt + 1
            if outcome.state == "failed":
                self._has_failed = True
                decision = "abort" if policy == "abort" else "skip"
                self._write(Policy(tool.name, decision, "failed", attempt))
            return outcome

        return tool._replace(run=run)

    async def _ask(self, use: Use) -> bool:
        assert self._deps.approve
        started = self._deps.clock.monotonic()
        approved = await self._deps.approve(use, self.action.input)
        self._waited = round((self._deps.clock.monotonic() - started) * 1000)
        self._write(Approval(use.name, approved))
        return approved


def carried_out(bench: Workbench) -> str:
    """Sentences about the writes that were carried out, for certain or perhaps; "" without one.

    The conversation keeps them even if the turn has no answer.
    """
    writes = {tool.name for tool in bench.tools.values() if tool.effect == "write"}
    ended = (use for use in settled(bench.uses) if use.state in ("done", "unsure"))
    return "\n".join(outcome_sentence(use.card, use.state) for use in ended if use.name in writes)


def capped(text: str, limit: int) -> tuple[str, bool]:
    """Returns the text cut to `limit` bytes of UTF-8, and whether it is complete."""
    # Only the needed part is encoded, because a result may have 100 MB.
    encoded = text[: limit + 1].encode("utf-8", "replace")
    if len(encoded) <= limit and len(text) <= limit:
        return encoded.decode(), True
    return (
        f"{encoded[:limit].decode('utf-8', 'ignore')}\n[cut: {len(text)} characters in all]",
        False,
    )
