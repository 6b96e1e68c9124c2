"""Builds the contact form from the settings, and what delivers its requests to the owner."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kefu.bootstrap.base import Base, the_only
from kefu.bootstrap.hooks import load_hooks
from kefu.sessions.people.delivery import HOURLY, ByMail, ByWebhook, Recipient
from kefu.sessions.people.delivery_runner import DeliveryRunner
from kefu.sessions.people.handoff import ContactForm, HandOff, Outlet
from kefu.sessions.store.ports import Sessions
from kefu.sessions.turn.service import SessionService
from kefu.settings.fields import place_of, text_of
from kefu.stores.aws import SnsTopic
from kefu.upstream.mail import SmtpMail
from kefu.upstream.webhook import HttpWebhook

if TYPE_CHECKING:
    from kefu.sessions.people.visitor_mails import VisitorMails


def contact_deliveries(
    base: Base, store: Sessions, sessions: SessionService | None
) -> DeliveryRunner:
    """Only for settings with a contact form. Stored chats share their capacity and hooks."""
    settings, log = base.settings, base.log
    mailbox = _mailbox(base) if settings.contact_mail else None
    handoff = HandOff(
        store,
        base.clock,
        ContactForm(settings.contact_form, settings.accepted_consent),
        _outlet(base, mailbox),
        redact=log.secrets.hide,
        log=log.notice,
        capacity=sessions.deps.capacity if sessions else base.capacity(store),
        hooks=sessions.deps.hooks if sessions else load_hooks(settings, log.hook_failed),
    )
    handoff.note_url(settings.admin_url.rstrip("/"))
    mails = None
    if mailbox and settings.contact_mail_visitors:
        mails = _visitor_mails(base, store, mailbox)
    return DeliveryRunner(handoff, base.clock, mails, on_aws=settings.on_aws)


def _visitor_mails(base: Base, store: Sessions, mailbox: SmtpMail) -> VisitorMails:
    from kefu.sessions.people.visitor_mails import Terms, VisitorMails  # here: few servers have it

    settings = base.settings

    def site_of(preset: str) -> str:
        own = settings.presets.get(preset)
        return own.origins[0] if own and own.origins else settings.site_address

    terms = Terms(settings.contact_mail_visitors, site_of, base.constants.visitor_mail_seconds)
    return VisitorMails(store, base.clock, mailbox, base.store.limits, terms, base.log.notice)


def _mailbox(base: Base) -> SmtpMail:
    url, password = base.settings.contact_mail, base.settings.contact_password
    mailbox = SmtpMail(url, text_of(password))

    def set_password(secrets: tuple[str, ...]) -> None:
        mailbox.set_password(the_only(secrets, "password"))

    if urlsplit(url).username:  # the template names a place also for servers without a sign-in
        what = "the mail server's password"
        mailbox.ready = base.secret(place_of(password), what, set_password)
    return mailbox


def _outlet(base: Base, mailbox: SmtpMail | None) -> Outlet | None:
    """The way of the requests to the owner; None if they are only listed in the panel."""
    settings = base.settings
    recipient: Recipient
    if settings.contact_topic:
        topic = SnsTopic(settings.contact_topic)
        base.connections.append(topic)
        recipient = ByMail(topic)
    elif settings.contact_webhook:
        webhook = HttpWebhook(settings.contact_webhook)
        base.connections.append(webhook)
        recipient = ByWebhook(webhook)
    elif mailbox:
        recipient = ByMail(mailbox, "the mailbox", frequency=HOURLY)
    else:
        return None
    return Outlet(recipient, base.store.limits, secrets.token_hex(32), settings.has_panel)
