"""H24: sign-ins to the panel are listed, and an ended one is refused by every process."""

from __future__ import annotations

import subprocess
from typing import Any

import httpx
import pytest

from tests.fakes.fixtures import Staged
from tests.fakes.stage import Stage
from tests.web.test_admin import entered
from tests.web.test_contact import TOKEN, as_operator, settings


def link(running: Stage, *arguments: str) -> subprocess.CompletedProcess[str]:
    return running.service.kefu("admin-link", *arguments)


def signed_in(running: Stage, *arguments: str) -> str:
    """A pass, by a link."""
    ticket = link(running, *arguments).stdout.strip().partition("#ticket=")[2]
    given: str = entered(running, ticket).raise_for_status().json()["pass"]
    return given


def status(running: Stage, bearer: str, path: str = "queue") -> int:
    return as_operator(running, path, "GET", token=bearer).status_code


def listed(running: Stage, bearer: str = TOKEN) -> list[dict[str, Any]]:
    answer = as_operator(running, "passes", "GET", token=bearer).raise_for_status()
    found: list[dict[str, Any]] = answer.json()["passes"]
    return found


@pytest.fixture
def both(staged: Staged) -> tuple[Stage, Stage]:
    """Two processes with one store."""
    first = staged(1, **settings())
    store = f"sqlite:///{first.service.folder / 'chats.sqlite3'}"
    return first, staged(1, **{**settings(), "store": store})


def test_h24_an_ended_sign_in_is_refused_by_every_process_and_the_others_stay(
    both: tuple[Stage, Stage],
) -> None:
    first, second = both
    ingrid = signed_in(first, "--name", "Ingrid")
    bob = signed_in(first, "--name", "Bob", "--read-only")
    for running in both:
        shown = [(one["operator"], one["may"], one["own"]) for one in listed(running, bob)]
        assert shown == [("Bob", "read", True), ("Ingrid", "", False)]
        assert [status(running, one) for one in (ingrid, bob)] == [200, 200]
    [_, of_ingrid] = listed(second)
    assert of_ingrid["expires_at"] - of_ingrid["opened_at"] == pytest.approx(12 * 3600, abs=1)
    assert ingrid not in str(listed(second))

    # Who may only read ends no sign-in.
    refused = as_operator(first, f"passes/{of_ingrid['id']}", "DELETE", token=bob)
    assert refused.status_code == 403
    for expected in (204, 204, 404):
        id = of_ingrid["id"] if expected == 204 else "none"
        assert as_operator(first, f"passes/{id}", "DELETE").status_code == expected
    for running in both:
        assert [status(running, one) for one in (ingrid, bob, TOKEN)] == [401, 200, 200]
        # It does not count as a wrong token, which would lock out the colleagues in the office.
        assert {status(running, ingrid, "about") for _ in range(12)} == {401}
        assert status(running, bob, "about") == 200
        assert [one["operator"] for one in listed(running)] == ["Bob"]


def test_h24_the_command_lists_sign_ins_and_ends_all_of_a_name(both: tuple[Stage, Stage]) -> None:
    first, second = both
    assert link(first, "--list").stdout == "Nobody is signed in.\n"
    passes = [signed_in(one, "--name", "Ingrid Ø") for one in both]
    reader = signed_in(first, "--read-only")
    lines = link(second, "--list").stdout.splitlines()
    assert [line.split("UTC")[1].strip() for line in lines] == [
        "-  reads only",
        "Ingrid Ø",
        "Ingrid Ø",
    ]
    unknown = link(first, "--end", "Nobody")
    assert (unknown.returncode, unknown.stdout) == (1, "Sign-ins ended: 0\n")
    ended = link(first, "--end", "Ingrid Ø")
    assert (ended.returncode, ended.stdout) == (0, "Sign-ins ended: 2\n")
    for running in both:
        assert [status(running, one) for one in (*passes, reader)] == [401, 401, 200]
    assert link(first, "--end", lines[0].split()[0]).stdout == "Sign-ins ended: 1\n"
    assert status(second, reader) == 401


def test_h24_signing_out_ends_the_pass_also_of_a_reader(both: tuple[Stage, Stage]) -> None:
    first, second = both
    reader = signed_in(first, "--read-only")
    for _ in range(2):
        assert as_operator(first, "enter", "DELETE", token=reader).status_code == 204
    assert [status(one, reader) for one in both] == [401, 401]
    assert as_operator(second, "enter", "DELETE", token="x" * 40).status_code == 204
    assert status(second, TOKEN) == 200


def test_h24_a_server_that_stores_nothing_lists_no_sign_ins(staged: Staged) -> None:
    running = staged(1, sessions="false", environment={"ADMIN_TOKEN": TOKEN})
    refused = as_operator(running, "passes", "GET")
    assert (refused.status_code, "stores no chats" in refused.text) == (404, True)
    given = entered(running, TOKEN).json()["pass"]
    assert status(running, given, "about") == 200
    assert httpx.delete(f"{running.url}/admin/api/enter").status_code == 204
