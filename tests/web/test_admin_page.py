"""The panel's page in a real Chromium, with a service that stores chats: P27 to P32, T9."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from kefu.auth.admin_tokens import AdminTokens
from tests.fakes import behaviours as b
from tests.fakes.browser import told_by
from tests.fakes.stage import FAST, Stage, stage

ROOT = Path(__file__).parents[2]
TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
CORPUS = ROOT / "widget/tests/data/brs-kb.json"
TWICE = "00000000-0000-4000-8000-000000000001"
MESSAGE = 15000
"""Characters of corpus in one message; the service takes 16,000."""


class Kept(NamedTuple):
    stage: Stage
    long: str
    """A chat that was trimmed, in which a key failed first."""
    cut: str
    hostile: str
    corpus: list[str]
    """The messages of the hostile chat."""


def said(
    stage: Stage, text: str, headers: dict[str, str] | None = None, **more: str
) -> dict[str, str]:
    given = headers or {}
    body = {"message": text, **({"session_id": given["x-session-id"]} if given else {}), **more}
    sent = {"X-Session-Token": given["x-session-token"]} if given else {}
    answer = httpx.post(f"{stage.url}/api/chat", json=body, headers=sent, timeout=20)
    return {name: answer.headers[name] for name in ("x-session-id", "x-session-token")}


def texts_of(corpus: list[str]) -> list[str]:
    """Send these texts in as few messages as possible."""
    texts = [""]
    for payload in corpus:
        if len(texts[-1]) + len(payload) > MESSAGE:
            texts.append("")
        texts[-1] += f"{payload}\n"
    return texts


@pytest.fixture(scope="module")
def kept() -> Iterator[Kept]:
    settings: dict[str, Any] = {**FAST, "trim_chars": 360, "system_prompt": "Answer briefly."}
    with stage(
        3,
        **settings,
        environment={"ADMIN_TOKEN": TOKEN},
        capture="all",
        cooldown=3600,
        prices="1,2",
        session_requests_per_minute=0,
    ) as running:
        running.script(
            b.answer("It takes four days.", usage={"prompt_tokens": 41, "completion_tokens": 7})
        )
        long = said(running, "How long does a visa take? " + "I have asked before. " * 16)
        running.script(b.status(429), b.answer("Bring your passport."))
        long = said(running, "And what do I bring?", long)
        running.script(b.stall_after(3), asking="<cut>")
        cut = said(running, "<cut> please")
        corpus: list[str] = json.loads(CORPUS.read_text())["payloads"]
        texts = texts_of(corpus)
        hostile: dict[str, str] = {}
        for text in texts:
            running.script(b.answer(text))
            hostile = said(running, text, hostile)
        name = "x-session-id"
        yield Kept(running, long[name], cut[name], hostile[name], corpus)


def link(kept: Kept) -> str:
    ticket = AdminTokens(TOKEN).ticket(os.urandom(8).hex(), time.time())
    return f"{kept.stage.url}/admin#ticket={ticket}"


def visit(kept: Kept, *steps: tuple[str, Any], **context: Any) -> dict[str, Any]:
    """The page that an operator sees after opening a link and performing the steps."""
    asked = {"url": kept.stage.url, "steps": [["open", link(kept)], *steps], "context": context}
    script = Path(__file__).with_name("panel_visit.mjs")
    told = told_by(script, json.dumps(asked), timeout=120)
    assert told["dialogs"] == []
    assert told["foreign"] == []
    return told


def test_p27_p28_p29_the_panel_explains_an_answer(kept: Kept) -> None:
    last = "section.turn:last-of-type"
    seen = visit(
        kept,
        ("texts", ["rows", ".rows a"]),
        ("address", "address"),
        ("kept", "kept"),
        ("session", kept.long),
        ("focused", "focused"),
        ("texts", ["place", "nav [aria-current]"]),
        ("texts", ["bubbles", ".bubble .text"]),
        ("texts", ["why", f"{last} .why li"]),
        ("texts", ["tries", f"{last} .tries li"]),
        ("texts", ["facts", f"{last} .facts > div"]),
        ("click", f"{last} [role=tab]:nth-child(1)"),
        ("texts", ["request", f"{last} [role=tabpanel] pre"]),
        ("click", f"{last} .tabs button:has-text('curl')"),
        ("clipboard", "curl"),
        ("press", [f"{last} [role=tab]:nth-child(1)", "ArrowLeft"]),
        ("texts", ["difference", f"{last} .diff"]),
        ("press", [f"{last} [role=tab]:nth-child(4)", "ArrowLeft"]),
        ("texts", ["error", f"{last} [role=tabpanel]"]),
        ("press", [f"{last} [role=tab]:nth-child(3)", "ArrowLeft"]),
        ("texts", ["response", f"{last} [role=tabpanel] pre"]),
        ("session", kept.cut),
        ("texts", ["cut", ".why li"]),
        ("texts", ["status", ".bubble .status"]),
        ("axe", "cut"),
    )
    assert seen["errors"] == []
    assert "ticket" not in seen["address"]
    assert TOKEN not in seen["kept"]
    assert [("1 error" in row, "partial" in row) for row in seen["rows"][-3:]] == [
        (False, False),
        (True, True),
        (False, False),
    ]
    assert seen["focused"].startswith("How long does a visa take?")
    assert seen["place"] == ["Sessions"]
    assert [text[:12] for text in seen["bubbles"]] == [
        "How long doe",
        "It takes fou",
        "And what do ",
        "Bring your p",
    ]
    why = " ".join(seen["why"])
    assert "1 key failed first (http_429); the next one answered." in why
    assert "2 of the older messages were left out: no room." in why
    assert [
        outcome in text for outcome, text in zip(("http_429", "ok"), seen["tries"], strict=True)
    ]
    facts = " | ".join(seen["facts"])
    for fact in ("Finished", "messages 1–2: no room", "375 characters", "of 1,048,576", "Cost"):
        assert fact in facts, fact
    assert json.loads(seen["request"][0])["messages"][-1]["content"] == "And what do I bring?"
    assert '"Authorization: Bearer $API_KEY"' in seen["curl"]
    assert not any(key in seen["curl"] for key in kept.stage.keys)
    (difference,) = seen["difference"]
    assert "1 message the same" in difference
    assert "+ user" in difference
    assert "− user" in difference
    assert seen["error"] == ["There was no error."]
    assert "Bring your passport." in seen["response"][0]
    assert "stalled" in " ".join(seen["cut"])
    assert seen["status"] == ["partial", "partial"]
    assert seen["axe"] == []


def test_p29_copied_command_sends_the_very_bytes_again(kept: Kept, tmp_path: Path) -> None:
    """A visitor's quotes and dollar signs are not interpreted by the shell."""
    text = """it's "$HOME" `id` $(id) \\ '; echo no"""
    session = said(kept.stage, text)["x-session-id"]
    sent = kept.stage.upstream.journal[-1].raw_body
    seen = visit(
        kept,
        ("session", session),
        ("click", "[role=tab]"),
        ("click", ".tabs button:has-text('curl')"),
        ("clipboard", "curl"),
    )
    fake = tmp_path / "curl"
    fake.write_text('#!/bin/sh\nfor last; do :; done\nprintf %s "$last"\nprintf "\\n%s" "$3 $4"')
    fake.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.defpath}", "UPSTREAM_URL": "http://x", "API_KEY": "k"}
    ran = subprocess.run(
        ["sh", "-c", seen["curl"]], env=environment, capture_output=True, check=False
    )
    assert ran.stdout == sent + b"\n-H Authorization: Bearer k", ran.stderr


@pytest.mark.slow
def test_p32_t9_hostile_texts_are_shown_and_do_nothing(kept: Kept) -> None:
    """Each payload is a visitor's text, a model's text and a session's title."""
    # The panel's own form is the one below the messages.
    tags = "script, iframe, object, embed, img, base, form:not(.talk-form), style, link, [onclick]"
    bad = f".content :is({tags})"
    seen = visit(
        kept,
        ("wait", ".rows a"),
        ("session", kept.hostile),
        ("count", ["made_rendered", bad]),
        ("count", ["links_rendered", ".content a"]),
        ("click", ".head button[aria-pressed]"),
        ("texts", ["texts", ".bubble .text"]),
        ("count", ["made", bad]),
        ("click", "section.turn:last-of-type [role=tab]:nth-child(4)"),
        ("wait", ".diff"),
        ("count", ["made_in_tabs", bad]),
        ("count", ["links", ".content a"]),
    )
    assert seen["errors"] == []
    assert (seen["made"], seen["made_in_tabs"], seen["links"]) == (0, 0, 0)
    assert (seen["made_rendered"], seen["links_rendered"]) == (0, 0)
    shown = "\n".join(seen["texts"])
    # The service collapses lines of white space (P5).
    plain = [p for p in kept.corpus if "\n" not in p and "\r" not in p and p == p.strip()]
    assert len(plain) > 500
    assert [payload for payload in plain if shown.count(payload) < 2] == []


@pytest.mark.slow
def test_p30_p31_keys_insights_a_log_and_deletion(kept: Kept, tmp_path: Path) -> None:
    """P16: also for a message that was sent again, with the outcome of its first attempt."""
    kept.stage.script(b.stall_after(3), b.answer("now"))
    once, twice = (said(kept.stage, "forget me", client_message_id=TWICE) for _ in range(2))
    doomed = twice["x-session-id"]
    assert doomed == once["x-session-id"]
    exported = tmp_path / "export.jsonl"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"{kept.stage.url}/admin/api/sessions/{kept.long}/export?format=jsonl"
    exported.write_text(httpx.get(url, headers=headers).text)
    seen = visit(
        kept,
        ("wait", ".rows a"),
        ("hash", "keys"),
        ("texts", ["keys", "tbody tr"]),
        ("axe", "keys"),
        ("hash", "insights"),
        ("texts", ["days", "tbody tr"]),
        ("count", ["bars", ".plot rect"]),
        ("axe", "insights"),
        ("file", str(ROOT / "tests/golden/session.jsonl")),
        ("wait", ".conversation .hint"),
        ("texts", ["log", ".bubble .text, .call h3, .tool summary"]),
        ("file", str(ROOT / "tests/cli/older.jsonl")),
        ("texts", ["older", ".bubble .text"]),
        ("file", str(exported)),
        ("texts", ["exported", ".content .why li"]),
        ("session", doomed),
        ("texts", ["calls", ".call h3"]),
        ("texts", ["again", ".call .why li"]),
        ("click", "[role=tab]:nth-child(4) >> nth=-1"),
        ("texts", ["against", ".diff"]),
        ("click", "button.warn"),
        ("axe", "dialog"),
        ("click", "dialog[open] .quiet"),
        ("hidden", "dialog[open]"),
        ("click", "button.warn"),
        ("click", "dialog[open] .danger"),
        ("gone", ".turn"),
        ("wait", ".pick"),
    )
    assert seen["errors"] == []
    assert seen["axe"] == []
    assert [text[:6] for text in seen["calls"]] == ["Call 1", "Call 2"]
    assert "stalled" in seen["again"][0]
    assert seen["again"][-1] == "The visitor sent this message again: attempt 2."
    assert seen["against"][0].startswith("Against call 1 of message 1:")
    assert sum("COOLDOWN" in key and "left" in key for key in seen["keys"]) >= 1
    assert len(seen["days"]) == 1
    assert seen["bars"] == 2
    assert any("Call" in text for text in seen["log"])
    assert any("1 key failed first" in text for text in seen["exported"])
    status = httpx.get(f"{kept.stage.url}/admin/api/sessions/{doomed}", headers=headers).status_code
    assert status == 404


def test_p32_a_link_opens_once_and_the_token_opens_always(kept: Kept) -> None:
    """H15: locking signs out; the browser has no pass any more."""
    once = link(kept)
    seen = visit(
        kept,
        ("wait", ".rows a"),
        ("kept", "signed_in"),
        ("click", "nav button:has-text('Lock')"),
        ("wait", ".entrance"),
        ("kept", "signed_out"),
        ("axe", "locked"),
        ("open", "about:blank"),
        ("open", once),
        ("wait", ".rows a"),
        ("click", "nav button:has-text('Lock')"),
        ("open", "about:blank"),
        ("open", once),
        ("texts", ["refused", ".entrance .trouble"]),
        ("fill", ["input[type=password]", TOKEN]),
        ("click", ".entrance button"),
        ("wait", ".rows a"),
        ("kept", "kept"),
    )
    assert "once" in seen["refused"][0]
    assert ("pass" in seen["signed_in"], "pass" in seen["signed_out"]) == (True, False)
    assert TOKEN not in seen["kept"]
    assert seen["axe"] == []
    # Chromium logs an error for every 401.
    assert all("401" in error for error in seen["errors"])


@pytest.mark.slow
def test_p28_phones_chinese_and_both_themes(kept: Kept) -> None:
    seen = visit(
        kept,
        ("wait", ".rows a"),
        ("axe", "list"),
        ("texts", ["nav", "nav a"]),
        ("session", kept.long),
        ("axe", "session"),
        ("scheme", "dark"),
        ("axe", "dark"),
        ("size", [390, 844]),
        ("overflow", "overflow"),
        ("axe", "phone"),
        locale="zh-CN",
    )
    assert seen["errors"] == []
    assert seen["axe"] == []
    assert seen["overflow"] == 0
    assert seen["nav"] == ["会话", "人工请求", "洞察", "密钥", "登录"]


@pytest.mark.parametrize("width", [390, 320])
def test_p30_fingerprints_of_keys_are_one_line_on_a_phone(kept: Kept, width: int) -> None:
    """In the list of keys, and among the attempts of a call. The page does not scroll sideways."""
    seen = visit(
        kept,
        ("wait", ".rows a"),
        ("size", [width, 844]),
        ("hash", "keys"),
        ("boxes", ["keys", "tbody code"]),
        ("overflow", "keys_over"),
        ("session", kept.long),
        ("boxes", ["tried", ".tries code"]),
        ("overflow", "tried_over"),
        locale="zh-CN",
    )
    assert (seen["keys_over"], seen["tried_over"]) == (0, 0)
    assert len(seen["keys"]) == 3
    for box in seen["keys"] + seen["tried"]:
        assert (box["lines"], 0 <= box["left"] < box["right"] <= width) == (1, True), box


def test_p28_a_phone_shows_the_whole_bar(kept: Kept) -> None:
    seen = visit(
        kept,
        ("wait", ".rows a"),
        ("size", [320, 700]),
        ("boxes", ["bar", "nav > :is(a, button)"]),
    )
    shown = [box for box in seen["bar"] if box["right"] > 0]
    assert len(shown) >= 6
    for box in shown:
        assert box["right"] <= 320, box


def test_p27_filters_arrow_keys_and_a_deep_link_that_waits_for_the_way_in(kept: Kept) -> None:
    seen = visit(
        kept,
        ("wait", ".rows a"),
        ("texts", ["rows", ".rows a"]),
        ("press", [".rows a", "ArrowDown"]),
        ("focused", "second"),
        ("select", ["select[name=only]", "errors"]),
        ("wait", ".rows li:only-child"),
        ("texts", ["wrong", ".rows strong"]),
        ("click", ".filters summary"),
        ("fill", ["input[name=since]", "2001-01-01"]),
        ("fill", ["input[name=until]", "2001-01-02"]),
        ("click", ".filters .accent"),
        ("texts", ["none", ".loading:has-text('No sessions')"]),
        ("fill", ["input[name=id]", kept.long]),
        ("click", ".filters .accent"),
        ("texts", ["by_id", ".content h2"]),
        ("open", f"{kept.stage.url}/admin#s=%"),
        ("texts", ["unknown", ".pane .trouble"]),
        ("click", "nav button:has-text('Lock')"),
        ("open", "about:blank"),
        ("open", f"{kept.stage.url}/admin#s={kept.long}"),
        ("fill", ["input[type=password]", TOKEN]),
        ("click", ".entrance button"),
        ("texts", ["linked", ".content h2"]),
    )
    assert seen["wrong"] == ["<cut> please"]
    assert seen["second"] == seen["rows"][1]
    assert "No sessions" in seen["none"][0]
    assert "no such session" in seen["unknown"][0]
    assert seen["by_id"] == seen["linked"]
    assert seen["linked"][0].startswith("How long does a visa take?")
    assert all("404" in error for error in seen["errors"])


@pytest.mark.slow
def test_h7_enter_in_an_empty_search_loads_the_list_once(kept: Kept) -> None:
    """The field's own event and the form's come for one key."""
    field = "input[name=text]"
    seen = visit(
        kept,
        ("wait", ".rows a"),
        ("fill", [field, "visa"]),
        ("lists", ["words", "press", [field, "Enter"]]),
        ("fill", [field, ""]),
        ("lists", ["empty", "press", [field, "Enter"]]),
        ("lists", ["again", "press", [field, "Enter"]]),
        ("wait", ".rows li:nth-child(3)"),
    )
    assert (seen["words"], seen["empty"], seen["again"]) == (1, 1, 1)


def test_h21_an_operator_works_with_the_keyboard_and_letters_in_a_field_are_text(
    kept: Kept,
) -> None:
    said(kept.stage, "Is anybody there?")
    bar = ".talk"
    seen = visit(
        kept,
        ("wait", ".rows a"),
        ("texts", ["rows", ".rows strong"]),
        ("keys", ["j", "j"]),
        ("focused", "second"),
        ("keys", ["k"]),
        ("focused", "first"),
        ("keys", ["Enter"]),
        ("wait", bar),
        ("active", "opened"),
        ("keys", ["r"]),
        ("active", "nameless"),
        ("keys", [*"Jek?", "Enter"]),
        ("wait", f"{bar} textarea"),
        ("wait", f"{bar} textarea:focus"),
        ("keys", [*"e?rjk"]),
        ("active", "typed"),
        ("keys", ["Escape"]),
        ("active", "left"),
        ("keys", ["r"]),
        ("active", "again"),
        ("keys", ["Escape", "e"]),
        ("wait", f"{bar} input"),
        ("texts", ["ended", f"{bar} [role=status]"]),
        ("keys", ["?"]),
        ("texts", ["help", "dialog[open] .shortcuts > div"]),
        ("axe", "help"),
        ("click", "dialog[open] input"),
        ("keys", ["Escape", "Escape"]),
        ("focused", "back"),
        ("wait", ".pick"),
        ("keys", ["j", "?"]),
        ("focused", "off"),
        ("count", ["shown", "dialog[open]"]),
    )
    assert (seen["errors"], seen["axe"]) == ([], [])
    first, second = seen["rows"][:2]
    assert first in seen["first"]
    assert second in seen["second"]
    assert (seen["opened"], seen["nameless"]) == ("H2", "INPUT operator")
    assert (seen["typed"], seen["left"]) == ("TEXTAREA text e?rjk", "H2")
    assert seen["again"] == seen["typed"]
    assert "Closed by \u2068Jek?\u2069" in seen["ended"][0]
    assert [one[0] for one in seen["help"]] == ["j", "k", "r", "e", "E", "?"]
    assert first in seen["back"]
    assert (seen["off"], seen["shown"]) == (seen["back"], 0)


def test_p32_the_page_holds_no_data_and_allows_nothing_else(kept: Kept) -> None:
    page = httpx.get(f"{kept.stage.url}/admin")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    for part in (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; ",
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        "trusted-types 'none'",
    ):
        assert part in policy
    assert "unsafe" not in policy
    for name, value in (
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
    ):
        assert page.headers[name] == value
    assert kept.long not in page.text
    assert "access-control-allow-origin" not in page.headers


@pytest.mark.slow
def test_totals_and_the_first_page_show_that_the_store_is_full() -> None:
    """The store is in memory and has a limit of one megabyte.

    The size is read every quarter of a second, so more may be stored for a moment.
    """
    with stage(1, environment={"ADMIN_TOKEN": TOKEN}, store_max_mb=1) as running:
        full = Kept(running, "", "", "", [])
        url, body = f"{running.url}/api/chat", {"message": "x" * 15000}
        answers = (httpx.post(url, json=body) for _ in range(200))
        refused = next(answer for answer in answers if answer.status_code == 503)
        assert refused.json()["error"]["code"] == "store_full"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        used = [-1]
        while len(used) < 10 or len({*used[-10:]}) > 1:  # until the last answers are written
            about = httpx.get(f"{running.url}/admin/api/about", headers=headers).json()
            used.append(about["store"]["used"])
            time.sleep(0.1)
        seen = visit(
            full,
            ("wait", ".pick .trouble"),
            ("texts", ["first", ".pick .trouble"]),
            ("axe", "first"),
            ("hash", "insights"),
            ("wait", ".sums .trouble"),
            ("texts", ["use", ".sums .store"]),
            ("texts", ["off", ".sums .trouble"]),
            ("axe", "insights"),
        )
    assert (seen["errors"], seen["axe"]) == ([], [])
    assert re.fullmatch(r"Store: [1-9] of 1 MB\.", seen["use"][0])
    assert seen["first"] == seen["off"]
    # So the store is nearly full, or full.
    assert re.search("full: (new chats are answered, but not|no message is) stored", seen["off"][0])
