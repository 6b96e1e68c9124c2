"""A server on loopback with the AWS APIs of a deployed stack; AWS_ENDPOINT_URL leads botocore to
it.

An `invoke` of the function is forwarded to a real Kefu service. The response is wrapped in the
format of Lambda's response streaming.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.fakes.aws_server import AwsServer, Request, Response, as_json, failed, parameter
from tests.parts.plugin import CREDENTIALS

FUNCTION = "kefu-ChatFunction-1a2b3c"
TOPIC = "arn:aws:sns:eu-central-1:123456789012:kefu-AlarmTopic-1a2b3c"
CONTACT_TOPIC = "arn:aws:sns:eu-central-1:123456789012:kefu-ContactTopic-1a2b3c"


class AwsStack(AwsServer):
    """Each attribute may be set to something wrong."""

    def __init__(self, url: str = "") -> None:
        """`url`: the address of the Kefu service behind the function."""
        super().__init__()
        self.url = url
        self.exists = True
        self.status = "UPDATE_COMPLETE"
        self.versions = ["$LATEST", "1", "9", "10"]
        self.snapshots: set[str] = set()
        """Versions that have a snapshot."""
        self.alias = "10"
        self.alias_weights: dict[str, float] = {}
        self.concurrency = 1000
        self.reserved: int | None = None
        self.keys_from = "ssm:/kefu/api-keys"
        self.parameters = {"/kefu/api-keys": "key-one"}
        self.subscriptions = ["arn:aws:sns:eu-central-1:123456789012:kefu:one"]
        self.emails = ["ops@example.com"]
        self.contact_mail = "arn:aws:sns:eu-central-1:123456789012:kefu:two"
        """The subscription of help@example.com; "" if the stack has no ContactEmail."""
        self.denied: set[str] = set()
        """Operations that are answered with AccessDenied."""
        self.crashes = False
        self.told: list[dict[str, str]] = []
        """The requests to CodeDeploy."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables for a process that uses this server."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": self.address}

    def _answer(self, request: Request) -> Response:
        if request.target.startswith("CodeDeploy"):
            self.told.append(request.json())
            return as_json({})
        if request.target:
            return self._ssm(request.json()["Name"])
        if request.path == "/":
            return self._query(parse_qs(request.body.decode()))
        return self._lambda(request, unquote(urlsplit(request.path).path))

    def _ssm(self, name: str) -> Response:
        if name not in self.parameters:
            return failed("ParameterNotFound")
        return parameter(name, self.parameters[name])

    def _query(self, asked: dict[str, list[str]]) -> Response:
        action = asked["Action"][0]
        if action in self.denied:
            return _query_failed("AccessDenied", f"not authorized to perform {action}", 403)
        if not self.exists:
            return _query_failed("ValidationError", "Stack with id kefu does not exist", 400)
        if action == "DescribeStacks":
            outputs = {"Url": self.url, "FunctionName": FUNCTION}
            inside = "".join(
                f"<member><OutputKey>{key}</OutputKey><OutputValue>{escape(value)}</OutputValue>"
                "</member>"
                for key, value in outputs.items()
            )
            stack = (
                f"<member><StackName>kefu</StackName><StackStatus>{self.status}</StackStatus>"
                f"<Outputs>{inside}</Outputs></member>"
            )
            return _xml(action, f"<Stacks>{stack}</Stacks>")
        if action == "ListStackResources":
            resources = {
                "ChatFunction": ("AWS::Lambda::Function", FUNCTION),
                "AlarmTopic": ("AWS::SNS::Topic", TOPIC),
            }
            if self.contact_mail:
                resources["ContactTopic"] = ("AWS::SNS::Topic", CONTACT_TOPIC)
            inside = "".join(
                f"<member><LogicalResourceId>{name}</LogicalResourceId><ResourceType>{kind}"
                f"</ResourceType><PhysicalResourceId>{identity}</PhysicalResourceId></member>"
                for name, (kind, identity) in resources.items()
            )
            return _xml(action, f"<StackResourceSummaries>{inside}</StackResourceSummaries>")
        assert action == "ListSubscriptionsByTopic"
        mails = list(zip(self.emails, self.subscriptions, strict=True))
        if asked["TopicArn"] == [CONTACT_TOPIC]:
            mails = [("help@example.com", self.contact_mail)]
        inside = "".join(
            f"<member><Protocol>email</Protocol><Endpoint>{email}</Endpoint>"
            f"<SubscriptionArn>{arn}</SubscriptionArn></member>"
            for email, arn in mails
        )
        return _xml(action, f"<Subscriptions>{inside}</Subscriptions>")

    def _lambda(self, request: Request, path: str) -> Response:
        found: object
        match path.rstrip("/").rpartition("/")[2]:
            case "account-settings":
                found = {"AccountLimit": {"ConcurrentExecutions": self.concurrency}}
            case "invocations":
                return self._invoke(request.json())
            case "versions":
                found = {"Versions": [self._version(version) for version in self.versions]}
            case "configuration":
                variables = {"LONGCAT_API_KEYS": self.keys_from} if self.keys_from else {}
                found = {"FunctionName": FUNCTION, "Environment": {"Variables": variables}}
            case "concurrency":
                none = self.reserved is None
                found = {} if none else {"ReservedConcurrentExecutions": self.reserved}
            case "live":
                weights = {"AdditionalVersionWeights": self.alias_weights}
                found = {"FunctionVersion": self.alias, "RoutingConfig": weights}
            case other:
                raise AssertionError(f"{request.method} {path}: {other}")
        return as_json(found)

    def _version(self, version: str) -> dict[str, object]:
        on = version in self.snapshots
        snap_start = {
            "ApplyOn": "PublishedVersions" if on else "None",
            "OptimizationStatus": "On" if on else "Off",
        }
        return {"Version": version, "SnapStart": snap_start}

    def _invoke(self, event: dict[str, str]) -> Response:
        kind = "application/octet-stream"
        if self.crashes:
            error = {"errorType": "Runtime.ExitError", "errorMessage": "exit status 1"}
            crashed = ("X-Amz-Function-Error", "Unhandled")
            return Response(json.dumps(error).encode(), 200, kind, (crashed,))
        try:
            with urllib.request.urlopen(self.url + event["path"]) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        prelude = json.dumps({"statusCode": status, "headers": {}}).encode()
        return Response(prelude + bytes(8) + body, 200, kind)


def _xml(action: str, inside: str) -> Response:
    text = f"<{action}Response><{action}Result>{inside}</{action}Result></{action}Response>"
    return Response(text.encode(), 200, "text/xml")


def _query_failed(code: str, message: str, status: int) -> Response:
    error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    return Response(f"<ErrorResponse>{error}</ErrorResponse>".encode(), status, "text/xml")
