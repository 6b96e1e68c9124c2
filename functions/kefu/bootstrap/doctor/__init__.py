"""The checks of `kefu doctor`: of this machine, of a service at a URL, and of a stack on AWS."""

from __future__ import annotations

from collections.abc import Sequence

from kefu.bootstrap.doctor.finding import Finding
from kefu.bootstrap.doctor.local import check_local
from kefu.bootstrap.doctor.service import check_service
from kefu.bootstrap.doctor.stack import check_stack

__all__ = ["Finding", "doctor"]


def doctor(url: str | None, stack: str | None, origin: str | None) -> Sequence[Finding]:
    """`origin`: an origin that the service must accept; None: those that the settings allow."""
    if stack:
        return check_stack(stack, origin)
    if url:
        return check_service(url, origin)
    return check_local()
