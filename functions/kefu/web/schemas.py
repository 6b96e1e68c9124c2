"""The schemas of request and response bodies, for validation and for the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict  # pydantic refuses typing.TypedDict before Python 3.12

from kefu.auth.admin_tokens import MAX_NAME
from kefu.auth.bot_check import Proof
from kefu.errors import InvalidRequest
from kefu.messages import Message

if TYPE_CHECKING:
    from kefu.sessions.store.model import Rating

ClientMessageId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]

UpstreamKind = Literal["local-model", "sample", "remote"]
"""The kind of upstream that generates the answers."""

DegradedReason = Literal["", "no_api_key", "keys_refused", "store_full"]
"""The reason why the service is degraded."""

SessionName = Annotated[str, StringConstraints(max_length=64)]
ProfileName = Annotated[str, StringConstraints(max_length=64)]
ProfileText = Annotated[str, StringConstraints(max_length=1000)]
ConfigName = Annotated[str, StringConstraints(max_length=64)]
ContextText = Annotated[str, StringConstraints(max_length=500)]
MAX_CONTEXT_CHARS = 2000
"""Characters of all facts about a page together."""


def _short(facts: dict[str, str]) -> dict[str, str]:
    if sum(len(name) + len(text) for name, text in facts.items()) > MAX_CONTEXT_CHARS:
        raise ValueError(f"longer than {MAX_CONTEXT_CHARS} characters")
    return facts


def _whole(value: object) -> object:
    """JSON has one type of number, and some clients write `1.0` for 1."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Tokens = Annotated[int, Field(ge=1), BeforeValidator(_whole)]


class StrictBody(BaseModel):
    # Unknown keys are ignored. Unknown keys never reach the upstream, whose body is built
    # separately. A validator is built with its first use, because most are not needed at the start.
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, defer_build=True)


class ImageUrl(StrictBody):
    url: str
    """A data URL of a JPEG, PNG or WebP file."""


class ContentPart(StrictBody):
    """A text; or an image of the user, where the server takes images."""

    type: Literal["text", "image_url"]
    text: str | None = None
    image_url: ImageUrl | None = None

    @model_validator(mode="after")
    def _has_a_content(self) -> Self:
        if (self.text if self.type == "text" else self.image_url) is None:
            raise ValueError(f"`{self.type}` is missing")
        return self


class ChatMessage(StrictBody):
    role: Literal["system", "user", "assistant"]
    content: str | list[ContentPart]


def text_of(content: str | list[ContentPart]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text or "" for part in content if part.type == "text")


def with_images(message: Message, content: list[ContentPart], where: str, allowed: bool) -> Message:
    """The message with the images of its parts. Raises InvalidRequest."""
    if not (urls := urls_in(content)):
        return message
    from kefu.web.images import images_from  # here, because few messages have images

    param = f"{where}.content"
    if message.role != "user":
        raise InvalidRequest(f"{where}: only the user's messages have images.", param=param)
    return message._replace(images=images_from(urls, allowed=allowed, param=param))


def urls_in(content: list[ContentPart]) -> list[str]:
    """The data URLs of the images in a content."""
    return [part.image_url.url for part in content if part.type == "image_url" and part.image_url]


class ProvenBody(StrictBody):
    """The visitor's proof for the bot check."""

    verification_token: Annotated[str, StringConstraints(max_length=8192)] | None = None
    verification_pass: Annotated[str, StringConstraints(max_length=128)] | None = None

    @property
    def proof(self) -> Proof:
        return Proof(self.verification_token, self.verification_pass)


class StreamOptions(StrictBody):
    include_usage: StrictBool = False


class AnswerRequest(ProvenBody):
    """The fields that all requests for an answer share, besides the question."""

    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None
    stream_options: StreamOptions | None = None
    client_message_id: ClientMessageId | None = None
    sources: StrictBool | Literal["text", "passages"] = False
    """`true`: events of the stream name the pages that the answer cites. `passages`: with the
    texts that the model received. `text`: the answer ends with a list of the pages."""
    steps: StrictBool = False
    """Whether events of the stream name the calls of tools, and the cards that await a click."""

    @property
    def asked_tokens(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def wants_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


class DescribedTool(StrictBody):
    """A tool that the page can carry out after a click; a table of kefu.toml must name it."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    parameters: dict[str, dict[str, Any]] = Field({}, max_length=20)
    """The JSON Schema of each parameter."""
    optional: list[str] = []
    approve: Annotated[str, StringConstraints(max_length=300)] = ""
    """The question of the card, such as `Add {count} of {product}?`."""


class PageRequest(AnswerRequest):
    """The fields that a page adds to its visitor's question."""

    config_id: ConfigName | None = None
    """The preset of a new chat."""
    context: Annotated[dict[ProfileName, ContextText], AfterValidator(_short)] | None = Field(
        None, max_length=16
    )
    """Facts about the page that the visitor sees, such as its title, as data for the model."""
    page_tools: list[DescribedTool] = Field(default_factory=list, max_length=20)
    images: list[str] | None = None
    """Data URLs of the images of the last message: at most three JPEG, PNG or WebP files of 1 MB,
    where the server takes images. A message with `again` keeps its images without this field."""


class ConversationRequest(PageRequest):
    """A whole conversation. The last message is the visitor's question."""

    messages: list[ChatMessage] = Field(min_length=1)
    # The description cannot name the presets of the server, and other names are refused.
    config_id: SkipJsonSchema[ConfigName | None] = None

    def conversation(
        self, max_messages: int, max_chars: int, *, may_have_images: bool
    ) -> list[Message]:
        """Return the messages after checking their order and the limits. Raises InvalidRequest."""
        if len(self.messages) > max_messages:
            raise InvalidRequest(f"There are more than {max_messages} messages.", param="messages")
        messages = []
        for index, message in enumerate(self.messages):
            text = text_of(message.content)
            where = f"messages.{index}"
            if message.role == "system" and index:
                raise InvalidRequest(
                    f"{where}: a system message must be the first.", param=f"{where}.role"
                )
            if len(text) > max_chars:
                raise InvalidRequest(
                    f"{where}: longer than {max_chars} characters.", param=f"{where}.content"
                )
            one = Message(message.role, text)
            if not isinstance(message.content, str):
                one = with_images(one, message.content, where, may_have_images)
            messages.append(one)
        if messages[-1].role != "user":
            raise InvalidRequest("The last message must be the user's.", param="messages")
        if not messages[-1].content.strip():
            raise InvalidRequest("The last message is empty.", param="messages")
        if self.images:
            from kefu.web.images import images_from  # here, because few messages have images

            images = images_from(self.images, allowed=may_have_images)
            messages[-1] = messages[-1]._replace(images=images)
        return messages


class PageResult(StrictBody):
    text: Annotated[str, StringConstraints(max_length=20_000)]
    state: Literal["done", "failed", "unsure"] = "done"
    """`failed`: it was certainly not carried out. `unsure`: nobody knows."""


class GivenApproval(StrictBody):
    id: ClientMessageId
    """The `id` of the card. It is also the `client_message_id` of the visitor's message."""
    approved: StrictBool
    result: PageResult | None = None
    """What a tool of the page has returned. It is sent with the same click a second time."""


class MessageRequest(PageRequest, defer_build=False):
    """One message of a chat that the server stores."""

    message: str = Field(json_schema_extra={"pattern": r"\S"})
    session_id: SessionName | None = None
    again: ClientMessageId | None = None
    """The `client_message_id` of a message of this chat: its answer is replaced by a new answer."""
    profile: dict[ProfileName, ProfileText] | None = Field(None, max_length=32)


class ClickRequest(PageRequest):
    """A visitor's click on a card, which asks whether a tool may change something."""

    session_id: SessionName
    approval: GivenApproval

    def message(self) -> MessageRequest:
        """The message that the click is, without its text."""
        fields = {name: getattr(self, name) for name in PageRequest.model_fields}
        fields |= {"client_message_id": self.approval.id, "session_id": self.session_id}
        fields["images"] = None
        return MessageRequest.model_construct(message="", **fields)


class ChatRequest(ConversationRequest, defer_build=False):
    """`POST /api/chat`. The answer always streams, so `stream` is ignored."""

    store: StrictBool | None = None
    """Whether this first message begins a chat that the server stores, if it stores chats."""

    def first_message(self) -> MessageRequest:
        """Return the only message, as the first message of a stored chat. Raises InvalidRequest."""
        if len(self.messages) > 1 or self.messages[0].role != "user":
            raise InvalidRequest("store: only for a single message of the user.", param="store")
        fields = {name: getattr(self, name) for name in PageRequest.model_fields}
        content = self.messages[0].content
        if not isinstance(content, str):
            fields["images"] = [*(self.images or ()), *urls_in(content)] or None
        return MessageRequest.model_construct(message=text_of(content), **fields)


class CancelRequest(StrictBody):
    client_message_id: ClientMessageId


class ResumeRequest(StrictBody):
    """A message whose answer is awaited by a page that was reloaded or has lost its connection."""

    client_message_id: ClientMessageId
    again: ClientMessageId | None = None
    """As in the request for the answer, if that replaces an earlier answer."""
    sources: StrictBool | Literal["text", "passages"] = False
    steps: StrictBool = False


MAX_FEEDBACK_BYTES = 4096
"""The longest comment takes 3,600 bytes, if its characters are escaped."""


class AnswerFeedback(StrictBody):
    client_message_id: ClientMessageId
    rating: Literal["up", "down", "none"]
    comment: Annotated[str, StringConstraints(max_length=300)] = ""
    """The reason for the rating `down`, in one line."""

    @model_validator(mode="after")
    def _only_down_has_a_comment(self) -> Self:
        if self.comment and self.rating != "down":
            raise ValueError("a comment is only for the rating down")
        return self

    @property
    def stored_rating(self) -> Rating | None:
        return None if self.rating == "none" else self.rating


class FeedbackRequest(AnswerFeedback):
    session_id: SessionName | None = None


# No control characters, of C0 and C1, of lines and of text direction: with them a mail, a CRM or a
# table shows another text.
OneLine = Annotated[
    str,
    StringConstraints(
        pattern=r"^[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*$"
    ),
]


class ContactBody(ProvenBody):
    """A filled-in contact form. The form says which of the texts are required."""

    client_message_id: ClientMessageId
    name: Annotated[OneLine, StringConstraints(max_length=200)] = ""
    email: Annotated[OneLine, StringConstraints(max_length=254)] = ""
    message: Annotated[str, StringConstraints(max_length=4000)] = ""
    consent: StrictBool = False


# No control characters, and no white space at either end.
OperatorName = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$"
    ),
]


class StateBody(StrictBody):
    """An operator's change of the state of a chat."""

    state: Literal["bot", "person", "closed"]
    operator: OperatorName = ""
    """For a sign-in without a name."""
    taken_from: Annotated[str, StringConstraints(max_length=64)] = ""
    """The operator who has the chat, from whom another operator takes the chat over."""


class WritingBody(StrictBody):
    """An operator is writing."""

    operator: OperatorName = ""
    """For a sign-in without a name."""


class DoneBody(StrictBody):
    """Whether an operator has dealt with a request for a person."""

    done: StrictBool


class LineBody(StrictBody):
    """A message of an operator to a visitor."""

    client_message_id: ClientMessageId
    operator: OperatorName = ""
    """For a sign-in without a name."""
    text: Annotated[str, StringConstraints(max_length=4000)]
    translate: StrictBool = False
    """Whether the visitor gets the text in their language."""


class TranslationBody(StrictBody):
    """A text of a chat, for an operator who reads another language."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=8000)]
    language: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}$")]


class AnswerBody(StrictBody):
    """An answer that an operator writes for all visitors."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=8000)]
    """Markdown."""
    author: Annotated[str, StringConstraints(max_length=60)] = ""
    page: Annotated[str, StringConstraints(pattern=r"^(https?://[^\s<>\"]{1,990})?$")] = ""
    session_id: SessionName = ""
    """The chat from which the answer is made."""
    site: ConfigName = ""
    """The preset of the site that has the answer, if it is made from no chat."""
    reviewed: StrictBool = False
    """Whether somebody has read the marks."""


class PageBody(StrictBody):
    """A page of the site that has changed."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s<>\"]{1,2000}$")]


# Responses are TypedDicts and not models: responses are not validated, only described in OpenAPI.


class ShownSource(TypedDict):
    number: int
    title: str
    url: str
    """Empty for a page without an address on the web."""


StepState = Literal[
    "input-available",
    "output-available",
    "output-error",
    "output-unsure",
    "output-denied",
    "approval-requested",
]
"""The state of a call of a tool, by the names of the AI SDK; `output-unsure` is Kefu's own."""


class ShownStep(TypedDict):
    """A call of a tool."""

    tool_call_id: str
    """Unique in its answer."""
    tool: str
    title: str
    """What the visitor reads about it."""
    state: StepState
    summary: NotRequired[str]
    """For `ask_person`: a text for the contact form."""
    arguments: NotRequired[dict[str, Any]]
    """Only in the stream, for a call that the page is to carry out now."""


class ShownApproval(TypedDict):
    """A card that asks the visitor."""

    id: str
    tool_call_id: str
    tool: str
    text: str
    expires: int
    """Unix time until which a click is accepted."""
    state: NotRequired[Literal["requested", "approved", "denied", "expired"]]


class ShownImage(TypedDict):
    """`/api/sessions/{session_id}/images/{id}` has its bytes."""

    id: str
    type: Literal["image/jpeg", "image/png", "image/webp"]
    width: int
    height: int


class ShownMessage(TypedDict):
    id: int
    role: Literal["user", "assistant"]
    content: str
    created_at: float
    status: Literal["pending", "ok", "failed", "partial", "interrupted"]
    operator: NotRequired[str]
    """The name of the person who wrote the message; absent for the model's answers."""
    original: NotRequired[str]
    """What the person wrote, if `content` is a translation of it."""
    images: NotRequired[list[ShownImage]]
    """The images of the visitor's message."""
    sources: NotRequired[list[ShownSource]]
    """With `sources=true`: the pages that the answer cites. Absent on a server without pages."""
    steps: NotRequired[list[ShownStep]]
    """With `steps=true`: the calls of tools for the answer."""
    approval: NotRequired[ShownApproval]
    """With `steps=true`: the answer's card."""


class ShownQuestion(TypedDict):
    id: int
    client_message_id: str


class ShownAttendance(TypedDict):
    state: Literal["bot", "waiting", "person", "closed"]
    operator: str
    """The name of the person who answers, or who ended the talk; empty without a person."""
    messages: list[ShownMessage]
    """The messages of persons after the message `after`."""
    questions: list[ShownQuestion]
    """The visitor's messages after the first of these."""
    writing: bool
    """Whether the person is writing."""


class ShownMessages(TypedDict):
    messages: list[ShownMessage]
    before: int | None
    """The `before` parameter for the previous page. None: there are no older messages."""
    links: NotRequired[list[str]]
    """With `sources=true`: the addresses that answers may link to besides their sources."""


class ShownSession(TypedDict):
    id: str
    token: str
    """A new token, for `X-Session-Token`."""
    title: str
    config_id: str
    """The preset of the chat."""
    created_at: float
    updated_at: float
    """When the visitor last wrote."""


class ShownSessions(TypedDict):
    sessions: list[ShownSession]
    cursor: str | None
    """The `cursor` parameter for the next page. None: there are no older chats."""


FormField = Literal["name", "email", "message"]


class ShownForm(TypedDict):
    fields: list[FormField]
    """Empty on a server without a contact form."""
    consent: str
    """The text that the visitor must accept; empty: none."""
    link: str
    """The address at which visitors reach a person, in place of the form; empty without it."""
    opens_at: NotRequired[str | None]
    """When persons answer again, such as `2026-01-31T09:00:00+01:00`; None: they answer now.
    Absent on a server without opening hours."""


class ErrorDetail(TypedDict):
    message: str
    type: str
    param: str | None
    code: str
    reason: NotRequired[Literal["unknown", "expired", "superseded", "taken"]]
    """Why a card cannot be clicked any more, for `approval_gone`."""


class ErrorBody(TypedDict):
    error: ErrorDetail


class Problem(TypedDict):
    code: Literal["no_api_key", "secret_not_read", "pages_not_read", "store_failed"]
    message: str


class Ready(TypedDict):
    ready: bool
    problems: list[Problem]
    """The reason why no chat can be answered; empty if `ready`."""
    notes: NotRequired[list[str]]
    """Sentences about tools that chats do without, such as those of a server that is down."""


class LearntPages(TypedDict):
    """The source of answers, on a server with learnt pages."""

    pages: int
    made: int
    """Unix time of the run of `kefu learn`."""
    sample: bool
    """Whether the pages belong to the sample site, for which the demo page suggests questions."""


class Health(TypedDict):
    status: Literal["ok", "degraded"]
    reason: DegradedReason
    """Of `degraded`."""
    version: str
    model: str
    upstream: UpstreamKind
    sessions: bool
    """Whether `POST /api/chat` accepts `message` of a new chat, and stores it."""
    notice: str
    """A sentence for the demo page that names the kind of upstream."""
    knowledge: NotRequired[LearntPages]
