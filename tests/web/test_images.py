"""W21: pictures of visitors, from the request to the model, the store, the panel and their end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.contract.engines import every_item, new_table
from tests.fakes import behaviours as b
from tests.fakes.asking import ask, client
from tests.fakes.browser import told_by
from tests.fakes.chatting import FILE, STORE, Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.pictures import HEIC, HEIGHT, PDF, PLACE, SVG, WIDTH, jpeg, png, url, webp
from tests.fakes.service import Service
from tests.fakes.stage import UNHURRIED, Stage, stage
from tests.parts.plugin import CREDENTIALS

TOKEN = "operator-5f3c9a7e1b-5f3c9a7e1b-5f3c9a7e1b"
ON: dict[str, Any] = {
    **UNHURRIED,
    "images": True,
    "capture": "all",
    "environment": {"ADMIN_TOKEN": TOKEN},
}
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
PHOTO = jpeg(place=PLACE)


@pytest.fixture(scope="module")
def seeing() -> Iterator[Stage]:
    given = {**ON, "store_timeout": 60.0}  # twenty visitors at once write sixty megabytes
    with stage(20, **given, store=STORE, ip_requests_per_minute=0) as running:
        yield running


@pytest.fixture
def visitor(seeing: Stage) -> Visitor:
    return Visitor(seeing)


def content(body: dict[str, Any]) -> list[Any]:
    """The contents of the user's messages in a request to the model."""
    return [one["content"] for one in body["messages"] if one["role"] == "user"]


def sizes(parts: Any) -> list[int]:
    """The bytes of the images in a content."""
    if isinstance(parts, str):
        return []
    urls = [one["image_url"]["url"] for one in parts if one["type"] == "image_url"]
    return [len(b64decode(one.partition(",")[2])) for one in urls]


async def test_w21_the_model_sees_the_pictures_and_the_chat_keeps_them(
    visitor: Visitor, seeing: Stage, question: str
) -> None:
    answer = await visitor.say(question, images=[url(PHOTO), url(webp(place=PLACE)), url(png())])
    assert answer.complete
    (text, *pictures) = content((await seeing.upstream.asked(question)).body)[0]
    assert text == {"type": "text", "text": question}
    assert [one["image_url"]["detail"] for one in pictures] == ["auto"] * 3
    assert PLACE not in b"".join(
        b64decode(one["image_url"]["url"].partition(",")[2]) for one in pictures
    )
    asked, answered = (await visitor.look()).json()["messages"]
    shown = {"width": WIDTH, "height": HEIGHT}
    assert asked["images"] == [
        {"id": "1-0", "type": "image/jpeg", **shown},
        {"id": "1-1", "type": "image/webp", **shown},
        {"id": "1-2", "type": "image/png", **shown},
    ]
    assert "images" not in answered
    image = await visitor.look("/images/1-0")
    assert image.status_code == 200
    assert image.content.startswith(b"\xff\xd8\xff")
    assert PLACE not in image.content
    for name, value in {
        "content-type": "image/jpeg",
        "cache-control": "private, no-store",
        "x-content-type-options": "nosniff",
        "content-disposition": "inline",
    }.items():
        assert image.headers[name] == value
    assert image.headers["content-security-policy"].startswith("default-src 'none'")


async def test_w21_a_picture_is_for_its_visitor_and_for_the_panel(
    visitor: Visitor, seeing: Stage, question: str
) -> None:
    await visitor.say(question, images=[url(PHOTO)])
    other = Visitor(seeing)
    await other.say("Hello?")
    place = f"{seeing.url}/api/sessions/{visitor.session_id}/images/1-0"
    panel = place.replace("/api/", "/admin/api/")
    async with client() as browser:
        assert (await browser.get(place)).status_code == 404
        assert (await browser.get(place, headers=other.headers)).status_code == 404
        assert (await browser.get(place, headers=OPERATOR)).status_code == 404
        assert (await browser.get(panel)).status_code == 401
        assert (await browser.get(panel, headers=visitor.headers)).status_code == 401
        shown = await browser.get(panel, headers=OPERATOR)
        assert (shown.status_code, shown.headers["content-type"]) == (200, "image/jpeg")
        chat = await browser.get(panel.removesuffix("/images/1-0"), headers=OPERATOR)
        assert chat.json()["messages"][0]["images"][0]["id"] == "1-0"
    for name in ("1-1", "2-0", "x", "1-0%00"):
        assert (await visitor.look(f"/images/{name}")).status_code in (400, 404)


REFUSED = {
    "svg": ([url(SVG, "image/svg+xml")], "Only JPEG, PNG and WebP"),
    "svg as a jpeg": ([url(SVG)], "Only JPEG, PNG and WebP"),
    "heic": ([url(HEIC)], "Only JPEG, PNG and WebP"),
    "renamed pdf": ([url(png()), url(PDF, "image/png")], "Only JPEG, PNG and WebP"),
    "an address": (["https://evil.example/cat.jpg"], "Only JPEG, PNG and WebP"),
    "four": ([url(png())] * 4, "At most 3 pictures"),
    "large": ([url(jpeg(bytes_more=1 << 20))], "larger than 1 MB"),
    "wide": ([url(png(1569, 1))], "more than 1568 pixels"),
    "damaged": ([url(png()[:60])], "damaged"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_w21_a_refused_picture_gets_a_sentence_and_nothing_is_stored(
    visitor: Visitor, seeing: Stage, question: str, name: str
) -> None:
    images, sentence = REFUSED[name]
    answer = await visitor.say(question, images=images)
    assert (answer.status, answer.error["param"]) == (400, "images")
    assert sentence in answer.error["message"]
    assert visitor.session_id is None
    assert question.encode() not in (seeing.service.folder / FILE).read_bytes()


async def test_w21_text_is_needed(visitor: Visitor) -> None:
    answer = await visitor.say(" ", images=[url(PHOTO)])
    assert (answer.status, answer.error["param"]) == (400, "message")


async def test_w21_pictures_of_the_last_turns_go_along(visitor: Visitor, seeing: Stage) -> None:
    """Those of older turns stay away, and so do those that would take too many tokens."""
    first, *others = [f"{new_id()} {number}" for number in range(5)]
    await visitor.say(first, images=[url(PHOTO)])
    sent = []
    for text in others:
        assert (await visitor.say(text)).complete
        sent.append([sizes(one) for one in content((await seeing.upstream.asked(text)).body)])
    assert [len(one) for one in sent] == [2, 3, 4, 5]
    assert [len(one[0]) for one in sent] == [1, 1, 1, 0]
    large, asked = [url(png(1568, 1568))] * 3, new_id()
    await visitor.say(f"{asked} a", images=large)
    await visitor.say(f"{asked} b", images=large)
    await visitor.say(f"{asked} c")
    last = content((await seeing.upstream.asked(f"{asked} c")).body)
    assert [len(sizes(one)) for one in last[-3:]] == [0, 3, 0]


async def test_w21_a_repeat_stays_one_message_with_its_pictures(
    visitor: Visitor, seeing: Stage, question: str
) -> None:
    """Also if the first try failed, and if both come at the same time."""
    seeing.script(b.status(500), b.answer("A hat."), asking=question)
    id, images = new_id(), [url(PHOTO)]
    await visitor.say(question, client_message_id=id, images=images)
    answers = await asyncio.gather(
        *(visitor.say(question, client_message_id=id, images=images) for _ in range(3))
    )
    assert {one.status for one in answers} <= {200, 409}
    messages = (await visitor.look()).json()["messages"]
    assert [(one["role"], one.get("images", [{}])[0].get("id")) for one in messages] == [
        ("user", "1-0"),
        ("assistant", None),
    ]


async def test_w21_an_edit_keeps_replaces_or_removes_the_pictures(
    visitor: Visitor, seeing: Stage, question: str
) -> None:
    id = new_id()
    await visitor.say(question, client_message_id=id, images=[url(PHOTO), url(png())])

    async def edited(text: str, **more: Any) -> tuple[int, int]:
        """The pictures that the model saw, and those that are shown."""
        answer = await visitor.say(text, again=id, client_message_id=new_id(), **more)
        assert answer.complete
        sent = content((await seeing.upstream.asked(text)).body)
        message = (await visitor.look()).json()["messages"][0]
        assert message["content"] == text
        return len(sizes(sent[-1])), len(message.get("images", ()))

    assert await edited(f"{question} kept") == (2, 2)
    assert await edited(f"{question} one", images=[url(webp())]) == (1, 1)
    assert (await visitor.look("/images/1-0")).headers["content-type"] == "image/webp"
    assert (await visitor.look("/images/1-1")).status_code == 404
    assert await edited(f"{question} none", images=[]) == (0, 0)
    assert (await visitor.look("/images/1-0")).status_code == 404


async def test_w21_an_edit_that_fails_leaves_the_pictures(
    visitor: Visitor, seeing: Stage, question: str
) -> None:
    id = new_id()
    await visitor.say(question, client_message_id=id, images=[url(PHOTO)])
    seeing.script(b.status(500), asking=f"{question} edited")
    answer = await visitor.say(
        f"{question} edited", images=[url(png())], again=id, client_message_id=new_id()
    )
    assert not answer.complete
    assert (await visitor.look("/images/1-0")).headers["content-type"] == "image/jpeg"


async def test_w21_a_recorded_call_has_a_reference_in_place_of_bytes(
    visitor: Visitor, seeing: Stage, question: str
) -> None:
    await visitor.say(question, images=[url(PHOTO)])
    fake = '"url":"data:image/png;base64,AAAA"'
    assert (await visitor.say(f"{question} {fake}")).complete
    chat: dict[str, Any] = {}
    async with client() as browser:
        place = f"{seeing.url}/admin/api/sessions/{visitor.session_id}"
        for _ in range(50):
            chat = (await browser.get(place, headers=OPERATOR)).json()
            if len(chat["calls"]) == 2:
                break
            await asyncio.sleep(0.1)
    for call in chat["calls"]:
        assert "base64" not in call["request"].replace(json.dumps(fake)[1:-1], "")
        parts = content(json.loads(call["request"]))[0]
        assert parts[1]["image_url"]["url"] == "kefu-image:1-0"
        assert "redacted" not in call["meta"]
    assert json.dumps(fake)[1:-1] in chat["calls"][1]["request"]


async def test_w21_nothing_of_a_deleted_chat_stays_in_the_file(
    visitor: Visitor, seeing: Stage, question: str
) -> None:
    """Nor is any metadata in the file, its log or the log of the service before."""
    canary = b"\x2a\x17\x99CANARY" + question.encode()
    picture = jpeg(place=PLACE)[: -2 - len(PLACE)] + canary + b"\xff\xd9"
    await visitor.say(question, images=[url(picture)])

    def found(piece: bytes) -> list[str]:
        files = seeing.service.folder.glob(f"{FILE}*")
        return [file.name for file in files if piece in file.read_bytes()]

    assert found(canary[:12])
    assert not found(PLACE)
    assert (await visitor.look("", "DELETE")).status_code == 204
    assert not found(canary[:12])
    output = seeing.service.stderr + seeing.service.stdout
    assert "data:image" not in output
    assert "CANARY" not in output


@pytest.mark.slow
async def test_w21_an_operator_sees_the_pictures(
    visitor: Visitor, seeing: Stage, question: str
) -> None:
    """In Chromium: small ones that open in full, and a sentence for one that is gone."""
    await visitor.say(question, images=[url(png(800, 600)), url(PHOTO), url(png())])
    with contextlib.closing(sqlite3.connect(seeing.service.folder / FILE)) as db, db:
        place = (visitor.session_id, 2)
        db.execute("DELETE FROM images WHERE session = ? AND number = ?", place)
    script = Path(__file__).with_name("panel_pictures_seen.mjs")
    given = (seeing.url, TOKEN, visitor.session_id or "")
    seen = await asyncio.to_thread(told_by, script, *given, timeout=120)
    assert seen["small"] == [[320, 240], [WIDTH, HEIGHT]]
    assert seen["opened"] == [800, 600]
    assert seen["said"] == ["This picture is not there any more."]
    assert seen["pixel"] == [128, 128, 128, 255]
    # The browser itself reports the picture that is gone.
    assert [one for one in seen["errors"] if "404" not in one] == []
    assert seen["violations"] == []


@pytest.mark.slow
async def test_w21_twenty_visitors_at_once(seeing: Stage) -> None:
    """Each of them with three megabytes."""
    most = [url(jpeg(bytes_more=1_000_000)) for _ in range(3)]

    async def visit(number: int) -> int:
        visitor, text = Visitor(seeing), f"{new_id()} {number}"
        answer = await visitor.say(text, images=most)
        assert answer.complete, answer.raw
        assert len(sizes(content((await seeing.upstream.asked(text)).body)[0])) == 3
        return len((await visitor.look("/images/1-2")).content)

    assert set(await asyncio.gather(*map(visit, range(20)))) == {
        len(jpeg(bytes_more=1_000_000)) - 474
    }


async def test_w21_in_dynamodb_and_in_memory(
    staged: Staged, question: str, dynamodb_endpoint: str, aws_environment: dict[str, str]
) -> None:
    """From the request to the deletion, after which no item of the chat is in the table."""
    table = await new_table(dynamodb_endpoint, time.time, with_ttl=False)
    environment = {**CREDENTIALS, "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_endpoint}
    session: str | None = None
    for store in (f"dynamodb://{table.table}", "memory:"):
        running = staged(2, **UNHURRIED, images=True, store=store, environment=environment)
        visitor = Visitor(running)
        large = jpeg(bytes_more=1_000_000)
        assert (await visitor.say(question, images=[url(large), url(png())])).complete
        assert (await visitor.say(f"{question} Again?")).complete
        sent = content((await running.upstream.asked(f"{question} Again?")).body)
        assert [len(sizes(one)) for one in sent] == [2, 0]
        assert (await visitor.look("/images/1-1")).content == png()
        assert (await visitor.look("", "DELETE")).status_code == 204
        assert (await visitor.look("/images/1-1")).status_code == 404
        session = session or visitor.session_id
    assert session
    database = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint)
    items = every_item(database, table.table)
    assert items
    left = [one["pk"]["S"] for one in items if session in str(one)]
    assert not [pk for pk in left if not pk.startswith("rate#")]
    await table.aclose()


async def test_w21_pictures_are_off_by_default(staged: Staged) -> None:
    running = staged(2, store=STORE)
    for images in ([url(png())], [url(jpeg(bytes_more=200_000))]):
        answer = await Visitor(running).say("What is this?", images=images)
        assert answer.status == 400
        assert "`images = true` in [chat] of kefu.toml" in answer.error["message"]
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": url(png())}},
    ]
    answer = await running.ask({"messages": [{"role": "user", "content": parts}]})
    assert (answer.status, answer.error["param"]) == (400, "messages.0.content")


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
async def test_w21_image_parts_go_to_the_model_in_both_apis(
    staged: Staged, path: str, question: str
) -> None:
    running = staged(2, images=True, **UNHURRIED)

    def parts(text: str, *urls: str) -> list[Any]:
        images = [{"type": "image_url", "image_url": {"url": one, "detail": "low"}} for one in urls]
        return [{"type": "text", "text": text}, *images]

    async def asked(*messages: tuple[str, Any]) -> Any:
        body = {"messages": [{"role": role, "content": said} for role, said in messages]}
        return await running.ask({**body, "stream": True}, path=path)

    first = ("user", parts("Look.", url(PHOTO)))
    answer = await asked(first, ("assistant", "Yes?"), ("user", parts(question, url(png()))))
    assert answer.complete
    sent = content((await running.upstream.asked(question)).body)
    assert [len(sizes(one)) for one in sent] == [1, 1]
    for wrong, sentence in (
        (("user", parts("What?", "https://evil.example/a.png")), "Only JPEG, PNG and WebP"),
        (("user", parts("What?", *[url(png())] * 4)), "At most 3"),
        (("user", parts("What?", url(SVG))), "Only JPEG, PNG and WebP"),
    ):
        answer = await asked(wrong)
        assert (answer.status, answer.error["param"]) == (400, "messages.0.content")
        assert sentence in answer.error["message"]
    answer = await asked(("assistant", parts("Look.", url(png()))), ("user", "What?"))
    assert "only the user's messages have images" in answer.error["message"]


async def test_w21_an_openai_client_may_send_a_picture_without_a_text(staged: Staged) -> None:
    """A text part without a text is not sent: Anthropic's models refuse it."""
    running = staged(2, images=True, **UNHURRIED)
    image = {"type": "image_url", "image_url": {"url": url(png())}}
    for parts in ([image], [{"type": "text", "text": " "}, image]):
        body = {"messages": [{"role": "user", "content": parts}], "stream": True}
        assert (await running.ask(body, path="/v1/chat/completions")).complete
        [sent] = content(running.upstream.journal[-1].body)
        assert [part["type"] for part in sent] == ["image_url"]


async def test_w21_the_body_field_is_for_the_last_message_of_a_conversation(
    staged: Staged, question: str
) -> None:
    running = staged(2, images=True, **UNHURRIED)
    body = {"messages": [{"role": "user", "content": question}], "images": [url(PHOTO)]}
    assert (await running.ask(body)).complete
    assert len(sizes(content((await running.upstream.asked(question)).body)[0])) == 1


async def test_w21_pictures_count_in_the_budget_of_the_day(staged: Staged) -> None:
    """A picture of 1,568 pixels takes 85 and 4 times 170 tokens."""
    running = staged(2, images=True, daily_tokens=2500, max_output_tokens=100, **UNHURRIED)

    def body(*images: bytes) -> dict[str, Any]:
        message = {"role": "user", "content": "What is this?"}
        return {"messages": [message], "images": [url(one) for one in images]}

    large = png(1568, 1568)
    assert (await running.ask(body(large, large))).complete
    refused = await running.ask(body(large, large, large))
    assert (refused.status, refused.error["code"]) == (429, "budget_exhausted")


async def test_w21_sample_mode_answers_the_text() -> None:
    with Service(None, (), images=True, store=STORE) as service:
        answer = await ask(service.url, {"message": "What is this?", "images": [url(PHOTO)]})
    assert answer.complete
    assert "sample mode" in answer.text
