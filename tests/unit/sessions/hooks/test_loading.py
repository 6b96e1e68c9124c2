"""H11: the functions of a site's hook are checked when the service starts."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from kefu.bootstrap.hooks import load_hooks
from kefu.settings import ConfigurationError, load

GOOD = "def context(question, visit):\n    return ''\n"

WRONG = {
    "too few arguments": (
        "def context(question): ...",
        "context(question) must be context(question, visit)",
    ),
    "too many arguments": (
        "async def after(turn, more): ...",
        "after(turn, more) must be after(turn)",
    ),
    "a keyword that is needed": (
        "def rated(turn, *, room): ...",
        "rated(turn, *, room) must be rated(turn)",
    ),
    "a generator": (
        "def history(history, visit):\n    yield 1",
        "history must return its result, not yield it",
    ),
    "an asynchronous generator": (
        "async def context(question, visit):\n    yield ''",
        "context must return its result, not yield it",
    ),
    "an asynchronous filter": (
        "async def output(visit): ...",
        "output must be a plain function, without async",
    ),
    "none of the functions": (
        "def contexts(question, visit): ...",
        "has none of the functions user_message(text, visit), ",
    ),
    "a mistake in the module": ("1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
    "a syntax error": ("def context(", "cannot be loaded: SyntaxError"),
    "a module that it needs": (
        "import no_such_module_5f3c",
        "No module named 'no_such_module_5f3c'",
    ),
}


def started(folder: Path, code: str, table: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (folder / "own_hooks.py").write_text(code)
    (folder / "kefu.toml").write_text(table)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "own_hooks", raising=False)
    importlib.invalidate_caches()
    hooks = load_hooks(load({"KEFU_UPSTREAM_URL": "http://127.0.0.1:9"}), pytest.fail)
    return [step for step in ("user_message", "context", "after") if hooks.has(step)]


@pytest.mark.parametrize("case", WRONG)
def test_h11_a_wrong_function_stops_the_start_with_a_sentence(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = WRONG[case]
    with pytest.raises(ConfigurationError) as error:
        started(tmp_path, code, "[hooks.own_hooks]", monkeypatch)
    assert said in str(error.value)
    assert "own_hooks" in str(error.value)
    assert "\n" not in str(error.value)


def test_h11_a_module_with_functions_is_a_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert started(tmp_path, GOOD, "[hooks.own_hooks]", monkeypatch) == ["context"]


def test_h11_a_module_with_functions_has_no_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="has no options"):
        started(tmp_path, GOOD, "[hooks.own_hooks]\nurl = 'x'", monkeypatch)


CLASSES = {
    "without a constructor": "class Own:\n    def after(self, turn): ...",
    "with one": "class Own:\n    def __init__(self, config): ...\n    def after(self, turn): ...",
}


@pytest.mark.parametrize("case", CLASSES)
def test_h11_a_class_needs_no_base_class(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert started(tmp_path, CLASSES[case], '[hooks."own_hooks:Own"]', monkeypatch) == ["after"]


WRONG_CLASSES = {
    "class Own:\n    def __init__(self, a, b): ...": "cannot be created: TypeError",
    "class Own:\n    def __init__(self, config): raise OSError('no file')": "OSError: no file",
    "class Own:\n    def system(self, context): ...": "has system. Its name is context(",
    "class Own:\n    def answer(self, context): ...": "has answer. Its name is output(visit) now",
    "Own = 5": "is no class and no function",
}


@pytest.mark.parametrize("code", WRONG_CLASSES)
def test_h11_a_wrong_class_stops_the_start_with_a_sentence(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError) as error:
        started(tmp_path, code, '[hooks."own_hooks:Own"]', monkeypatch)
    assert WRONG_CLASSES[code] in str(error.value)
    assert "\n" not in str(error.value)
