"""H1 to H3 of the real service: the form, its delivery to a webhook, and the panel's list."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from pydantic import ValidationError

from kefu.settings import Settings
from kefu.web.routes.admin_contacts import MAX_ROWS
from tests.fakes.aws_keys import AwsKeys
from tests.fakes.chatting import FILE, STORE, Visitor, new_id
from tests.fakes.fixtures import Staged
from tests.fakes.mailbox import PASSWORD, Mailbox
from tests.fakes.siteverify import SECRET, SiteVerify
from tests.fakes.stage import ORIGIN, Stage
from tests.fakes.webhook import Webhook
from tests.parts.plugin import slow

CONSENT = "I agree that Nordlys keeps this."
TOKEN = "operator-token-5f3c9a7e1b-6d20c81f"
EMAIL = "kari-canary@example.no"
MAILBOX = "smtp://mail.example.com?to=help@example.com"


def settings(webhook: Webhook | None = None) -> dict[str, Any]:
    environment = {
        "ADMIN_TOKEN": TOKEN,
        "KEFU_CONTACT_FORM": "email,message",
        "KEFU_CONTACT_CONSENT": CONSENT,
    }
    if webhook:
        environment["KEFU_CONTACT_WEBHOOK"] = webhook.url
    return {"store": STORE, "environment": environment}


async def send(visitor: Visitor, id: str, **changed: Any) -> httpx.Response:
    body = {"client_message_id": id, "email": EMAIL, "message": "Svalbard?", "consent": True}
    async with httpx.AsyncClient(timeout=30) as browser:
        return await browser.post(
            f"{visitor.stage.url}/api/sessions/{visitor.session_id}/contact",
            json={**body, **changed},
            headers={**visitor.headers, "Origin": ORIGIN},
        )


def described(running: Stage) -> httpx.Response:
    return httpx.get(f"{running.url}/api/contact", headers={"Origin": ORIGIN}, timeout=30)


def send_alone(running: Stage, id: str, **changed: Any) -> httpx.Response:
    """Send the form without a stored chat."""
    body = {"client_message_id": id, "email": EMAIL, "message": "Svalbard?", "consent": True}
    return httpx.post(
        f"{running.url}/api/contact",
        json={**body, **changed},
        headers={"Origin": ORIGIN},
        timeout=30,
    )


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def as_operator(
    running: Stage, path: str, method: str, body: object = None, token: str = TOKEN
) -> httpx.Response:
    """Send a request to the API of the panel."""
    headers = {"Authorization": f"Bearer {token}"}
    url = f"{running.url}/admin/api/{path}"
    return httpx.request(method, url, json=body, headers=headers, timeout=30)


def in_panel(running: Stage) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = httpx.get(f"{running.url}/admin/api/contacts", headers=headers, timeout=30)
    found: dict[str, Any] = answer.raise_for_status().json()
    return found


@pytest.mark.slow
async def test_h2_a_killed_server_delivers_after_its_restart_what_the_webhook_refused(
    staged: Staged,
) -> None:
    """The whole way: form, consent, stored, refused five times, kill -9, delivered once, shown.

    It takes a minute, which are the pauses between the deliveries.
    """
    with Webhook() as webhook:
        webhook.refusals = 5
        running = staged(1, **settings(webhook))
        visitor = Visitor(running)
        assert (await visitor.say("Can I talk to a person?")).complete
        shown = await visitor.look("/contact")
        assert shown.json() == {"fields": ["email", "message"], "consent": CONSENT, "link": ""}
        id = new_id()
        assert (await send(visitor, id, consent=False)).status_code == 400
        assert in_panel(running)["requests"] == []
        assert (await send(visitor, id)).status_code == 204
        webhook.wait_for(1)
        wait_until(lambda: "the contact webhook failed: HTTP 500" in running.service.stderr)
        running.service.restart(kill=True)
        webhook.wait_for(2)
        assert (await send(visitor, id)).status_code == 204  # the widget's retry
        *refused, last = webhook.wait_for(6)
        assert [one.status for one in refused] == [500] * 5
        assert last.status == 204
        assert {one.body for one in refused} == {last.body}
        assert last.headers["idempotency-key"] == id
        transcript = last.content["transcript"]
        assert [one["role"] for one in transcript] == ["user", "assistant"]
        assert (last.content["email"], last.content["message"]) == (EMAIL, "Svalbard?")
        panel = in_panel(running)
        at, signature = last.headers["kefu-signature"].removeprefix("t=").split(",v1=")
        key = panel["signing_key"].encode()
        expected = hmac.new(key, f"{at}.".encode() + last.body, "sha256").hexdigest()
        assert signature == expected
        [listed] = panel["requests"]
        assert (listed["id"], listed["session_id"]) == (id, visitor.session_id)
        assert listed["delivered_at"] is not None
        assert len(webhook.deliveries) == 6
        assert EMAIL not in running.service.stderr


@pytest.mark.slow
async def test_h22_an_operator_sees_why_a_delivery_failed_and_sends_it_again(
    staged: Staged,
) -> None:
    with Webhook() as webhook:
        webhook.refusals = 100
        running = staged(1, **settings(webhook))
        id = new_id()
        assert send_alone(running, id).status_code == 204
        webhook.wait_for(4)  # the next try is 16 seconds later
        trouble = "the contact webhook failed: HTTP 500"
        wait_until(lambda: as_operator(running, "queue", "GET").json()["trouble"] == trouble)
        webhook.refusals = 0
        for count in (5, 6):  # what has been delivered is sent again, too
            assert as_operator(running, f"contacts/{id}/send", "POST").status_code == 204
            assert webhook.wait_for(count)[-1].status == 204
            wait_until(lambda: as_operator(running, "queue", "GET").json()["trouble"] == "")
            wait_until(lambda: in_panel(running)["requests"][0]["delivered_at"] is not None)
        assert {one.headers["idempotency-key"] for one in webhook.deliveries} == {id}
        assert as_operator(running, "contacts/none/send", "POST").status_code == 404


@pytest.mark.slow
async def test_h22_a_request_is_mailed_with_its_chat(staged: Staged) -> None:
    """After a mailbox that was full. The second request of the hour waits."""
    with Mailbox() as mailbox:
        mailbox.refusals = 1
        given = settings()
        given["environment"] |= {
            "KEFU_CONTACT_MAIL": mailbox.url(),
            "KEFU_CONTACT_PASSWORD": PASSWORD,
        }
        running = staged(1, **given)
        visitor = Visitor(running)
        assert (await visitor.say("Can I talk to a person?")).complete
        id = new_id()
        assert (await send(visitor, id)).status_code == 204
        [mail] = mailbox.wait_for(1)
        assert mail["Subject"] == f"A visitor asks for a person: {id}"
        text = mail.get_content().replace("\r\n", "\n")
        assert "> Can I talk to a person?" in text
        assert f"Email:\n> {EMAIL}" in text
        assert "the mailbox failed: SMTP 451; tried again in 2 s" in running.service.stderr
        assert send_alone(running, new_id()).status_code == 204
        wait_until(lambda: len(in_panel(running)["requests"]) == 2)
        assert [bool(one["delivered_at"]) for one in in_panel(running)["requests"]] == [False, True]
        assert len(mailbox.got) == 1
        assert PASSWORD not in running.service.stderr


def ready(running: Stage) -> list[str]:
    """Why it is not."""
    found = httpx.get(f"{running.url}/ready", timeout=60).json()
    return [one["message"] for one in found["problems"]]


@pytest.mark.slow
def test_h22_the_password_of_the_mailbox_may_be_at_a_place_in_aws(staged: Staged) -> None:
    """Until it is there, requests wait, and the operator is told why."""
    with Mailbox() as mailbox, AwsKeys(PASSWORD) as aws:
        aws.error = "ParameterNotFound"
        given = settings()
        given["environment"] |= aws.environment | {
            "KEFU_CONTACT_MAIL": mailbox.url(),
            "KEFU_CONTACT_PASSWORD": "ssm:/kefu/contact-password",
        }
        running = staged(1, **given)
        assert ready(running) == ["Reading the mail server's password failed: ParameterNotFound."]
        assert send_alone(running, new_id()).status_code == 204
        failure = "the mailbox failed: the password cannot be read"
        wait_until(lambda: failure in running.service.stderr)
        aws.text, aws.error = f"{PASSWORD},other", ""
        several = "Reading the mail server's password failed: holds more than one password."
        wait_until(lambda: ready(running) == [several])
        aws.text = f"{PASSWORD}\n"
        mailbox.wait_for(1)
        wait_until(lambda: ready(running) == [])
        name = {"Name": "/kefu/contact-password", "WithDecryption": True}
        assert all(asked == name for asked in aws.asked)
        assert PASSWORD not in running.service.stderr


def test_h22_a_password_that_no_mailbox_needs_is_not_read(staged: Staged) -> None:
    """The template names its place for every stack."""
    place = {"KEFU_CONTACT_PASSWORD": "ssm:/kefu/contact-password"}
    with AwsKeys(PASSWORD) as aws:
        for mail in ({}, {"KEFU_CONTACT_MAIL": "smtp://127.0.0.1:9?to=help@example.com"}):
            given = settings()
            given["environment"] |= aws.environment | place | mail
            assert ready(staged(1, **given)) == []
        assert aws.asked == []


async def test_h2_without_a_webhook_a_request_is_listed_and_expects_none(staged: Staged) -> None:
    running = staged(1, **settings())
    visitor = Visitor(running)
    assert (await visitor.say("hello")).complete
    assert (await send(visitor, new_id())).status_code == 204
    assert (await send(visitor, new_id(), email="kari")).json()["error"]["param"] == "email"
    stranger = Visitor(running)
    stranger.session_id, stranger.token = visitor.session_id, "1.x"
    assert (await send(stranger, new_id())).status_code == 404
    panel = in_panel(running)
    assert [one["email"] for one in panel["requests"]] == [EMAIL]
    assert panel["signing_key"] == ""


def test_h2_requests_are_for_the_operator_alone(staged: Staged) -> None:
    running = staged(1, **settings())
    id = new_id()
    assert send_alone(running, id).status_code == 204
    for token in ("-", "wrong"):
        for path, method, body in (
            ("contacts", "GET", None),
            (f"contacts/{id}/done", "POST", {"done": True}),
            (f"contacts/{id}", "DELETE", None),
        ):
            assert as_operator(running, path, method, body, token).status_code == 401
    [kept] = in_panel(running)["requests"]
    assert kept["done_at"] is None


async def test_s4_an_operator_marks_and_deletes_a_request_and_each_writes_an_audit_line(
    staged: Staged,
) -> None:
    """S4: there was no way to delete a request but to wait until it expired."""
    running = staged(1, **{**settings(), "sessions": "false"})
    ids = [new_id(), new_id()]
    for id in ids:
        assert send_alone(running, id).status_code == 204
    assert as_operator(running, f"contacts/{ids[0]}/done", "POST", {"done": True}).json()["done_at"]
    assert [bool(one["done_at"]) for one in in_panel(running)["requests"]] == [False, True]
    as_operator(running, f"contacts/{ids[0]}/done", "POST", {"done": False})
    assert [bool(one["done_at"]) for one in in_panel(running)["requests"]] == [False, False]
    for _ in range(2):
        assert as_operator(running, f"contacts/{ids[0]}", "DELETE").status_code == 204
    assert [one["id"] for one in in_panel(running)["requests"]] == [ids[1]]
    gone = as_operator(running, f"contacts/{ids[0]}/done", "POST", {"done": True})
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found")
    wrong = as_operator(running, f"contacts/{ids[1]}/done", "POST", {"done": 1})
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "done")
    assert as_operator(running, "contacts?cursor=x", "GET").json()["error"]["param"] == "cursor"
    running.service.stop()
    actions = [line["action"] for line in running.service.logs() if "action" in line]
    assert [one for one in actions if one != "read requests"] == [
        *("request done", "request open"),
        *("delete request", "delete request"),
    ]


async def test_s4_a_chat_that_the_operator_deletes_takes_its_requests_with_it(
    staged: Staged,
) -> None:
    """S4: docs/privacy.md sent owners there to erase a request."""
    running = staged(1, **settings())
    first, second = Visitor(running), Visitor(running)
    for visitor in (first, second):
        assert (await visitor.say("hello")).complete
        assert (await send(visitor, new_id())).status_code == 204
    assert as_operator(running, f"sessions/{first.session_id}", "DELETE").status_code == 204
    [left] = in_panel(running)["requests"]
    assert left["session_id"] == second.session_id
    file = b"".join(one.read_bytes() for one in running.service.folder.glob(f"{FILE}*"))
    assert file.count(EMAIL.encode()) == 1


async def test_s4_the_webhook_gets_the_consent_that_the_visitor_accepted(staged: Staged) -> None:
    with Webhook() as webhook:
        running = staged(1, **settings(webhook))
        assert send_alone(running, new_id()).status_code == 204
        [delivery] = webhook.wait_for(1)
        accepted = delivery.content["consent"]
        assert accepted == {"text": CONSENT, "accepted_at": delivery.content["created_at"]}
        [stored] = in_panel(running)["requests"]
        assert stored["consent"] == CONSENT


async def test_h1_a_server_without_a_form_says_so_and_takes_none(staged: Staged) -> None:
    running = staged(1, store=STORE)
    visitor = Visitor(running)
    assert (await visitor.say("hello")).complete
    empty = {"fields": [], "consent": "", "link": ""}
    assert (await visitor.look("/contact")).json() == empty
    assert described(running).json() == empty
    assert (await send(visitor, new_id())).status_code == 405
    assert send_alone(running, new_id()).status_code == 405


@pytest.mark.slow
async def test_h2_where_chats_are_not_stored_a_request_is_delivered_alone(staged: Staged) -> None:
    """It is stored before, so it outlives a server that is killed."""
    with Webhook() as webhook:
        webhook.refusals = 1
        running = staged(1, **{**settings(webhook), "sessions": "false"})
        assert described(running).json() == {
            "fields": ["email", "message"],
            "consent": CONSENT,
            "link": "",
        }
        id = new_id()
        for changed, param in (({"consent": False}, "consent"), ({"email": "kari"}, "email")):
            refused = send_alone(running, id, **changed)
            assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
        assert send_alone(running, id).status_code == 204
        webhook.wait_for(1)
        wait_until(lambda: "the contact webhook failed: HTTP 500" in running.service.stderr)
        running.service.restart(kill=True)
        webhook.wait_for(2)
        assert send_alone(running, id).status_code == 204  # the widget's retry
        [listed] = in_panel(running)["requests"]
        assert (listed["id"], listed["session_id"]) == (id, "")
        wait_until(lambda: in_panel(running)["requests"][0]["delivered_at"] is not None)
        assert [one.status for one in webhook.deliveries] == [500, 204]
        content = webhook.deliveries[-1].content
        assert (content["session_id"], content["transcript"]) == (None, [])
        assert (content["email"], content["message"]) == (EMAIL, "Svalbard?")
        # The other routes of stored chats do not exist.
        assert (await Visitor(running).look("/contact")).status_code == 404
        assert EMAIL not in running.service.stderr


async def test_m8_an_address_may_send_ten_requests_an_hour_and_a_chat_three(
    staged: Staged,
) -> None:
    """M8: an address sent 30 a minute without an end, and one chat 20."""
    running = staged(1, **settings(), ip_requests_per_minute=30)
    visitor = Visitor(running)
    assert (await visitor.say("hello")).complete
    id = new_id()
    for _ in range(5):  # a mistake in the form does not count
        assert (await send(visitor, id, consent=False)).status_code == 400
    statuses = [(await send(visitor, new_id())).status_code for _ in range(4)]
    assert statuses == [204, 204, 204, 429]
    statuses = [send_alone(running, new_id()).status_code for _ in range(7)]
    assert statuses == [204] * 6 + [429]
    refused = send_alone(running, new_id())
    assert 300 < int(refused.headers["Retry-After"]) <= 360
    assert len(in_panel(running)["requests"]) == 9


@pytest.mark.slow
@pytest.mark.parametrize(("addresses", "each"), [(60, 10), slow(1000, 10)])
async def test_s3_a_flood_of_forms_hides_no_visitor_and_fills_no_mailbox(
    staged: Staged, addresses: int, each: int
) -> None:
    with Mailbox() as mailbox:
        given = settings()
        given["environment"] |= {
            "KEFU_CONTACT_MAIL": mailbox.url(),
            "KEFU_CONTACT_PASSWORD": PASSWORD,
        }
        running = staged(1, **given, trusted_proxy_hops=1, ip_requests_per_minute=30)
        visitors = [Visitor(running) for _ in range(3)]
        for visitor in visitors:
            assert (await visitor.say("Can I talk to a person?")).complete
        ids = [new_id() for _ in visitors]
        assert (await send(visitors[0], ids[0])).status_code == 204
        mailbox.wait_for(1)
        body = {"email": EMAIL, "message": "Buy!", "consent": True}
        async with httpx.AsyncClient(timeout=60) as browser:

            async def floods(address: int) -> set[int]:
                place = f"198.{51 + address // 250}.{address % 250}.1"
                headers = {"Origin": ORIGIN, "X-Forwarded-For": place}
                url = f"{running.url}/api/contact"
                forms = [{**body, "client_message_id": new_id()} for _ in range(each)]
                answers = [await browser.post(url, json=one, headers=headers) for one in forms]
                return {one.status_code for one in answers}

            for first in range(0, addresses, 20):
                part = range(first, min(first + 20, addresses))
                found = await asyncio.gather(*map(floods, part))
                assert set.union(*found) == {204}
        for visitor, id in zip(visitors[1:], ids[1:], strict=True):
            assert (await send(visitor, id)).status_code == 204

        shown = in_panel(running)
        assert [one["id"] for one in shown["requests"] if one["session_id"]] == ids[::-1]
        times = [one["created_at"] for one in shown["requests"]]
        assert (len(times), times) == (MAX_ROWS + 3, sorted(times, reverse=True))
        queue = as_operator(running, "queue", "GET").json()
        waiting = {row["id"] for row in queue["waiting"]["rows"]}
        assert waiting == {visitor.session_id for visitor in visitors}
        pages, cursor = [shown], shown["cursor"]
        while cursor:
            path = f"contacts?cursor={quote(cursor)}"
            pages.append(as_operator(running, path, "GET").raise_for_status().json())
            cursor = pages[-1]["cursor"]
        every = [one["id"] for one_page in pages for one in one_page["requests"]]
        assert len(set(every)) == len(every) == addresses * each + 3
        # One mail an hour, and the hour may have ended in between.
        assert len(mailbox.got) <= 2


async def test_s3_requests_count_in_the_rate_of_the_site(staged: Staged) -> None:
    """S3: 60 of 60 were accepted with 10 a minute."""
    running = staged(1, **settings(), site_requests_per_minute=3, ip_requests_per_minute=0)
    visitor = Visitor(running)
    assert (await visitor.say("hello")).complete
    statuses = [send_alone(running, new_id()).status_code for _ in range(2)]
    assert statuses == [204, 204]
    assert send_alone(running, new_id()).status_code == 429
    assert (await send(visitor, new_id())).status_code == 429


async def test_s3_a_request_needs_the_bot_check_or_its_pass(staged: Staged) -> None:
    """S3: 300 requests without any proof were all stored and delivered."""
    with SiteVerify() as provider:
        check: dict[str, Any] = {"bot_check": "turnstile", "bot_check_secret": SECRET}
        running = staged(1, **settings(), **check, bot_check_url=provider.url)
        refused = send_alone(running, new_id())
        assert (refused.status_code, refused.json()["error"]["code"]) == (
            403,
            "verification_required",
        )
        assert send_alone(running, new_id(), verification_token="bad").status_code == 403
        wrong = send_alone(running, new_id(), verification_token="good-1", email="kari")
        assert wrong.status_code == 400  # a mistake does not use the token up
        taken = send_alone(running, new_id(), verification_token="good-1")
        earned = taken.headers["X-Verification-Pass"]
        assert (taken.status_code, bool(earned)) == (204, True)
        visitor = Visitor(running)
        assert (await visitor.say("hello", verification_pass=earned)).complete
        assert (await send(visitor, new_id())).status_code == 403
        assert (await send(visitor, new_id(), verification_pass=earned)).status_code == 204
        assert len(in_panel(running)["requests"]) == 2
        assert (await running.service.logged(bot_check="missing"))["path"] == "/api/contact"


@pytest.mark.parametrize("sessions", ["true", "false"])
def test_h1_a_link_takes_the_place_of_the_form(staged: Staged, sessions: str) -> None:
    environment = {"KEFU_CONTACT_LINK": "mailto:help@example.com"}
    running = staged(1, store=STORE, sessions=sessions, environment=environment)
    shown = {"fields": [], "consent": "", "link": "mailto:help@example.com"}
    assert described(running).json() == shown
    assert send_alone(running, new_id()).status_code == 405


async def test_h26_the_form_says_when_a_person_answers_and_the_panel_has_ready_replies(
    staged: Staged,
) -> None:
    hours = {"KEFU_CONTACT_HOURS": "Mon-Sun 00:00-24:00 Europe/Berlin"}
    replies = {"KEFU_CONTACT_REPLIES": "# Hello\n\nHow can I help?\n\n# Bye\nBye!"}
    environment = settings()["environment"]
    running = staged(1, store=STORE, environment={**environment, **hours, **replies})
    assert described(running).json()["opens_at"] is None
    about = as_operator(running, "about", "GET").json()
    assert about["replies"] == [
        {"name": "Hello", "text": "How can I help?"},
        {"name": "Bye", "text": "Bye!"},
    ]
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    hours = {"KEFU_CONTACT_HOURS": f"{tomorrow:%a} 11:00-12:00 UTC"}
    closed = staged(1, store=STORE, environment={**environment, **hours})
    visitor = Visitor(closed)
    assert (await visitor.say("Can I talk to a person?")).complete
    shown = (await visitor.look("/contact")).json()
    assert shown == described(closed).json()
    at = datetime.fromisoformat(shown["opens_at"])
    assert at == tomorrow.replace(hour=11, minute=0, second=0, microsecond=0)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"KEFU_CONTACT_LINK": "javascript:alert(1)"}, "must begin with https:"),
        ({"KEFU_CONTACT_LINK": "http://example.com"}, "must begin with https:"),
        ({"KEFU_CONTACT_LINK": "mailto:"}, "must begin with https:"),
        ({"KEFU_CONTACT_WEBHOOK": "https://a.example"}, "does nothing without form"),
        ({"KEFU_CONTACT_WEBHOOK": "sns:topic"}, "must be a URL, or sns: and the ARN of a topic"),
        ({"KEFU_CONTACT_MAIL": MAILBOX}, "does nothing without form"),
        (
            {
                "KEFU_CONTACT_MAIL": MAILBOX,
                "KEFU_CONTACT_WEBHOOK": "https://a.example",
                "KEFU_CONTACT_FORM": "email",
            },
            "choose one",
        ),
        ({"KEFU_CONTACT_MAIL": "smtp://a:b@c.example?to=d@e.example"}, "KEFU_CONTACT_PASSWORD"),
        ({"KEFU_CONTACT_MAIL": "smtp://c.example?to=d"}, "must be an address such as smtp:"),
        ({"KEFU_CONTACT_MAIL": "smtp://c.example"}, "must be an address such as smtp:"),
        ({"KEFU_CONTACT_MAIL": "https://c.example?to=d@e.example"}, "must be an address such as"),
        ({"KEFU_CONTACT_MAIL": f"{MAILBOX}&cc=d@e.example"}, "must be an address such as smtp:"),
        ({"KEFU_CONTACT_MAIL": f"{MAILBOX}%0Acc:d@e.example"}, "must be an address such as"),
    ],
)
def test_h1_a_way_to_a_person_that_cannot_work_stops_the_start(
    environment: dict[str, str], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        Settings.model_validate(environment)


def test_h2_a_topic_of_the_template_needs_no_form_in_kefu_toml() -> None:
    """ContactEmail is a parameter of the stack, and the form a setting."""
    arn = "arn:aws:sns:eu-central-1:123456789012:kefu-ContactTopic-1a2b3c"
    assert Settings.model_validate({"KEFU_CONTACT_WEBHOOK": f"sns:{arn}"}).contact_topic == arn
    assert Settings.model_validate({"KEFU_CONTACT_WEBHOOK": ""}).contact_topic == ""
    both = {"KEFU_CONTACT_MAIL": MAILBOX, "KEFU_CONTACT_FORM": "email"}
    assert Settings.model_validate({"KEFU_CONTACT_WEBHOOK": f"sns:{arn}", **both}).contact_mail
