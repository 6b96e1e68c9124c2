"""Settings of the conversation: [chat]."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from kefu.context.tokens import counter as counter_of
from kefu.settings.fields import Names, Section, setting

_ORIGIN = re.compile(r"https?://[^/?#@\s*]+")


def checked_origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            start = _ORIGIN.match(origin)
            rest = origin[start.end() :] if start else ""
            hint = f": leave out {rest!r}" if rest.startswith("/") else ""
            raise ValueError(f"{origin!r} is not an origin such as https://www.example.com{hint}")
    return tuple(origin if origin == "*" else origin.lower() for origin in origins)


def _counter(name: str) -> str:
    try:
        counter_of(name)
    except ImportError as error:
        raise ValueError(str(error)) from error
    return name


Trim = Literal["v1", "v1_steps", "fifo", "sliding_window", "keep_important", "summary", "off"]


class ChatSettings(Section):
    TITLE: ClassVar = "The chat"

    allowed_origins: Annotated[Names, AfterValidator(checked_origins)] = setting(
        (),
        "chat.origins",
        "KEFU_ALLOWED_ORIGINS",
        "Origins of the pages that may embed the widget, exact: `https://www.example.com`. `*` "
        "allows every page. The server's own pages may always use it on `localhost`; list the "
        "server's public name if it serves the demo page under one.",
        examples=[["https://www.example.com"]],
    )
    system_prompt: str = setting(
        "",
        "chat.system_prompt",
        "KEFU_SYSTEM_PROMPT",
        "The first message of every conversation. `@FILE`: the text of that file.",
        examples=["@prompt.md"],
    )
    client_system: Literal["auto", "append", "drop", "reject"] = setting(
        "auto",
        "chat.client_system",
        "KEFU_CLIENT_SYSTEM",
        "A `system` message of the page: `auto` uses it when there is no system prompt, `append` "
        "puts it behind the system prompt, `drop` ignores it, `reject` answers 400.",
        rare=True,
    )
    images: bool = setting(
        False,
        "chat.images",
        "KEFU_IMAGES",
        "Visitors may send pictures with a message, to a model that sees: at most three JPEG, PNG "
        'or WebP files of 1 MB, without their metadata. `data-images="on"` shows the button.',
    )
    trim: Trim = setting(
        "v1",
        "chat.trim",
        "KEFU_TRIM",
        "How a long history is shortened. `v1` and `v1_steps` count characters; `fifo`, "
        "`sliding_window` and `keep_important` count tokens; `summary` also has the model "
        "summarize what it leaves out. All but `v1` shorten in steps, for the provider's prompt "
        "cache.",
    )
    max_prompt_tokens: int | None = setting(
        None,
        "chat.max_prompt_tokens",
        "KEFU_MAX_PROMPT_TOKENS",
        "Longest prompt, where `trim` counts tokens. Unset: what the model accepts, less a fifth "
        "or the longest answer; a model that Kefu does not know is assumed to accept 8192.",
        ge=1,
        examples=[6000],
        rare=True,
    )
    counter: Annotated[str, AfterValidator(_counter)] = setting(
        "calibrated",
        "chat.counter",
        "KEFU_COUNTER",
        "Counts these tokens: `calibrated` (an estimate for the model's tokenizer), `cjk_v1`, "
        "`bytes4`, `chars4`, or exactly with "
        "`tiktoken:` and the name of an encoding or a model.",
        rare=True,
    )
