"""The four steps of a kept chat that only look at texts: in, together, out, and for display."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kefu.sessions import StoredMessage

DEFAULT_SYSTEM_PROMPT = "你是一个有帮助的AI助手。"

_LINE_END = re.compile(r"\r\n?")
# Possessive and from a line end on: linear in a text of nothing but spaces.
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*+\n)++")
_FENCE = re.compile(r"```[^\n`]*\n(.*?)\n?```", re.DOTALL)

Wire = Mapping[str, str]
"""A message as a model is told it: `{"role": …, "content": …}`."""


class MessageProcessor:
    def __init__(self, *, unfence: bool = False) -> None:
        """`unfence`: an answer that is one Markdown code block loses its fence."""
        self._unfence = unfence

    def preprocess_user_message(self, message: str) -> str:
        """Without white space around it and with at most two line ends in a row.

        Line ends become `\\n`; a line of only spaces or tabs counts as empty; indentation inside
        stays. Doing it again changes nothing. May be empty.
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
        """`[system?] + history[-max_history:] + [user]`: messages, not turns.

        History is oldest first and keeps its order; nothing given is changed.
        """
        messages: list[dict[str, str]] = []
        if system_prompt:
            messages.append({"role": "system", "content": system_prompt})
        if history and max_history > 0:
            messages += [dict(message) for message in history[-max_history:]]
        messages.append({"role": "user", "content": user_message})
        return messages

    def postprocess_llm_response(self, response: str) -> str:
        """The answer as it is kept and shown: without white space around it."""
        text = response.strip()
        if self._unfence and (whole := _FENCE.fullmatch(text)) and "```" not in whole[1]:
            return whole[1].strip()
        return text

    def format_history_for_display(
        self, history: Sequence[StoredMessage]
    ) -> list[dict[str, object]]:
        """What a visitor may see, ids ascending: no system message, nothing raw."""
        return [
            {
                "id": message.id,
                "role": message.role,
                "content": message.content,
                "created_at": message.created_at,
                "status": message.status,
            }
            for message in sorted(history, key=lambda message: message.id)
            if message.role in ("user", "assistant")
        ]
