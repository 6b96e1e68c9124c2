"""Every test starts with an empty home and an environment without configuration."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from contextlib import closing
from inspect import signature
from itertools import count
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from hypothesis import settings

from tests.fakes.certificate import self_signed
from tests.fakes.migrated import copy_migrated

pytest_plugins = ["tests.parts.plugin"]

AnyReport = TypeVar("AnyReport", pytest.TestReport, pytest.CollectReport)

CI = os.environ.get("CI") == "true"

NO_ENGINE = "No container engine runs here"
"""The reason of the only skip that CI=true allows: `make parts` cannot install one."""

# Without this, hypothesis fails a test whose first examples are slow, as on a busy machine.
settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("default"), max_examples=500)
settings.load_profile("ci" if CI else "default")

# Its limit of 5 seconds fails a test on a busy machine. This one object is the default of them all.
for name in ("connect", "read", "write", "pool"):
    setattr(signature(httpx.get).parameters["timeout"].default, name, 60.0)

CONFIGURING = ("KEFU_", "LONGCAT_", "AWS_")
HOME_LIKE = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


@pytest.fixture(scope="session", autouse=True)
def _nothing_configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Removes the developer's settings from the environment of the tests and their processes.

    The only authority they trust is one that has signed nothing: each client and each process would
    read those of the system for 40 ms, and no test needs a public server.
    """
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in list(os.environ):
            if name.startswith(CONFIGURING) or name in HOME_LIKE:
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        certificates = tmp_path_factory.mktemp("certificates")
        self_signed(certificates)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "certificate.pem"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _migrated_once() -> Iterator[None]:
    with closing(copy_migrated()):
        yield


NUMBERS = count()


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory for the test."""
    # pytest would look for a free number among those of all tests before.
    path = tmp_path_factory.mktemp(f"home-of-test-{next(NUMBERS)}", numbered=False)
    monkeypatch.setenv("HOME", str(path))
    return path


LONG = (
    "test_commands",
    "test_contact",
    "test_openapi",
    "test_site_hooks",
    "test_streaming",
    "test_upstream_slow",
    "test_wheel",
)
"""Modules that would otherwise begin late and run alone at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long modules begin first, and the short ones of tests/unit fill the end of a parallel run."""
    items.sort(key=lambda item: (item.path.stem not in LONG, "/unit/" in str(item.path)))


def pytest_collection() -> None:
    """Nothing of what is collected is garbage: looking for it takes a sixth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """The collected tests stay until the end, so no garbage collection looks at them again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _with_nothing_missing((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _with_nothing_missing((yield))


def _with_nothing_missing(report: AnyReport) -> AnyReport:
    """With CI=true a skipped test fails, because all parts are installed there."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    allowed = hasattr(report, "wasxfail") or NO_ENGINE in str(reason)
    if CI and report.skipped and not allowed:
        report.outcome = "failed"
        report.longrepr = f"CI=true allows no skip. {reason}"
    return report
