"""Builds the contact form from the settings, and what delivers its requests to the owner."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from kefu.bootstrap.base import Base
from kefu.bootstrap.hooks import load_hooks
from kefu.sessions.people.delivery import HOURLY, ByMail, ByWebhook, Recipient
from kefu.sessions.people.delivery_runner import DeliveryRunner
from kefu.sessions.people.handoff import ContactForm, HandOff, Outlet
from kefu.sessions.store.ports import Sessions
from kefu.sessions.turn.service import SessionService
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
    handoff = HandOff(
        store,
        base.clock,
        ContactForm(settings.contact_form, settings.accepted_consent),
        _outlet(base),
        redact=log.secrets.hide,
        log=log.notice,
        capacity=sessions.deps.capacity if sessions else base.capacity(store),
        hooks=sessions.deps.hooks if sessions else load_hooks(settings, log.hook_failed),
    )
    handoff.note_url(settings.admin_url.rstrip("/"))
    mails = _visitor_mails(base, store) if settings.contact_mail_visitors else None
    return DeliveryRunner(handoff, base.clock, mails, on_aws=settings.on_aws)


def _visitor_mails(base: Base, store: Sessions) -> VisitorMails:
    from kefu.sessions.people.visitor_mails import Terms, VisitorMails  # here: few servers have it

    settings = base.settings

    def site_of(preset: str) -> str:
        own = settings.presets.get(preset)
        return own.origins[0] if own and own.origins else settings.site_address

    terms = Terms(settings.contact_mail_visitors, site_of, base.constants.visitor_mail_seconds)
    return VisitorMails(
        store, base.clock, _mailbox(base), base.store.limits, terms, base.log.notice
    )


def _mailbox(base: Base) -> SmtpMail:
    password = base.settings.contact_password.get_secret_value()
    return SmtpMail(base.settings.contact_mail, password)


def _outlet(base: Base) -> Outlet | None:
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
    elif settings.contact_mail:
        recipient = ByMail(_mailbox(base), "the mailbox", frequency=HOURLY)
    else:
        return None
    return Outlet(recipient, base.store.limits, secrets.token_hex(32), settings.has_panel)
