"""Checks and runs the calls of one answer, within their limits of number and time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import ceil
from typing import Literal, NamedTuple

from kefu.errors import KefuError, SessionBusy, UpstreamUnavailable
from kefu.messages import Message, ToolCall
from kefu.tools.card import card_text
from kefu.tools.schema import problems
from kefu.tools.tool import Arguments, Outcome, Tool, Visitor, bound, definition, in_language
from kefu.tools.use import Use, shortened, write_in

APPROVAL_SECONDS = 600
"""Seconds in which a visitor can click on a card."""
MAX_ARGUMENTS = 4_000
"""Characters of the arguments of a call in a chat of the service."""
REPEATED_CALLS, TOO_OFTEN = 3, 5
"""Identical calls in steps that follow each other: from the third on none is run; after the fifth
no tool is.
"""

NO_NAME = "unknown"
"""Stands in place of a text that the model calls, but that can be no tool's name."""
_NAME = re.compile("[A-Za-z0-9_-]{1,64}")
NOT_KNOWN = "It is not known whether this was carried out."
_NOT_ASKED = "Not run. Ask for one change at a time: call this again after the visitor's answer."


class Limits(NamedTuple):
    """The limits of one answer."""

    steps: int = 6
    """Requests to the model that may call tools. One more without tools follows."""
    calls: int = 4
    """Calls of one step, which run side by side."""
    call_seconds: float = 10.0
    seconds: float = 25.0
    """Seconds of tools in all."""
    result: int = 8_000
    """Characters of a result, of which the rest is cut."""
    arguments: int = MAX_ARGUMENTS
    """Characters of the arguments of a call."""


class Surroundings(NamedTuple):
    """What an answer offers to its tools."""

    now: Callable[[], float]
    """Unix time."""
    monotonic: Callable[[], float]
    seconds_left: Callable[[], float | None] = lambda: None
    """Seconds until the tools must end, for an answer with a deadline."""
    admit: Callable[[], Awaitable[None]] | None = None
    """Counts a call in the visitor's limits. Raises RateLimited."""
    admit_card: Callable[[], Awaitable[None]] | None = None
    save: Callable[[], Awaitable[bool]] | None = None
    """Saves `uses`; False if the answer was lost to another request. None: nothing is stored, so
    no call that needs a card is possible.
    """
    redact: Callable[[str], str] = str
    """Replaces the service's secrets in a result."""
    ask: Callable[[Use], Awaitable[bool]] | None = None
    """Asks a user who waits for the answer, in place of a card."""
    asks_always: bool = False
    """Whether each call waits for an approval, also a read."""


class Workbench:
    """The tools of one answer, and its calls so far."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        visitor: Visitor,
        around: Surroundings,
        *,
        limits: Limits | None = None,
        question_id: int = 0,
        earlier: Iterable[Use] = (),
    ) -> None:
        """`tools`: those that this visitor may use. `earlier`: the calls of earlier turns in the
        prompt. `question_id`: the id of the stored question.
        """
        self.tools = tools
        self.visitor = visitor
        self.around = around
        self.limits = limits or Limits()
        self.question_id = question_id
        self.uses: list[Use] = []
        self.approved: Use | None = None
        """The call that this request approves, as an earlier try has left it."""
        self.step = 0
        """The number of the current request to the model."""
        self.is_last = False
        """Whether the model may call no tool any more."""
        self._said: dict[int, Message] = {}
        self.repeats: Counter[str] = Counter()
        """How often each call of the last step was made, by its digest: in it, and in the steps
        just before it.
        """
        self._earlier = list(earlier)
        self._spent = 0.0

    @property
    def fields(self) -> dict[str, object]:
        """The fields of the next request to the model."""
        if not self.tools:
            return {}
        defined: dict[str, object] = {"tools": [definition(one) for one in self.tools.values()]}
        return {**defined, "tool_choice": "none"} if self.is_last else defined

    @property
    def has_time(self) -> bool:
        """Whether the answer has time left for one more call."""
        return self._seconds() > 0

    @property
    def links(self) -> Sequence[str]:
        """The addresses that the answer may link to because of its calls."""
        names = {one.name for one in (*self._earlier, *self.uses)}
        known = (self.tools.get(name) for name in names)
        return [link for tool in known if tool for link in tool.links]

    @property
    def write(self) -> Use | None:
        """The call that the visitor has approved, after it was sent."""
        return write_in(self.uses)

    def said(self, message: Message) -> None:
        """Note what the model wrote before the calls of the current step."""
        self._said[self.step] = message

    def messages(self) -> list[Message]:
        """The calls and their results, for the next request to the model."""
        found: list[Message] = []
        for step in sorted({one.step for one in self.uses}):
            uses = [one for one in self.uses if one.step == step]
            said = self._said.get(step, Message("assistant", ""))
            found += as_messages(uses, self.question_id, said)
        return found

    def take(self, calls: Sequence[tuple[str, str]], at: int) -> list[Use]:
        """Add the calls of a step, each a name and arguments; `at`: the answer's length.

        A call that may not run has the state `failed`, and the reason as its result. A call that
        needs a card has the state `asked`, but no card yet.
        """
        taken, has_card = list[Use](), False
        before, self.repeats = self.repeats, Counter()
        for number, (name, arguments) in enumerate(calls):
            made = Use(f"s{self.step}c{number}", name, arguments or "{}", self.step, at)
            digest = made.digest
            self.repeats[digest] = (self.repeats[digest] or before[digest]) + 1
            made = self._judged(made, number)
            if made.state == "asked":
                if has_card:
                    made = made._replace(state="failed", result=_NOT_ASKED)
                has_card = True
            taken.append(made)
        self.is_last = self.is_last or max(self.repeats.values(), default=0) >= TOO_OFTEN
        self.uses += taken
        return taken

    def _judged(self, use: Use, number: int) -> Use:
        tool = self.tools.get(use.name)
        if tool is None:
            said, names = use.name[:64], ", ".join(self.tools)
            if not _NAME.fullmatch(use.name):  # visitors see the name, providers refuse this one
                use = use._replace(name=NO_NAME)
            return _refused(use, f"There is no tool {said!r}. There are: {names}.")
        use = use._replace(title=in_language(tool.title, self.visitor.language) or tool.name)
        reason = self._reason(tool, use, number)
        if reason or not (self.around.asks_always or self._needs_click(tool)):
            return _refused(use, reason) if reason else use
        if self.around.save or self.around.ask:
            return use._replace(state="asked")
        return _refused(use, "Not possible here: this needs the visitor's approval.")

    def _reason(self, tool: Tool, use: Use, number: int) -> str:
        """Why a call is not run; "" if it may be."""
        if number >= self.limits.calls:
            return f"Not run: at most {self.limits.calls} calls at a time."
        if problem := self._problem(tool, use):
            return problem
        is_repeated = self.repeats[use.digest] >= REPEATED_CALLS
        return "You made this call before: its result will not change." if is_repeated else ""

    def _problem(self, tool: Tool, use: Use) -> str:
        if len(use.arguments) > self.limits.arguments:
            return f"The arguments are longer than {self.limits.arguments} characters."
        try:
            given = json.loads(use.arguments)
        except (ValueError, RecursionError):
            return "The arguments are not valid JSON."
        if not isinstance(given, dict):
            return "The arguments must be a JSON object."
        return " ".join(problems(tool.parameters, given)[:5])

    def _needs_click(self, tool: Tool) -> bool:
        """Whether a call waits for a click: each write, and a read at another host after a result.

        A text in a result could make the model send what other results contain to that host.
        """
        if tool.effect == "write":
            return True
        return bool(tool.host) and any(
            name not in tool.after and self._is_elsewhere(name, tool.host)
            for name in self._told_by()
        )

    def _told_by(self) -> set[str]:
        """The tools whose services have words in the prompt: results, errors, values of cards."""
        names = set[str]()
        for use in (*self._earlier, *self.uses):
            if use.was_sent:
                names.add(use.name)
            if (use.was_sent or use.card) and (tool := self.tools.get(use.name)):
                names |= {tool.preview} - {""}
        return names

    def _is_elsewhere(self, name: str, host: str) -> bool:
        """Whether a tool is at another host; so are tools that are not offered any more."""
        tool = self.tools.get(name)
        return tool is None or not (tool.is_own or tool.host == host)

    async def run(self, use: Use) -> Use:
        """Run a read, or a call that was approved; returns it with its result."""
        key = self._key(use) if use.card else ""
        return self.note(use, *await self._sent(self.tools[use.name], use, key))

    async def _sent(self, tool: Tool, use: Use, key: str) -> tuple[Outcome, float]:
        """Call a tool within all limits; the outcome and its seconds, 0 if nothing was sent."""
        seconds = self._seconds()
        if seconds <= 0:
            return Outcome("Not run: there is no time left for tools.", "failed"), 0
        if self.around.admit:
            try:
                await self.around.admit()
            except KefuError as error:
                return Outcome(f"Not run: {error.message}", "failed"), 0
        started = self.around.monotonic()
        outcome = await self._outcome(tool, use, key, seconds)
        spent = self.around.monotonic() - started
        self._spent += spent
        return outcome, spent

    async def _outcome(self, tool: Tool, use: Use, key: str, seconds: float) -> Outcome:
        lost: Literal["unsure", "failed"] = "unsure" if tool.effect == "write" else "failed"
        given = self._arguments(tool, use)
        running = asyncio.ensure_future(tool.run(given, self.visitor, key))
        try:
            done, _ = await asyncio.wait({running}, timeout=seconds)
        finally:
            if not running.done():  # not waited for: a tool may go on although it is cancelled
                running.cancel()
                running.add_done_callback(lambda task: task.cancelled() or task.exception())
        if not done:
            return Outcome(f"No result within {seconds:.3g} s.", lost)
        try:
            return running.result()
        except asyncio.CancelledError:
            return Outcome("The tool was stopped.", lost)
        except Exception as error:  # noqa: BLE001 - a bug; its text may be secret
            return Outcome(f"The tool failed: {type(error).__name__}.", lost)

    def note(self, use: Use, outcome: Outcome, seconds: float) -> Use:
        """Note the result of a call; returns the call with it."""
        text = shortened(self.around.redact(outcome.text), self.limits.result)
        return self.update(use._replace(state=outcome.state, result=text, ms=ceil(1000 * seconds)))

    def update(self, use: Use) -> Use:
        """Replace the call with the same id."""
        at = next(at for at, one in enumerate(self.uses) if one.id == use.id)
        self.uses[at] = use
        return use

    async def ask(self, use: Use) -> Use:
        """Give a call that needs a click its card; without one it has the state `failed`."""
        tool, preview = self.tools[use.name], ""
        if tool.preview:
            found, spent = await self._previewed(tool, use)
            if found.state != "done":
                return self.note(use, Outcome(f"Not asked: {found.text}", "failed"), spent)
            preview = self.around.redact(found.text)
        try:
            if self.around.admit_card:
                await self.around.admit_card()
            card = card_text(tool, self._arguments(tool, use), preview, self.visitor.language)
        except KefuError as error:
            return self.note(use, Outcome(f"Not asked: {error.message}", "failed"), 0)
        except KeyError as error:
            return self.note(use, Outcome(f"Not asked: there is no {error.args[0]}.", "failed"), 0)
        expires = int(self.around.now()) + APPROVAL_SECONDS
        return self.update(use._replace(card=card, expires=expires))

    async def _previewed(self, tool: Tool, use: Use) -> tuple[Outcome, float]:
        """As `_sent`, for the read tool that has the values of the card."""
        read = self.tools.get(tool.preview)
        if read is None or self._needs_click(read):
            return Outcome(f"{tool.preview} cannot be read now.", "failed"), 0
        given = self._arguments(tool, use)
        known = read.parameters.get("properties")
        names = known if isinstance(known, dict) else {}
        values = {name: value for name, value in given.items() if name in names}
        if found := problems(read.parameters, values):
            return Outcome(found[0], "failed"), 0
        return await self._sent(read, use._replace(arguments=json.dumps(values)), "")

    async def ask_user(self, use: Use) -> Use:
        """Ask a user who waits for the answer, and carry out the call if the answer is yes."""
        assert self.around.ask
        if await self.around.ask(use):
            return await self.run_approved(use)
        return self.update(use._replace(state="denied", result="The user did not allow this call."))

    async def run_approved(self, use: Use) -> Use:
        """Send an approved call, unless an earlier try may have sent it.

        It is saved before and after. Raises SessionBusy if another request has taken the turn.
        """
        if use.state in ("done", "failed", "unsure"):
            return use
        tool, was_sent = self.tools.get(use.name), use.state == "sending"
        if was_sent and not (tool and tool.idempotent and not self._problem(tool, use)):
            return self.note(use, Outcome(NOT_KNOWN, "unsure"), 0)
        if tool is None or self._problem(tool, use):
            return self.note(use, Outcome("The tool is not available any more.", "failed"), 0)
        asked, use = use, self.update(use._replace(state="sending"))
        try:
            await self._saved()
        except BaseException:
            self.update(asked)  # it was not sent
            raise
        use = await self.run(use)
        if was_sent and use.state == "failed":  # the first try may have been carried out
            use = self.update(use._replace(state="unsure", result=f"{use.result} {NOT_KNOWN}"))
        with suppress(UpstreamUnavailable):  # the end of the answer saves it too, with retries
            await self._saved()
        return use

    async def _saved(self) -> None:
        if self.around.save and not await self.around.save():
            raise SessionBusy("Another request is answering this message.", retry_after=3)

    def _seconds(self) -> float:
        left = [self.limits.call_seconds, self.limits.seconds - self._spent]
        if (until := self.around.seconds_left()) is not None:
            left.append(until)
        return min(left)

    def _arguments(self, tool: Tool, use: Use) -> Arguments:
        """The arguments of the model, and those that Kefu sets."""
        given: dict[str, object] = json.loads(use.arguments)
        return {**given, **{name: bound(self.visitor, path) for name, path in tool.bind.items()}}

    def _key(self, use: Use) -> str:
        """The `Idempotency-Key`: the same for each try, and it shows nothing of the chat."""
        name = f"{self.visitor.session}/{self.question_id}/{use.digest}"
        return hashlib.sha256(name.encode()).hexdigest()[:40]


def as_messages(uses: Sequence[Use], question_id: int, said: Message) -> list[Message]:
    """The calls of one step, in the message that the model said before them, and their results."""
    ids = [one.call_id(question_id) for one in uses]
    calls = [ToolCall(id, one.name, _told(one)) for id, one in zip(ids, uses, strict=True)]
    results = [
        Message("tool", one.result, tool_call_id=id) for id, one in zip(ids, uses, strict=True)
    ]
    return [said._replace(tool_calls=tuple(calls)), *results]


def _told(use: Use) -> str:
    """The arguments, in place of those that a provider may refuse with the whole request: `{}`."""
    return use.arguments if isinstance(_parsed(use.arguments), dict) else "{}"


def _parsed(arguments: str) -> object:
    """None for arguments that are too long, or no JSON."""
    try:
        return json.loads(arguments) if len(arguments) <= MAX_ARGUMENTS else None
    except (ValueError, RecursionError):
        return None


def _refused(use: Use, reason: str) -> Use:
    return use._replace(state="failed", result=reason)
