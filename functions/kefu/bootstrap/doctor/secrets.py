"""Reads the API keys from where they are stored in AWS."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kefu.bootstrap.doctor.finding import Finding
from kefu.stores.referenced_keys import cause_of, secrets_in


def read_keys(
    reference: str, read: Callable[[str], str]
) -> tuple[tuple[str, ...], Sequence[Finding]]:
    """Return the keys, and a finding if there are none."""
    try:
        keys = secrets_in(read(reference))
        cause = "it contains no key"
    except Exception as error:  # noqa: BLE001 - whatever boto3 raises is the finding
        keys, cause = (), cause_of(error)
    if keys:
        return keys, []
    message = f"The API keys cannot be read from {reference}: {cause}."
    return (), [Finding(message, _fix(reference))]


def _fix(reference: str) -> str:
    service, _, name = reference.partition(":")
    if service == "ssm":
        return (
            f"aws ssm put-parameter --name {name} --type SecureString --overwrite "
            '--value "key-one,key-two"'
        )
    return f'aws secretsmanager put-secret-value --secret-id {name} --secret-string "key-one"'
