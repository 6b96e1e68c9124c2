"""H2, H22 on the emulated Lambda: requests are delivered, and operators' lines are mailed, although
nothing runs between two requests.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from kefu.sessions.store.model import Retention, SessionId
from kefu.stores.dynamodb.store import DynamoStore
from tests.aws_lambda.conftest import Deploy, Deployed
from tests.fakes import behaviours as b
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.aws_topic import TOPIC, AwsTopic
from tests.fakes.chatting import Visitor, new_id
from tests.fakes.lambda_instance import FunctionError
from tests.fakes.mailbox import PASSWORD, Mailbox
from tests.fakes.stage import ORIGIN
from tests.fakes.webhook import Webhook

pytestmark = pytest.mark.slow

TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
AGREED = "If I have left, the answer may be mailed to me."
SCHEDULED = {"url": "https://chat.example.com"}
"""The event of the template's schedule."""


async def send(visitor: Visitor[Deployed], message: str, id: str = "") -> httpx.Response:
    body: dict[str, Any] = {"client_message_id": id or new_id(), "email": "kari@example.no"}
    async with httpx.AsyncClient(timeout=60) as browser:
        return await browser.post(
            f"{visitor.stage.url}/api/sessions/{visitor.session_id}/contact",
            json={**body, "message": message, "consent": True},
            headers={**visitor.headers, "Origin": ORIGIN},
        )


async def say(visitor: Visitor[Deployed], text: str) -> None:
    """Take the chat over, and write a line."""
    url = f"{visitor.stage.url}/admin/api/sessions/{visitor.session_id}"
    headers = {"Authorization": f"Bearer {TOKEN}"}
    line = {"text": text, "client_message_id": new_id()}
    async with httpx.AsyncClient(timeout=60, headers=headers) as panel:
        for path, body in (("state", {"state": "person"}), ("lines", line)):
            answer = await panel.post(f"{url}/{path}", json={"operator": "Ingrid", **body})
            assert answer.status_code == 200


async def is_ready(site: Deployed) -> None:
    """On a busy machine boto3 may load for longer than a mail waits for its password."""
    async with asyncio.timeout(180), httpx.AsyncClient(timeout=60) as monitor:
        while (await monitor.get(f"{site.url}/ready")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def test_h2_a_frozen_function_delivers_in_the_request_or_with_a_later_chat(
    deploy: Deploy, table: DynamoStore, dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """What the webhook refused is delivered by another instance: the first one is killed."""
    with Webhook() as webhook:
        site = deploy(
            store=f"dynamodb://{table.table}",
            sessions="true",
            contact_form="email,message",
            contact_webhook=webhook.url,
            freezing=True,
            environment={**aws_environment, "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local},
        )
        visitor = Visitor(site)
        site.upstream.script("*", b.answer("hi"), b.drip(30, delay=0.1), b.drip(30, delay=0.1))
        assert (await visitor.say("Hello")).complete
        assert (await send(visitor, "at once")).status_code == 204
        assert [one.content["message"] for one in webhook.accepted()] == ["at once"]
        webhook.refusals = 1
        assert (await send(visitor, "later")).status_code == 204
        assert [one.status for one in webhook.deliveries] == [204, 500]
        site.front.instances[0].kill("no longer needed")
        await asyncio.sleep(2.1)  # now the second attempt is due
        assert (await Visitor(site).say("Another visitor")).complete
        assert [one.status for one in webhook.deliveries] == [204, 500, 204]
        assert webhook.deliveries[1].body == webhook.deliveries[2].body
        site.front.stop()


async def test_h2_a_frozen_function_mails_a_request_before_it_answers(
    deploy: Deploy, table: DynamoStore, dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """As the template sets it with ContactEmail. What SNS refuses waits in the panel."""
    with AwsTopic() as topic:
        site = deploy(
            store=f"dynamodb://{table.table}",
            sessions="true",
            contact_form="email,message",
            contact_webhook=f"sns:{TOPIC}",
            freezing=True,
            environment={
                **aws_environment,
                **topic.environment,
                "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local,
                "ADMIN_TOKEN": TOKEN,
            },
        )
        visitor = Visitor(site)
        site.upstream.script("*", b.answer("hi"))
        assert (await visitor.say("Hello")).complete
        id = new_id()
        async with asyncio.timeout(120):  # a busy machine may not deliver within the first request
            while not topic.accepted():
                assert (await send(visitor, "at once", id)).status_code == 204
                await asyncio.sleep(1)  # a chat has a limit of requests
        mail = topic.accepted()[0]
        assert mail.subject.endswith(id)
        assert "> at once\n" in mail.text
        assert "> Hello\n" in mail.text
        url = "https://abc123.execute-api.us-east-1.amazonaws.com/live/admin#s="
        assert f"{url}{visitor.session_id}\n" in mail.text
        topic.refusals = 10**6
        assert (await send(visitor, "later")).status_code == 204
        async with httpx.AsyncClient(timeout=60) as panel:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            answer = await panel.get(f"{site.url}/admin/api/contacts", headers=headers)
        found = answer.json()
        waiting = {one["message"]: one["delivered_at"] is None for one in found["requests"]}
        assert waiting["later"]
        assert (found["delivers"], found["signing_key"]) == (True, "")
        assert "kari@example.no" not in site.function.log
        site.front.stop()


async def test_h22_the_schedule_mails_a_line_to_a_visitor_who_has_left(
    deploy: Deploy, table: DynamoStore, dynamodb_local: str, aws_environment: dict[str, str]
) -> None:
    """The request goes to the topic of ContactEmail as before. No visitor comes. The first instance
    is killed, the second one is frozen while the mail becomes due, and killed while it sends it.
    """
    with Mailbox() as mailbox, AwsTopic() as topic, AwsKeys(PASSWORD) as parameters:
        site = deploy(
            store=f"dynamodb://{table.table}",
            sessions="true",
            allowed_origins=ORIGIN,
            contact_form="email,message",
            contact_webhook=f"sns:{TOPIC}",
            contact_mail=mailbox.url(),
            contact_mail_visitors=AGREED,
            contact_password="ssm:/kefu/contact-password",
            freezing=True,
            timeout=120,
            environment={
                **aws_environment,
                **topic.environment,
                **parameters.environment,
                "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_local,
                "ADMIN_TOKEN": TOKEN,
            },
        )
        visitor, front = Visitor(site), site.front
        site.upstream.script("*", b.answer("hi"))
        assert (await visitor.say("Hello")).complete
        assert (await send(visitor, "a person, please")).status_code == 204
        await say(visitor, "Yes, we do.")
        front.instances[0].kill("the mail is due in the table alone")
        await is_ready(site)
        assert await front.invoke(SCHEDULED)
        assert mailbox.got == []  # three minutes are not over
        store = table.sessions(Retention())
        [request] = await store.contacts_of(SessionId(visitor.session_id or ""))
        assert await store.set_mail(request, request._replace(mail_due_at=1.0))  # now they are
        mailbox.stalls = 1
        sending = asyncio.create_task(front.invoke(SCHEDULED))
        async with asyncio.timeout(180):
            while mailbox.stalls:  # noqa: ASYNC110 - another thread counts
                await asyncio.sleep(0.02)
        front.instances[1].kill("in the middle of a mail")
        with pytest.raises(FunctionError):
            await sending
        [request] = await store.contacts_of(SessionId(visitor.session_id or ""))
        assert (request.mail_attempts, mailbox.got) == (1, [])
        assert await store.set_mail(request, request._replace(mail_due_at=1.0))
        await is_ready(site)
        await front.invoke(SCHEDULED)
        await front.invoke(SCHEDULED)
        [mail] = mailbox.got
        assert mailbox.recipients == [["kari@example.no"]]
        assert "> Yes, we do." in mail.get_content()
        assert len(front.instances) == 3
        assert "> a person, please\n" in topic.accepted()[0].text
        async with httpx.AsyncClient(timeout=60) as browser:
            forged = {"x-amzn-request-context": "null"}
            answer = await browser.post(f"{site.url}/events", json=SCHEDULED, headers=forged)
        assert answer.status_code == 404
        log = site.function.log
        assert [line["status"] for line in site.function.requests("/events")] == [404]
        assert "kari@example.no" not in log
        assert PASSWORD not in log
        front.stop()
