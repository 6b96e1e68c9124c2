"""`kefu admin-link`: a link that opens the operator's panel once."""

from __future__ import annotations

import secrets
import sys
import time

from kefu.admin_tokens import PASS_LIFE, TICKET_LIFE, AdminTokens

UNSIGNED = (
    "kefu: there is nothing to sign a link with: set ADMIN_TOKEN, the same as for the service. "
    "A new one would be: {token}\n"
)


def link(token: str, address: str, *, life: float = TICKET_LIFE) -> str:
    """The ticket stands behind the `#`, which no browser sends and no log holds."""
    ticket = AdminTokens(token).ticket(secrets.token_hex(8), time.time(), life)
    return f"{address.rstrip('/')}/admin#ticket={ticket}"


def admin_link(token: str, address: str) -> int:
    """Print it; the exit code."""
    if not token:
        sys.stderr.write(UNSIGNED.format(token=secrets.token_urlsafe(24)))
        return 2
    sys.stdout.write(f"{link(token, address)}\n")
    return 0


def local_link(token: str, address: str) -> str:
    """For the service on one's own machine, as it starts: good for as long as one works with it."""
    return f"The panel, to be opened once: {link(token, address, life=PASS_LIFE)}\n"
