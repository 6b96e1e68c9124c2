"""G34: `POST /admin/api/pages` learns one address at once, such as when a CMS has saved it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kefu.bootstrap.learn import Options, hosts, learn
from tests.fakes.fixtures import Staged
from tests.fakes.site import Answer, Site, html, served
from tests.fakes.stage import Stage
from tests.web.test_answers import TOKEN, as_operator, given

SLOW_SECONDS = 20
"""In which a page comes: less than the time in which one is read."""


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as running:
        names = [f"tent{number}" for number in range(60)]
        running.pages = {
            f"/{name}": html(f"Tent {n}", body=f"<p>Tent {n} costs {100 + n} euros.</p>")
            for n, name in enumerate(names)
        }
        running.pages["/"] = html("Shop", *names)
        yield running


async def answering(staged: Staged, site: Site, file: Path) -> Stage:
    options = Options(file, private_hosts=hosts([site.url]))
    report = await asyncio.to_thread(learn, [site.url], options, lambda _: None)
    assert report.pages == 61
    return staged(9, knowledge=str(file), environment={"ADMIN_TOKEN": TOKEN})


def save(running: Stage, url: str) -> dict[str, Any]:
    answer = as_operator(running, "POST", "", {"url": url}, of="pages")
    found: dict[str, Any] = answer.raise_for_status().json()
    return found


def make_old(fresh: Path) -> None:
    """As if the page was saved long before the file was made."""
    kept = fresh.read_text()
    fresh.write_text(kept.replace(kept[1 : kept.index(",")], "1.0"))


@pytest.mark.slow
async def test_g34_a_saved_page_answers_within_two_seconds(
    staged: Staged, site: Site, tmp_path: Path
) -> None:
    running = await answering(staged, site, tmp_path / "site.kefu")
    question = "How much does tent 7 cost?"
    assert "107 euros" in (await given(running, question))[0]["text"]
    site.pages["/tent7"] = html("Tent 7", body="<p>Tent 7 costs 99 euros.</p>")
    begun = time.monotonic()
    saved = save(running, f"{site.url}/tent7")
    texts = [one["text"] for one in await given(running, question)]
    assert time.monotonic() - begun < 2
    assert saved == {"url": f"{site.url}/tent7", "outcome": "learnt", "reason": ""}
    assert "Tent 7 costs 99 euros." in texts[0]
    assert not any("107 euros" in one for one in texts)


@pytest.mark.slow
async def test_g34_a_new_page_is_found_and_a_deleted_one_is_not(
    staged: Staged, site: Site, tmp_path: Path
) -> None:
    file = tmp_path / "site.kefu"
    running = await answering(staged, site, file)
    site.pages["/kayaks"] = html("Kayaks", body="<p>Our kayaks float on all fjords.</p>")
    save(running, f"{site.url}/kayaks")
    assert (await given(running, "do you have kayaks?"))[0]["title"] == "Kayaks"
    del site.pages["/kayaks"]
    assert save(running, f"{site.url}/kayaks")["outcome"] == "forgotten"
    assert not any("kayak" in one["text"] for one in await given(running, "kayaks, or tent 5"))
    site.pages["/tent9"] = html("Tent 9", head="<meta name=robots content=noindex>")
    assert save(running, f"{site.url}/tent9")["outcome"] == "forgotten"
    assert "109 euros" not in str(await given(running, "what does tent 9 cost"))
    site.pages["/tent8"] = Answer(b"", 500)
    assert save(running, f"{site.url}/tent8")["outcome"] == "failed"
    assert "108 euros" in str(await given(running, "what does tent 8 cost"))


@pytest.mark.slow
async def test_g34_a_page_that_leads_elsewhere_now_is_forgotten(
    staged: Staged, site: Site, tmp_path: Path
) -> None:
    running = await answering(staged, site, tmp_path / "site.kefu")
    site.pages["/tent7"] = Answer(b"", 301, location="/tent70")
    site.pages["/tent70"] = html("Tent 7", body="<p>Tent 7 costs 99 euros.</p>")
    saved = save(running, f"{site.url}/tent7")
    assert (saved["outcome"], saved["reason"]) == ("learnt", f"leads to {site.url}/tent70")
    texts = str(await given(running, "what does tent 7 cost?"))
    assert "99 euros" in texts
    assert "107 euros" not in texts


@pytest.mark.slow
async def test_g34_slow_pages_hold_up_neither_a_chat_nor_the_end(
    staged: Staged, site: Site, tmp_path: Path
) -> None:
    running = await answering(staged, site, tmp_path / "site.kefu")
    site.pages["/tent7"] = html("Tent 7")._replace(seconds=SLOW_SECONDS)
    site.pages["/tent8"] = Answer(b"", 503, more={"Retry-After": "60"})
    assert save(running, f"{site.url}/tent8")["reason"] == "503 Service Unavailable"
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as hooks:
        address, body = f"{running.url}/admin/api/pages", {"url": f"{site.url}/tent7"}
        posts = [hooks.post(address, json=body, timeout=30) for _ in range(40)]
        begun = time.monotonic()
        saving = asyncio.gather(*posts)
        await asyncio.sleep(1)
        assert "105 euros" in str(await given(running, "what does tent 5 cost?"))
        assert await asyncio.to_thread(running.service.stop) == 0
        # Nobody has waited for the page.
        assert time.monotonic() - begun < SLOW_SECONDS
        assert {one.status_code for one in await saving} == {503}


@pytest.mark.slow
async def test_g34_the_next_run_takes_over(staged: Staged, site: Site, tmp_path: Path) -> None:
    file = tmp_path / "site.kefu"
    running = await answering(staged, site, file)
    site.pages["/tent7"] = html("Tent 7", body="<p>Tent 7 costs 99 euros.</p>")
    save(running, f"{site.url}/tent7")
    make_old(Path(f"{file}.fresh"))
    assert "107 euros" in (await given(running, "what does tent 7 cost?"))[0]["text"]


@pytest.mark.slow
async def test_g34_other_hosts_and_wrong_tokens_are_refused(
    staged: Staged, site: Site, tmp_path: Path
) -> None:
    running = await answering(staged, site, tmp_path / "site.kefu")
    for url in ("http://169.254.169.254/", "https://elsewhere.example/", f"{site.url}x/"):
        refused = as_operator(running, "POST", "", {"url": url}, of="pages")
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "url")
    async with httpx.AsyncClient() as stranger:
        body = {"url": f"{site.url}/tent1"}
        asked = await stranger.post(f"{running.url}/admin/api/pages", json=body, timeout=30)
    assert asked.status_code == 401
