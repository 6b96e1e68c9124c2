"""Who asks, and how the answer is wanted: the same of every kind of question."""

from __future__ import annotations

from starlette.requests import Request

from kefu.lean_typing import NamedTuple
from kefu.verification import Proof
from kefu.web.gateway import Gateway
from kefu.web.schemas import AnswerRequest


class Caller(NamedTuple):
    ip: str
    """The address that limits are counted by."""
    proof: Proof
    stream: bool = True
    """Else the answer comes in one piece."""
    seconds: float | None = None
    """After which the answer must have ended, whatever is still to come."""
    wants_usage: bool = False
    client_message_id: str | None = None


def caller_of(
    request: Request, body: AnswerRequest, gateway: Gateway, *, stream: bool = True
) -> Caller:
    return Caller(
        ip=gateway.address(request),
        proof=body.proof,
        stream=stream,
        seconds=gateway.seconds(request),
        wants_usage=body.wants_usage,
        client_message_id=body.client_message_id,
    )
