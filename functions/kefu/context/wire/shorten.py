"""The two stages that shorten tool results: clear old results, cap long results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kefu.context.cost import MessageCounter
from kefu.context.stages import CapToolResults, ClearToolResults
from kefu.context.wire.edits import can_edit, head_and_tail, with_results
from kefu.context.wire.reading import Reading, ReadingWalk


def clear_results(
    reading: Reading, stage: ClearToolResults, counter: MessageCounter, room: int
) -> None:
    """Clear results, except the newest, as far back as messages may still fit."""
    spent = 0
    newest: list[int] = []
    for at in _backwards(reading):
        shape = reading.shape(at)
        if shape.results:
            newest.append(at)
        if len(newest) > 2 * stage.keep_last:
            break
        spent += counter(reading[at])
        if spent > room:
            break
    candidates = newest[stage.keep_last :]
    if not candidates:
        return
    last = max(candidates, key=lambda at: (at & -at, at))
    spent = 0
    for at in _backwards(reading):
        if at <= last and not reading[at].pinned:
            _clear(reading, at, stage, counter.of_text)
        spent += counter(reading[at])
        if spent > room:
            return


def _backwards(reading: Reading) -> Iterator[int]:
    return iter(range(len(reading) - 1, -1, -1))


def _clear(reading: Reading, at: int, stage: ClearToolResults, count: Callable[[str], int]) -> None:
    results = reading.shape(at).results
    if not results or not can_edit(reading.value(at)):
        return
    least = count(stage.placeholder)
    names = reading.tools_of(at) if stage.exempt else {}
    texts = {
        number: stage.placeholder
        for number, result in enumerate(results)
        if count(result.text) + result.tokens > least
        and names.get(result.call_id) not in stage.exempt
    }
    if texts:
        reading.replace(at, with_results(reading.value(at), texts, whole=True))


def cap_results(
    reading: Reading, stage: CapToolResults, counter: MessageCounter, room: int
) -> None:
    """Cap results that have more than their share, as far back as messages may still fit."""
    at_most = max(1, int(stage.share * room))
    walk = ReadingWalk(reading, counter, counter.priming)
    open_results = [
        counter.of_text(result.text)
        for at in range(walk.tail, len(reading))
        for result in reading.shape(at).results
    ]
    fixed = walk.priming + walk.cost(0, walk.systems) + walk.cost(walk.tail, len(reading))
    if walk.current >= 0:
        fixed += walk.cost(walk.current, walk.current + 1)
    level = _level(open_results, room - fixed + sum(open_results))
    spent = 0
    for at in _backwards(reading):
        in_tail = at >= walk.tail
        if in_tail or not reading[at].pinned:
            _cap(reading, at, min(at_most, level) if in_tail else at_most, counter.of_text)
        spent += counter(reading[at])
        if spent > room and not in_tail:
            return


def _cap(reading: Reading, at: int, at_most: int, count: Callable[[str], int]) -> None:
    value = reading.value(at)
    results = reading.shape(at).results
    if not results or not can_edit(value):
        return
    texts = {
        number: head_and_tail(result.text, at_most, count)
        for number, result in enumerate(results)
        if count(result.text) > at_most
    }
    if texts:
        reading.replace(at, with_results(value, texts, whole=False))


def _level(costs: Sequence[int], room: int) -> int:
    """The highest cap under which these costs have at most `room` together; at least 0."""
    left, number = room, len(costs)
    for cost in sorted(costs):
        if cost * number > left:
            return max(0, left // number)
        left -= cost
        number -= 1
    return max(costs, default=0)
