"""G33: several sites on one service. What belongs to one is never seen by a page of another."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from pydantic import ValidationError

from kefu.settings import Settings
from tests.fakes import behaviours as b
from tests.fakes.asking import client
from tests.fakes.chatting import STORE, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.forked import kefu
from tests.fakes.stage import ORIGIN, Stage
from tests.web.test_answers import TOKEN, as_operator
from tests.web.test_identity import NEW, token
from tests.web.test_knowledge import learn, page

SITES = {"": ORIGIN, "north": "https://north.example", "south": "https://south.example"}
NAMES = {"": "OWN", "north": "NORTH", "south": "SOUTH"}
"""A word that only the texts of this site have: its prompt, its page and its answer."""

TOML = """
[chat]
system_prompt = "Prompt OWN."
[knowledge]
file = "{folder}/own.kefu"
[contact]
link = "mailto:own@shop.example"
[presets.short]
system_prompt = "Prompt OWN, short."
[presets.north]
origins = ["https://north.example", "https://www.north.example"]
system_prompt = "Prompt NORTH."
knowledge = "{folder}/north.kefu"
daily_tokens = {budget}
contact = "tel:+4712345678"
[presets.south]
origins = ["https://SOUTH.example"]
system_prompt = "Prompt SOUTH."
knowledge = "{folder}/south.kefu"
"""


def of_sites(staged: Staged, folder: Path, budget: int = 0, **settings: Any) -> Stage:
    """Three sites, each with a page and an answer of a person for the same question."""
    for name, word in NAMES.items():
        learn(folder / f"{name or 'own'}.kefu", page("delivery", f"Parcels take days: {word}."))
    (folder / "kefu.toml").write_text(TOML.format(folder=folder, budget=budget))
    environment = {"ADMIN_TOKEN": TOKEN, "KEFU_IDENTITY_SECRETS": NEW}
    options = {"store": STORE, "environment": environment, "capture": "off", **settings}
    running = staged(9, config=str(folder / "kefu.toml"), **options)
    running.script(b.answer("It is so [1]."))
    return running


def write_answers(running: Stage) -> None:
    for name, word in NAMES.items():
        body = {"question": "Do you sell hats?", "text": f"Hats: {word}.", "site": name}
        assert as_operator(running, "POST", "", body).json()["site"] == name


class Asked(NamedTuple):
    status: int
    session: tuple[str, str]
    text: str


async def ask(
    running: Stage,
    browser: httpx.AsyncClient,
    body: Mapping[str, Any],
    origins: list[str],
    session: tuple[str, str] | None = None,
) -> Asked:
    headers = [("Origin", one) for one in origins]
    if session:
        body, headers = (
            {**body, "session_id": session[0]},
            [*headers, ("X-Session-Token", session[1])],
        )
    answer = await browser.post(f"{running.url}/api/chat", json=body, headers=headers)
    new = answer.headers.get("X-Session-Id", ""), answer.headers.get("X-Session-Token", "")
    return Asked(answer.status_code, new, answer.text)


def words_in(text: str) -> set[str]:
    return {name for name, word in NAMES.items() if word in text}


def sent(running: Stage, question: str) -> str:
    """What the model was sent for a question; "" if nothing was."""
    return "".join(str(call.body["messages"]) for call in running.upstream.calls(question))


async def test_g33_the_origin_of_a_page_decides_on_its_pages_prompt_answers_and_link(
    staged: Staged, tmp_path: Path
) -> None:
    running = of_sites(staged, tmp_path)
    write_answers(running)
    links = {"": "mailto:own@shop.example", "north": "tel:+4712345678"}
    async with client() as browser:
        for name, origin in SITES.items():
            for kind in ("message", "messages"):
                for question in ("How many days do parcels take?", "Do you sell hats?"):
                    text = f"{question} {kind} {name or 'own'}"
                    whole = [{"role": "user", "content": text}]
                    body = {kind: text if kind == "message" else whole, "sources": True}
                    asked = await ask(running, browser, body, [origin])
                    assert asked.status == 200
                    given = sent(running, text)
                    assert words_in(given) == {name}
                    source = "take days" if "parcels" in text else "Hats"
                    assert f"{source}: {NAMES[name]}" in given
            shown = await browser.get(f"{running.url}/api/contact", headers={"Origin": origin})
            assert shown.json()["link"] == links.get(name, links[""])
        health = await browser.get(f"{running.url}/health")
    assert health.json()["knowledge"]["pages"] == 1


async def test_g33_a_budget_of_one_site_is_not_that_of_another(
    staged: Staged, tmp_path: Path
) -> None:
    running = of_sites(staged, tmp_path, budget=4000, daily_tokens=4000, max_output_tokens=1000)
    async with client() as browser:

        async def statuses(name: str, times: int) -> list[int]:
            found = list[int]()
            for _ in range(times):
                body = {"message": "hello", "client_message_id": new_id()}
                found.append((await ask(running, browser, body, [SITES[name]])).status)
            return found

        running.script(b.answer("x" * 3000))
        found = await statuses("north", 9)
        assert found[0] == 200
        assert found[-1] == 429
        assert (await statuses("", 1), await statuses("south", 1)) == ([200], [200])
        while (await statuses("south", 1)) == [200]:  # the service's budget, which they share
            pass
        assert await statuses("", 1) == [429]


async def test_g33_a_chat_is_seen_by_pages_of_its_site_alone(
    staged: Staged, tmp_path: Path
) -> None:
    running = of_sites(staged, tmp_path)
    async with client() as browser:
        id = new_id()
        begun = await ask(
            running, browser, {"message": "Q", "client_message_id": id}, [SITES["north"]]
        )
        chat, key = begun.session

        async def status(method: str, rest: str, origin: str | None, body: object = None) -> int:
            headers = {"X-Session-Token": key, **({"Origin": origin} if origin else {})}
            url = f"{running.url}/api/sessions/{chat}{rest}"
            return (await browser.request(method, url, json=body, headers=headers)).status_code

        again, rating = {"client_message_id": id}, {"client_message_id": id, "rating": "up"}
        for origin in (SITES[""], SITES["south"]):
            for method, rest, body in (
                ("GET", "/messages", None),
                ("GET", "/messages?sources=true", None),
                ("GET", "/export?format=md", None),
                ("GET", "/person", None),
                ("GET", "/contact", None),
                ("POST", "/answer", again),
                ("POST", "/feedback", rating),
                ("DELETE", "", None),
            ):
                assert await status(method, rest, origin, body) == 404, (method, rest)
            forged = {"message": "Q", "session_id": chat}
            assert (await ask(running, browser, forged, [origin], begun.session)).status == 404
        for own in (SITES["north"], "https://www.north.example", None):
            assert await status("GET", "/messages", own) == 200
        assert await status("DELETE", "", SITES["north"]) == 204


async def test_g33_a_user_of_two_sites_has_a_list_of_chats_on_each(
    staged: Staged, tmp_path: Path
) -> None:
    running = of_sites(staged, tmp_path)
    async with client() as browser:
        for name, origin in SITES.items():
            headers = {"Origin": origin, "X-User-Token": token("kari")}
            body = {"message": f"Hello {NAMES[name]}"}
            answer = await browser.post(f"{running.url}/api/chat", json=body, headers=headers)
            assert answer.status_code == 200

        async def titles(origin: str | None, config: str = "") -> list[str]:
            headers = {"X-User-Token": token("kari"), **({"Origin": origin} if origin else {})}
            url = f"{running.url}/api/sessions" + (f"?config_id={config}" if config else "")
            answer = (await browser.get(url, headers=headers)).raise_for_status()
            return [one["title"] for one in answer.json()["sessions"]]

        for name, origin in SITES.items():
            assert await titles(origin) == [f"Hello {NAMES[name]}"]
            for other in set(SITES) - {name, ""}:
                assert await titles(origin, other) == []
        assert await titles(None) == ["Hello OWN"]
        assert await titles(None, "south") == ["Hello SOUTH"]


async def test_g33_behind_the_name_of_a_site_a_request_without_origin_is_of_this_site(
    staged: Staged, tmp_path: Path
) -> None:
    """Browsers send no Origin with a GET request to the page's own origin."""
    running = of_sites(staged, tmp_path)
    async with client() as browser:
        begun = await ask(running, browser, {"message": "Q"}, [SITES["north"]])
        chat, key = begun.session

        async def status(host: str) -> int:
            url = f"{running.url}/api/sessions/{chat}/messages"
            headers = {"X-Session-Token": key, "Host": host}
            return (await browser.get(url, headers=headers)).status_code

        assert await status("www.NORTH.example") == 200
        assert await status("south.example") == 404
        assert await status("kefu.example") == 200
        shown = await browser.get(f"{running.url}/api/contact", headers={"Host": "north.example"})
        assert shown.json()["link"] == "tel:+4712345678"


async def test_g33_pages_of_further_sites_use_neither_v1_nor_mcp(
    staged: Staged, tmp_path: Path
) -> None:
    running = of_sites(staged, tmp_path, openai_api="on", mcp="on")
    async with client() as browser:
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        url = f"{running.url}/v1/chat/completions"
        for name, origin in SITES.items():
            answer = await browser.post(url, json=body, headers={"Origin": origin})
            assert answer.status_code == (403 if name else 200)
            asked = await browser.post(f"{running.url}/mcp", json={}, headers={"Origin": origin})
            assert (asked.status_code == 403) == bool(name)


ORIGINS: list[list[str]] = [
    *([one] for one in SITES.values()),
    ["https://www.north.example"],
    [],
    ["https://north.example.evil.example"],
    ["https://NORTH.example"],
    ["http://north.example"],
    ["https://north.example:443"],
    ["https://north.example/"],
    ["null"],
    [""],
    ["https://north.example", "https://south.example"],
    ["https://north.example, https://south.example"],
]
PRESETS = [None, None, "north", "south", "default", "short", "North", "", "nobody"]
SITE_OF_ORIGIN = {origin: name for name, origin in SITES.items()} | {
    "https://www.north.example": "north"
}


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.slow)])
async def test_g33_forged_origins_presets_and_sessions_show_nothing_of_another_site(
    staged: Staged, tmp_path: Path, count: int
) -> None:
    """Each request is answered as one of one site as a whole, or refused."""
    running = of_sites(staged, tmp_path, daily_tokens=10**9, budget=10**9)
    write_answers(running)
    chance = random.Random(33)
    chats = dict[str, list[tuple[str, str]]]()
    async with client() as browser:
        for name, origin in SITES.items():
            begun = [await ask(running, browser, {"message": "Hi"}, [origin]) for _ in range(3)]
            chats[name] = [one.session for one in begun]
        answered = dict.fromkeys(SITES, 0)
        places = asyncio.Semaphore(8)

        async def forge(number: int) -> None:
            origins, preset = chance.choice(ORIGINS), chance.choice(PRESETS)
            owner = chance.choice([None, None, *SITES])
            session = chance.choice(chats[owner]) if owner is not None else None
            if session and chance.random() < 0.3:
                session = session[0], chance.choice(chats[chance.choice([*SITES])])[1]
            text = chance.choice(["How many days?", "Do you sell hats?"]) + f" <{number}>"
            whole = [{"role": "user", "content": text}]
            body: dict[str, Any] = {"message": text} if session else {"messages": whole}
            if not session and chance.random() < 0.5:
                body = {"message": text}
            body |= {"sources": "passages"} | ({} if preset is None else {"config_id": preset})
            async with places:
                asked = await ask(
                    running,
                    browser,
                    body,
                    origins,
                    session,
                )
            given = sent(running, text)
            seen = words_in(given + asked.text)
            known = [SITE_OF_ORIGIN[one] for one in origins if one in SITE_OF_ORIGIN]
            if len(origins) > 1 or (origins and not known):
                assert (asked.status, seen) == (403, set()), origins
            if asked.status != 200:
                assert asked.status in (400, 403, 404), asked
                assert not seen
                return
            if known:
                [expected] = known
            else:
                named = preset if preset in SITES else ""
                expected = (owner if session else named) or ""
            assert seen == {expected}, (origins, preset, owner, seen)
            source = "take days" if "days" in text else "Hats"
            assert f"{source}: {NAMES[expected]}" in given
            answered[expected] += 1

        await asyncio.gather(*map(forge, range(count)))
    assert min(answered.values()) > count / 50, answered


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"a": {"knowledge": "a.kefu"}}, "knowledge needs origins"),
        ({"a": {"daily_tokens": 5}}, "daily_tokens needs origins"),
        ({"a": {"origins": ["*"]}}, "must name each origin"),
        ({"a": {"origins": ["north.example"]}}, "is not an origin"),
        (
            {"a": {"origins": ["https://x.example"]}, "b": {"origins": ["https://X.example"]}},
            "is one of a",
        ),
        ({"default": {"origins": ["https://x.example"]}}, "its pages are those of"),
        ({"a": {"origins": ["https://x.example"], "contact": "javascript:x"}}, "must begin with"),
    ],
)
def test_g33_wrong_sites_stop_the_start(tables: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Settings.model_validate({"LONGCAT_API_KEYS": "k", "presets": tables})


@pytest.mark.slow
async def test_g33_a_sign_in_to_one_site_shows_its_chats_and_answers_alone(
    staged: Staged, tmp_path: Path
) -> None:
    running = of_sites(staged, tmp_path)
    write_answers(running)
    chats = dict[str, str]()
    async with client() as browser:
        for name, origin in SITES.items():
            chats[name] = (await ask(running, browser, {"message": "Hi"}, [origin])).session[0]
        pass_ = await signed_in(running, browser, "north")

        async def asks(method: str, path: str, body: object = None) -> httpx.Response:
            headers = {"Authorization": f"Bearer {pass_}"}
            url = f"{running.url}/admin/api/{path}"
            return await browser.request(method, url, json=body, headers=headers)

        about = (await asks("GET", "about")).json()
        assert (about["site"], about["presets"]) == ("north", ["north"])
        for query in ("", "?preset=south", "?preset=default"):
            rows = (await asks("GET", f"sessions{query}")).json()["rows"]
            assert [one["id"] for one in rows] == [chats["north"]]
        answers = (await asks("GET", "answers")).json()["answers"]
        assert [one["text"] for one in answers] == ["Hats: NORTH."]
        foreign = [
            one for one in as_operator(running, "GET").json()["answers"] if one["site"] != "north"
        ]
        assert len(foreign) == 2
        body = {"question": "Boots?", "text": "Yes.", "site": "south"}
        for one in foreign:
            for method in ("GET", "PUT", "DELETE"):
                refused = await asks(method, f"answers/{one['id']}", body)
                assert refused.status_code == 404
        assert (await asks("POST", "answers", body)).json()["site"] == "north"
        for chat in (chats[""], chats["south"]):
            state = {"state": "person", "operator": "Ingrid"}
            for method, path, sent in (
                ("GET", f"sessions/{chat}", None),
                ("GET", f"sessions/{chat}/export", None),
                ("GET", f"sessions/{chat}/talk", None),
                ("POST", f"sessions/{chat}/state", state),
                ("POST", "answers", {**body, "session_id": chat}),
                ("POST", "answers/marks", {**body, "session_id": chat}),
                ("DELETE", f"sessions/{chat}", None),
            ):
                assert (await asks(method, path, sent)).status_code == 404, path
        for path in ("insights", "days", "keys", "contacts", "verification-pass"):
            method = "POST" if path == "verification-pass" else "GET"
            assert (await asks(method, path)).status_code == 404
        assert (await asks("GET", f"sessions/{chats['north']}")).status_code == 200
        assert (await asks("DELETE", f"sessions/{chats['north']}")).status_code == 204
        assert (await asks("POST", "enter")).status_code == 401
    assert len(as_operator(running, "GET").json()["answers"]) == 4


async def signed_in(running: Stage, browser: httpx.AsyncClient, site: str) -> str:
    """A pass, by the link that `kefu admin-link` prints."""
    command = [sys.executable, "-m", "kefu", "admin-link", "--url", running.url, "--site", site]
    environment = running.service.environment
    program = await asyncio.create_subprocess_exec(
        *command, env=environment, cwd=running.service.folder, stdout=subprocess.PIPE
    )
    link = (await program.communicate())[0].decode()
    ticket = link.strip().partition("#ticket=")[2]
    headers = {"Authorization": f"Bearer {ticket}"}
    entered = await browser.post(f"{running.url}/admin/api/enter", headers=headers)
    return str(entered.raise_for_status().json()["pass"])


def test_g33_a_link_to_a_preset_that_is_no_site_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kefu.toml").write_text("[presets.short]\n")
    environment = {"ADMIN_TOKEN": TOKEN}
    done = kefu("admin-link", "--site", "short", folder=tmp_path, environment=environment)
    assert (done.returncode, "is no site" in done.stderr) == (2, True)
