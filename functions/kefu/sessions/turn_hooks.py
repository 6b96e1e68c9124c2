"""Runs the hooks at the begin and at the end of a turn."""

from __future__ import annotations

import asyncio

from kefu.errors import InvalidRequest
from kefu.sessions.hooks.hook import EndedTurn, Visit
from kefu.sessions.hooks.steps import Preprocessed
from kefu.sessions.model import StoredMessage, TurnOutcome
from kefu.sessions.service import SessionDeps


async def preprocessed(deps: SessionDeps, text: str, visit: Visit) -> Preprocessed:
    """The text to save (P5), and the reply of a hook. Raises InvalidRequest for an empty text."""
    process = deps.persistence.processor.preprocess_user_message
    done = Preprocessed(process(text), None)
    if done.text:
        done = await deps.hooks.user_message(done.text, visit, process)
    # The model gets the saved text, so secrets are replaced in both.
    done = done._replace(text=deps.persistence.recording.redact(done.text))
    if not done.text:
        raise InvalidRequest("message: must not be empty.", param="message")
    return done


def begin_after(
    deps: SessionDeps, visit: Visit, asked: StoredMessage, ended: TurnOutcome, answered: bool | None
) -> asyncio.Task[None] | None:
    """Start the hooks that follow the outcome of a turn."""
    turn = EndedTurn(
        visit.session,
        asked.id,
        asked.content,
        ended.text,
        ended.status,
        deps.persistence.clock.now(),
        visit.profile,
        visit.user,
        answered,
    )

    async def load() -> EndedTurn:
        return turn

    return deps.hooks.begin("after", load)
