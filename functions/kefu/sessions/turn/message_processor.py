"""The four text steps of a stored chat: clean the question, build the messages for the model, clean
the answer, and format the history for display.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kefu.sessions.store.model import StoredMessage

DEFAULT_SYSTEM_PROMPT = "你是一个有帮助的AI助手。"
"""Only for questions with Chinese characters: otherwise a model answers in Chinese, too."""

_LINE_END = re.compile(r"\r\n?")
# Possessive quantifiers after a line end avoid backtracking, so the time is linear.
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*+\n)++")
_HAN = re.compile("[\u3400-\u9fff]")
_FENCE = re.compile(r"```[^\n`]*\n(.*?)\n?```", re.DOTALL)

Wire = Mapping[str, str]
"""A message in the format of the model's API: `{"role": …, "content": …}`."""


def default_prompt(question: str) -> str:
    """The system prompt of a service that has none of its own; it may be empty."""
    return DEFAULT_SYSTEM_PROMPT if _HAN.search(question) else ""


class MessageProcessor:
    def __init__(self, *, strip_code_fence: bool = False) -> None:
        """`strip_code_fence` removes the fence of an answer that is one Markdown code block."""
        self._strip_code_fence = strip_code_fence

    def preprocess_user_message(self, message: str) -> str:
        """The message without surrounding white space and without repeated empty lines.

        Line ends become `\\n`. A line of only spaces or tabs counts as empty; indentation is kept.
        Idempotent. The result may be empty.
        """
        text = _LINE_END.sub("\n", message).strip()
        return _EMPTY_LINES.sub("\n\n", text)

    def build_messages_for_llm(
        self,
        user_message: str,
        history: Sequence[Wire] | None = None,
        system_prompt: str | None = None,
        max_history: int = 10,
    ) -> list[dict[str, str]]:
        """`[system?] + history[-max_history:] + [user]`; `max_history` counts messages, not turns.

        `history` is ordered from old to new. The arguments are not modified.
        """
        messages: list[dict[str, str]] = []
        if system_prompt:
            messages.append({"role": "system", "content": system_prompt})
        if history and max_history > 0:
            messages += [dict(message) for message in history[-max_history:]]
        messages.append({"role": "user", "content": user_message})
        return messages

    def postprocess_llm_response(self, response: str) -> str:
        """The answer without surrounding white space, as it is stored and shown."""
        text = response.strip()
        if self._strip_code_fence and (whole := _FENCE.fullmatch(text)) and "```" not in whole[1]:
            return whole[1].strip()
        return text

    def format_history_for_display(
        self, history: Sequence[StoredMessage]
    ) -> list[dict[str, object]]:
        """The user and assistant messages with their public fields, by ascending id."""
        return [
            {
                "id": message.id,
                "role": message.role,
                "content": message.content,
                "created_at": message.created_at,
                "status": message.status,
                **({"operator": message.operator} if message.operator else {}),
                **({"images": _images(message)} if message.images else {}),
                **({"original": message.original} if message.original else {}),
            }
            for message in sorted(history, key=lambda message: message.id)
            if message.role in ("user", "assistant")
        ]


def _images(message: StoredMessage) -> list[dict[str, object]]:
    from kefu.images import described  # here, because few messages have images

    return described(message.id, message.images)
