"""Converts request bodies into `Question` objects and applies the configured limits."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from fastapi import Request

from kefu.chat.completion import Question
from kefu.chat.prompt import Sampling, page_line
from kefu.errors import InvalidRequest
from kefu.web.body import checked, read_json
from kefu.web.options import IMAGES_OFF, BodyLimits, WebOptions
from kefu.web.schemas import ChatRequest, ClickRequest, ConversationRequest, MessageRequest

if TYPE_CHECKING:
    from kefu.chat.presets import Config
    from kefu.web.completion_schemas import CompletionRequest

R = TypeVar("R", bound=ConversationRequest)


LARGE_BODIES = 8
"""Bodies with images that are received at the same time."""
LARGE_BODY_SECONDS = 60.0
"""The time limit for receiving a body with images, over the slow half of a phone's line."""


def _limits(options: WebOptions) -> BodyLimits:
    """The limits of a body with a question, which may have images where these are on."""
    usual = options.body
    if not options.images:
        return usual._replace(too_long=f" {IMAGES_OFF}")
    from kefu.images import MAX_IMAGES, MAX_URL_CHARS

    return usual._replace(
        bytes=usual.bytes + MAX_IMAGES * MAX_URL_CHARS,
        seconds=max(usual.seconds, LARGE_BODY_SECONDS),
        usual=usual.bytes,
        places=Semaphore(LARGE_BODIES),
    )


def _with_few_images(question: Question) -> Question:
    """The question with the images of the last turns alone."""
    from kefu.chat.images import tokens_in, with_few_images

    messages = with_few_images(question.messages, question.sampling.model)
    tokens = tokens_in(messages, question.sampling.model)
    return question._replace(messages=messages, image_tokens=tokens)


class Questions:
    def __init__(self, options: WebOptions, sampling: Sampling) -> None:
        self._options = options
        self._sampling = sampling
        self._limits = _limits(options)

    async def read(self, request: Request, model: type[R]) -> R:
        """Return the validated body. Raises a KefuError for an invalid body."""
        value = await read_json(request, self._limits)
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
        value = await read_json(request, self._limits)
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

        value = await read_json(request, self._limits)
        refuse_unsupported(value, tools=self._options.openai_tools)
        return checked(CompletionRequest, value)

    def question(self, body: ConversationRequest | CompletionRequest) -> Question:
        options = self._options
        messages = body.conversation(
            options.max_messages, options.max_message_chars, may_have_images=options.images
        )
        fields: Mapping[str, object] = {}
        context: Mapping[str, str] = {}
        if isinstance(body, ConversationRequest):
            context = body.context or {}
        else:  # of a client of `/v1`
            fields = body.fields
        sampling = self._sampling.asked(body.temperature, body.asked_tokens)
        question = Question(messages, sampling, fields=fields, page=page_line(context))
        return _with_few_images(question) if options.images else question

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
