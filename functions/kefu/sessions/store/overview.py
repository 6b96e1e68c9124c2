"""Defines the data of the operator's panel: the list of sessions, sums by day, asked questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from kefu.sessions.store.attendance import State
from kefu.sessions.store.model import Rating, Session, SessionId, Status

ToolFilter = Literal["used", "failed", "declined"]
"""Sessions in which a tool was called, a call failed or may have failed, or a visitor said no."""


SOON = 86400.0
"""Seconds in which a further message of a chat counts as asked again."""

LINE_LENGTH = 100
"""Characters of the line that a row of the list shows."""


class SessionFilter(NamedTuple):
    """A filter for the operator's list of sessions; None and "" match all sessions."""

    since: float | None = None
    until: float | None = None
    """Limits for the visitor's last message: `since <= updated_at < until`."""
    status: Status | None = None
    """Status of the turn that started or ended last."""
    has_error: bool | None = None
    """Whether any turn ended as `failed` or `partial`."""
    state: State | None = None
    """Who answers the chat."""
    rating: Rating | None = None
    """A rating that an answer of the session has."""
    unanswered: bool = False
    """Only sessions with a question that the site's pages did not answer."""
    tool: ToolFilter | None = None
    config_id: str = ""
    user: str = ""
    text: str = ""
    """Words. A session matches if one of its turns contains all words."""


class Overview(NamedTuple):
    """A session as a row of the panel's list."""

    session: Session
    turns: int
    tokens: int
    errors: int
    """Number of turns that ended as `failed` or `partial`; a retried turn may count twice."""
    status: Status
    unanswered: int = 0
    """Number of questions that the site's pages did not answer."""
    ups: int = 0
    downs: int = 0
    """Numbers of answers with these ratings."""
    comment: str = ""
    """The comment on the newest answer with a comment."""
    tool_calls: int = 0
    """Number of calls of tools, with those that waited for a click."""
    tool_failures: int = 0
    """Number of calls that failed, or of which nobody knows."""
    declined: int = 0
    """Number of calls that the visitor declined."""
    line: str = ""
    """The newest message of the visitor or line of an operator, its first `LINE_LENGTH` characters.
    Of a line that was translated, it is the original.
    Empty on DynamoDB for a chat that was last used with an earlier version."""
    line_by: str = ""
    """The operator who wrote `line`; "" for the visitor."""
    request: str = ""
    """What a visitor who waits wrote in the form, its first `LINE_LENGTH` characters."""


class Page(NamedTuple):
    """A page of the operator's list of sessions."""

    rows: Sequence[Overview]
    cursor: str | None
    """Cursor of the next page; None on the last page."""
    read: int | None = None
    """The sessions that were read for this page, if no index fits the filter.
    A page without rows but with a cursor may have added sessions to an index."""
    waiting: int = 0
    """The number of turns to be indexed before a search; 0 without an index. The page has no
    rows then, and its cursor repeats the search."""


class Day(NamedTuple):
    """Sums over one UTC day. `date` is like 2026-01-31. Deleted chats stay in the sums.

    Turns count on the day on which they ended, ratings on the day of their answer.
    """

    date: str
    turns: int = 0
    errors: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    chats: int = 0
    """New chats, by the end of their first turn."""
    unanswered: int = 0
    """Questions that the site's pages did not answer."""
    ups: int = 0
    downs: int = 0
    handoffs: int = 0
    """Requests for a person."""
    first_words: int = 0
    """Answers with a first word."""
    first_word_ms: int = 0
    """The sum of the answers' times to the first word, in milliseconds."""
    assistants: int = 0
    """Searches and readings of pages by assistants, at `/mcp`."""
    answers: int = 0
    """Complete answers of the model, or of a hook; not those to clicks on cards."""
    again: int = 0
    """Messages within `SOON` of the visitor's message before, and wishes for another answer; not
    those to a person."""
    proved: int = 0
    """Answers that cite a source of the site's pages."""


class ToolDay(NamedTuple):
    """The calls of one tool on one UTC day, by the ends of their turns. Deleted chats stay in it.

    A call that waits for the visitor's click counts as `asked`, and in the turn of the click as
    `approved` or `declined`.
    """

    date: str
    tool: str
    """The name of the tool; `?` for names that the model made up."""
    uses: int = 0
    """Calls with a result: done, failed or unsure."""
    failures: int = 0
    """Calls that were refused or failed: certainly not carried out."""
    unsure: int = 0
    """Writes that may have been carried out."""
    asked: int = 0
    approved: int = 0
    declined: int = 0


class AskedQuestion(NamedTuple):
    """A visitor's question whose turn has ended, with all that have the same terms."""

    text: str
    """The question as it was asked last."""
    session_id: SessionId
    """The chat in which the question was asked last."""
    at: float
    times: int
    unanswered: int
    """The number of times that the site's pages did not answer the question."""
    downs: int
    """The number of answers that were rated down."""
    comments: Sequence[str] = ()
    """The newest comments on the group's answers, newest first."""


class AskedQuestions(NamedTuple):
    """The questions that were asked most."""

    questions: Sequence[AskedQuestion]
    read: int
    """The number of questions that were grouped."""
    is_whole: bool
    """Whether the list has all questions of the period. If not, only the newest questions are here,
    or the index is incomplete."""


class UserSessions(NamedTuple):
    """A part of the sessions of one user."""

    ids: Sequence[SessionId]
    cursor: str | None
    """Cursor of the next part; None for the last part."""
    read: int
    """The number of rows or items that were read for this part."""
