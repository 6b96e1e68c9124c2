"""Every error Kefu shows to a client, with the one shape and status it has.

KefuError
├── InvalidRequest          400  the body is wrong; says which part
│   └── ContextTooLong      400  the conversation does not fit the model, even trimmed
├── Unauthorized            401  the panel wants the operator's token
├── OriginNotAllowed        403  a page outside the allow-list asked
├── IdentityRejected        403  the site's token for its user is not good
├── VerificationRequired    403  the bot check has not passed, or has passed too long ago
├── NotFound                404
├── SessionNotFound         404  no such chat, or not this visitor's
├── MethodNotAllowed        405
├── BodyTimeout             408  the body stopped half way
├── SessionBusy             409  this very message is being answered
├── UnsupportedMediaType    415
├── RateLimited             429  a limit or every key says: later
├── UpstreamUnavailable     503  nobody can answer now
└── GatewayTimeout          504  the model was silent for too long

UpstreamFault               what an `Upstream` raises; the relay turns it into one of the above
├── HostUnreachable         refused, reset before an answer, no such host
├── CertificateRejected     TLS failed: no other key can help
└── ConnectionLost          cut after the headers

ClientGone                  nobody listens any more: nothing is answered
VerifierUnavailable         the bot check's provider gave no verdict
StoreUnavailable            a store did not answer, or not in time
HistoryUnavailable          a history sink could not keep an event
└── HistoryBusy             another process writes to this session's log
ToolFailed                  a tool could not do what the model asked for
UnknownCounter              no token counter of this name; a ValueError
TiktokenMissing             exact counts need `kefu[tokens]`; an ImportError
"""

from __future__ import annotations

from kefu.lean_typing import ClassVar


class KefuError(Exception):
    """An error a client may see. `message` never holds a key, a URL or an upstream's words."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    type: ClassVar[str] = "server_error"
    retryable: ClassVar[bool] = False
    """Whether the same request may succeed later, unchanged."""
    hangs_up: ClassVar[bool] = False
    """Whether the rest of the request is not worth reading: the connection is closed."""

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
        """Seconds until a new try makes sense."""
        self.should_retry = should_retry
        """Sent as `x-should-retry`: False stops the official clients' own retries."""


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


class IdentityRejected(KefuError):
    status = 403
    code = "identity_rejected"
    type = "invalid_request_error"


class VerificationRequired(KefuError):
    status = 403
    code = "verification_required"
    type = "invalid_request_error"


class NotFound(KefuError):
    status = 404
    code = "not_found"
    type = "invalid_request_error"


class SessionNotFound(KefuError):
    """The same for one that is absent, expired or another's, and for a wrong token."""

    status = 404
    code = "session_not_found"
    type = "invalid_request_error"


class SessionBusy(KefuError):
    status = 409
    code = "session_busy"
    type = "invalid_request_error"
    retryable = True


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


class RateLimited(KefuError):
    status = 429
    code = "rate_limit_exceeded"
    type = "rate_limit_error"
    retryable = True


class UpstreamUnavailable(KefuError):
    status = 503
    code = "upstream_service_unavailable"
    retryable = True


class GatewayTimeout(KefuError):
    status = 504
    code = "gateway_timeout"
    type = "timeout_error"
    retryable = True


class UpstreamFault(Exception):
    """The connection to the model failed; not the key's fault."""


class HostUnreachable(UpstreamFault):
    """Refused, reset before an answer, or no such host: another try may succeed."""


class CertificateRejected(UpstreamFault):
    """The TLS handshake failed: every key would meet the same certificate."""


class ConnectionLost(UpstreamFault):
    """The connection ended without a proper end of the response."""


class ClientGone(Exception):
    """Nobody listens any more: the client has left, or has had its answer cancelled."""


class VerifierUnavailable(Exception):
    """The provider of the bot check failed, was too slow, or said what it never should."""


class StoreUnavailable(Exception):
    """A store failed or took longer than it may."""


class HistoryUnavailable(Exception):
    """An event could not be kept; the message is one sentence for a person."""


class HistoryBusy(HistoryUnavailable):
    """Another process has this session open for writing."""


class ToolFailed(Exception):
    """A tool could not do it; the message tells the model why, in a sentence."""


class UnknownCounter(ValueError):
    """There is no token counter of this name; the message lists those there are."""


class TiktokenMissing(ImportError):
    """An exact count was asked for, and the optional package for it is not installed."""
