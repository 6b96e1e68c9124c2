"""Makes docs/api.md: its tables come from the application's OpenAPI document and its schemas."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kefu.bootstrap.service import build
from kefu.settings import load
from kefu.web.edge import EXPOSED

HEAD = """\
<!-- Made by `make docs` from docs/api_reference.py and the OpenAPI document. -->
# API reference

For your own client, in place of the widget. A running service describes itself at `/openapi.json`, except on AWS.
[Errors](errors.md) have their own table.

## Endpoints"""

BEFORE_FIELDS = """\
Below `/admin/api` are the requests of the [panel](panel.md). They may change with every release, but for
`POST /admin/api/verification-pass` ([bot check](bot-check.md)).

`/api/` and `/v1/` accept requests of [allowed origins](settings.md#the-chat) and requests without an `Origin`, such as
those of a server. A body is JSON in UTF-8, of at most 64 KB, or 4.3 MB with [pictures](sessions.md#pictures). Fields that
are not listed are ignored.

## Asking a question

`POST /api/chat` takes a whole conversation in `messages`, and then the service stores nothing; or one `message` of a
[stored chat](sessions.md#sending-a-message), and then the service adds the history; or the `approval` of a card.

```sh
curl -N http://127.0.0.1:8000/api/chat -H 'Content-Type: application/json' \\
  -d '{"messages":[{"role":"user","content":"Hello"}]}'
```"""

AFTER_FIELDS = """\
## The stream

The response has the type `text/event-stream`. Its parts:

| Line | Meaning |
|---|---|
| `data: {"object":"chat.completion.chunk",…}` | a piece of the answer, in `choices[0].delta.content`, as in OpenAI's API; the last one has a `finish_reason` |
| `data: {…"choices":[],"usage":{…}}` | the tokens, if `stream_options.include_usage` asks for them |
| `data: {"object":"kefu.sources",…}` | the pages that the answer may cite, and those that it cited, if `sources` is `true`: [knowledge](knowledge.md) |
| `data: {"object":"kefu.step",…}`, `data: {"object":"kefu.approval",…}` | the calls of [tools](tools.md#the-wire) and the card that waits for a click, if `steps` is `true` |
| `data: {"error":{…}}` | the answer failed after it had begun; no `[DONE]` follows |
| `data: [DONE]` | the answer is complete |
| `: …` | a comment, which keeps the connection open; ignore it |

An answer is complete only with `[DONE]`. A stream that ends without it, or is silent for more than 10 seconds, is broken off.

## Headers

A request may have `X-Session-Token` ([stored chats](sessions.md)), `X-User-Token` ([identity](identity.md)) and, for `/v1`,
`Authorization: Bearer` ([keys](openai.md#keys-for-clients)). Responses have:"""

TAIL = """\
## `/health` and `/ready`

`/health` is always 200 while the process is alive. `status` is `degraded` for one of these reasons:

| `reason` | Meaning |
|---|---|
| `no_api_key` | no key is configured, or none could be read yet |
| `keys_refused` | the model's provider has refused every key that this process has tried |
| `store_full` | no new chats are stored: [space](sessions.md#space) |

`/ready` is 503 while no chat can be answered. Its `problems` have a `message` and one of these codes:

| `code` | Meaning |
|---|---|
| `no_api_key` | no key is configured |
| `secret_not_read` | a secret could not be read from AWS |
| `pages_not_read` | the learnt pages could not be read from S3 |
| `store_failed` | the store cannot be read or written |"""

SETTINGS = {"KEFU_UPSTREAM_URL": "http://127.0.0.1:9"}
"""By default, chats are stored and `/v1` is served."""

PAGES = {
    "/contact": "contact.md#the-requests-of-the-form",
    "/person": "contact.md",
    "/feedback": "sessions.md#ratings",
    "/api/chat": "sessions.md#sending-a-message",
    "/answer": "sessions.md#taking-up-an-answer",
    "/images/": "sessions.md#pictures",
    "/api/sessions/": "sessions.md#reading-exporting-and-deleting",
    "/api/sessions": "sessions.md#the-chats-of-a-user",
    "/v1/": "openai.md",
}
"""The page about a path that contains this text; the first one counts."""

MEANINGS: Mapping[str, str] = {
    "message": "the visitor's new message, of a stored chat",
    "messages": "the conversation: objects with `role` (`system` first, `user`, `assistant`) and "
    "`content`; the last one is the user's",
    "store": "`true`: begin a stored chat with this single message, if the service stores chats",
    "session_id": "of an earlier answer; absent: a new chat",
    "config_id": "a [preset](sessions.md#presets), for a new chat; also with `messages`",
    "context": "[facts about the page](widget.md#what-the-visitor-sees), as data for the model",
    "page_tools": "the [tools of the page](tools.md#a-tool-of-the-page)",
    "images": "data URLs of at most three [pictures](sessions.md#pictures) of the new message",
    "profile": "texts about the visitor, for the hook `user_profile`",
    "again": "the `client_message_id` of an earlier message of the chat, whose answer is replaced",
    "client_message_id": "a UUID of yours: for retries, `cancel` and `feedback`",
    "temperature": "0 to 2; unset: the service's",
    "max_tokens": "the longest answer, up to the service's own limit",
    "max_completion_tokens": "the same",
    "stream_options": '`{"include_usage": true}`',
    "steps": "`true`: name the calls of [tools](tools.md#the-wire), and their cards",
    "approval": "in place of `message`: the visitor's click on a [card](tools.md#the-wire), with its "
    "`id` and `approved`",
    "sources": "`true`, `text` or `passages`: name the pages that the answer cites",
    "verification_token": "of the [bot check](bot-check.md), once",
    "verification_pass": "of an earlier answer, in place of the token",
}

HEADERS: Mapping[str, str] = {
    "Content-Disposition": "the file name of an export",
    "Retry-After": "seconds to wait before the next request",
    "X-Request-Id": "names the request in the log",
    "X-Session-Id": "the stored chat",
    "X-Session-Token": "gives access to it; use the newest",
    "X-Upstream": "who answered: `primary`, or `fallback`",
    "X-Verification-Pass": "for the next requests, with a bot check",
    "x-should-retry": "`false`: OpenAI's clients shall not repeat the request",
}


def api_page() -> str:
    document = _document()
    lines = [HEAD, "", *_table(("Request", "Purpose", "Statuses", "Details"), _routes(document))]
    lines += ["", BEFORE_FIELDS, "", *_table(("Field", "Form", "Meaning"), _fields(document))]
    lines += ["", AFTER_FIELDS, "", *_table(("Header", "Meaning"), _headers())]
    return "\n".join([*lines, "", TAIL]) + "\n"


def _document() -> dict[str, Any]:
    # A kefu.toml of the current folder would be read, too.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        document: dict[str, Any] = build(load(SETTINGS)).app.openapi()
    return document


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _routes(document: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for path, operations in sorted(document["paths"].items()):
        for method, operation in operations.items():
            statuses = ", ".join(sorted(operation["responses"]))
            page = next((page for part, page in PAGES.items() if part in path), "")
            details = f"[{page.partition('.')[0]}]({page})" if page else ""
            yield (f"`{method.upper()} {path}`", operation["summary"], statuses, details)


def _fields(document: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    schemas = document["components"]["schemas"]
    stored = schemas["MessageRequest"]["properties"]
    whole = schemas["ChatRequest"]["properties"]
    for name in {**stored, **whole}:
        both = name in stored and name in whole
        form = "both" if both else "`message`" if name in stored else "`messages`"
        yield (f"`{name}`", form, MEANINGS[name])
    yield ("`approval`", "`approval`", MEANINGS["approval"])


def _headers() -> Iterator[tuple[str, ...]]:
    return ((f"`{name}`", HEADERS[name]) for name in EXPOSED.split(", "))
