"""Makes cases of the stored questions whose cited pages have changed since their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.gaps import MAX_MESSAGES, cited_pages, newest_chats
from kefu.bootstrap.learnt_file import open_learnt_file
from kefu.bootstrap.stores import open_chats
from kefu.evaluation.cases import Case, CaseQuestion, Expected, StoredAnswer, short
from kefu.evaluation.tool_fields import EVERY_TOOL
from kefu.knowledge.gaps import same_terms
from kefu.knowledge.sources import parted
from kefu.sessions.store.model import CallRecord, StoredMessage
from kefu.settings import Settings
from kefu.stores.sqlite.knowledge.changes import changes
from kefu.tools.tool import Outcome

_HISTORY_MESSAGES = 10
"""Messages before a question that are sent with it."""

_NO_TOOLS = {EVERY_TOOL: Outcome("Not available in this test.", "failed")}


async def changed_cases(settings: Settings) -> list[Case]:
    """A case for each question of a visitor that cited a page whose text has changed, or that is
    gone. Of first questions with the same terms only the newest is a case.

    An answer that refuses fails, because the question had an answer. Raises OSError and ValueError
    for a file or a store that cannot be used, and StoreUnavailable.
    """
    clock, found = SystemClock(), dict[object, Case]()
    with closing(open_learnt_file(settings.knowledge)) as pages:
        languages = pages.languages
    changed = changes(Path(settings.knowledge))
    plain_presets = [name for name, one in settings.presets.items() if not one.origins]
    async with open_chats(settings, clock) as store:
        async for session in newest_chats(store, clock.now()):
            messages = await store.messages(session.id, limit=MAX_MESSAGES, now=clock.now())
            calls = await store.calls(session.id)
            preset = session.config_id if session.config_id in plain_presets else ""
            for case in _cases(messages, calls, changed, preset):
                question = case.questions[0].ask
                is_first = case.stored and not case.stored.history
                key = same_terms(question, languages) if is_first else (session.id, question)
                found.setdefault(key, case)
    return list(found.values())


def _cases(
    messages: Sequence[StoredMessage],
    calls: Sequence[CallRecord],
    changed: Mapping[str, float],
    preset: str,
) -> Iterator[Case]:
    """The cases of a chat, newest first."""
    answers = {one.reply_to: one for one in messages if one.reply_to and one.status == "ok"}
    for number, asked in reversed([*enumerate(messages)]):
        answer = answers.get(asked.id)
        if not answer or asked.role != "user":
            continue
        cited = cited_pages(call for call in calls if call.message_id == asked.id)
        if any(changed.get(page, 0.0) > answer.created_at for page in cited):
            stored = StoredAnswer(parted(answer.content)[0], _history(messages[:number]), preset)
            question = CaseQuestion(asked.content, Expected(refuses=False), _NO_TOOLS)
            yield Case(short(asked.content), [question], stored=stored)


def _history(messages: Sequence[StoredMessage]) -> list[Mapping[str, str]]:
    complete = [one for one in messages if one.status == "ok" and not one.operator]
    return [
        {"role": one.role, "content": parted(one.content)[0] if one.reply_to else one.content}
        for one in complete[-_HISTORY_MESSAGES:]
    ]
