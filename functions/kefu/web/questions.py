"""Request bodies turned into questions, within the configured limits."""

from __future__ import annotations

from typing import TypeVar

from fastapi import Request

from kefu.chat import Question
from kefu.errors import InvalidRequest
from kefu.settings import Settings
from kefu.web.body import BodyLimits, checked, read_json
from kefu.web.schemas import ChatRequest

R = TypeVar("R", bound=ChatRequest)


class Questions:
    def __init__(self, settings: Settings) -> None:
        self._limits = BodyLimits(
            settings.max_body_bytes, settings.max_json_depth, settings.body_timeout
        )
        self._settings = settings

    async def read(self, request: Request, model: type[R]) -> R:
        """The checked body. Raises a KefuError that names what is wrong."""
        value = await read_json(request, self._limits)
        if isinstance(value, dict) and "message" in value and "messages" not in value:
            raise InvalidRequest("This server keeps no sessions: send `messages`.", param="message")
        return checked(model, value)

    def question(self, body: ChatRequest) -> Question:
        settings = self._settings
        messages = body.conversation(settings.max_messages, settings.max_message_chars)
        temperature = settings.temperature if body.temperature is None else body.temperature
        return Question(messages, temperature, body.output_tokens(settings.max_output_tokens))
