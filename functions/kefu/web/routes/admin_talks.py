"""`/admin/api/sessions/{id}/…`: an operator takes over a chat, writes in it, and hands it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Depends, Request

from kefu.errors import KefuError, NotFound
from kefu.sessions.people.take_over import change_state, say
from kefu.sessions.store.attendance import Attendance, OperatorMessage
from kefu.sessions.store.contacts import mail_state
from kefu.sessions.store.model import SessionId
from kefu.web.admin.panel import Panel, panel_router
from kefu.web.admin.view import Json, message
from kefu.web.body import JsonBody
from kefu.web.options import BodyLimits
from kefu.web.routes.sessions import AFTER
from kefu.web.schemas import LineBody, StateBody, TranslationBody, WritingBody

if TYPE_CHECKING:
    from kefu.chat.translation import Translator

NEWEST_MESSAGES = 100
"""The newest messages, among which new messages are searched."""

PAGE_SECONDS = 75.0
"""A page that has asked in this time is open. Browsers let a hidden page ask once a minute."""

SAMPLES = 3
"""The visitor's newest messages that show their language."""


def talk_routes(panel: Panel) -> APIRouter:
    limits = BodyLimits(32768, 2, panel.runtime.options.body.seconds)
    router = panel_router(panel, "/sessions/{session_id}")
    _add_attendance(router, panel, limits)
    _add_lines(router, panel, limits)
    _add_translation(router, panel, limits)
    return router


def _add_attendance(router: APIRouter, panel: Panel, limits: BodyLimits) -> None:
    hide = panel.runtime.log.secrets.hide
    state_body = Depends(JsonBody(StateBody, limits).read)

    @router.get("/talk")
    async def talk(request: Request, after: int | None = AFTER) -> Json:
        """The attendance, and the messages after `after`: the panel asks every few seconds."""
        store, name = panel.stored_chats(), SessionId(request.path_params["session_id"])
        session = await panel.stored_chat(name)
        newest = await store.messages(name, limit=NEWEST_MESSAGES, now=panel.clock.now())
        shown = [message(one) for one in newest if one.id > (after or 0)]
        mail = mail_state(await store.contacts_of(name)) if panel.mails else None
        seen_at = await panel.runtime.admission.last_poll(name)
        return {
            "attendance": session.attendance._asdict(),
            "messages": shown,
            "mail": mail,
            "page": {
                "seen_at": seen_at,
                "is_open": panel.clock.now() - (seen_at or 0.0) < PAGE_SECONDS,
            },
        }

    @router.post("/state")
    async def state(request: Request, wanted: StateBody = state_body) -> Json:
        name = request.path_params["session_id"]
        operator = hide(panel.operator_of(request, wanted.operator))
        change = Attendance(wanted.state, operator, panel.clock.now())
        found = await change_state(panel.stored_chats(), name, change, wanted.taken_from)
        if found.state == "person":
            panel.runtime.running.take_over(name)
        panel.audit(request, f"state {found.state}", name)
        return found._asdict()


def _add_lines(router: APIRouter, panel: Panel, limits: BodyLimits) -> None:
    hide = panel.runtime.log.secrets.hide
    line_body = Depends(JsonBody(LineBody, limits).read)
    writing_body = Depends(JsonBody(WritingBody, limits).read)

    @router.post("/lines")
    async def lines(request: Request, written: LineBody = line_body) -> Json:
        """Save a line. `trouble`: why it was sent as the operator wrote it, not translated."""
        name = SessionId(request.path_params["session_id"])
        operator = hide(panel.operator_of(request, written.operator))
        line = OperatorMessage(hide(written.text), operator, written.client_message_id)
        trouble = ""
        if written.translate and panel.translators and line.text.strip():
            line, trouble = await _translated(panel, name, line)
        saved = await say(panel.stored_chats(), name, line, panel.clock.now())
        panel.runtime.running.write(name, operator, ends=True)
        if panel.mails:
            await panel.mails.written(name, saved)
        panel.audit(request, "reply", name)
        return {"id": saved, "trouble": trouble}

    @router.post("/writing", status_code=204)
    async def writing(request: Request, written: WritingBody = writing_body) -> None:
        """The panel repeats it while the operator writes. It reads no chat: no audit line."""
        operator = hide(panel.operator_of(request, written.operator))
        panel.runtime.running.write(request.path_params["session_id"], operator)


def _add_translation(router: APIRouter, panel: Panel, limits: BodyLimits) -> None:
    hide = panel.runtime.log.secrets.hide
    translation_body = Depends(JsonBody(TranslationBody, limits).read)

    @router.post("/translation")
    async def translation(request: Request, wanted: TranslationBody = translation_body) -> Json:
        """A text of the chat in the operator's language."""
        name = SessionId(request.path_params["session_id"])
        translator, _ = await _of_chat(panel, name)
        return {"text": hide(await translator.into(wanted.language, hide(wanted.text), name))}


async def _of_chat(panel: Panel, name: SessionId) -> tuple[Translator, Attendance]:
    """The translator of a chat's site, and who has the chat. Raises NotFound, SessionNotFound."""
    if panel.translators is None:
        raise NotFound("This server does not translate: [contact] translate is off.")
    session = await panel.stored_chat(name)
    return panel.translators(session.config_id), session.attendance


async def _translated(
    panel: Panel, name: SessionId, line: OperatorMessage
) -> tuple[OperatorMessage, str]:
    """The line in the visitor's language, or as it is and why."""
    translator, (state, operator, _) = await _of_chat(panel, name)
    if (state, operator) != ("person", line.operator):
        return line, ""  # it is refused
    store, now = panel.stored_chats(), panel.clock.now()
    newest = await store.messages(name, limit=NEWEST_MESSAGES, now=now)
    samples = [one.content for one in newest if one.role == "user"][-SAMPLES:]
    if not samples:
        return line, "The visitor has written nothing."
    try:
        text = panel.runtime.log.secrets.hide(await translator.like(samples, line.text, name))
    except KefuError as error:
        return line, str(error)
    is_same = text.strip() == line.text.strip()
    return (line if is_same else line._replace(text=text, original=line.text.strip())), ""
