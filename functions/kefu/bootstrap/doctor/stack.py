"""Checks of a stack on AWS, and of the service that it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from kefu.bootstrap.doctor.finding import Finding
from kefu.bootstrap.doctor.model import read_keys
from kefu.bootstrap.doctor.service import check_service
from kefu.settings.fields import place_in
from kefu.settings.model import OLD_KEYS
from kefu.stores.aws import text_at
from kefu.stores.aws_stack import Stack, StackReader, StackUnknown, Traffic
from kefu.stores.referenced_keys import cause_of

MIN_CONCURRENCY: Final = 100
"""Concurrent executions below which a busy page fails. A new account has 10 or 50."""

SPARE_VERSIONS: Final = 1
"""Earlier versions with a snapshot that may stay, to go back to."""


def check_stack(name: str, origin: str | None) -> Sequence[Finding]:
    """`origin`: an origin that the service must accept; None: those that the settings allow."""
    try:
        reader = StackReader(name)
        stack = reader.stack()
    except StackUnknown as error:
        fix = error.fix or _READING.format(name=name)
        return [Finding(f"The stack {name} cannot be read: {error}", fix)]
    found = list(_status(name, stack))
    function = stack.resources.get("ChatFunction", "")
    if not function:
        other = f"The stack {name} has no ChatFunction: it is not Kefu's, or not complete."
        return [*found, Finding(other, "sam build && sam deploy")]
    alarms = stack.resources.get("AlarmTopic", "")
    contact = stack.resources.get("ContactTopic", "")
    checks: Sequence[Callable[[], Iterator[Finding]]] = (
        lambda: _traffic(name, reader, function),
        lambda: _keys(reader, function),
        lambda: _concurrency(reader, function),
        lambda: _alarms(reader, alarms),
        lambda: _requests(reader, contact),
    )
    for check in checks:
        try:
            found += check()
        except Exception as error:  # noqa: BLE001 - one denied call must not hide the other checks
            found.append(_not_checked(error))
    url = _url(stack)
    return [*found, *(check_service(url, origin) if url else ())]


_READING: Final = "aws cloudformation describe-stacks --stack-name {name}"


def _not_checked(error: Exception) -> Finding:
    return Finding(
        f"A part of the stack was not checked: {cause_of(error)}. {error}",
        "aws sts get-caller-identity  # these credentials may not read it",
        "note",
    )


def _url(stack: Stack) -> str:
    return stack.outputs.get("Url") or stack.outputs.get("ApiUrl", "").removesuffix("/api/chat")


def _status(name: str, stack: Stack) -> Iterator[Finding]:
    failed = "ROLLBACK" in stack.status or stack.status.endswith("FAILED")
    if failed or stack.status.endswith("IN_PROGRESS"):
        yield Finding(
            f"The stack {name} is in the state {stack.status}: "
            + ("the last deployment failed." if failed else "a deployment is in progress."),
            f"aws cloudformation describe-stack-events --stack-name {name} --max-items 20",
            "problem" if failed else "note",
        )


def _traffic(name: str, reader: StackReader, function: str) -> Iterator[Finding]:
    traffic = reader.traffic(function)
    if traffic.shared_with:
        yield Finding(
            f"Version {traffic.live} shares the visitors with version "
            f"{', '.join(traffic.shared_with)}: a deployment is in progress.",
            _READING.format(name=name),
            "note",
        )
    elif traffic.live != traffic.newest:
        yield Finding(
            f"Visitors reach version {traffic.live} of the function, and the newest is version "
            f"{traffic.newest}: the last deployment was rolled back, or the alias was moved.",
            "aws deploy list-deployments --include-only-statuses Failed Stopped\n"
            "sam build && sam deploy",
        )
    yield from _snapshots(traffic, function)


def _snapshots(traffic: Traffic, function: str) -> Iterator[Finding]:
    used = {traffic.live, *traffic.shared_with, traffic.newest}
    unused = [version for version in traffic.snapshots if version not in used][:-SPARE_VERSIONS]
    if unused:
        yield Finding(
            f"AWS bills a snapshot for each of the versions {', '.join(unused)} (WarmStart), which "
            "no visitor reaches: about 4 dollars a month for each version and GB of memory.",
            f"for version in {' '.join(unused)}; do\n"
            f"  aws lambda delete-function --function-name {function} --qualifier $version\ndone",
        )


def _keys(reader: StackReader, function: str) -> Iterator[Finding]:
    variable = reader.variables(function).get(OLD_KEYS, "")
    place = place_in(variable)
    if place:
        _, findings = read_keys(place, text_at)
        yield from findings
        return
    yield Finding(
        f"{OLD_KEYS} of the function contains API keys. Everybody who may see the function "
        "can read them."
        if variable
        else f"The function does not know where the API keys are: {OLD_KEYS} is not set.",
        "sam deploy --parameter-overrides KeysFrom=ssm:/kefu/api-keys",
    )


def _concurrency(reader: StackReader, function: str) -> Iterator[Finding]:
    most = reader.concurrency()
    if most < MIN_CONCURRENCY:
        yield Finding(
            f"This account may run {most} functions at once: so many visitors can get an answer "
            "at the same time.",
            "aws service-quotas request-service-quota-increase --service-code lambda "
            "--quota-code L-B99A9384 --desired-value 1000",
        )
    if reader.reserved(function) == 0:
        yield Finding(
            "The function is stopped: its reserved concurrency is 0.",
            f"aws lambda delete-function-concurrency --function-name {function}",
        )


def _alarms(reader: StackReader, topic: str) -> Iterator[Finding]:
    subscribed = reader.subscriptions(topic) if topic else {}
    if not subscribed:
        yield Finding(
            "Nobody receives the alarms.",
            "sam deploy --parameter-overrides AlarmEmail=ops@example.com",
            "note",
        )
    yield from _unconfirmed(topic, subscribed, "the alarms")


def _requests(reader: StackReader, topic: str) -> Iterator[Finding]:
    if topic:
        yield from _unconfirmed(topic, reader.subscriptions(topic), "the requests of visitors")


def _unconfirmed(topic: str, subscribed: Mapping[str, bool], what: str) -> Iterator[Finding]:
    for address in [address for address, confirmed in subscribed.items() if not confirmed]:
        yield Finding(
            f"{address} has not confirmed that it wants {what}, so it receives none.",
            f"Open the link in the mail from AWS, or send it again:\n"
            f"aws sns subscribe --topic-arn {topic} --protocol email "
            f"--notification-endpoint {address}",
        )
