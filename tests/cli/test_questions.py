"""H10: `kefu test` asks the questions of a file, and its exit code says whether all is well."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Kefu
from tests.fakes.behaviours import Exchange, answer, reset_at_once, status
from tests.fakes.service import Service
from tests.fakes.shop import GOOD_PROMPT, QUESTIONS, from_its_prompt
from tests.fakes.upstream import ScriptedUpstream


@pytest.fixture
def server(upstream: ScriptedUpstream) -> Iterator[Service]:
    upstream.script("*", from_its_prompt)
    with Service(upstream.base_url, system_prompt=GOOD_PROMPT, sessions="true") as running:
        yield running


@pytest.mark.slow
def test_the_same_file_passes_here_and_on_a_deployed_service(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path, server: Service
) -> None:
    """And the model gets the same requests from both. A service that is wrong fails its cases."""
    (folder / "questions.yaml").write_text(QUESTIONS)
    (folder / "kefu.toml").write_text(f'[chat]\nsystem_prompt = "{GOOD_PROMPT}"\n')
    ran = kefu("test", "questions.yaml", "--jobs", "1")
    assert ran.code == 0, ran
    assert "2 passed, 0 failed" in ran.out
    here = [call.raw_body for call in upstream.journal]
    assert kefu("test", "questions.yaml", "--jobs", "1", "--server", server.url).code == 0
    assert [call.raw_body for call in upstream.journal[len(here) :]] == here

    (folder / "kefu.toml").write_text('[chat]\nsystem_prompt = "We are open from 9:00."\n')
    ran = kefu("test", "questions.yaml", "--junit", "j.xml", "--markdown", "m.md")
    assert ran.code == 1
    assert 'turn 2: contains: "closed" is not in the answer' in ran.out
    assert "regex: (?i)norway does not match" in ran.out
    suite = ElementTree.parse(folder / "j.xml").getroot()[0]
    assert suite.attrib["failures"] == "2"
    assert {case.attrib["name"] for case in suite} == {"opening hours", "shipping"}
    assert "| FAIL | shipping |" in (folder / "m.md").read_text()


@pytest.mark.slow
def test_of_200_questions_none_fails_because_a_model_fails_5_percent_of_its_calls(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is one key. After each failure it cools down: no question is lost meanwhile, none is
    sent twice, and only those that failed are asked again.
    """
    monkeypatch.setenv("KEFU_COOLDOWN", "1")
    failures = cycle([status(500), status(429, headers={"Retry-After": "1"}), reset_at_once])
    calls, failed = count(), list[str]()

    async def sometimes(exchange: Exchange) -> None:
        if next(calls) % 20 == 10:
            failed.append(exchange.body["messages"][-1]["content"])
            await next(failures)(exchange)
        else:
            await answer("Yes.")(exchange)

    upstream.script("*", sometimes)
    questions = [f"Question {n}?" for n in range(200)]
    lines = [json.dumps({"ask": one, "expect": {"contains": "yes"}}) for one in questions]
    (folder / "questions.jsonl").write_text("\n".join(lines))
    ran = kefu("test", "questions.jsonl")
    assert ran.code == 0, ran.out
    assert "200 passed, 0 failed" in ran.out
    assert len(failed) == 10
    asked = [call.question for call in upstream.journal]
    assert sorted(asked) == sorted([*questions, *failed])


def test_a_question_without_an_answer_fails_its_case_alone(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    upstream.script("*", status(400), asking="bad")
    (folder / "questions.yaml").write_text("- ask: bad\n- ask: good\n")
    with Service(upstream.base_url) as running:
        ran = kefu("test", "questions.yaml", "--jobs", "1", "--server", running.url)
    assert ran.code == 1
    assert "1 passed, 0 failed, 1 without an answer" in ran.out


def test_a_failure_that_the_service_says_not_to_repeat_is_asked_once(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    """`x-should-retry: false` without `Retry-After`: the model is never asked again for it."""
    upstream.script("*", status(404), asking="bad")
    (folder / "questions.yaml").write_text("- ask: bad\n")
    with Service(upstream.base_url) as running:
        ran = kefu("test", "questions.yaml", "--server", running.url)
        requests = [line for line in running.logs() if line.get("path") == "/api/chat"]
    assert ran.code == 1
    assert "1 without an answer" in ran.out
    assert [one["status"] for one in requests] == [503]


@pytest.mark.slow
def test_pages_that_are_cited_and_a_judge_decide(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    (folder / "pages").mkdir()
    (folder / "pages" / "delivery.md").write_text("# Delivery\n\nWe ship to Norway in nine days.\n")
    assert kefu("learn", "pages", "--url", "https://shop.example/").code == 0
    upstream.script("*", answer("In nine days [1]."), asking="Norway")
    upstream.script("*", answer("In 8 days by DHL [1]."), asking="DHL")
    upstream.script("*", answer("[0] I do not know."), asking="Mars")
    upstream.script("*", answer('{"pass": false, "reason": "too short"}'), asking="<rubric>")
    (folder / "questions.yaml").write_text(
        "- {ask: Do you ship to Norway, expect: {grounded: true, cites: delivery}}\n"
        "- {ask: Do you ship to Mars, expect: {refuses: true, grounded: false}}\n"
        "- {name: invented, ask: Do you ship by DHL, expect: {grounded: 0.9}}\n"
        "- {name: judged, ask: Norway, expect: {judge: Long.}}\n"
    )
    ran = kefu("test", "questions.yaml")
    assert ran.code == 1
    assert "2 passed, 2 failed" in ran.out
    assert "judge: too short" in ran.out
    assert "grounded: 0% of the sentences; not in the passages: 8\n" in ran.out
    assert kefu("test", "questions.yaml", "--only", "Mars").code == 0


CHECKS = """
def names_hours(answer, question):
    if "9:00" not in answer:
        return f"{question} has no time"
"""
PRESETS = """\
[presets.sales]
system_prompt = "We are open from 9:00."
[presets.night]
system_prompt = "We are closed."
"""
RATED = """\
pass: 0.6
cases:
  - {name: hours, ask: "When are you open?", expect: {python: "checks:names_hours"}}
  - {name: either, ask: "Open now?", expect: {any: [{contains: closed}, {contains: "9:00"}]}}
"""


@pytest.mark.slow
def test_presets_are_asked_again_and_again_and_compared_with_the_last_run(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S35. The model forgets the opening hours in one of three answers."""
    (folder / "kefu.toml").write_text(PRESETS)
    (folder / "questions.yaml").write_text(RATED)
    (folder / "checks.py").write_text(CHECKS)
    monkeypatch.syspath_prepend(str(folder))
    upstream.script("*", from_its_prompt)
    asked = ("test", "questions.yaml", "--preset", "sales, night", "--json", "last.json")
    ran = kefu(*asked, "--repeat", "3")
    assert ran.code == 1
    assert "hours [sales], 3 of 3" in ran.out
    assert "hours [night], 0 of 3\n         python: checks:names_hours: When are" in ran.out
    assert "sales: 2 of 2 passed\nnight: 1 of 2 passed\n" in ran.out
    assert "last run" not in ran.out
    assert len(upstream.journal) == 12

    forgetful = count()

    async def forgets(exchange: Exchange) -> None:
        await (answer("Hm.") if next(forgetful) % 3 == 2 else from_its_prompt)(exchange)

    upstream.script("*", forgets, asking="When are")
    ran = kefu(*asked, "--repeat", "3", "--jobs", "1", "--markdown", "m.md")
    assert "hours [sales], 2 of 3" in ran.out
    assert "Since the last run: 1 worse, 0 better.\n" in ran.out
    assert "Worse: hours [sales], 3 of 3 before, 2 of 3 now." in ran.out
    rows = (folder / "m.md").read_text().splitlines()
    assert "|  | Case | sales: 2 of 2 passed | night: 1 of 2 passed | Reason |" in rows
    [hours] = [row for row in rows if "hours |" in row]
    assert hours.startswith("| FAIL | hours | 2 of 3, was 3 of 3, 0.")


@pytest.mark.slow
def test_an_interrupted_run_reports_its_results_and_keeps_the_last_run(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    (folder / "questions.yaml").write_text("- ask: first\n- ask: second\n")
    asked = ("test", "questions.yaml", "--jobs", "1", "--json", "last.json", "--markdown", "m.md")
    assert kefu(*asked).code == 0
    last = (folder / "last.json").read_text()

    async def interrupts(exchange: Exchange) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await exchange.silence()

    upstream.script("*", interrupts, asking="second")
    ran = kefu(*asked)
    assert ran.code == 130
    assert "1 passed, 0 failed, 1 not run" in ran.out
    assert "| PASS | first |" in (folder / "m.md").read_text()
    assert (folder / "last.json").read_text() == last


def test_a_file_that_is_no_last_run_is_kept(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    (folder / "questions.yaml").write_text("- ask: Q\n")
    ran = kefu("test", "questions.yaml", "--json", "questions.yaml")
    assert (ran.code, upstream.journal) == (2, [])
    assert "questions.yaml: it is not a file that `kefu test --json` wrote" in ran.err
    assert (folder / "questions.yaml").read_text() == "- ask: Q\n"


@pytest.mark.parametrize("option", ["--junit", "--markdown", "--json"])
def test_a_report_that_cannot_be_written_costs_no_answers(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path, option: str
) -> None:
    """context m13: all questions were asked, and paid for, before the error."""
    (folder / "questions.yaml").write_text(QUESTIONS)
    ran = kefu("test", "questions.yaml", option, "no/such/folder/report")
    assert ran == (2, "", "kefu: no/such/folder/report: No such file or directory\n")
    assert upstream.journal == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.yaml"], "No such file"),
        (["questions.yaml", "--only", "x"], "no case has x in its name or group"),
        (["questions.yaml", "--server", "http://127.0.0.1:1"], "cannot be reached"),
        (["questions.yaml", "--server", "example.com"], "is not an address"),
        (["questions.yaml", "--origin", "https://x.example"], "for --server"),
        (["questions.yaml", "--preset", "default,x"], "there is no preset x; presets here: none"),
        (["questions.yaml"], "the service does not start.\nkefu: the configuration is wrong"),
    ],
)
def test_a_mistake_of_the_caller_has_its_own_exit_code(
    arguments: list[str], says: str, kefu: Kefu, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "questions.yaml").write_text("- ask: Q\n")
    if arguments == ["questions.yaml"]:
        monkeypatch.setenv("KEFU_KNOWLEDGE", "none.kefu")
    ran = kefu("test", *arguments)
    assert ran.code == 2
    assert says in ran.err


def test_a_server_that_is_no_kefu_is_not_tested(
    kefu: Kefu, upstream: ScriptedUpstream, folder: Path
) -> None:
    (folder / "questions.yaml").write_text("- ask: Q\n")
    ran = kefu("test", "questions.yaml", "--server", upstream.base_url.removesuffix("/v1"))
    assert ran.code == 2


@pytest.mark.slow
def test_the_file_of_kefu_init_runs(kefu: Kefu, upstream: ScriptedUpstream, folder: Path) -> None:
    upstream.script("*", answer("Hello! I am the assistant of the shop, at your service."))
    assert "questions.yaml has questions" in kefu("init").out
    (folder / "kefu.toml").unlink()
    assert kefu("test", "questions.yaml", "--only", "greeting").code == 0
    (folder / "questions.yaml").write_text("mine")
    kefu("init")
    assert (folder / "questions.yaml").read_text() == "mine"
