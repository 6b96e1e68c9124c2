"""Request bodies turned into questions, within the configured limits."""

from __future__ import annotations

from typing import TypeVar

from fastapi import Request

from kefu.chat import Question
from kefu.errors import InvalidRequest
from kefu.web.body import checked, read_json
from kefu.web.options import WebOptions
from kefu.web.schemas import ChatRequest

R = TypeVar("R", bound=ChatRequest)


class Questions:
    def __init__(self, options: WebOptions) -> None:
        self._options = options

    async def read(self, request: Request, model: type[R]) -> R:
        """The checked body. Raises a KefuError that names what is wrong."""
        value = await read_json(request, self._options.body)
        if isinstance(value, dict) and "message" in value and "messages" not in value:
            raise InvalidRequest("This server keeps no sessions: send `messages`.", param="message")
        return checked(model, value)

    def question(self, body: ChatRequest) -> Question:
        options = self._options
        messages = body.conversation(options.max_messages, options.max_message_chars)
        temperature = options.temperature if body.temperature is None else body.temperature
        return Question(messages, temperature, body.output_tokens(options.max_output_tokens))
