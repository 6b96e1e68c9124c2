"""Defines all exceptions of Kefu; subclasses of KefuError become error responses.

KefuError
├── InvalidRequest          400  the body is invalid; `param` names the field
│   └── ContextTooLong      400  the conversation exceeds the context window, even trimmed
├── Unauthorized            401  the panel needs the operator's token
├── OriginNotAllowed        403  the origin of the page is not in the allow-list
├── DirectRequest           403  the request did not come through the CDN, as it must
├── IdentityRejected        403  the site's token for its user is invalid or expired
├── VerificationRequired    403  the bot check is missing, failed or expired
├── ReadOnly                403  the operator's sign-in may only read
├── NotAnOperator           403  somebody has signed in who may not use the panel
├── NotFound                404
├── SessionNotFound         404  no such chat, or it belongs to another visitor
├── MethodNotAllowed        405
├── BodyTimeout             408  the body did not arrive completely in time
├── SessionBusy             409  the same message is being answered by another request
├── ApprovalGone            409  a card does not wait for a click any more
├── WrongState              409  the state of a chat does not allow what an operator wants
├── AnswerCancelled         409  another request has cancelled the answer, or deleted its chat
│   └── TakenOver           409  a person has taken the chat over, so its answer ends
├── UnsupportedMediaType    415
├── MessageChanged          422  another message was sent with this `client_message_id`
├── RateLimited             429  a rate limit was reached, or all API keys are rate limited
│   └── BudgetExhausted     429  the daily budget of tokens is spent
├── HeadersTooLarge         431  the request line and headers are longer than accepted
├── UpstreamUnavailable     503  no answer can be given now
├── StoreFull               503  no space to keep the chat; `messages` are still answered
├── StoreFailed             503  the store of chats fails; `messages` are still answered
├── QueryTimeout            503  a list of the panel takes too long
└── GatewayTimeout          504  the model did not respond in time

UpstreamFault               raised by an `Upstream`; the relay maps it to a KefuError
├── HostUnreachable         connection refused or reset before a response, or unknown host
├── CertificateRejected     the TLS handshake failed; other keys would fail, too
└── ConnectionLost          the connection broke after the response headers

ClientGone                  the client disconnected, so no response is sent
VerifierUnavailable         the provider of the bot check gave no usable response
StoreUnavailable            a store failed or exceeded its time limit
HistoryUnavailable          a history sink could not save an event
└── HistoryBusy             another process writes to the log of this session
ToolFailed                  a tool of the agent failed
UnknownCounter              there is no token counter of this name; a ValueError
TiktokenMissing             exact counts need `kefu[tokens]`; an ImportError
"""

from __future__ import annotations

from typing import ClassVar, Literal


class KefuError(Exception):
    """An error that is sent to clients. `message` contains no key, no URL and no upstream text."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    type: ClassVar[str] = "server_error"
    retryable: ClassVar[bool] = False
    """Whether the same request may succeed later."""
    hangs_up: ClassVar[bool] = False
    """Whether the connection is closed, because the rest of the request is not read."""

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        retry_after: int | None = None,
        should_retry: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after = retry_after
        """Seconds after which a new request may succeed; sent as `Retry-After`."""
        self.should_retry = should_retry
        """Sent as `x-should-retry`; False disables the retries of OpenAI's client libraries."""

    def body(self) -> dict[str, dict[str, str | None]]:
        """The JSON object of an error response, in the shape of OpenAI's API."""
        fields = {"message": self.message, "type": self.type, "param": self.param}
        return {"error": {**fields, "code": self.code}}


class InvalidRequest(KefuError):
    status = 400
    code = "invalid_request"
    type = "invalid_request_error"


class ContextTooLong(InvalidRequest):
    code = "context_length_exceeded"


class Unauthorized(KefuError):
    status = 401
    code = "unauthorized"
    type = "authentication_error"


class OriginNotAllowed(KefuError):
    status = 403
    code = "origin_not_allowed"
    type = "invalid_request_error"


class DirectRequest(KefuError):
    status = 403
    code = "direct_request"
    type = "invalid_request_error"


class IdentityRejected(KefuError):
    status = 403
    code = "identity_rejected"
    type = "invalid_request_error"


class VerificationRequired(KefuError):
    status = 403
    code = "verification_required"
    type = "invalid_request_error"


class ReadOnly(KefuError):
    status = 403
    code = "read_only"
    type = "invalid_request_error"


class NotAnOperator(KefuError):
    status = 403
    code = "not_an_operator"
    type = "authentication_error"


class NotFound(KefuError):
    status = 404
    code = "not_found"
    type = "invalid_request_error"


class SessionNotFound(KefuError):
    """The same error for an absent, an expired or another visitor's session, and a wrong token.

    A client therefore cannot find out which sessions exist.
    """

    status = 404
    code = "session_not_found"
    type = "invalid_request_error"


class SessionBusy(KefuError):
    status = 409
    code = "session_busy"
    type = "invalid_request_error"
    retryable = True


class ApprovalGone(KefuError):
    status = 409
    code = "approval_gone"
    type = "invalid_request_error"

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["unknown", "expired", "superseded", "taken"] = "unknown",
        retry_after: int | None = None,
        should_retry: bool | None = None,
    ) -> None:
        """`reason` is sent, so that a client can say it in the visitor's language."""
        super().__init__(message, retry_after=retry_after, should_retry=should_retry)
        self.reason = reason

    def body(self) -> dict[str, dict[str, str | None]]:
        return {"error": {**super().body()["error"], "reason": self.reason}}


class WrongState(KefuError):
    """Another operator has the chat, or none has it."""

    status = 409
    code = "wrong_state"
    type = "invalid_request_error"


class AnswerCancelled(KefuError):
    """Another request of the client has ended the answer."""

    status = 409
    code = "answer_cancelled"
    type = "invalid_request_error"

    def __init__(self, message: str = "The answer was cancelled.") -> None:
        # OpenAI's client libraries would repeat a 409.
        super().__init__(message, should_retry=False)


class TakenOver(AnswerCancelled):
    """A person has taken the chat over. For the visitor, the answer is complete."""

    def __init__(self) -> None:
        super().__init__("A person has taken the chat over.")


class MethodNotAllowed(KefuError):
    status = 405
    code = "method_not_allowed"
    type = "invalid_request_error"


class BodyTimeout(KefuError):
    status = 408
    code = "request_timeout"
    type = "invalid_request_error"
    retryable = True
    hangs_up = True


class UnsupportedMediaType(KefuError):
    status = 415
    code = "unsupported_media_type"
    type = "invalid_request_error"


class MessageChanged(KefuError):
    status = 422
    code = "message_changed"
    type = "invalid_request_error"


class RateLimited(KefuError):
    status = 429
    code = "rate_limit_exceeded"
    type = "rate_limit_error"
    retryable = True

    def __init__(
        self,
        message: str,
        *,
        limit: str = "budget",
        retry_after: int | None = None,
        should_retry: bool | None = None,
    ) -> None:
        """`limit` names the limit that was reached, for the log; by default, the day's budget."""
        super().__init__(message, retry_after=retry_after, should_retry=should_retry)
        self.limit = limit


class BudgetExhausted(RateLimited):
    code = "budget_exhausted"


class HeadersTooLarge(KefuError):
    status = 431
    code = "headers_too_large"
    type = "invalid_request_error"
    hangs_up = True


class UpstreamUnavailable(KefuError):
    status = 503
    code = "upstream_service_unavailable"
    retryable = True


class StoreFull(KefuError):
    """The question can still be asked without a session, as `messages`."""

    status = 503
    code = "store_full"
    retryable = True


class StoreFailed(KefuError):
    """The question can still be asked without a session, as `messages`: the site allows it."""

    status = 503
    code = "store_failed"
    retryable = True


class QueryTimeout(KefuError):
    """The store works. The same query takes as long again, so it must be narrower."""

    status = 503
    code = "query_timeout"


class GatewayTimeout(KefuError):
    status = 504
    code = "gateway_timeout"
    type = "timeout_error"
    retryable = True


class UpstreamFault(Exception):
    """The connection to the upstream failed; the API key is not the cause."""


class HostUnreachable(UpstreamFault):
    """The connection was refused or reset before a response, or the host is unknown.

    Another attempt may succeed.
    """

    def __init__(self, message: str, *, request_sent: bool = False) -> None:
        super().__init__(message)
        self.request_sent = request_sent
        """Whether the upstream may have read the request, and may therefore bill it."""


class CertificateRejected(UpstreamFault):
    """The TLS handshake failed. All keys are sent to the same host, so no other key can help."""


class ConnectionLost(UpstreamFault):
    """The connection ended before the end of the response."""


class ClientGone(Exception):
    """The client has disconnected."""


class VerifierUnavailable(Exception):
    """The provider of the bot check failed, was too slow, or sent an invalid response."""


class StoreUnavailable(Exception):
    """A store failed or exceeded its time limit."""


class HistoryUnavailable(Exception):
    """An event could not be saved; the message is one sentence for a person."""


class HistoryBusy(HistoryUnavailable):
    """Another process has opened this session for writing."""


class ToolFailed(Exception):
    """A tool failed; the message is one sentence that tells the model the reason."""


class UnknownCounter(ValueError):
    """There is no token counter of this name; the message lists the existing names."""


class TiktokenMissing(ImportError):
    """An exact token count needs the optional package `tiktoken`, which is not installed."""
