"""`kefu admin-link`: prints a link that opens the operator's panel once."""

from __future__ import annotations

import argparse
import secrets
import sys
import time

from kefu.auth.admin_tokens import TICKET_LIFE, AdminTokens, Holder, nonce_for
from kefu.terminal.flags import WrongUse, read_settings

UNSIGNED_MESSAGE = (
    "kefu: ADMIN_TOKEN is not set, and it signs the link: set it to the service's ADMIN_TOKEN. "
    "For a service that has none, you can use this new one: {token}\n"
)


MAX_NAME = 64
"""Characters of an operator's name."""


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
    """Print the link. Returns the exit code. Raises WrongUse."""
    settings = read_settings()
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
