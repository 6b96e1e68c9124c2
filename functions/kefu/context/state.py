"""The small value that makes successive trimmings of one conversation consistent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

_STATE_VERSION = 1


class TrimState(NamedTuple):
    """Remembers the last trimming of a conversation. Pass the state to the next `trim_messages`.

    A state is a few hundred bytes of JSON (`dump`, `load`), however long the conversation is. A
    state of another conversation is ignored: the first message, the message before `cut` or
    `covers`, and those 2, 4, 8, … before it must be equal. Changes of others are not noticed.

    Example: `state = TrimState.load(text).calibrated(response.usage.prompt_tokens)`.
    """

    cut: int = 0
    """The number of messages at the start that the last prompt did not contain."""
    cut_mark: str = ""
    """A checksum of some messages before `cut`."""
    summary: str = ""
    """A summary of older messages; empty if there is none."""
    covers: int = 0
    """The number of messages at the start that the summary covers.

    If it is the number of system messages, the summary covers messages outside of the list."""
    covers_mark: str = ""
    """A checksum of some messages before `covers`."""
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

    def calibrated(self, prompt_tokens: int) -> TrimState:
        """The state with the provider's count (`usage.prompt_tokens`) of the last prompt.

        The next trimming corrects its estimates in the same proportion, at most threefold; exact
        counts are corrected upwards only.
        """
        if prompt_tokens <= 0 or self.counted <= 0:
            return self
        return self._replace(
            measured=prompt_tokens, measured_as=self.counted, measured_exact=self.exact
        )

    def uncalibrated(self) -> TrimState:
        """The state without the provider's count."""
        return self._replace(measured=0, measured_as=0, measured_exact=False)

    def room(self, room: int) -> int:
        """The tokens of the counter that correspond to `room` tokens of the provider."""
        if not self.measured or not self.measured_as:
            return room
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


class ToSummarize(NamedTuple):
    """The messages that the next summary covers, without the last summary's messages."""

    messages: Sequence[Any]
    """Oldest first."""
    previous: str
    """The last summary; empty the first time."""
    covered: Sequence[Any]
    """All messages that the summary then covers: from the first message after the system prompt."""
    covers: int
    """The number of messages at the start that the next summary covers."""
    covers_mark: str
    """A checksum of some of the messages."""

    def with_summary(self, text: str, state: TrimState) -> TrimState:
        """`state` with one summary of `previous` and of `messages`, for the next trimming.

        An empty text changes nothing: the messages are offered again.
        """
        if not text.strip():
            return state
        return state._replace(
            summary=text.strip(),
            covers=self.covers,
            covers_mark=self.covers_mark,
            cut=0,
            cut_mark="",
        )
