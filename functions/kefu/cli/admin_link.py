"""`kefu admin-link`: prints a link to the operator's panel; lists sign-ins, and ends them."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from kefu.auth.admin_tokens import MAX_NAME, TICKET_LIFE, AdminTokens, Holder, nonce_for
from kefu.bootstrap.clock import SystemClock
from kefu.bootstrap.stores import open_chats
from kefu.sessions.store.passes import SignIn
from kefu.settings import Settings
from kefu.terminal.clean import one_line
from kefu.terminal.flags import WrongUse, read_settings, wrong_use

UNSIGNED_MESSAGE = (
    "kefu: ADMIN_TOKEN is not set, and it signs the link: set it to the service's ADMIN_TOKEN. "
    "For a service that has none, you can use this new one: {token}\n"
)


def link(
    token: str, address: str, *, life: float = TICKET_LIFE, holder: Holder | None = None
) -> str:
    """The link, with a ticket that is valid for `life` seconds.

    `holder`: None for an operator who may do everything, and types a name.

    The ticket is in the URL's fragment: browsers do not send fragments to servers, so no access log
    contains it.
    """
    nonce = nonce_for(secrets.token_hex(8), holder or Holder())
    ticket = AdminTokens(token).ticket(nonce, time.time(), life)
    return f"{address.rstrip('/')}/admin#ticket={ticket}"


def run(options: argparse.Namespace) -> int:
    """Print the link or the sign-ins. Returns the exit code. Raises WrongUse, StoreUnavailable."""
    settings = read_settings()
    if options.list or options.end:
        with wrong_use(OSError):
            return asyncio.run(_list(settings, options.end))
    token, site = settings.panel_token, options.site
    if site and site not in settings.site_origins.values():
        raise WrongUse(f"[presets.{site}] is no site: it has no origins.")
    name = options.name.strip()
    if not name.isprintable() or len(name) > MAX_NAME:
        raise WrongUse(f"--name has at most {MAX_NAME} characters, on one line.")
    holder = Holder(site, name, "read" if options.read_only else "")
    if not token:
        sys.stderr.write(UNSIGNED_MESSAGE.format(token=secrets.token_urlsafe(24)))
        return 2
    sys.stdout.write(f"{link(token, options.url, holder=holder)}\n")
    return 0


async def _list(settings: Settings, ended: str) -> int:
    """Print the open sign-ins; or end those with the id or the name `ended`, if it is not ""."""
    clock = SystemClock()
    async with open_chats(settings, clock, or_requests=True) as store:
        found = await store.sign_ins(clock.now())
        if not ended:
            _print(found)
            return 0
        chosen = [one for one in found if ended in (one.id, one.operator)]
        for one in chosen:
            await store.end_sign_in(one.id, clock.now())
    sys.stdout.write(f"Sign-ins ended: {len(chosen)}\n")
    return 0 if chosen else 1


def _print(found: Sequence[SignIn]) -> None:
    for one in found:
        opened, until = (
            f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
            for at in (one.opened_at, one.expires_at)
        )
        limits = [one.site and f"site {one.site}", one.may and "reads only"]
        facts = [f"{opened} to {until} UTC", one_line(one.operator, MAX_NAME) or "-", *limits]
        sys.stdout.write(f"{'  '.join(filter(None, [one.id, *facts]))}\n")
    if not found:
        sys.stdout.write("Nobody is signed in.\n")
