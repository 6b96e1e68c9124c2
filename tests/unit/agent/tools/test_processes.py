"""K7, S31: a tool that is a plain function can always be ended."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from kefu.agent.events import Final, Observation
from kefu.agent.tools import TOOLS, Tool, Workplace, tool_of
from kefu.agent.tools.processes import MAX_RESULT_CHARS
from kefu.errors import ToolFailed
from kefu.upstream.public_web import PublicWeb
from tests.fakes import endless
from tests.fakes.processes import all_end, noted
from tests.fakes.spoken import result_of, rig

ENDLESS = [endless.spin, endless.hold_the_lock, endless.sleep, endless.start_another]
ROOT = Path(__file__).parents[4]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    made = Workplace(tmp_path, lambda: 0.0, PublicWeb().get)
    yield made
    await made.processes.aclose()


def action(name: str, given: str = "x") -> str:
    return f'<action tool="{name}">{given}</action>'


@pytest.mark.slow
@pytest.mark.parametrize("endless_tool", ENDLESS)
async def test_k7_a_tool_that_never_ends_is_ended_by_the_time_out(
    place: Workplace, endless_tool: Callable[..., str]
) -> None:
    """The session continues with the same tools. Other tasks ran during the call."""
    tools = (tool_of(endless_tool, place), tool_of(TOOLS["calculate"], place))
    answers = (action(endless_tool.__name__), action("calculate", "6*7"), "<final>done</final>")
    talk = rig(*answers, tools=tools, tool_timeout=4.0)
    turns_of_the_loop = 0

    async def watch() -> None:
        nonlocal turns_of_the_loop
        while True:
            turns_of_the_loop += 1
            await asyncio.sleep(0.01)

    watching = asyncio.create_task(watch())
    await talk.session.run_turn("go")
    watching.cancel()
    told = [(body.content, body.ok) for body in talk.bodies(Observation)]
    assert told == [("No result within 4 s.", False), ("42", True)]
    assert talk.bodies(Final)
    assert turns_of_the_loop > 10
    assert all_end(noted(place.folder))


@pytest.mark.parametrize("endless_tool", ENDLESS)
async def test_s11_an_interrupt_ends_a_tool_that_never_ends(
    place: Workplace, endless_tool: Callable[..., str]
) -> None:
    talk = rig(action(endless_tool.__name__), tools=(tool_of(endless_tool, place),))
    turn = asyncio.create_task(talk.session.run_turn("go"))
    running = await asyncio.to_thread(noted, place.folder)
    assert talk.session.interrupt()
    assert (await turn).status == "interrupted"
    assert all_end(running)


@pytest.mark.parametrize("endless_tool", ENDLESS)
def test_no_process_is_left_when_the_program_is_killed(
    tmp_path: Path, endless_tool: Callable[..., str]
) -> None:
    """The chat is killed by SIGKILL while the tool runs. The tool's process then ends by itself."""
    program = (
        "import asyncio, pathlib, sys; from kefu.agent.tools import Workplace, tool_of;"
        "from tests.fakes import endless; from tests.fakes.spoken import result_of;"
        "place = Workplace(pathlib.Path(sys.argv[2]), lambda: 0.0, None);"
        "asyncio.run(result_of(tool_of(getattr(endless, sys.argv[1]), place), 'x'))"
    )
    command = [sys.executable, "-c", program, endless_tool.__name__, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT) as child:
        running = noted(tmp_path)
        child.kill()
    assert all_end(running)


async def test_no_process_is_left_when_the_tools_are_closed(place: Workplace) -> None:
    """Neither idle nor busy processes are left."""
    told = await result_of(tool_of(endless.parent, place), "x")
    busy = asyncio.ensure_future(result_of(tool_of(endless.spin, place), "x"))
    running = await asyncio.to_thread(noted, place.folder)
    await place.processes.aclose()
    with pytest.raises(ToolFailed, match="The tool's process was ended"):
        await busy
    assert all_end([int(told.split()[0]), *running])


async def test_one_process_serves_call_after_call(place: Workplace) -> None:
    """The first call starts the process. Later calls do not see the state of earlier ones."""
    assert not place.processes._all
    tool = tool_of(endless.parent, place)
    told = [await result_of(tool, "x") for _ in range(3)]
    assert len(set(told)) == 1
    assert told[0].endswith(" 1")


async def test_calls_at_the_same_time_do_not_wait_for_each_other(place: Workplace) -> None:
    waiting = asyncio.ensure_future(result_of(tool_of(endless.sleep, place), "x"))
    await asyncio.to_thread(noted, place.folder)
    assert await result_of(tool_of(TOOLS["calculate"], place), "1+1") == "2"
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        (endless.crash, r"The tool's process ended by SIGSEGV\."),
        (endless.leave, r"The tool's process ended with exit code 3\."),
        (endless.end, r"The tool failed: SystemExit\."),
        (endless.bug, r"The tool failed: ZeroDivisionError\."),
        (endless.no_text, r"The tool failed: TypeError\."),
    ],
)
async def test_a_failing_tool_is_reported_and_affects_no_later_call(
    place: Workplace, tool: Callable[..., str], says: str
) -> None:
    before = await result_of(tool_of(endless.parent, place), "x")
    with pytest.raises(ToolFailed, match=says):
        await result_of(tool_of(tool, place), "x")
    assert await result_of(tool_of(endless.parent, place), "x") == before


async def test_a_process_that_was_ended_while_idle_is_replaced(place: Workplace) -> None:
    tool = tool_of(endless.parent, place)
    before = await result_of(tool, "x")
    os.kill(int(before.split()[0]), signal.SIGKILL)
    [process] = place.processes._all
    await process.wait()
    assert await result_of(tool, "x") != before


async def test_a_long_result_comes_whole_and_a_longer_one_is_refused(place: Workplace) -> None:
    tool = tool_of(endless.repeat, place)
    for letter in ("é", "😀", "\\ud800"):
        call = f'{{"count": {MAX_RESULT_CHARS}, "letter": "{letter}"}}'
        assert len(await result_of(tool, call)) == MAX_RESULT_CHARS
    with pytest.raises(ToolFailed, match="longer than 1000000 characters"):
        await result_of(tool, f'{{"count": {MAX_RESULT_CHARS + 1}}}')


async def test_a_tool_has_no_standard_input_and_output(
    place: Workplace, capfd: pytest.CaptureFixture[str]
) -> None:
    """T21: the tool cannot change the terminal, the next call or its own result."""
    tool = tool_of(endless.chatter, place)
    assert await result_of(tool, "x") == "read ''"
    assert await result_of(tool, "x") == "read ''"
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", "")


async def test_t18_a_tools_process_inherits_no_secret(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model could read /proc/self/environ if the working directory is /."""
    for name in ("LONGCAT_API_KEYS", "ADMIN_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "canary-4f1c")
    told = await result_of(tool_of(endless.environment, place), "x")
    assert "PATH=" in told
    assert "canary" not in told


async def test_t22_a_tools_process_imports_nothing_from_the_working_directory(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ast", "asyncio", "json", "kefu", "select"):
        (place.folder / f"{name}.py").write_text("open('imported', 'w')")
    monkeypatch.chdir(place.folder)
    assert await result_of(tool_of(TOOLS["calculate"], place), "1+1") == "2"
    assert not (place.folder / "imported").exists()


def test_a_function_that_another_process_cannot_import_is_refused(place: Workplace) -> None:
    """It is refused when the tool is created, not when the model calls it."""

    def nested(text: str) -> str:
        return text

    def asking(place: Workplace, text: str) -> str:
        return text

    def main(text: str) -> str:
        return text

    main.__module__, main.__qualname__ = "__main__", "main"
    for function in (nested, main):
        with pytest.raises(ValueError, match="that can be imported, or make it an async function"):
            tool_of(function, place)
    asking.__qualname__ = "asking"
    globals()["asking"] = asking
    try:
        with pytest.raises(ValueError, match="only an async function can be given a Workplace"):
            tool_of(asking, place)
    finally:
        del globals()["asking"]


async def test_an_async_function_runs_on_the_loop(place: Workplace) -> None:
    """It may be a local function, and may receive the workplace."""

    async def here(place: Workplace, folder: Path, text: str) -> str:
        """Say where it runs."""
        return f"{text} {place.folder == folder} {os.getpid()}"

    tool: Tool = tool_of(here, place)
    assert await result_of(tool, "x") == f"x True {os.getpid()}"
    assert not place.processes._all
