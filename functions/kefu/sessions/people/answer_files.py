"""Reads and writes answers of people as Markdown files, for a site that keeps them in git.

    ---
    id: "5f3c9a7e1b6d20c8"
    question: "Do you deliver to Svalbard?"
    author: "Anna"
    page: "https://shop.example/delivery"
    created: "2026-11-24T10:00:00+00:00"
    updated: "2026-11-24T10:00:00+00:00"
    ---

    Yes, in ten days.

Only `question` is required. The chat from which an answer was made is not written: the files may be
public, and a chat is not.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from hashlib import sha256

from kefu.sessions.store.answers import (
    MAX_ADDRESS,
    MAX_AUTHOR,
    MAX_QUESTION,
    MAX_TEXT,
    WrittenAnswer,
)

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"(\w+)[ \t]*:[ \t]*(.*?)[ \t]*")
_READ = frozenset({"id", "question", "author", "page", "site", "created", "updated"})
_COMMENT = re.compile(r"(?:[ \t]+#.*)?")
_IN_APOSTROPHES = re.compile(rf"'((?:[^']|'')*)'{_COMMENT.pattern}")
_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_ADDRESS = re.compile(r"https?://[^\s<>\"]+")
_NO_SLUG = re.compile(r"[\W_]+")
_MAX_SLUG = 60


def file_name(answer: WrittenAnswer) -> str:
    """The name of a new file, such as `do-you-deliver-to-svalbard-5f3c9a7e.md`."""
    slug = _NO_SLUG.sub("-", answer.question.lower())[:_MAX_SLUG].strip("-")
    return f"{slug}-{answer.id[:8]}.md" if slug else f"{answer.id}.md"


def as_file(answer: WrittenAnswer) -> str:
    """The content of an answer's file."""
    fields = {
        "id": answer.id,
        "question": answer.question,
        "author": answer.author,
        "page": answer.page,
        "site": answer.site,
        "created": _date(answer.created_at),
        "updated": _date(answer.updated_at),
    }
    # A text of JSON is one of YAML, too.
    lines = [
        f"{name}: {json.dumps(text, ensure_ascii=False)}" for name, text in fields.items() if text
    ]
    return "\n".join(("---", *lines, "---", "", answer.text.strip("\n"), ""))


def from_file(content: str, name: str, now: float) -> WrittenAnswer:
    """The answer of a file. Raises ValueError with the reason.

    `name`: the path of the file in its folder; without an `id`, it names the answer. `now`: the
    time of an answer without times.
    """
    content = content.replace("\r\n", "\n")
    front = _FRONT.match(content)
    if not front:
        raise ValueError("does not begin with `---` and the field `question`")
    fields = _fields(front[1])
    updated = _time(fields.get("updated", ""), now)
    answer = WrittenAnswer(
        fields.get("id") or f"file-{sha256(name.encode(errors='replace')).hexdigest()[:16]}",
        " ".join(fields.get("question", "").split()),
        content[front.end() :].strip(),
        " ".join(fields.get("author", "").split()),
        fields.get("page", ""),
        site=fields.get("site", ""),
        created_at=_time(fields.get("created", ""), updated),
        updated_at=updated,
    )
    _check(answer)
    return answer


def _check(answer: WrittenAnswer) -> None:
    if not answer.question or not answer.text:
        raise ValueError("has no question" if answer.text else "has no answer")
    if not _ID.fullmatch(answer.id):
        raise ValueError("id: is not 8 to 64 letters, digits, - and _")
    if answer.page and not _ADDRESS.fullmatch(answer.page):
        raise ValueError("page: is not an address on the web")
    for name, most in (("question", MAX_QUESTION), ("text", MAX_TEXT), ("author", MAX_AUTHOR)):
        if len(getattr(answer, name)) > most:
            raise ValueError(f"{name}: is longer than {most} characters")
    if len(answer.page) > MAX_ADDRESS:
        raise ValueError(f"page: is longer than {MAX_ADDRESS} characters")


def _fields(front: str) -> dict[str, str]:
    """Raises ValueError for what is YAML, but no text on one line."""
    fields, is_read = dict[str, str](), False
    for number, line in enumerate(front.split("\n"), 2):
        if field := _FIELD.fullmatch(line):
            name, text = field.groups()
            if is_read := name in _READ:
                if text.startswith((">", "|", "&", "*", "[", "{")):
                    raise ValueError(f"line {number}: {name}: put the text in quotes, on one line")
                fields[name] = _value(text)
        elif is_read and line.strip() and line[0] in " \t" and line.strip()[0] != "#":
            raise ValueError(f"line {number}: a field is one line")
    return fields


def _value(text: str) -> str:
    """The text without its quotes, and without a comment behind them."""
    if text.startswith('"'):
        try:
            found, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            return text
        return str(found) if _COMMENT.fullmatch(text, end) else text
    quoted = _IN_APOSTROPHES.fullmatch(text)
    return quoted[1].replace("''", "'") if quoted else text


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _time(text: str, otherwise: float) -> float:
    """Raises ValueError."""
    if not text:
        return otherwise
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time such as 2026-11-24T10:00:00Z") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
