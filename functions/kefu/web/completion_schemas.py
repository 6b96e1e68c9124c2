"""The bodies of `/v1`, as OpenAI's clients send and expect them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictBool
from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12

from kefu.errors import InvalidRequest
from kefu.messages import Message, ToolCall, reasoning_of
from kefu.web.schemas import AnswerRequest, ContentPart, StrictBody, text_of, with_images

_TOOLS = {"tools", "tool_choice", "parallel_tool_calls"}
_FORM = {"response_format", "stop", "seed"}


class Function(StrictBody):
    name: str = Field(min_length=1)
    arguments: str


class FunctionCall(StrictBody):
    id: str = Field(min_length=1)
    type: Literal["function"] = "function"
    function: Function


class CompletionMessage(StrictBody):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None
    tool_calls: list[FunctionCall] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None

    def message(self) -> Message:
        calls = tuple(
            ToolCall(call.id, call.function.name, call.function.arguments)
            for call in self.tool_calls or ()
        )
        return Message(
            "system" if self.role == "developer" else self.role,
            text_of(self.content or "") or self.refusal or "",
            tool_calls=calls,
            tool_call_id=self.tool_call_id,
            reasoning=reasoning_of(vars(self)),
        )


class FunctionTool(StrictBody):
    type: Literal["function"]
    function: dict[str, Any]


class ResponseFormat(StrictBody):
    """The form of the answer. Its other fields go to the model as they are."""

    model_config = ConfigDict(extra="allow")

    type: Literal["text", "json_object", "json_schema"]


class CompletionRequest(AnswerRequest):
    """`POST /v1/chat/completions`."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"messages": [{"role": "user", "content": "Hello?"}]}]}
    )

    messages: list[CompletionMessage] = Field(min_length=1)
    stream: StrictBool | None = None
    tools: list[FunctionTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: StrictBool | None = None
    response_format: ResponseFormat | None = None
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    seed: int | None = None

    def conversation(
        self, max_messages: int, max_chars: int, *, may_have_images: bool
    ) -> list[Message]:
        """Return the messages, with the system messages joined into the first one.

        Raises InvalidRequest.
        """
        if len(self.messages) > max_messages:
            raise InvalidRequest(f"There are more than {max_messages} messages.", param="messages")
        if self.response_format and len(self.response_format.model_dump_json()) > max_chars:
            raise InvalidRequest(
                f"response_format: longer than {max_chars} characters.", param="response_format"
            )
        messages = [
            _checked(at, one, max_chars, may_have_images) for at, one in enumerate(self.messages)
        ]
        rest = [one for one in messages if one.role != "system"]
        system = [one.content for one in messages if one.role == "system"]
        if not rest or rest[-1].role == "assistant":
            raise InvalidRequest("The last message must be the user's.", param="messages")
        last = rest[-1]
        if last.role == "user" and not (last.content.strip() or last.images):
            raise InvalidRequest("The last message is empty.", param="messages")
        return [Message("system", "\n\n".join(system)), *rest] if system else rest

    @property
    def fields(self) -> Mapping[str, object]:
        """The fields about tools and about the form of the answer, which go to the model."""
        left_out = set() if self.tools else _TOOLS
        if self.response_format and self.response_format.type == "text":
            left_out = left_out | {"response_format"}
        return self.model_dump(include=(_TOOLS | _FORM) - left_out, exclude_none=True)


class ShownModel(TypedDict):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ShownModels(TypedDict):
    """A list in the format of OpenAI's list of models."""

    object: Literal["list"]
    data: list[ShownModel]


def _checked(at: int, body: CompletionMessage, max_chars: int, may_have_images: bool) -> Message:
    message, where = body.message(), f"messages.{at}"
    if isinstance(body.content, list):
        message = with_images(message, body.content, where, may_have_images)
    if len(message.content) > max_chars:
        raise InvalidRequest(
            f"{where}: longer than {max_chars} characters.", param=f"{where}.content"
        )
    if body.content is None and not (message.content or message.tool_calls):
        raise InvalidRequest(f"{where}.content: is missing.", param=f"{where}.content")
    if (message.role == "tool") != (message.tool_call_id is not None):
        raise InvalidRequest(
            f"{where}: `tool_call_id` and the role `tool` belong together.", param=f"{where}.role"
        )
    if message.tool_calls and message.role != "assistant":
        raise InvalidRequest(
            f"{where}: only the assistant has `tool_calls`.", param=f"{where}.tool_calls"
        )
    return message


_UNSUPPORTED: Mapping[str, Callable[[object], bool]] = {
    "functions": bool,
    "function_call": lambda value: value not in (None, "none", "auto"),
    "logprobs": bool,
    "top_logprobs": bool,
    "modalities": lambda value: value not in (None, [], ["text"]),
    "audio": bool,
    "web_search_options": lambda value: value is not None,
}
"""Fields that would change an answer's form, each with a test of its value."""


def refuse_unsupported(body: object, *, tools: bool) -> None:
    """Raise InvalidRequest, which names the first part of a body that is not supported."""
    if not isinstance(body, dict):
        return
    for name, asks in _UNSUPPORTED.items():
        if asks(body.get(name)):
            raise InvalidRequest(f"{name}: not supported by this service.", param=name)
    if tools:
        return
    reason = "tools are not enabled on this service (KEFU_OPENAI_API=tools)."
    if body.get("tools"):
        raise InvalidRequest(f"tools: {reason}", param="tools")
    messages = body.get("messages")
    for at, message in enumerate(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and (
            message.get("role") == "tool" or message.get("tool_calls")
        ):
            raise InvalidRequest(f"messages.{at}: {reason}", param=f"messages.{at}")
