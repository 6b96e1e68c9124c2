"""Request bodies turned into questions, within the configured limits."""

from __future__ import annotations

from typing import TypeVar

from fastapi import Request

from kefu.chat import Question
from kefu.errors import InvalidRequest
from kefu.web.body import checked, read_json
from kefu.web.options import WebOptions
from kefu.web.schemas import ChatRequest, ConversationRequest, MessageRequest

R = TypeVar("R", bound=ConversationRequest)


class Questions:
    def __init__(self, options: WebOptions) -> None:
        self._options = options

    async def read(self, request: Request, model: type[R]) -> R:
        """The checked body. Raises a KefuError that names what is wrong."""
        value = await read_json(request, self._options.body)
        if _has(value, "message") and not _has(value, "messages"):
            raise InvalidRequest("No chat is kept here: send `messages`.", param="message")
        return checked(model, value)

    async def read_either(self, request: Request) -> ChatRequest | MessageRequest:
        """The same, where one message of a kept chat is understood, too."""
        value = await read_json(request, self._options.body)
        if not _has(value, "message"):
            return checked(ChatRequest, value)
        if _has(value, "messages"):
            raise InvalidRequest("Send `messages` or `message`, not both.", param="message")
        body = checked(MessageRequest, value)
        longest = self._options.max_message_chars
        if len(body.message) > longest:
            raise InvalidRequest(f"message: longer than {longest} characters.", param="message")
        return body

    def question(self, body: ConversationRequest) -> Question:
        options = self._options
        messages = body.conversation(options.max_messages, options.max_message_chars)
        temperature = options.temperature if body.temperature is None else body.temperature
        return Question(messages, temperature, body.output_tokens(options.max_output_tokens))


def _has(value: object, name: str) -> bool:
    return isinstance(value, dict) and name in value
