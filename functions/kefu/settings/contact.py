"""Settings of the contact form: [contact]."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, SecretStr

from kefu.settings.fields import AnySecret, Names, Section, setting, url_of

if TYPE_CHECKING:
    from kefu.settings.hours import OpeningHours
    from kefu.settings.replies import ReadyReply

_LINK = re.compile(r"https://[^\s/]\S*|(mailto|tel):\S+")
_TOPIC = re.compile(r"sns:arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}")
_ADDRESS = re.compile(r"[^@\s,<>]+@[^@\s,<>]+")
_FIELDS = ("name", "email", "message")


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := [name for name in names if name not in _FIELDS]:
        raise ValueError(f"{unknown[0]} is not a field; there are {', '.join(_FIELDS)}")
    return tuple(name for name in _FIELDS if name in names)


def _link(link: str) -> str:
    if link and not _LINK.fullmatch(link):
        raise ValueError("must begin with https:, mailto: or tel:")
    return link


Link = Annotated[str, AfterValidator(_link)]


def _recipient(place: str) -> str:
    if not place.startswith("sns:"):
        return url_of(place)
    if not _TOPIC.fullmatch(place):
        raise ValueError("must be a URL, or sns: and the ARN of a topic")
    return place


def _mailbox(url: str) -> str:
    if not url:
        return url
    parts = urlsplit(url)
    if parts.password is not None:
        raise ValueError("must hold no password: KEFU_CONTACT_PASSWORD is its variable")
    query = parse_qs(parts.query)
    addresses = [one for values in query.values() for one in values]
    if (
        parts.scheme not in ("smtp", "smtps")
        or not parts.hostname
        or not {"to"} <= query.keys() <= {"to", "from"}
        or not all(_ADDRESS.fullmatch(one) for one in addresses)
    ):
        raise ValueError(
            "must be an address such as smtp://USER@mail.example.com?to=help@example.com"
        )
    return url


# Each parser is imported only where there is something to parse: it keeps cold starts short.


def _hours_of(text: str) -> OpeningHours | None:
    if not text:
        return None
    from kefu.settings.hours import opening_hours

    return opening_hours(text)


def _replies_of(text: str) -> list[ReadyReply]:
    if not text:
        return []
    from kefu.settings.replies import replies_in

    return replies_in(text)


def _checked(parse: Callable[[str], object]) -> AfterValidator:
    """Refuse a text that `parse` refuses."""

    def check(text: str) -> str:
        parse(text)
        return text

    return AfterValidator(check)


class ContactSettings(Section):
    TITLE: ClassVar = "A way to a person"

    contact_form: Annotated[Names, AfterValidator(_known)] = setting(
        (),
        "contact.form",
        "KEFU_CONTACT_FORM",
        "Fields of the form with which a visitor asks for a person, of `name`, `email` and "
        "`message`; all are required: docs/contact.md. Unset: there is no form.",
        examples=[["email", "message"]],
    )
    contact_link: Link = setting(
        "",
        "contact.link",
        "KEFU_CONTACT_LINK",
        "Where visitors reach a person, in place of a form: `https:`, `mailto:` or `tel:`. Unset: "
        "there is no link.",
        examples=["mailto:help@example.com"],
    )
    contact_consent: str = setting(
        "",
        "contact.consent",
        "KEFU_CONTACT_CONSENT",
        "The text that a visitor must accept before the form is sent. Unset: none.",
        examples=["I agree that Example keeps my message to answer it."],
    )
    contact_webhook: Annotated[str, AfterValidator(_recipient)] = setting(
        "",
        "contact.webhook",
        "KEFU_CONTACT_WEBHOOK",
        "Where requests are sent as signed JSON; or `sns:` and the ARN of a topic, which mails "
        "them: the template's `ContactEmail` sets it. Unset: they are only listed in the panel.",
        examples=["https://crm.example.com/kefu"],
    )
    contact_mail: Annotated[str, AfterValidator(_mailbox)] = setting(
        "",
        "contact.mail",
        "KEFU_CONTACT_MAIL",
        "The mailbox of requests, in place of a webhook: `smtp://USER@HOST:587?to=ADDRESS`, with "
        "`&from=ADDRESS` if that is another one; `smtps://` for port 465. Unset: none.",
    )
    contact_password: AnySecret = setting(
        SecretStr(""),
        "contact.password",
        "KEFU_CONTACT_PASSWORD",
        "The password of the user in `mail`, or its place, as in `KEFU_API_KEYS`. Unset: no "
        "sign-in.",
    )
    contact_mail_visitors: str = setting(
        "",
        "contact.mail_visitors",
        "KEFU_CONTACT_MAIL_VISITORS",
        "The sentence, behind `consent` in the form, with which visitors agree that an operator's "
        "lines are mailed to them when they have left, by the server of `mail`. Unset: none are.",
    )
    contact_hours: Annotated[str, _checked(_hours_of)] = setting(
        "",
        "contact.hours",
        "KEFU_CONTACT_HOURS",
        "When a person answers, with the time zone at the end. At other times the widget says when "
        "that is again. Unset: it says nothing about it.",
        examples=["Mon-Fri 09:00-18:00, Sat 10:00-14:00 Europe/Berlin"],
    )
    contact_replies: Annotated[str, _checked(_replies_of)] = setting(
        "",
        "contact.replies",
        "KEFU_CONTACT_REPLIES",
        "Up to 20 ready replies for operators in the panel: a Markdown text, in which each heading "
        "is the name of the text below it. Unset: none.",
        examples=["# Greeting\n\nHello! I am looking into it."],
    )

    contact_translate: bool = setting(
        False,
        "contact.translate",
        "KEFU_CONTACT_TRANSLATE",
        "Whether operators can read and write in their language, and visitors in theirs, by "
        "translations of the model. Each costs tokens: docs/translation.md.",
    )

    @property
    def opening_hours(self) -> OpeningHours | None:
        """When a person answers; None if the settings do not say."""
        return _hours_of(self.contact_hours)

    @property
    def replies(self) -> list[ReadyReply]:
        """The ready replies of operators."""
        return _replies_of(self.contact_replies)

    @property
    def accepted_consent(self) -> str:
        """The text that a visitor must accept in the form."""
        return " ".join(filter(None, (self.contact_consent, self.contact_mail_visitors)))

    @property
    def has_contact(self) -> bool:
        """Whether visitors have a way to a person: a form or a link."""
        return bool(self.contact_form or self.contact_link)

    @property
    def contact_topic(self) -> str:
        """The ARN of the topic that mails requests; "" if there is none."""
        return self.contact_webhook[4:] if self.contact_webhook.startswith("sns:") else ""
