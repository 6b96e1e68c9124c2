"""`/admin/api/answers`: an operator writes, edits and withdraws answers for all visitors (G31)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fastapi import APIRouter, Depends, Request

from kefu.errors import InvalidRequest, NotFound
from kefu.knowledge.personal import Mark, personal_marks
from kefu.sessions.people.answers import cited_as, draft_of
from kefu.sessions.store.answers import MAX_ANSWERS, WrittenAnswer
from kefu.sessions.store.model import SessionId
from kefu.web.admin.panel import Panel, panel_router
from kefu.web.admin.view import Json
from kefu.web.body import JsonBody
from kefu.web.options import BodyLimits
from kefu.web.schemas import AnswerBody

MAX_ROWS = 100
"""Answers of one page of the list."""

DRAFT_MESSAGES = 200
"""The newest messages of a chat, in which the talk with a person is searched."""

_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")


def answers_routes(panel: Panel) -> APIRouter:
    router = panel_router(panel, "/answers")
    limits = BodyLimits(65536, 2, panel.runtime.options.body.seconds)
    body = Depends(JsonBody(AnswerBody, limits).read)
    _add_draft(router, panel)

    @router.get("")
    async def answers(request: Request) -> Json:
        query = request.query_params
        chat, cursor = query.get("session_id", ""), query.get("cursor", "")
        stored = await _stored(panel, request)
        stored = [one for one in stored if not chat or one.session_id == chat]
        rest = [one for one in stored if _place(one) > cursor] if cursor else stored
        rows = rest[:MAX_ROWS]
        panel.audit(request, "read answers")
        more = _place(rows[-1]) if len(rest) > MAX_ROWS else None
        return {"answers": [_shown(one) for one in rows], "cursor": more, "count": len(stored)}

    @router.post("/marks")
    async def marks(request: Request, written: AnswerBody = body) -> Json:
        """The parts of a draft that may name a person, before it is saved."""
        await _site(panel, request, written)
        return {"marks": _as_json(await _marks(panel, written))}

    @router.post("")
    async def write(request: Request, written: AnswerBody = body) -> Json:
        return await _save(panel, request, panel.nonce(), written)

    @router.put("/{id}")
    async def edit(request: Request, written: AnswerBody = body) -> Json:
        """Replace an answer, or write one with an id of the client, which may be sent again."""
        id = request.path_params["id"]
        if not _ID.fullmatch(id):
            raise InvalidRequest("id: 8 to 64 letters, digits, - and _.", param="id")
        return await _save(panel, request, id, written)

    @router.get("/{id}")
    async def answer(request: Request) -> Json:
        panel.audit(request, "read answers")
        return _shown(await _one(panel, request))

    @router.delete("/{id}", status_code=204)
    async def withdraw(request: Request) -> None:
        if panel.site_of(request):
            await _one(panel, request)
        await panel.answers().withdraw_answer(request.path_params["id"])
        panel.answers_changed()
        panel.audit(request, "withdraw answer")

    return router


def _add_draft(router: APIRouter, panel: Panel) -> None:
    @router.get("/draft")
    async def draft(request: Request) -> Json:
        """An answer made from the last talk of a person in a chat, with its marks. Saves nothing.

        Raises NotFound if nobody has written in the chat.
        """
        name, store = SessionId(request.query_params.get("session_id", "")), panel.stored_chats()
        if site := panel.site_of(request):
            await panel.check_chat(name, site)
        messages = await store.messages(name, limit=DRAFT_MESSAGES, now=panel.clock.now())
        made = draft_of(messages, await store.contacts_of(name))
        if made is None:
            raise NotFound("No person has written in this chat.")
        panel.audit(request, "read", name)
        fields = {one: getattr(made, one) for one in ("question", "text", "author", "session_id")}
        return {**fields, "marks": _as_json(await _marks(panel, made))}


async def _stored(panel: Panel, request: Request) -> Sequence[WrittenAnswer]:
    """The answers of the site of the sign-in; all for a sign-in to the service."""
    site = panel.site_of(request)
    return [one for one in await panel.answers().answers() if not site or one.site == site]


async def _one(panel: Panel, request: Request) -> WrittenAnswer:
    id = request.path_params["id"]
    found = next((one for one in await _stored(panel, request) if one.id == id), None)
    if found is None:
        raise NotFound("There is no such answer.")
    return found


async def _save(panel: Panel, request: Request, id: str, written: AnswerBody) -> Json:
    """Save an answer. Raises InvalidRequest while it may name a person and nobody has reviewed it.

    An edited answer stays the one of its chat.
    """
    found = await _marks(panel, written)
    if found and not written.reviewed:
        count = sum(map(len, found.values()))
        raise InvalidRequest(
            f"The answer may name a person, in {count} places. Read the marks, and save it with"
            " reviewed.",
            param="reviewed",
        )
    stored, hide = await panel.answers().answers(), panel.runtime.log.secrets.hide
    now = round(panel.clock.now(), 3)  # as exported files have it
    before = next((one for one in stored if one.id == id), None)
    site = await _site(panel, request, written)
    if before and panel.site_of(request) not in ("", before.site):
        raise NotFound("There is no such answer.")
    if before is None and len(stored) >= MAX_ANSWERS:
        raise InvalidRequest(f"There are {MAX_ANSWERS} answers. Withdraw some.", param="question")
    answer = WrittenAnswer(
        id,
        " ".join(hide(written.question).split()),
        hide(written.text).strip(),
        " ".join(hide(written.author).split()),
        written.page,
        before.session_id if before else written.session_id,
        before.site if before else site,
        created_at=before.created_at if before else now,
        updated_at=now,
    )
    await panel.answers().save_answer(answer)
    panel.answers_changed()
    panel.audit(request, "edit answer" if before else "write answer", answer.session_id)
    return _shown(answer)


async def _site(panel: Panel, request: Request, written: AnswerBody) -> str:
    """The site of the sign-in, else of the chat from which an answer is made, else the named one.

    Raises InvalidRequest for an unknown site, and SessionNotFound for a chat of another site.
    """
    if not (sites := panel.runtime.sites):
        return ""
    if own := panel.site_of(request):
        if written.session_id:
            await panel.check_chat(written.session_id, own)
        return own
    if written.session_id:
        chat = await panel.stored_chats().session(SessionId(written.session_id))
        if chat:
            return sites.configs.site_of(chat.config_id)
    if written.site and written.site not in sites.by_name:
        raise InvalidRequest("site: there is no such site.", param="site")
    return written.site


async def _marks(panel: Panel, written: AnswerBody | WrittenAnswer) -> dict[str, list[Mark]]:
    """The marks of each field that has any."""
    known = list[str]()
    if name := written.session_id:
        chat = await panel.stored_chats().session(SessionId(name))
        known += [chat.user] if chat else []
        for one in await panel.stored_chats().contacts_of(name):
            known += [one.name, one.email]
    fields = {"question": written.question, "text": written.text}
    found = {name: personal_marks(text, known) for name, text in fields.items()}
    return {name: marks for name, marks in found.items() if marks}


def _as_json(found: dict[str, list[Mark]]) -> list[Json]:
    return [{"field": name, **one._asdict()} for name, marks in found.items() for one in marks]


def _shown(answer: WrittenAnswer) -> Json:
    return {**answer._asdict(), "cited_as": cited_as(answer), "case": _case(answer)}


def _case(answer: WrittenAnswer) -> Json:
    """The case of an answer for `kefu test`: a line of a file of questions."""
    right = f"Agrees with this right answer: {answer.text}"
    return {"ask": answer.question, "expect": {"cites": True, "judge": right}}


def _place(answer: WrittenAnswer) -> str:
    """The place of an answer in the list, which is sorted by it: newest first."""
    return f"{1e11 - answer.updated_at:020.6f}~{answer.id}"
