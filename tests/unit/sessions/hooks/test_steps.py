"""H11: a hook of a site that fails changes nothing but a line in the log."""

# ruff: noqa: ARG005 - the arguments of hooks are fixed

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from kefu.messages import Message
from kefu.sessions.hooks import EndedTurn, Filter, HookContext, Hooks, Reply, loaded
from kefu.sessions.hooks import steps as steps_module
from kefu.sessions.hooks.calls import MAX_THREADS
from kefu.sessions.store.model import Session, SessionId
from tests.fakes.relaying import in_virtual_time

HISTORY = (Message("user", "a"), Message("assistant", "b"))
VISIT = HookContext(Session(SessionId("s"), "t", "default", 0.0, 0.0), 0.0, history=HISTORY)
TURN = EndedTurn(VISIT.session, 1, "question", "answer", "ok", 0.0)


def hooks(faults: list[str], **functions: Callable[..., object]) -> Hooks:
    return Hooks([loaded("own", SimpleNamespace(**functions))], faults.append)


async def everything(site: Hooks) -> tuple[object, ...]:
    """The results of the steps before the model is asked, as they are without hooks."""
    until = asyncio.get_running_loop().time() + 60
    return (
        tuple(await site.user_message("question", VISIT, str)),
        await site.history(VISIT, until),
        await site.context("question", VISIT, until),
    )


UNCHANGED: tuple[object, ...] = (("question", None), HISTORY, [])


def fails(*args: object) -> Any:
    raise ValueError("canary-of-a-visitor")


async def fails_async(*args: object) -> Any:
    raise ValueError("canary-of-a-visitor")


def leaves(*args: object) -> Any:
    raise SystemExit(1)


async def leaves_async(*args: object) -> Any:
    raise SystemExit(1)


async def cancels(*args: object) -> Any:
    raise asyncio.CancelledError


def stops(*args: object) -> Any:
    raise StopIteration


@pytest.mark.parametrize("wrong", [fails, fails_async, leaves, leaves_async, cancels, stops])
async def test_h11_an_exception_of_a_hook_changes_nothing(wrong: Callable[..., object]) -> None:
    faults: list[str] = []
    site = hooks(faults, user_message=wrong, history=wrong, context=wrong)
    assert await everything(site) == UNCHANGED
    assert [one.split()[1] for one in faults] == ["user_message", "history", "context"]
    assert "canary" not in "".join(faults)


async def test_h11_the_log_names_the_line_of_the_hook() -> None:
    faults: list[str] = []
    await everything(hooks(faults, context=fails))
    line = fails.__code__.co_firstlineno + 1
    assert faults == [f"own: context raised ValueError in line {line}"]


NONSENSE: list[object] = [
    5,
    b"bytes",
    object(),
    "\ud800",
    "x" * 50_000,
    [Message("system", "A second system message.")],
    [Message("user", "\udfff")],
    ["text"],
    [("user", "text")],
    {"role": "user"},
]


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: str(value)[:20])
async def test_h11_a_result_that_is_no_text_or_history_changes_nothing(value: object) -> None:
    def wrong(*args: object) -> object:
        return value

    faults: list[str] = []
    site = hooks(faults, user_message=wrong, history=wrong, context=wrong)
    assert await everything(site) == UNCHANGED
    assert len(faults) == 3


async def test_h11_none_is_no_context_and_no_message() -> None:
    faults: list[str] = []
    nothing = lambda *args: None  # noqa: E731
    site = hooks(faults, user_message=nothing, history=nothing, context=nothing)
    assert await everything(site) == UNCHANGED
    assert [one.split()[1] for one in faults] == ["user_message", "history"]


async def test_h11_a_coroutine_of_a_plain_function_changes_nothing() -> None:
    faults: list[str] = []
    site = hooks(faults, context=lambda question, visit: fails_async())
    assert await everything(site) == UNCHANGED
    assert faults == ["own: context returned coroutine, not str"]


@contextmanager
def hanging() -> Iterator[Callable[..., Any]]:
    """A function that hangs until the end of the test."""
    end = threading.Event()
    try:
        yield lambda *args: end.wait()
    finally:
        end.set()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps_module, "BEFORE_SAVING", 0.2)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("kind", ["thread", "coroutine", "one that catches its cancellation"])
async def test_h11_a_hook_that_hangs_is_left_behind_and_then_left_out(kind: str) -> None:
    faults: list[str] = []
    with hanging() as hang:

        async def hang_async(*args: object) -> None:
            await asyncio.Event().wait()

        async def hang_twice(*args: object) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0.1)

        wrong = {"thread": hang, "coroutine": hang_async}.get(kind, hang_twice)
        site = hooks(faults, user_message=wrong)
        for _ in range(4):
            assert await site.user_message("question", VISIT, str) == ("question", None)
    assert all("own: user_message did not end within" in one for one in faults[:3])
    assert faults[3:] == ["own: user_message is left out after 3 time-outs"]


async def test_h11_threads_that_hang_have_a_limit() -> None:
    faults: list[str] = []
    refused = threading.Event()

    def hang(*args: object) -> None:
        refused.wait()

    def on_fault(fault: str) -> None:
        faults.append(fault)
        refused.set()

    named = [loaded(str(n), SimpleNamespace(context=hang)) for n in range(MAX_THREADS + 1)]
    until = asyncio.get_running_loop().time() + 60
    assert await Hooks(named, on_fault).context("question", VISIT, until) == []
    assert faults == [
        f"{MAX_THREADS}: context was not called: {MAX_THREADS} calls of hooks are running"
    ]


async def test_h11_hooks_change_texts_in_their_order() -> None:
    faults: list[str] = []
    first = SimpleNamespace(
        user_message=lambda text, visit: f"  {text}!  ",
        context=lambda question, visit: f"one: {question}",
        history=lambda history, visit: history[-1:],
    )

    class Second:
        async def user_message(self, text: str, visit: HookContext) -> str:
            return f"{text}?"

        async def context(self, question: str, visit: HookContext) -> str:
            return f"two: {visit.history[0].content}"

    site = Hooks([loaded("first", first), loaded("second", Second())], faults.append)
    text, history, context = await everything(site)
    assert text == ("  question!  ?", None)
    assert history == HISTORY[-1:]
    assert context == ["one: question", "two: a"]
    cleaned = await site.user_message("question", VISIT, str.strip)
    assert cleaned.text == "question!?"
    assert faults == []


async def test_h11_a_reply_ends_the_step_and_an_empty_one_is_none() -> None:
    faults: list[str] = []
    replies = SimpleNamespace(user_message=lambda text, visit: Reply(text))
    site = Hooks([loaded("own", replies), loaded("other", replies)], faults.append)
    assert await site.user_message("hello", VISIT, str) == ("hello", "hello")
    assert await site.user_message(" ", VISIT, str) == (" ", None)
    assert faults == [f"{name}: user_message returned an empty Reply" for name in ("own", "other")]


async def filtered(site: Hooks, *pieces: str, field: str = "content") -> str:
    [one] = site.filters(VISIT, field)
    assert not isinstance(one, Filter)
    return "".join([await one.feed(piece) for piece in pieces]) + await one.close()


class Upper(Filter):
    """Holds one character back, and fails as a test wants."""

    def __init__(self, fail_at: int = 99, how: Callable[[], object] = fails) -> None:
        self._held, self._left, self._how = "", fail_at, how

    def feed(self, text: str) -> str:
        self._left -= 1
        if not self._left:
            return self._how()  # type: ignore[return-value]
        text = self._held + text
        self._held = text[-1:]
        return text[:-1].upper()

    def close(self) -> str:
        return self._held.upper()


async def test_h11_an_answer_passes_a_filter_of_a_site() -> None:
    assert await filtered(hooks([], output=lambda visit: Upper()), "ab", "cd", "e") == "ABCDE"
    assert await filtered(hooks([], output=lambda visit: None), "ab", "cd") == "abcd"


async def test_h11_the_rest_of_an_answer_passes_unchanged_when_its_filter_fails() -> None:
    """Text that the filter had held back is not lost."""
    for number, expected in ((1, "abcde"), (2, "Abcde"), (3, "ABCde")):
        for how in (fails, leaves, lambda: 5, lambda: None):
            faults: list[str] = []
            site = hooks(faults, output=lambda visit, n=number, how=how: Upper(n, how))
            assert await filtered(site, "ab", "cd", "e") == expected
            assert len(faults) == 1


async def test_h11_a_hook_that_returns_no_filter_leaves_the_answer() -> None:
    for wrong in (5, "text", Upper):
        faults: list[str] = []
        site = hooks(faults, output=lambda visit, wrong=wrong: wrong)
        assert await filtered(site, "ab", "cd") == "abcd"
        assert len(faults) == 1


async def test_h11_a_filter_cannot_remove_a_whole_answer_but_the_reasoning() -> None:
    faults: list[str] = []
    silent = SimpleNamespace(feed=lambda text: "", close=lambda: "")
    site = hooks(faults, output=lambda visit: silent)
    assert await filtered(site, "ab", "cd") == "abcd"
    assert faults == ["own: output left nothing of the answer"]
    assert await filtered(site, "ab", "cd", field="reasoning_content") == ""


async def test_h11_what_runs_in_the_background_cannot_fail_the_caller() -> None:
    faults: list[str] = []
    told: list[object] = []
    site = Hooks(
        [
            loaded("wrong", SimpleNamespace(after=fails, rated=fails)),
            loaded("right", SimpleNamespace(after=told.append)),
        ],
        faults.append,
    )

    async def load_badly() -> EndedTurn:
        raise LookupError

    for task in (site.begin("after", TURN), site.begin("rated", load_badly)):
        assert task
        await task
    assert site.begin("contact", TURN) is None
    assert told == [TURN]
    assert sorted(one.split(" in line")[0] for one in faults) == [
        "rated was not called: LookupError",
        "wrong: after raised ValueError",
    ]


async def test_h11_a_server_that_stops_does_not_wait_for_hooks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps_module, "CLOSING_SECONDS", 0.01)
    began = threading.Event()

    async def hang(turn: object) -> None:
        began.set()
        await asyncio.Event().wait()

    site = hooks([], after=hang)
    task = site.begin("after", TURN)
    assert task
    await asyncio.to_thread(began.wait)
    await site.aclose()
    await asyncio.wait({task})
    assert task.cancelled()


@in_virtual_time
async def test_h11_time_outs_in_a_row_leave_a_hook_out_for_a_minute_and_others_do_not() -> None:
    faults: list[str] = []
    waits: list[float] = []

    class Slow:
        async def user_message(self, text: str, visit: HookContext) -> str:
            await asyncio.sleep(waits.pop(0))
            return "changed"

    site = Hooks([loaded("own", Slow())._replace(is_ours=True)], faults.append)

    async def texts(*seconds: float) -> list[str]:
        waits[:] = seconds
        return [(await site.user_message("asked", VISIT, str)).text for _ in seconds]

    assert await texts(60, 60, 0, 60, 60, 0) == ["asked", "asked", "changed"] * 2
    assert await texts(60, 60, 60) == ["asked"] * 3
    assert all("did not end within" in fault for fault in faults)
    faults.clear()
    assert await texts(0) == ["asked"]
    await asyncio.sleep(59)
    assert await texts(0) == ["asked"]
    assert faults == ["own: user_message is left out after 3 time-outs"] * 2
    await asyncio.sleep(1.1)
    assert await texts(0, 60, 0) == ["changed", "asked", "changed"]
