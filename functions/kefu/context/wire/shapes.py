"""The facts about one message that trimming needs: role, texts, tool calls, tool results.

Objects may be dicts or values of the official clients. The three formats have no field in common
that means different things, so each object is understood on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kefu.context.wire.media import MEDIA_TYPES, media_tokens
from kefu.messages import Message, Role


class CallFacts(NamedTuple):
    id: str
    tool: str


class ResultText(NamedTuple):
    call_id: str
    text: str
    tokens: int = 0
    """Tokens of images and files in the result."""


class Shape(NamedTuple):
    """One message or item."""

    role: Role
    texts: tuple[str, ...] = ()
    """The texts that the model reads, except the results."""
    tokens: int = 0
    """Tokens of images, audio and files, except those in results."""
    calls: tuple[CallFacts, ...] = ()
    results: tuple[ResultText, ...] = ()
    step: bool = False
    """An item that the model made in OpenAI's Responses API, and that belongs to its neighbours."""
    reference: bool = False
    """A reference to an item on the server, which may be a tool call."""
    named: bool = False
    """A chat completion's message with a `name`, which costs a token beside its own."""


_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_SPEAKERS: dict[str, Role] = {role: known for role, known in _ROLES.items() if known != "tool"}
# Opaque values: the API counts them differently, or not at all.
_OPAQUE = frozenset(
    {"type", "id", "call_id", "status", "signature", "cache_control", "tool_use_id", "role"}
    | {"encrypted_content", "encrypted_index", "encrypted_stdout", "fingerprint", "data"}
)
_ENCRYPTED_BYTES_PER_TOKEN = 5


def field(value: Any, name: str) -> Any:
    """A field of a dict or an attribute of an object; None if there is none."""
    if isinstance(value, Mapping):
        return value.get(name)
    return getattr(value, name, None)


def shape_of(value: Any, model: str) -> Shape:
    """The facts about a message or item; `model` decides an image's tokens. Raises TypeError."""
    if isinstance(value, Message):
        return _own(value)
    if type(value) is dict and len(value) == 2:  # most messages are a role and a text
        content, speaker = value.get("content"), value.get("role")
        if type(content) is str and type(speaker) is str and speaker in _SPEAKERS:
            return Shape(_SPEAKERS[speaker], (content,))
    kind = field(value, "type")
    role = field(value, "role")
    if role is None:
        if not isinstance(kind, str) or not (kind in _ITEMS or kind.endswith(_ITEM_ENDINGS)):
            raise TypeError(_not_a_message(value))
        return _item(value, kind, model)
    if not isinstance(role, str) or role not in _ROLES:
        raise TypeError(_not_a_message(value))
    shape = _message(value, _ROLES[role], model)
    return shape._replace(step=True) if kind == "message" and role == "assistant" else shape


def _not_a_message(value: Any) -> str:
    return (
        f"This is not a message that trim_messages reads: {value!r:.120}. It reads dicts (or values"
        " of the official clients) in the formats of OpenAI's chat completions and Responses API"
        " and of Anthropic's messages, and kefu.context.Message. Convert others first: LangChain's"
        " by langchain_core.messages.convert_to_openai_messages; those of Bedrock's Converse,"
        " Gemini, Ollama and pydantic-ai into chat completions."
    )


_ITEMS = frozenset(
    {"reasoning", "compaction", "item_reference", "mcp_list_tools", "program"}
    | {"mcp_approval_request", "mcp_approval_response"}
)
_ITEM_ENDINGS = ("_call", "_output", "_update")
"""The other items of the Responses API: new tools have such types, too."""


def _own(value: Message) -> Shape:
    calls = tuple(CallFacts(call.id, call.name) for call in value.tool_calls)
    if value.role == "tool":
        return Shape("tool", results=(ResultText(value.tool_call_id or "", value.content),))
    texts = [value.content]
    for call in value.tool_calls:
        texts += call.name, call.arguments
    return Shape(value.role, tuple(texts), calls=calls)


def _message(value: Any, role: Role, model: str) -> Shape:
    content = field(value, "content")
    if role == "tool":
        return _tool_message(value, content, model)
    texts = [content] if isinstance(content, str) else []
    texts += [
        text
        for name in ("refusal", "reasoning_content", "name")
        if isinstance(text := field(value, name), str)
    ]
    calls = list(_chat_calls(value, texts))
    results: list[ResultText] = []
    tokens = 0
    for block in _blocks(value, content):
        tokens += _block(block, texts, calls, results, model)
    if not (texts or calls or _has(value, "content") or _has(value, "audio")):
        raise TypeError(_not_a_message(value))
    if results:
        role = "tool"
    named = isinstance(field(value, "name"), str)
    return Shape(role, tuple(texts), tokens, tuple(calls), tuple(results), named=named)


def _tool_message(value: Any, content: Any, model: str) -> Shape:
    """The result of a tool in a chat completion: it names its call, or an old one its function."""
    call_id, name = field(value, "tool_call_id"), field(value, "name")
    if not (isinstance(call_id, str) or isinstance(name, str)):
        raise TypeError(_not_a_message(value))
    text, tokens = text_of(content, model)
    return Shape("tool", results=(ResultText(call_id or f"function:{name}", text, tokens),))


def _has(value: Any, name: str) -> bool:
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def _blocks(message: Any, content: Any) -> Iterable[Any]:
    """The parts of a message's content; each is a text or has a type."""
    if content is None or isinstance(content, str):
        return ()
    if isinstance(content, Mapping) or not isinstance(content, Iterable):
        raise TypeError(_not_a_message(message))
    blocks = content if isinstance(content, Sequence) else list(content)
    if not all(isinstance(b, str) or isinstance(field(b, "type"), str) for b in blocks):
        raise TypeError(_not_a_message(message))
    return blocks


def _chat_calls(value: Any, texts: list[str]) -> Iterator[CallFacts]:
    """The tool calls of a chat completion's message; their texts are appended to `texts`."""
    for call in field(value, "tool_calls") or ():
        made = field(call, "function") or field(call, "custom") or {}
        name = field(made, "name") or ""
        texts += [name, json_of(field(made, "arguments") or field(made, "input") or "")]
        yield CallFacts(field(call, "id") or "", name)
    if old := field(value, "function_call"):
        name = field(old, "name") or ""
        texts += [name, json_of(field(old, "arguments") or "")]
        yield CallFacts(f"function:{name}", name)


def _block(
    block: Any, texts: list[str], calls: list[CallFacts], results: list[ResultText], model: str
) -> int:
    """Add a part of a message's content to the lists. Returns the tokens of an image or a file."""
    kind = field(block, "type")
    if kind == "tool_use":
        name = field(block, "name") or ""
        texts += [name, json_of(field(block, "input"))]
        calls.append(CallFacts(field(block, "id") or "", name))
    elif kind == "tool_result":
        text, tokens = text_of(field(block, "content"), model)
        results.append(ResultText(field(block, "tool_use_id") or "", text, tokens))
    elif kind in MEDIA_TYPES:
        return media_tokens(block, model, texts)
    else:
        return _read(block, texts)
    return 0


def text_of(content: Any, model: str) -> tuple[str, int]:
    """The text of a tool result, and the tokens of its images and files."""
    if isinstance(content, str):
        return content, 0
    if content is None:
        return "", 0
    texts: list[str] = []
    tokens = 0
    if isinstance(content, Mapping) or not isinstance(content, Sequence):
        content = [content]
    for block in content:
        if field(block, "type") in MEDIA_TYPES:
            tokens += media_tokens(block, model, texts)
        else:
            tokens += _read(block, texts)
    return "\n".join(texts), tokens


def _item(value: Any, kind: str, model: str) -> Shape:
    """An item of the Responses API that is not a message."""
    if kind.endswith("_output") and kind not in ("tool_search_output", "program_output"):
        # `local_shell_call_output` names its call by `id`.
        call_id = field(value, "call_id") or field(value, "id") or ""
        text, tokens = text_of(field(value, "output"), model)
        return Shape("tool", results=(ResultText(call_id, text, tokens),))
    if kind == "mcp_approval_response":
        return Shape("tool", results=(ResultText(field(value, "approval_request_id") or "", ""),))
    texts: list[str] = []
    tokens = _read(value, texts)
    calls: tuple[CallFacts, ...] = ()
    if kind in _CALLS:
        id = field(value, "call_id") or field(value, "id") or ""
        calls = (CallFacts(id, field(value, "name") or kind),)
    reference = kind == "item_reference"
    return Shape("assistant", tuple(texts), tokens, calls, step=True, reference=reference)


_CALLS = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call"}
    | {"apply_patch_call", "mcp_approval_request"}
)


def _read(value: Any, texts: list[str]) -> int:
    """Append all texts of a value. Returns the estimated tokens of an item's encrypted parts."""
    if isinstance(value, str):
        texts.append(value)
        return 0
    if isinstance(value, bool | int | float):
        texts.append(str(value))
        return 0
    if value is None or isinstance(value, bytes):
        return 0
    if isinstance(value, Sequence):
        return sum(_read(part, texts) for part in value)
    if not isinstance(value, Mapping):
        dump = getattr(value, "model_dump", None)
        value = dump(exclude_none=True) if dump else getattr(value, "__dict__", {})
    tokens = 0
    for name, part in value.items():
        if name == "encrypted_content" and isinstance(part, str):
            tokens += len(part) // _ENCRYPTED_BYTES_PER_TOKEN
        elif name not in _OPAQUE:
            tokens += _read(part, texts)
    return tokens


def json_of(value: Any) -> str:
    """A value as compact JSON; a text as it is."""
    if isinstance(value, str):
        return value
    import json  # imported here because it slows the import of the library

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
