"""Signs receipts of deletions with the secret of the store, and checks them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kefu.auth.signing import is_signed, key_for, sign
from kefu.sessions.store.ports import SessionStore

Facts = Mapping[str, object]

NOT_REACHED = (
    "backups and exports, what the webhook or the mailbox received, the log, questions.yaml, and"
    " the data of the model's provider"
)
"""What no deletion in the store changes."""


async def signed_receipt(store: SessionStore, candidate: str, facts: Facts) -> str:
    """The facts about a deletion as JSON, with a signature.

    `candidate`: the secret of a store that has none yet. Raises StoreUnavailable.
    """
    signature = sign(await _key(store, candidate), _canonical(facts))
    return json.dumps({**facts, "signature": signature}, indent=2, ensure_ascii=False) + "\n"


async def checked_receipt(store: SessionStore, candidate: str, text: str) -> Facts | None:
    """The facts of a receipt; None if this store has not signed exactly these.

    Raises StoreUnavailable.
    """
    try:
        facts = json.loads(text)
        signature = facts.pop("signature")
    except (ValueError, LookupError, AttributeError, TypeError):
        return None
    is_whole = is_signed(await _key(store, candidate), _canonical(facts), str(signature))
    return facts if is_whole else None


async def _key(store: SessionStore, candidate: str) -> bytes:
    return key_for("kefu receipt of an erasure", await store.secret(candidate))


def _canonical(facts: Facts) -> str:
    return json.dumps(facts, sort_keys=True)
