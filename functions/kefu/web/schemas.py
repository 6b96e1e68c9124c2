"""The shapes of requests and answers at the web edge, and in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints
from typing_extensions import TypedDict  # pydantic cannot read that of `typing` before 3.12

from kefu.errors import InvalidRequest
from kefu.messages import Message
from kefu.verification import Proof

ClientMessageId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]

Kind = Literal["local-model", "scripted", "remote"]
"""Who answers."""

SessionName = Annotated[str, StringConstraints(max_length=64)]
ProfileName = Annotated[str, StringConstraints(max_length=64)]
ProfileText = Annotated[str, StringConstraints(max_length=1000)]


class _Body(BaseModel):
    # Unknown keys are ignored, and never forwarded: the upstream's body is built anew.
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, defer_build=True)


class TextPart(_Body):
    type: Literal["text"]
    text: str


class ChatMessage(_Body):
    role: Literal["system", "user", "assistant"]
    content: str | list[TextPart]

    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class StreamOptions(_Body):
    include_usage: StrictBool = False


class AnswerRequest(_Body):
    """What a request for an answer may hold besides the question."""

    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    stream_options: StreamOptions | None = None
    client_message_id: ClientMessageId | None = None
    verification_token: Annotated[str, StringConstraints(max_length=8192)] | None = None
    verification_pass: Annotated[str, StringConstraints(max_length=128)] | None = None

    @property
    def asked_tokens(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    def output_tokens(self, cap: int) -> int:
        return min(self.asked_tokens or cap, cap)

    @property
    def proof(self) -> Proof:
        return Proof(self.verification_token, self.verification_pass)

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


class ConversationRequest(AnswerRequest):
    """The whole conversation, the visitor's question last."""

    messages: list[ChatMessage] = Field(min_length=1)

    def conversation(self, max_messages: int, max_chars: int) -> list[Message]:
        """The messages, in a valid order and within the limits. Raises InvalidRequest."""
        if len(self.messages) > max_messages:
            raise InvalidRequest(f"There are more than {max_messages} messages.", param="messages")
        messages = []
        for index, message in enumerate(self.messages):
            text = message.text()
            where = f"messages.{index}"
            if message.role == "system" and index:
                raise InvalidRequest(
                    f"{where}: a system message must be the first.", param=f"{where}.role"
                )
            if len(text) > max_chars:
                raise InvalidRequest(
                    f"{where}: longer than {max_chars} characters.", param=f"{where}.content"
                )
            messages.append(Message(message.role, text))
        if messages[-1].role != "user":
            raise InvalidRequest("The last message must be the user's.", param="messages")
        return messages


class MessageRequest(AnswerRequest):
    """One message of a chat that the server keeps."""

    message: str
    session_id: SessionName | None = None
    config_id: Annotated[str, StringConstraints(max_length=64)] | None = None
    profile: dict[ProfileName, ProfileText] | None = Field(None, max_length=32)


class ChatRequest(ConversationRequest):
    """`POST /api/chat`. Any `stream` is accepted: the answer always streams."""


class CompletionRequest(ConversationRequest):
    """`POST /v1/chat/completions`."""

    stream: StrictBool | None = None


class CancelRequest(_Body):
    client_message_id: ClientMessageId


class FeedbackRequest(_Body):
    client_message_id: ClientMessageId
    rating: Literal["up", "down", "none"]
    session_id: SessionName | None = None


# What is answered is not checked, and so no model: a document is all that is made of it.


class ShownMessage(TypedDict):
    id: int
    role: Literal["user", "assistant"]
    content: str
    created_at: float
    status: Literal["pending", "ok", "failed", "partial", "interrupted"]


class ShownMessages(TypedDict):
    messages: list[ShownMessage]
    before: int | None
    """Of the page in front of this one; None: there is none."""


class ErrorDetail(TypedDict):
    message: str
    type: str
    param: str | None
    code: str


class ErrorBody(TypedDict):
    error: ErrorDetail


class Health(TypedDict):
    status: Literal["ok", "degraded"]
    version: str
    model: str
    upstream: Kind
    sessions: bool
    """Whether `POST /api/chat` takes `message`, and chats are kept."""
    notice: str
    """A sentence for the demo page about who answers."""


def build_models() -> None:
    """Build the validators of request bodies: at the start, not in the first request."""
    for model in (ChatRequest, MessageRequest, CompletionRequest, CancelRequest, FeedbackRequest):
        model.model_rebuild(force=True)
