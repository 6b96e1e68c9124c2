"""W21: few bodies with images are received at the same time, and others do not wait for them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.requests import Request

from kefu.chat.prompt import Sampling
from kefu.errors import BodyTimeout, InvalidRequest
from kefu.web.options import BodyLimits, WebOptions
from kefu.web.questions import LARGE_BODIES, Questions
from kefu.web.schemas import ChatRequest
from tests.fakes.pictures import jpeg, url
from tests.fakes.relaying import in_virtual_time


class Sender:
    """Sends the first half of a body, and the rest when it is allowed to."""

    def __init__(self, *images: str) -> None:
        body = {"messages": [{"role": "user", "content": "What is this?"}], "images": images}
        whole = json.dumps(body).encode()
        self._parts = [whole[: len(whole) // 2], whole[len(whole) // 2 :]]
        self.may_end = asyncio.Event()

    async def receive(self) -> Any:
        if len(self._parts) == 1:
            await self.may_end.wait()
        part = self._parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(self._parts)}

    @property
    def request(self) -> Request:
        headers = [(b"content-type", b"application/json")]
        return Request({"type": "http", "headers": headers}, self.receive)


@in_virtual_time
async def test_w21_a_ninth_large_body_waits_and_a_small_one_does_not() -> None:
    questions = Questions(WebOptions(images=True), Sampling("m"))
    photo = url(jpeg(bytes_more=300_000))
    senders = [Sender(photo) for _ in range(LARGE_BODIES + 1)]
    reading = [asyncio.create_task(questions.read(one.request, ChatRequest)) for one in senders]
    await asyncio.sleep(1)
    senders[-1].may_end.set()
    await asyncio.sleep(1)
    assert not any(one.done() for one in reading)
    small = Sender()
    small.may_end.set()
    assert (await questions.read(small.request, ChatRequest)).images == []
    senders[0].may_end.set()
    done, _ = await asyncio.wait({reading[0], reading[-1]}, timeout=5)
    assert len(done) == 2
    assert (await reading[-1]).images == [photo]
    # The others never end.
    for one in reading[1:-1]:
        with pytest.raises(BodyTimeout):
            await one
    later = Sender(photo)
    later.may_end.set()
    assert (await questions.read(later.request, ChatRequest)).images == [photo]


async def test_w21_a_long_body_is_refused_with_the_setting_where_images_are_off() -> None:
    questions = Questions(WebOptions(body=BodyLimits(1000)), Sampling("m"))
    sender = Sender(url(jpeg(bytes_more=3000)))
    sender.may_end.set()
    with pytest.raises(InvalidRequest, match=r"longer than 1000 bytes\. Pictures are off here"):
        await questions.read(sender.request, ChatRequest)
