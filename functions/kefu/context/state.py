"""The small value that makes successive trimmings of one conversation consistent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kefu.messages import field

_STATE_VERSION = 2


class TrimState(NamedTuple):
    """Remembers the last trimming of a conversation. Pass the state to the next `trim_messages`.

    A state is a few hundred bytes of JSON (`dump`, `load`), however long the conversation is. It
    knows its conversation by a checksum of all messages that are not sent any more, or else of the
    first question. A state of other messages is not used, and `Trimmed.stale` is true.

    Example: `state = TrimState.load(text).calibrated(response.usage)`.
    """

    cut: int = 0
    """The number of messages at the start that the last prompt did not contain."""
    cut_mark: str = ""
    """A checksum of the messages before `cut`; of the first question if `cut` is 0."""
    summary: str = ""
    """A summary of older messages; empty if there is none."""
    covers: int = 0
    """The number of messages at the start that the summary covers.

    If it is the number of system messages, the summary covers messages outside of the list."""
    covers_mark: str = ""
    """A checksum of the messages before `covers`."""
    counted: int = 0
    """The tokens of the last prompt, as the counter counts them."""
    measured: int = 0
    """The tokens of a prompt as the provider counted them; 0 if unknown."""
    measured_as: int = 0
    """The tokens of the same prompt, as the counter counts them."""
    exact: bool = False
    """Whether `counted` is an exact count."""
    measured_exact: bool = False
    """Whether `measured_as` is an exact count."""

    cleared: int = 0
    """The number of messages at the start whose tool results `ClearToolResults` has cleared."""

    def calibrated(self, usage: Any) -> TrimState:
        """The state with the provider's count of the last prompt.

        `usage`: the number of the prompt's tokens, or the `usage` of a response of OpenAI,
        Anthropic, Bedrock, Gemini, LangChain, pydantic-ai, the AI SDK or Ollama, as an object or a
        dict, or the response itself. Tokens that a cache served count as well. The next trimming
        corrects its estimates in the same proportion, at most threefold. An exact count is
        corrected upwards in proportion, and downwards by no more than was counted for `system`,
        `tools` and `response_format`. Raises TypeError for any other object.
        """
        tokens = prompt_tokens(usage)
        if tokens <= 0 or self.counted <= 0:
            return self
        return self._replace(measured=tokens, measured_as=self.counted, measured_exact=self.exact)

    def room(self, room: int, *, exact: bool = False, beside: int = 0) -> int:
        """The tokens of the counter that correspond to `room` tokens of the provider.

        `exact`: whether the counter is exact. `beside`: its tokens for what is not a message.
        """
        if not self.measured or not self.measured_as or (exact and not self.measured_exact):
            return room
        if exact and self.measured < self.measured_as:
            return room + min(self.measured_as - self.measured, beside)
        return min(3 * room, max(room // 3, room * self.measured_as // self.measured))

    def dump(self) -> str:
        """The state as JSON."""
        import json  # imported here because it slows the import of the library

        filled = {name: value for name, value in self._asdict().items() if value}
        return json.dumps({"version": _STATE_VERSION, **filled}, ensure_ascii=False)

    @classmethod
    def load(cls, text: str | None) -> TrimState:
        """The state in a text of `dump`; a new state for None, "" or another version.

        Raises ValueError for a text that is not such JSON.
        """
        import json

        if not text:
            return cls()
        value = json.loads(text)
        if not isinstance(value, dict):
            raise ValueError(f"A state is a JSON object as made by TrimState.dump: {text:.80}")
        if value.pop("version", 0) != _STATE_VERSION:
            return cls()
        try:
            state = cls(**value)
        except TypeError as error:
            raise ValueError(f"A state has a field that is not known: {text:.80}") from error
        types = (type(default) for default in cls())
        if not all(type(field) is kind for field, kind in zip(state, types, strict=True)):
            raise ValueError(f"A field of a state has the wrong type: {text:.80}")
        return state


_COUNTS = (
    *("prompt_tokens", "input_tokens", "inputTokens", "promptTokens", "prompt_token_count"),
    *("promptTokenCount", "prompt_eval_count", "request_tokens"),
)
_CACHED = (
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
    *("cacheReadInputTokens", "cacheWriteInputTokens"),
)
"""Anthropic and Bedrock count the tokens of a cache apart."""
_USAGES = ("usage", "usage_metadata", "usageMetadata")


def prompt_tokens(usage: Any) -> int:
    """The tokens of the prompt in a number, in a client's `usage`, or in a response with one.

    Raises TypeError for any other object.
    """
    if isinstance(usage, int):
        return usage
    for name in _USAGES:
        inner = field(usage, name)
        if inner is not None and not callable(inner):
            return prompt_tokens(inner)
    found = next((n for name in _COUNTS if isinstance(n := field(usage, name), int)), None)
    if found is None:
        raise TypeError(f"Pass usage.prompt_tokens, or the client's usage: {usage!r:.120}")
    cached = (field(usage, name) for name in _CACHED)
    return found + sum(number for number in cached if isinstance(number, int))


class ToSummarize(NamedTuple):
    """The messages that the next summary covers, without the last summary's messages.

    Tool calls that belong to the current question are among them when the question alone has filled
    the room. The question itself is then covered as well, but stays in the prompt while it is the
    current one.
    """

    messages: Sequence[Any]
    """Oldest first."""
    previous: str
    """The last summary; empty the first time."""
    covered: Sequence[Any]
    """All messages that the summary then covers: from the first message after the system prompt."""
    covers: int
    """The number of messages at the start that the next summary covers."""
    covers_mark: str
    """A checksum of the covered messages."""

    def with_summary(self, text: str, state: TrimState) -> TrimState:
        """`state` with one summary of `previous` and of `messages`, for the next trimming.

        `state`: the newest one, if prompts were trimmed while the summary was being written. An
        empty text changes nothing: the messages are offered again.
        """
        if not text.strip() or state.covers > self.covers:
            return state
        return state._replace(
            summary=text.strip(),
            covers=self.covers,
            covers_mark=self.covers_mark,
            cut=0,
            cut_mark="",
            cleared=0,
        )
