"""Shows the calls of tools to clients: as events of a stream, and as fields of stored messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from kefu.chat.state import ToolStep
from kefu.relay.chunks import chunk_of
from kefu.relay.sse import encode

if TYPE_CHECKING:
    from kefu.auth.identity import SiteUser
    from kefu.chat.conversation import Offer
    from kefu.sessions.store.model import StoredMessage
    from kefu.tools.toolbox import Toolbox
    from kefu.tools.use import State, Use
    from kefu.web.running import ChatRuntime
    from kefu.web.schemas import ShownApproval, ShownStep, StepState

STATES: Mapping[State, StepState] = {
    "running": "input-available",
    "sending": "input-available",
    "asked": "approval-requested",
    "denied": "output-denied",
    "done": "output-available",
    "failed": "output-error",
    "unsure": "output-unsure",
}
"""The names of the AI SDK."""

ASK_PERSON = "ask_person"


def step_events(event: ToolStep) -> bytes:
    """The events for a call: its state, and the card if it waits for a click."""
    use = event.use
    step = shown_step(use)
    if event.for_page:
        step["arguments"] = use.given
    events = encode(_event("kefu.step", step=step))
    if use.state == "asked":
        events += encode(_event("kefu.approval", approval=_card(use, event.question_id)))
    return events


def _event(name: str, **fields: object) -> str:
    # Without choices like a usage event, and without a name: strict clients refuse named events.
    return chunk_of({"object": name, "choices": [], **fields}).text


def shown_step(use: Use) -> ShownStep:
    shown: ShownStep = {
        "tool_call_id": use.id,
        "tool": use.name,
        "title": use.title,
        "state": STATES[use.state],
    }
    if use.name == ASK_PERSON and use.state == "done":
        # Imported here, because few answers offer a person.
        from kefu.knowledge.citations import CitationFilter

        # The model's words: the operator who gets them must find no foreign link in them.
        links = CitationFilter((), cites=False)
        shown["summary"] = links.feed(str(use.given.get("summary", ""))) + links.close()
    return shown


def _card(use: Use, question_id: int) -> ShownApproval:
    return {
        "id": use.approval_id(question_id),
        "tool_call_id": use.id,
        "tool": use.name,
        "text": use.card,
        "expires": use.expires,
    }


def add_steps(
    shown: Sequence[dict[str, object]],
    page: Sequence[StoredMessage],
    now: float,
    *,
    has_person: bool,
) -> None:
    """Add the calls and the cards to the shown answers. `page`: the stored messages.

    `has_person`: a person answers the chat, so no card can be clicked.
    """
    if not any(one.steps for one in page):
        return
    from kefu.tools.use import stored_uses

    by_id = {one.id: one for one in page}
    for message in shown:
        stored = by_id.get(int(str(message["id"])))
        if not stored or stored.role != "assistant" or not stored.steps:
            continue
        uses = stored_uses(stored.steps)
        message["steps"] = [shown_step(one) for one in uses]
        if asked := next((one for one in uses if one.state == "asked"), None):
            message["approval"] = _stored_card(
                asked, stored.id - 1, page, inf if has_person else now
            )


def _stored_card(
    use: Use, question_id: int, page: Sequence[StoredMessage], now: float
) -> ShownApproval:
    from kefu.sessions.turn.tools import may_be_sent
    from kefu.tools.card import YES

    card = _card(use, question_id)
    questions = [one for one in page if one.role == "user" and one.id > question_id]
    click = next((one for one in questions if one.client_message_id == card["id"]), None)
    later = [one for one in questions if one is not click]
    if click and may_be_sent(click):
        card["state"] = "approved" if click.content.startswith(YES) else "denied"
    elif min([now, *(one.created_at for one in later)]) > use.expires:
        card["state"] = "expired"
    else:
        card["state"] = "denied" if later else "requested"
    return card


def offering(
    runtime: ChatRuntime,
    toolbox: Toolbox,
    names: Sequence[str] | None,
    user: SiteUser | None,
    language: str,
) -> Offer:
    """Offers the tools that read to a conversation that is not stored."""
    from kefu.chat.steps import reads_of
    from kefu.tools.tool import Visitor

    visitor = Visitor(language=language)
    if user:
        visitor = visitor._replace(user=user.name, claims=user.profile)
    return reads_of(toolbox, names, visitor, runtime.services.chat.clock, runtime.log.secrets.hide)
