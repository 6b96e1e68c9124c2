"""Converts request bodies into `Question` objects and applies the configured limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from fastapi import Request

from kefu.chat.completion import Question
from kefu.chat.prompt import Sampling, page_line
from kefu.errors import InvalidRequest
from kefu.web.body import checked, read_json
from kefu.web.options import WebOptions
from kefu.web.schemas import ChatRequest, ClickRequest, ConversationRequest, MessageRequest

if TYPE_CHECKING:
    from kefu.chat.presets import Config
    from kefu.web.completion_schemas import CompletionRequest

R = TypeVar("R", bound=ConversationRequest)


class Questions:
    def __init__(self, options: WebOptions, sampling: Sampling) -> None:
        self._options = options
        self._sampling = sampling

    async def read(self, request: Request, model: type[R]) -> R:
        """Return the validated body. Raises a KefuError for an invalid body."""
        value = await read_json(request, self._options.body)
        fields = value if isinstance(value, dict) else {}
        if "message" in fields and "messages" not in fields:
            raise InvalidRequest(
                "This server does not store chats: send `messages`.", param="message"
            )
        return checked(model, value)

    async def read_either(self, request: Request) -> ChatRequest | MessageRequest | ClickRequest:
        """Return the validated body: a whole conversation, or one message of a stored chat, which
        may be a click.

        Raises a KefuError for an invalid body.
        """
        value = await read_json(request, self._options.body)
        fields = value if isinstance(value, dict) else {}
        if "approval" in fields:
            return checked(ClickRequest, value)
        if "message" not in fields:
            conversation = checked(ChatRequest, value)
            if not conversation.store:
                return conversation
            body = conversation.first_message()
        elif "messages" in fields:
            raise InvalidRequest("Send `messages` or `message`, not both.", param="message")
        else:
            body = checked(MessageRequest, value)
            if body.again and body.session_id is None:
                raise InvalidRequest("again: only with `session_id`.", param="again")
        if not body.message.strip():
            raise InvalidRequest("message: is empty.", param="message")
        longest = self._options.max_message_chars
        if len(body.message) > longest:
            raise InvalidRequest(f"message: longer than {longest} characters.", param="message")
        return body

    async def read_completion(self, request: Request) -> CompletionRequest:
        """Return the validated body of `/v1`. Raises a KefuError for an invalid body."""
        from kefu.web.completion_schemas import CompletionRequest, refuse_unsupported

        value = await read_json(request, self._options.body)
        refuse_unsupported(value, tools=self._options.openai_tools)
        return checked(CompletionRequest, value)

    def question(self, body: ConversationRequest | CompletionRequest) -> Question:
        options = self._options
        messages = body.conversation(options.max_messages, options.max_message_chars)
        tools: Mapping[str, object] = {}
        context: Mapping[str, str] = {}
        if isinstance(body, ConversationRequest):
            context = body.context or {}
        else:  # of a client of `/v1`
            tools = body.tool_fields
        sampling = self._sampling.asked(body.temperature, body.asked_tokens)
        return Question(messages, sampling, tools=tools, page=page_line(context))

    def preset(self, body: ConversationRequest, config: Config | None) -> Question:
        """Like `question`, with the preset of the request.

        Raises InvalidRequest if the body names one, and the server has none.
        """
        question = self.question(body)
        if config is None:
            if body.config_id is not None:
                raise InvalidRequest("config_id: this server has no presets.", param="config_id")
            return question
        if body.config_id is None and not config.is_site:
            return question
        return question._replace(
            sampling=config.sampling.asked(body.temperature, body.asked_tokens),
            policy=config.policy,
        )
