"""What a release contains, who may publish it, and that its builds give equal bytes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.fakes.scripts import load_script

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")

PERMISSIVE = re.compile(
    r"(?i)apache|mit\b|bsd|0bsd|psf|python software foundation|mpl|mozilla public|cnri|isc"
)
LIBRARY = {"psycopg", "psycopg-binary"}
"""Under LGPL-3.0: used as installed, unchanged, and replaceable."""


notices = load_script("release/notices.py")
rehearse = load_script("release/rehearse.py")


def test_every_shipped_library_has_a_licence_that_allows_it_and_its_text() -> None:
    found = [notices.notice(name) for name in notices.shipped()]
    assert len(found) > 50
    assert [one.name for one in found if not one.texts] == []
    free = {one.name for one in found if PERMISSIVE.search(one.licence)}
    assert {one.name for one in found} - free == LIBRARY
    assert {one.licence for one in found if one.name in LIBRARY} == {"LGPL-3.0-only"}


def test_the_notices_hold_each_library_with_the_version_that_is_pinned() -> None:
    text = notices.page([notices.notice(name) for name in notices.shipped()])
    pinned = {pin.name: str(pin.specifier) for pin in notices.pins("server")}
    assert re.search(rf"^fastapi +{pinned['fastapi'].strip('=')}  MIT$", text, re.MULTILINE)
    assert "Copyright (c) 2018 Sebastián Ramírez" in text


def test_a_release_with_the_tag_of_another_version_is_refused() -> None:
    version = rehearse.version_of(ROOT)
    assert rehearse.version_complaint("") == ""
    assert rehearse.version_complaint(f"v{version}") == ""
    assert f"a release has the tag v{version}" in rehearse.version_complaint("v9.9.9")


def test_only_a_tag_publishes_and_no_secret_is_needed() -> None:
    jobs = yaml.safe_load(WORKFLOW)["jobs"]
    tagged = "github.ref_type == 'tag'"
    assert "secrets." not in WORKFLOW
    assert jobs["pypi"]["if"] == jobs["page"]["if"] == tagged
    for job in jobs.values():
        for step in job["steps"]:
            command = step.get("run", "")
            if "docker push" in command:
                assert step["if"] == tagged
            if "npm publish" in command:
                assert (
                    step["env"]["DRY_RUN"]
                    == f"${{{{ {tagged} && '--provenance' || '--dry-run' }}}}"
                )
    writers = {name for name, job in jobs.items() if "write" in str(job.get("permissions"))}
    assert writers == {"build", "pypi", "npm", "image", "page"}


@pytest.mark.slow
def test_two_builds_of_a_release_give_equal_bytes(tmp_path: Path) -> None:
    if not rehearse.RELEASE_PYTHON.exists():
        pytest.skip("the tools of a release are not installed: make parts")
    ran = subprocess.run(
        [sys.executable, "release/rehearse.py", tmp_path / "out"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    version = rehearse.version_of(ROOT)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "SHA256SUMS",
        "THIRD-PARTY-NOTICES.txt",
        f"kefu-{version}-lambda-arm64.zip",
        f"kefu-{version}-lambda-x86_64.zip",
        f"kefu-{version}-lambda.cdx.json",
        f"kefu-{version}-py3-none-any.whl",
        f"kefu-{version}-server.cdx.json",
        f"kefu-{version}.tar.gz",
        f"kefu-chat-{version}.tgz",
    }
    bill = json.loads((tmp_path / f"out/kefu-{version}-server.cdx.json").read_text())
    assert bill["metadata"]["component"]["version"] == version
    hashed = {one["name"] for one in bill["components"] if one["externalReferences"][0]["hashes"]}
    assert hashed == {pin.name for pin in notices.pins("server")}
