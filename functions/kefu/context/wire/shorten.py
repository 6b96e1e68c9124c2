"""The two stages that shorten tool results: clear old results, cap long results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from kefu.context.budget import Budget
from kefu.context.cost import LONGEST_TOKEN, MessageCounter
from kefu.context.stages import CapToolResults, ClearToolResults
from kefu.context.trim.recent import room_after_fixed
from kefu.context.wire.edits import beginning_and_end, with_results
from kefu.context.wire.parts import ResultText
from kefu.context.wire.reading import ReadingConversation

_ENOUGH_CHARS = 16
"""Characters for each token of the placeholder: so much of a text mostly has more tokens."""


def clear_results(
    talk: ReadingConversation,
    stage: ClearToolResults,
    counter: MessageCounter,
    room: int,
    cleared: int,
    fits: Callable[[], bool],
) -> int:
    """Clear results, except the newest, as far back as messages may still fit.

    `cleared`: the position before which the last prompt had none. It stays, and with it the
    beginning of the prompt, until `fits` says that the conversation is too long again. Returns the
    new position.
    """
    if cleared:
        _clear_before(talk, cleared, stage, counter, room)
        if fits():
            return cleared
    newest = _newest_results(talk, stage.keep_last, room)
    candidates = newest[stage.keep_last :]
    if not candidates:
        return cleared
    last = candidates[0] if cleared else max(candidates, key=lambda at: (at & -at, at))
    _clear_before(talk, last + 1, stage, counter, room)
    return max(cleared, last + 1)


def _newest_results(talk: ReadingConversation, keep_last: int, room: int) -> list[int]:
    """The positions of up to twice as many messages with results as are kept, newest first."""
    spent = 0
    newest: list[int] = []
    for at in range(len(talk.messages) - 1, -1, -1):
        if talk.messages.shape(at).results:
            newest.append(at)
        spent += talk.costs[at]
        if len(newest) > 2 * keep_last or spent > room:
            break
    return newest


def _clear_before(
    talk: ReadingConversation,
    stop: int,
    stage: ClearToolResults,
    counter: MessageCounter,
    room: int,
) -> None:
    spent, messages = 0, talk.messages
    kept = messages.pins | messages.edited.keys()
    least = counter.of_text(stage.placeholder)

    def cleared(tools: Mapping[str, str], result: ResultText) -> str:
        """The placeholder, if it has fewer tokens; the beginning of most texts shows it."""
        text, enough = result.text, _ENOUGH_CHARS * least
        is_longer = len(text) > LONGEST_TOKEN * least or any(
            counter.of_text(part) + result.tokens > least for part in (text[:enough], text)
        )
        is_exempt = (result.tool or tools.get(result.call_id)) in stage.exempt
        return stage.placeholder if is_longer and not is_exempt else text

    for at in range(len(messages) - 1, -1, -1):
        if at < stop and at not in kept and messages.shape(at).results:
            tools = messages.tools_of(at) if stage.exempt else {}
            _shorten(talk, at, partial(cleared, tools), whole=True)
        spent += talk.costs[at]
        if spent > room:
            return


def cap_results(
    talk: ReadingConversation, stage: CapToolResults, counter: MessageCounter, budget: Budget
) -> None:
    """Cap results that have more than their share, as far back as messages may still fit."""
    at_most = max(1, int(stage.share * budget.room))
    open_results = [
        counter.of_text(result.text)
        for at in range(talk.open_calls, len(talk.messages))
        for result in talk.messages.shape(at).results
    ]
    level = _level(open_results, room_after_fixed(talk, budget) + sum(open_results))
    spent, pins = 0, talk.messages.pins
    for at in range(len(talk.messages) - 1, -1, -1):
        in_tail = at >= talk.open_calls
        most = min(at_most, level) if in_tail else at_most
        if talk.costs[at] > most and (in_tail or at not in pins):
            _cap(talk, at, most, counter.of_text)
        spent += talk.costs[at]
        if spent > budget.room and not in_tail:
            return


def _cap(talk: ReadingConversation, at: int, at_most: int, count: Callable[[str], int]) -> None:
    def capped(result: ResultText) -> str:
        return beginning_and_end(result.text, at_most, count)

    _shorten(talk, at, capped, whole=False)


def _shorten(
    talk: ReadingConversation, at: int, text_of: Callable[[ResultText], str], *, whole: bool
) -> None:
    value = talk.messages.value(at)
    shorter = with_results(value, talk.messages.shape(at).results, text_of, whole=whole)
    if shorter is not value:
        talk.replace(at, shorter)


def _level(costs: Sequence[int], room: int) -> int:
    """The highest cap under which these costs have at most `room` together; at least 0."""
    left, number = room, len(costs)
    for cost in sorted(costs):
        if cost * number > left:
            return max(0, left // number)
        left -= cost
        number -= 1
    return max(costs, default=0)
