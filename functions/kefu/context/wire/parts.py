"""Reads the parts of a message's content: texts, tool calls, tool results, images and files."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kefu.context.cost import json_of
from kefu.context.wire.media import media_tokens
from kefu.messages import Role, field

Path = tuple[str | int, ...]
"""The names and positions that lead from a message to one of its values."""


class CallFacts(NamedTuple):
    id: str
    """`function:` and the name of the tool, if the format has no ids."""
    tool: str


class ResultText(NamedTuple):
    call_id: str
    """`function:` and the name of the tool, if the result names no call."""
    text: str
    tokens: int = 0
    """Tokens of images and files in the result."""
    tool: str = ""
    """The name of the tool, if the result has it."""
    path: Path = ()
    """Where the result is in its message; empty if it must not be changed."""


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
    asked: bool = False
    """The user's words stand beside the results."""


class PartFacts:
    """Collects what the parts of one message say."""

    __slots__ = ("calls", "combined", "model", "results", "texts", "tokens")

    def __init__(self, model: str) -> None:
        self.model = model
        self.texts: list[str] = []
        self.tokens = 0
        self.calls: list[CallFacts] = []
        self.results: list[ResultText] = []
        self.combined = False
        """Whether calls and their results are in one message, as in the AI SDK's `UIMessage`."""

    def shape(self, role: Role, *, step: bool = False, named: bool = False) -> Shape:
        calls, results, asked = tuple(self.calls), tuple(self.results), False
        if results and role == "assistant" and not self.combined:  # of tools that the provider runs
            answered = {result.call_id for result in results}
            calls = tuple(call for call in calls if call.id not in answered)
            self.texts += [result.text for result in results]
            self.tokens += sum(result.tokens for result in results)
            results = ()
        elif results and not self.combined and role != "system":
            said = map(str.lstrip, self.texts)
            asked = role == "user" and any(t and not t.startswith(_REMINDER) for t in said)
            role = "tool"
        texts = tuple(self.texts)
        return Shape(role, texts, self.tokens, calls, results, step, False, named, asked)


# Opaque values: the API counts them differently, or not at all.
_OPAQUE = frozenset(
    {"type", "id", "call_id", "status", "signature", "cache_control", "tool_use_id", "role"}
    | {"encrypted_content", "encrypted_index", "encrypted_stdout", "fingerprint", "data"}
    | {"cachePoint", "thoughtSignature", "thought_signature", "providerOptions", "mediaType"}
    | {"providerMetadata", "extras", "state"}
)
_REMINDER = "<system-reminder>"
"""The beginning of what Claude Code adds beside tool results: they are not the user's words."""
_BESIDE_TEXT = _OPAQUE - {"encrypted_content"} | {"text"}
"""Fields of a part with a text from which the model reads nothing more, and the text."""
_ENCRYPTED_BYTES_PER_TOKEN = 5
_IDS = ("tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "call_id", "id")
_NAMES = ("name", "toolName", "tool_name")
_ARGUMENTS = ("arguments", "input", "args")
_RESULTS = ("content", "output", "result", "response")
_CALL_TYPES = frozenset({"tool_use", "tool-call", "tool_call", "function_call"})
_TEXT_TYPES = ("text", "input_text", "output_text")
_RESULT_TYPES = frozenset({"tool_result", "tool-result", "tool-return"})
USERS_PARTS = ("user-prompt", "speech")
"""Parts of pydantic-ai's requests that the user wrote or spoke."""
# Bedrock's and Gemini's parts have no type; they have one field with this name.
_CALL_FIELDS = ("toolUse", "functionCall", "function_call")
_RESULT_FIELDS = ("toolResult", "functionResponse", "function_response")
_TOOL_FIELDS = (*_CALL_FIELDS, *_RESULT_FIELDS)
_KNOWN_FIELDS = (
    *("text", "image", "document", "video", "audio", "reasoningContent", "cachePoint"),
    *("guardContent", "citationsContent", "searchResult", "inlineData", "inline_data"),
    *("fileData", "file_data", "executableCode", "executable_code", "codeExecutionResult"),
    *("code_execution_result", "thought", "json", "toolAddition", "toolRemoval"),
    *("toolCall", "tool_call", "toolResponse", "tool_response"),
)
_NOT_SENT = ("step-start", "data-", "source-")
"""Beginnings of the types of the AI SDK's parts that the model does not read."""


def _first(value: Any, names: Iterable[str]) -> tuple[str, Any]:
    """The first of these fields that the value has, and its name; else `("", None)`."""
    get = value.get if type(value) is dict else partial(field, value)
    for name in names:
        if (found := get(name)) is not None:
            return name, found
    return "", None


def not_a_message(value: Any) -> str:
    return (
        f"This is not a message that trim_messages reads: {value!r:.120}. It reads dicts, or values"
        " of the official clients, in the formats of OpenAI's chat completions and Responses API,"
        " Anthropic, LangChain, pydantic-ai, Bedrock's Converse, Gemini, Vercel's AI SDK and"
        " Ollama, and kefu.context.Message. Convert others into chat completions:"
        ' {"role": "user", "content": "..."}.'
    )


def is_result(part: Any) -> bool:
    """Whether a part is a tool result, in the format of any API; told without reading it."""
    kind = field(part, "type") or field(part, "part_kind")
    return kind in _RESULT_TYPES if isinstance(kind, str) else _first(part, _RESULT_FIELDS)[0] != ""


def read_blocks(message: Any, blocks: Any, where: str, facts: PartFacts) -> None:
    """Read the parts of a message's content. Raises TypeError for an unknown part."""
    if type(blocks) is not list and (
        isinstance(blocks, Mapping) or not isinstance(blocks, Iterable)
    ):
        raise TypeError(not_a_message(message))
    known = {call.id for call in facts.calls}  # LangChain repeats these calls in the content
    for at, block in enumerate(blocks):
        kind = field(block, "type")
        if not isinstance(kind, str):
            _read_untyped(message, block, (where, at), facts, known)
        elif kind in _CALL_TYPES:
            add_calls([block], facts, known)
        elif kind in _RESULT_TYPES:
            key, content = _first(block, _RESULTS)
            _add_result(block, content, (where, at, key), facts)
        elif kind == "tool-approval-request":  # it and its response pair like a call and a result
            facts.calls.append(CallFacts(field(block, "approvalId"), ""))
        elif kind == "tool-approval-response":
            facts.results.append(ResultText(field(block, "approvalId"), ""))
        elif where == "parts":
            _read_interface_part(block, kind, (where, at), facts)
        else:
            facts.tokens += read_media(block, facts.model, facts.texts)


def _read_untyped(
    message: Any, block: Any, path: Path, facts: PartFacts, known: Container[str]
) -> None:
    """Read a part of Bedrock or Gemini, or a text."""
    name, inner = "", _text_of(block)
    if not isinstance(inner, str):
        name, inner = _first(block, _TOOL_FIELDS)
    if name in _CALL_FIELDS:
        add_calls([inner], facts, known)
    elif name:
        key, content = _first(inner, _RESULTS)
        _add_result(inner, content, (*path, name, key), facts)
    elif isinstance(inner, str):
        facts.texts.append(inner)
    elif _first(block, _KNOWN_FIELDS)[0]:
        facts.tokens += read_media(block, facts.model, facts.texts)
    else:
        raise TypeError(not_a_message(message))


def _read_interface_part(part: Any, kind: str, path: Path, facts: PartFacts) -> None:
    """A part of the AI SDK's messages of a user interface, or of a similar format."""
    if kind == "tool-invocation":  # of the AI SDK before version 5
        part, path = field(part, "toolInvocation"), (*path, "toolInvocation")
    elif not kind.startswith(("tool-", "dynamic-tool")):
        if not kind.startswith(_NOT_SENT):
            facts.tokens += read_media(part, facts.model, facts.texts)
        return
    state = str(field(part, "state"))
    name = _first(part, _NAMES)[1] or kind.removeprefix("tool-")
    facts.texts += [name, json_of(_first(part, _ARGUMENTS)[1])]
    if not state.startswith(("output", "result")):
        facts.calls.append(CallFacts(_first(part, _IDS)[1] or "", name))
        return
    key, content = _first(part, ("output", "result", "errorText"))
    facts.combined = True
    facts.results.append(result_of("", name, content, (*path, key), facts.model))


def read_part(part: Any, path: Path, facts: PartFacts) -> None:
    """Read a part of pydantic-ai's messages."""
    kind, content = field(part, "part_kind"), field(part, "content") or field(part, "transcript")
    if kind == "tool-call":
        add_calls([part], facts)
    elif kind == "tool-return" or (kind == "retry-prompt" and field(part, "tool_name")):
        _add_result(part, content, (*path, "content"), facts)
    elif kind in ("builtin-tool-call", "builtin-tool-return"):
        facts.texts += [field(part, "tool_name"), json_of(field(part, "args") or content or "")]
    else:
        whole = [content] if isinstance(content, str) or not isinstance(content, list) else content
        for one in whole:
            facts.tokens += read_media(one, facts.model, facts.texts)


def add_calls(calls: Iterable[Any], facts: PartFacts, known: Container[str] = ()) -> None:
    """Add tool calls, in the format of any API, with ids that are not `known`."""
    for call in calls:
        made = field(call, "function") or field(call, "custom") or call  # OpenAI's
        name = _first(made, _NAMES)[1] or ""
        id = _first(call, _IDS)[1] or f"function:{name}"
        if id not in known:
            arguments = _first(made, _ARGUMENTS)[1]
            facts.texts += [name, "" if arguments is None else json_of(arguments)]
            if not field(call, "providerExecuted"):  # the AI SDK's: its result may come much later
                facts.calls.append(CallFacts(id, name))


def _add_result(result: Any, content: Any, path: Path, facts: PartFacts) -> None:
    name = _first(result, _NAMES)[1] or ""
    id = _first(result, _IDS)[1] or f"function:{name}"
    facts.results.append(result_of(id, name, content, path if path[-1] else (), facts.model))


def result_of(id: str, name: str, content: Any, path: Path, model: str) -> ResultText:
    """The result with the text of `content`, and the tokens of its images and files."""
    if type(content) is str:
        return ResultText(id, content, 0, name, path)
    texts: list[str] = []
    if isinstance(content, Mapping) and "value" in content and "type" in content:
        content = content["value"]  # the AI SDK's
    if content is None or isinstance(content, str):
        return ResultText(id, content or "", 0, name, path)
    blocks = content if isinstance(content, list | tuple) else [content]
    tokens = 0
    for block in blocks:
        if isinstance(text := _text_of(block), str):
            texts.append(text)
        elif (media := media_tokens(block, model, texts)) is not None:
            tokens += media
        elif isinstance(field(block, "type"), str):
            tokens += read_texts(block, texts)
        else:
            text = field(block, "text")
            texts.append(text if isinstance(text, str) else json_of(_plain_value(block)))
    return ResultText(id, "\n".join(texts), tokens, name, path)


def _plain_value(value: Any) -> Any:
    """A client's object as a dict; any other value as it is."""
    plain = (dict, type(None), list, tuple, int, float, bytes, Mapping)
    return value if isinstance(value, plain) else _fields(value)


def _text_of(part: Any) -> Any:
    """The text of a part that has nothing else, as most have; of any other, the part itself."""
    is_text = type(part) is dict and (len(part) == 1 or part.get("type") in _TEXT_TYPES)
    if is_text and (len(part) <= 2 or not any(map(part.get, part.keys() - _BESIDE_TEXT))):
        return part.get("text", part)
    return part


def read_media(part: Any, model: str, texts: list[str]) -> int:
    """The tokens of a part that is an image, audio or a file; else its texts are appended."""
    if isinstance(text := _text_of(part), str):
        texts.append(text)
        return 0
    tokens = media_tokens(part, model, texts)
    return read_texts(part, texts) if tokens is None else tokens


def read_texts(value: Any, texts: list[str]) -> int:
    """Append all texts of a value. Returns the estimated tokens of an item's encrypted parts."""
    tokens = 0
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, (int, float)):
            texts.append(str(part))
        elif type(part) is not dict and isinstance(part, (list, Sequence, set, frozenset)):
            if not isinstance(part, bytes):
                waiting += reversed(list(part))
        elif part is not None:
            for name, inner in reversed((part if type(part) is dict else _fields(part)).items()):
                if name not in _OPAQUE:
                    waiting.append(inner)
                elif name == "encrypted_content" and isinstance(inner, str):
                    tokens += len(inner) // _ENCRYPTED_BYTES_PER_TOKEN
    return tokens


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    fields = dump(exclude_none=True) if dump else getattr(value, "__dict__", None)
    return {"": str(value)} if fields is None else dict(fields)
