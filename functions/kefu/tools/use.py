"""Defines one call of a tool in an answer, and how the calls of a turn are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kefu.messages import APPROVAL

State = Literal["running", "asked", "denied", "sending", "done", "failed", "unsure"]
"""The state of a call.

- `running`: a read that has no result yet; never stored.
- `asked`: waits for the visitor's click, and was not sent.
- `denied`: the visitor clicked No.
- `sending`: the visitor has clicked. Found after a crash, it may have been sent: `unsure`.
- `done`, `failed`: certain.
- `unsure`: a write that may have been carried out.
"""

STORED_RESULT = 2_000
"""Characters of a result that are stored with the chat, for later prompts."""
STORED_STEPS = 16_000
"""Characters of all calls of a turn together, as they are stored."""
CUT = " […]"
"""Follows a text that was cut."""


def fields_in(text: str) -> dict[str, Any]:
    """The fields of a JSON object; none for any other text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class Use(NamedTuple):
    """One call of a tool."""

    id: str
    """`s` and the step, `c` and the number in the step: unique in its turn."""
    name: str
    arguments: str
    """JSON, as the model wrote it."""
    step: int = 0
    """Number of the request to the model that contained the call, from 0."""
    at: int = 0
    """Length of the answer's text before the call, in characters."""
    state: State = "running"
    result: str = ""
    ms: int = 0
    """Milliseconds that the call, or the preview of its card, took; 0: nothing was sent."""
    title: str = ""
    """What the visitor reads about it."""
    card: str = ""
    """The question to the visitor; "" for a call without a card."""
    expires: int = 0
    """Unix time until which the visitor may click."""

    def call_id(self, question_id: int) -> str:
        """The id in requests to the model, of 9 letters and digits, as Mistral wants it."""
        return f"q{question_id % 10_000:04}{self.id}"

    @property
    def given(self) -> dict[str, Any]:
        """The arguments by name; none if they are no JSON object."""
        return fields_in(self.arguments)

    @property
    def digest(self) -> str:
        """Identifies tool and arguments, whatever the order of the arguments."""
        try:
            arguments = json.dumps(json.loads(self.arguments or "{}"), sort_keys=True)
        except (ValueError, RecursionError):
            arguments = self.arguments
        return hashlib.sha256(
            f"{self.name}\n{arguments}".encode(errors="backslashreplace")
        ).hexdigest()[:32]

    @property
    def was_sent(self) -> bool:
        """Whether the result may contain text of the tool's service, such as that of an error."""
        return self.state in ("done", "unsure") or self.ms > 0

    def approval_id(self, question_id: int) -> str:
        """The `client_message_id` of the click; `question_id` is that of the asking turn."""
        return f"{APPROVAL}{question_id}-{self.digest}"


def asking_turn(approval_id: str) -> int:
    """The id of the question whose answer has the card; 0 if this is no `approval_id`."""
    number = approval_id.removeprefix(APPROVAL).partition("-")[0]
    return int(number) if approval_id.startswith(APPROVAL) and number.isdecimal() else 0


_FIELDS = Use._field_defaults


def stored(uses: Sequence[Use]) -> str:
    """The calls as JSON, with shortened results; "" without calls."""
    if not uses:
        return ""
    room, kept = STORED_RESULT, list(uses)
    while len(text := _json(kept, room)) > STORED_STEPS:
        if room > 2 * len(CUT):
            room //= 2
        else:  # the oldest call that nobody has approved or will approve
            at = next((at for at, one in enumerate(kept) if not one.card), len(kept))
            if at == len(kept):
                break
            del kept[at]
    return text


def settled(uses: Sequence[Use]) -> list[Use]:
    """The calls at the end of their turn: none is running any more."""
    ends: Mapping[State, State] = {"running": "failed", "sending": "unsure"}
    return [
        one._replace(state=ends[one.state], result=one.result or "It was stopped.")
        if one.state in ends
        else one
        for one in uses
    ]


def write_in(uses: Sequence[Use]) -> Use | None:
    """The first call with a card that was carried out, or perhaps was."""
    return next((one for one in uses if one.card and one.state in ("done", "unsure")), None)


def _json(uses: Sequence[Use], room: int) -> str:
    fields = [
        {name: value for name, value in use._asdict().items() if value != _FIELDS.get(name)}
        for use in (one._replace(result=shortened(one.result, room)) for one in uses)
    ]
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def shortened(text: str, room: int) -> str:
    """The text, cut to `room` characters with a note."""
    return text if len(text) <= room else f"{text[: max(0, room - len(CUT))]}{CUT}"


def stored_uses(steps: str) -> list[Use]:
    """The calls of a stored turn. Fields of a later version are ignored."""
    return [_use(one) for one in json.loads(steps)] if steps else []


def _use(fields: Mapping[str, Any]) -> Use:
    return Use(**{name: value for name, value in fields.items() if name in Use._fields})
