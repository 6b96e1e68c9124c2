"""The facts about one message that trimming needs: role, texts, tool calls, tool results.

Objects may be dicts or values of the official clients. The formats have no field in common that
means different things, so each object is understood on its own, by its structure. `parts` reads
the parts of a content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kefu.context.wire.parts import (
    USERS_PARTS,
    CallFacts,
    PartFacts,
    ResultText,
    Shape,
    add_calls,
    is_result,
    not_a_message,
    read_blocks,
    read_media,
    read_part,
    read_texts,
    result_of,
)
from kefu.messages import REASONING_FIELDS, Message, Role, field

_MORE_TEXTS = ("refusal", *REASONING_FIELDS, "thinking", "name")
"""The fields of a message that have a text, beside its content."""

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "SystemMessageChunk": "system",
    "HumanMessageChunk": "user",
    "AIMessageChunk": "assistant",
    "ToolMessageChunk": "tool",
}
_CONTENT_FIELDS = frozenset({"role", "content", "parts", "type", "id", "status"})
"""The fields of a message that has nothing beside its content, as most have."""
_LANGCHAIN = _ROLES.keys() - {"developer", "user", "assistant", "model"}
"""LangChain's messages have such a `type` and no `role`."""


def shape_of(value: Any, model: str) -> Shape:
    """The facts about a message or item; `model` decides an image's tokens. Raises TypeError."""
    if isinstance(value, Message):
        return _own(value)
    kind, role = field(value, "type"), field(value, "role")
    if isinstance(kind, str) and (role is None or kind == _TOOLS):
        if of_item := _role_of_item(kind, role):
            return _item(value, kind, of_item, model)
        if kind in _LANGCHAIN and field(value, "content") is not None:
            role = kind
    if role is None and field(value, "parts") is not None:
        return _of_parts(value, model)
    if not isinstance(role, str) or role not in _ROLES:
        raise TypeError(not_a_message(value))
    step = kind == "message" and role == "assistant"
    plain = type(value) is dict and _plain(value, _ROLES[role], model, step=step)
    return plain or _message(value, _ROLES[role], model, step=step)


def role_of(value: Any) -> Role | None:
    """The role, if it can be told without reading the content; else None."""
    if isinstance(value, Message):
        return value.role
    kind, role = field(value, "type"), field(value, "role")
    if role is None and (of := field(value, "kind")) in ("request", "response"):  # pydantic-ai's
        role = "user" if of == "request" else "assistant"
    elif role is None or kind == _TOOLS:
        if not isinstance(kind, str) or kind not in _LANGCHAIN:
            return _role_of_item(kind, role) if isinstance(kind, str) else None
        role = kind
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known != "user":
        return known
    # The results of Anthropic, Bedrock, Gemini and pydantic-ai have the user's role.
    content = field(value, "content") or field(value, "parts")
    return "tool" if type(content) is list and content and all(map(is_result, content)) else None


def _plain(value: dict[str, Any], role: Role, model: str, *, step: bool) -> Shape | None:
    """The facts about the most frequent dicts; None for all others."""
    content, size = value.get("content"), len(value)
    if type(content) is str:
        if size == 2 and role != "tool":
            return Shape(role, (content,))
        if size == 3 and role == "tool" and type(id := value.get("tool_call_id")) is str:
            return Shape("tool", results=(ResultText(id, content, path=("content",)),))
    elif (blocks := content or value.get("parts")) and value.keys() <= _CONTENT_FIELDS:
        facts = PartFacts(model)
        read_blocks(value, blocks, "content" if content else "parts", facts)
        return facts.shape(role, step=step) if role != "tool" or facts.results else None
    calls = value.get("tool_calls")
    is_step = size == 3 and role == "assistant" and calls and "content" in value
    if not is_step or not (content is None or type(content) is str):
        return None
    facts = PartFacts(model)
    if content is not None:
        facts.texts.append(content)
    add_calls(calls or (), facts)
    return facts.shape("assistant")


def _own(value: Message) -> Shape:
    calls = tuple(CallFacts(call.id, call.name) for call in value.tool_calls)
    if value.role == "tool":
        result = ResultText(value.tool_call_id or "", value.content, path=("content",))
        return Shape("tool", results=(result,))
    texts = [value.content]
    for call in value.tool_calls:
        texts += call.name, call.arguments
    return Shape(value.role, tuple(texts), calls=calls)


def _message(value: Any, role: Role, model: str, *, step: bool) -> Shape:
    content, parts = field(value, "content"), field(value, "parts")
    facts = PartFacts(model)
    if role == "tool":
        name = field(value, "name") or field(value, "tool_name")
        id = field(value, "tool_call_id") or (f"function:{name}" if name else None)
        if isinstance(id, str):
            return Shape("tool", results=(result_of(id, name or "", content, ("content",), model),))
    texts = facts.texts
    if isinstance(content, str):
        texts.append(content)
    texts += [text for name in _MORE_TEXTS if isinstance(text := field(value, name), str)]
    for name in ("tool_calls", "invalid_tool_calls"):  # OpenAI's, LangChain's
        add_calls(field(value, name) or (), facts)
    add_calls([old] if (old := field(value, "function_call")) else (), facts)
    for image in field(value, "images") or ():  # Ollama's
        data = field(image, "value") or image
        facts.tokens += read_media({"type": "image", "data": data}, model, texts)
    _read_content(value, content, parts, facts)
    is_any = texts or facts.calls or any(_has(value, n) for n in ("content", "audio", "parts"))
    if type(value) is dict and role == "assistant":  # an answer that was stopped may have nothing
        is_any = is_any or not any(value[name] for name in value.keys() - _CONTENT_FIELDS)
    if not is_any or (role == "tool" and not facts.results):
        raise TypeError(not_a_message(value))
    return facts.shape(role, step=step, named=isinstance(field(value, "name"), str))


def _read_content(value: Any, content: Any, parts: Any, facts: PartFacts) -> None:
    """Read the blocks of `content`, or else Gemini's or the AI SDK's `parts`."""
    if content is not None and not isinstance(content, str):
        read_blocks(value, content, "content", facts)
    elif parts is not None:  # the AI SDK's older messages have the text twice
        tools = (str(field(part, "type")).startswith(("tool-", "dynamic-tool")) for part in parts)
        if content is None or any(tools):
            read_blocks(value, parts, "parts", facts)


def _of_parts(value: Any, model: str) -> Shape:
    """A message of pydantic-ai, or Gemini's content without a role."""
    facts = PartFacts(model)
    kind = field(value, "kind")
    if kind not in ("request", "response"):
        read_blocks(value, field(value, "parts"), "parts", facts)
        return facts.shape("user")
    kinds = set()
    for at, part in enumerate(field(value, "parts")):
        kinds.add(field(part, "part_kind"))
        read_part(part, ("parts", at), facts)
    if kind == "response":
        return facts.shape("assistant")
    if "system-prompt" in kinds:  # often with the question beside it, so that both are kept
        return facts.shape("system")
    # A retry without a tool is no question of the user's: it belongs to the turn before it.
    is_users = not kinds.isdisjoint(USERS_PARTS)
    return facts.shape("user" if is_users else "tool" if facts.results else "assistant")


def _has(value: Any, name: str) -> bool:
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


_ITEMS = frozenset(
    {"reasoning", "compaction", "compaction_trigger", "item_reference"}
    | {"mcp_list_tools", "program", "additional_tools"}
    | {"mcp_approval_request", "mcp_approval_response"}
)
_TOOLS = "additional_tools"
"""The only item with a role that is no message; a model's step may have it as well."""
_ITEM_ENDINGS = ("_call", "_output", "_update")
"""The other items of the Responses API: new tools have such types, too."""
_CALLS = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call"}
    | {"apply_patch_call", "mcp_approval_request"}
)
_PLAIN_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


def _role_of_item(kind: str, role: Any) -> Role | None:
    """The role of an item of the Responses API with this type; None if it is no such item."""
    if role == "developer":
        return "system"
    if kind.endswith("_output") and kind not in ("tool_search_output", "program_output"):
        return "tool"
    if kind in _ITEMS or kind.endswith(_ITEM_ENDINGS):
        return "tool" if kind == "mcp_approval_response" else "assistant"
    return None


def _item(value: Any, kind: str, role: Role, model: str) -> Shape:
    """An item of the Responses API that is not a message; `role`: that of its `kind`."""
    if kind == "mcp_approval_response":
        return Shape("tool", results=(ResultText(field(value, "approval_request_id") or "", ""),))
    id = field(value, "call_id") or field(value, "id") or ""  # `local_shell_call_output` has `id`
    if role == "tool":
        path = ("output",) if kind in _PLAIN_OUTPUTS else ()
        return Shape("tool", results=(result_of(id, "", field(value, "output"), path, model),))
    texts: list[str] = []
    if kind == "image_generation_call":
        tokens = read_media({"type": "image", "data": field(value, "result")}, model, texts)
    else:
        tokens = read_texts(value, texts)
    calls = (CallFacts(id, field(value, "name") or kind),) if kind in _CALLS else ()
    step, reference = role == "assistant", kind == "item_reference"
    return Shape(role, tuple(texts), tokens, calls, step=step, reference=reference)
