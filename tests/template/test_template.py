"""The template after AWS's transform, because linters accept misspelt values."""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.costs import Month
from tests.template.conftest import CANARY, ROOT, Look

SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:kefu/keys-a1B2c3"
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"

Sam = Callable[..., subprocess.CompletedProcess[str]]
Stack = dict[str, Any]


def resources(stack: Stack, kind: str) -> dict[str, Any]:
    found = stack["Resources"].items()
    return {name: what["Properties"] for name, what in found if what["Type"] == kind}


def integrations(stack: Stack) -> dict[str, Any]:
    """The gateway's integration for each path."""
    paths = stack["Resources"]["Api"]["Properties"]["Body"]["paths"]
    any_method, how = "x-amazon-apigateway-any-method", "x-amazon-apigateway-integration"
    return {path: methods[any_method][how] for path, methods in paths.items()}


def not_streaming(stack: Stack) -> list[str]:
    """Paths without streaming. The adapter's streamed answer would be invalid there, and become a
    502.
    """
    uri = re.compile(
        r"arn:aws:apigateway:\$\{AWS::Region\}:lambda:path/2021-11-15/functions/"
        r"\$\{ChatFunctionAliaslive\}/response-streaming-invocations"
    )
    return [
        path
        for path, call in integrations(stack).items()
        if call.get("responseTransferMode") != "STREAM"
        or not uri.fullmatch(call["uri"]["Fn::Sub"])
        or call["timeoutInMillis"] != 900_000
    ]


@pytest.mark.slow
def test_sam_finds_the_template_valid(sam: Sam) -> None:
    child = sam("sam", "validate", "--lint")
    assert child.returncode == 0, child.stdout + child.stderr


@pytest.mark.slow
def test_checkov_finds_nothing_without_a_reason(sam: Sam) -> None:
    child = sam(
        *("checkov", "--file", "template.yaml", "--compact", "--quiet"),
        *("--config-file", "tests/template/checkov.yaml"),
    )
    assert child.returncode == 0, child.stdout + child.stderr
    skips = (ROOT / "tests/template/checkov.yaml").read_text().split("skip-check:\n")[1]
    assert all(re.fullmatch(r"  - CKV_\w+ # .{20,}", line) for line in skips.splitlines())


def test_every_route_streams_through_the_alias(stack: Stack) -> None:
    """The time limit is 15 minutes instead of the default of 29 seconds."""
    assert set(integrations(stack)) == {"/", "/{proxy+}"}
    assert not_streaming(stack) == []
    alias = stack["Resources"]["ChatFunctionAliaslive"]["Properties"]
    assert alias["Name"] == "live"


def test_a_misspelt_transfer_mode_does_not_pass_unseen(look: Look, text: str) -> None:
    """The transform and the linter accept it, but the route would not stream."""
    misspelt = text.replace("RESPONSE_STREAM", "RESPONSE_STREAMING", 1)
    assert not_streaming(look(text=misspelt)) == ["/"]


def test_function_runs_behind_the_adapter(stack: Stack) -> None:
    function = stack["Resources"]["ChatFunction"]["Properties"]
    assert function["Handler"]["Fn::If"][:2] == ["Streaming", "run.sh"]
    variables = function["Environment"]["Variables"]
    assert variables["AWS_LAMBDA_EXEC_WRAPPER"]["Fn::If"][1] == "/opt/bootstrap"
    assert variables["AWS_LWA_INVOKE_MODE"] == "response_stream"
    assert variables["AWS_LWA_READINESS_CHECK_PATH"] == "/health"
    # With this variable the adapter would report our 503s as errors of the function.
    assert "AWS_LWA_ERROR_STATUS_CODES" not in variables
    layers = json.dumps(function["Layers"])
    assert "753240598075:layer:" in layers
    assert ":layer:LambdaAdapterLayer${For}:30" in layers
    assert '["Arm", "Arm64", "X86"]' in layers


def test_sam_local_runs_the_buffered_handler_without_a_layer(look: Look) -> None:
    """As the table `local` of samconfig.toml says."""
    config = (ROOT / "samconfig.toml").read_text()
    [given] = set(re.findall(r"\[local\.[^]]+\]\nparameter_overrides = \"(.*)\"", config))
    parameters = dict(pair.split("=") for pair in given.split())
    function = look(path=str(ROOT / "template.yaml"), parameters=parameters)
    assert function["handler"] == "kefu.lambda_handler.handler"
    assert function["layers"] == []
    variables = function["environment"]
    assert all(isinstance(value, str | int) for value in variables.values()), variables
    assert variables["AWS_LAMBDA_EXEC_WRAPPER"] == ""
    assert variables["KEFU_STORE"] == "memory:"
    assert variables["LONGCAT_API_KEYS"] == ""
    assert variables["KEFU_CONFIG"] == "/var/task/kefu.toml"


def statements(stack: Stack) -> list[dict[str, Any]]:
    found = stack["Resources"]["ChatPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    return [one["Fn::If"][1] if "Fn::If" in one else one for one in found]


def test_function_may_do_this_and_nothing_else(stack: Stack) -> None:
    """T20: the permissions of an attacker who has the function's credentials."""
    role = stack["Resources"]["ChatRole"]["Properties"]
    assert not {"ManagedPolicyArns", "Policies"} & set(role)
    policy = stack["Resources"]["ChatPolicy"]["Properties"]
    assert policy["Roles"] == [{"Ref": "ChatRole"}]
    allowed: set[str] = set()
    for statement in statements(stack):
        assert statement["Effect"] == "Allow"
        if statement["Action"] == "kms:Decrypt":
            # Any key, but only within a read of one of the secrets that this policy names.
            through = {"kms:ViaService": ["ssm.*", "secretsmanager.*"]}
            assert statement["Condition"] == {"StringLike": through}
        elif "bedrock:InvokeModel" in statement["Action"]:
            # Only with `KeysFrom=bedrock`: see test_life.
            assert all(one.startswith("bedrock") for one in statement["Action"])
        else:
            assert "*" not in json.dumps(statement)
            assert "Condition" not in statement
        actions = statement["Action"]
        allowed.update([actions] if isinstance(actions, str) else actions)
    assert allowed == {
        "bedrock-mantle:CallWithBearerToken",
        "bedrock-mantle:CreateInference",
        "bedrock:CallWithBearerToken",
        "bedrock:InvokeModel",
        "bedrock:InvokeModelWithResponseStream",
        "dynamodb:BatchGetItem",
        "dynamodb:BatchWriteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:UpdateItem",
        "kms:Decrypt",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "s3:GetObject",
        "secretsmanager:GetSecretValue",
        "sns:Publish",
        "ssm:GetParameter",
    }
    [publish] = [one for one in statements(stack) if one["Action"] == "sns:Publish"]
    assert publish["Resource"] == {"Ref": "ContactTopic"}
    assert set(resources(stack, "AWS::IAM::Role")) == {"ChatRole", "PreTrafficRole"}


GRADUAL = ("Canary10Percent5Minutes", "Canary10Percent15Minutes", "Linear10PercentEvery1Minute")


@pytest.mark.parametrize("deployment", GRADUAL)
def test_codedeploy_runs_the_hook_before_traffic_in_gradual_deployments(
    look: Look, text: str, deployment: str
) -> None:
    found = look({"Deployment": deployment}, text=text)
    update = found["Resources"]["ChatFunctionAliaslive"]["UpdatePolicy"]
    hook = update["CodeDeployLambdaAliasUpdate"]["BeforeAllowTrafficHook"]
    assert hook == {"Fn::If": ["Gradual", {"Ref": "PreTrafficHook"}, {"Ref": "AWS::NoValue"}]}
    function = found["Resources"]["PreTrafficHook"]["Properties"]
    module, _, name = function["Handler"].rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))
    version = function["Environment"]["Variables"]["KEFU_NEW_VERSION"]["Ref"]
    assert found["Resources"][version]["Type"] == "AWS::Lambda::Version"
    # AWSCodeDeployRoleForLambda, the policy of SAM's role, allows only names that begin with this.
    assert function["FunctionName"]["Fn::Sub"].startswith("CodeDeployHook_")
    assert "AWSCodeDeployRoleForLambda" in json.dumps(found["Resources"]["CodeDeployServiceRole"])
    assert "ServerlessDeploymentApplication" in found["Resources"]


def test_without_gradual_deployment_there_is_neither_hook_nor_codedeploy(stack: Stack) -> None:
    assert "UpdatePolicy" not in stack["Resources"]["ChatFunctionAliaslive"]
    assert not {kind for kind in kinds(stack) if kind.startswith("AWS::CodeDeploy::")}
    for name in ("PreTrafficHook", "PreTrafficRole"):
        assert stack["Resources"][name]["Condition"] == "Gradual"


def kinds(stack: Stack) -> set[str]:
    return {what["Type"] for what in stack["Resources"].values()}


def test_the_hook_may_ask_the_function_and_report_and_nothing_else(stack: Stack) -> None:
    """Requirement T20."""
    role = stack["Resources"]["PreTrafficRole"]["Properties"]
    assert "ManagedPolicyArns" not in role
    [policy] = role["Policies"]
    logs, invoke, report = policy["PolicyDocument"]["Statement"]
    assert logs["Action"] == ["logs:CreateLogStream", "logs:PutLogEvents"]
    assert logs["Resource"] == {"Fn::GetAtt": ["ChatLogs", "Arn"]}
    assert invoke["Action"] == "lambda:InvokeFunction"
    assert invoke["Resource"] == {"Fn::Sub": "${ChatFunction.Arn}:*"}
    assert report["Action"] == "codedeploy:PutLifecycleEventHookExecutionStatus"
    application = "deploymentgroup:${AWS::StackName}-ServerlessDeploymentApplication-*/*"
    assert report["Resource"]["Fn::Sub"].endswith(application)


def holds(what: Any, given: dict[str, str]) -> Any:
    """Evaluate the functions of a template's rule."""
    if not isinstance(what, dict):
        return what
    [(name, value)] = what.items()
    if name == "Ref":
        return given[value]
    values = [holds(one, given) for one in value]
    made: dict[str, Callable[[], bool]] = {
        "Fn::Not": lambda: not values[0],
        "Fn::Or": lambda: any(values),
        "Fn::Equals": lambda: values[0] == values[1],
        "Fn::Contains": lambda: values[1] in values[0],
    }
    return made[name]()


@pytest.mark.parametrize(
    ("wrong", "mended", "rule"),
    [
        ({"StageName": "local"}, {"StageName": "live"}, "LocalIsForSamLocal"),
        (
            {"DomainName": "chat.example.com"},
            {"CertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/1"},
            "DomainNeedsCertificate",
        ),
        ({"Cdn": "on", "WafRequestsPerFiveMinutes": "100"}, {"Cdn": "off"}, "WafOrCdn"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_made(
    stack: Stack, wrong: dict[str, str], mended: dict[str, str], rule: str
) -> None:
    usual = {name: str(what.get("Default")) for name, what in stack["Parameters"].items()}

    def refused(given: dict[str, str]) -> list[str]:
        return [
            name
            for name, what in stack["Rules"].items()
            if holds(what.get("RuleCondition", True), given)
            and not all(holds(one["Assert"], given) for one in what["Assertions"])
        ]

    assert refused(usual) == []
    assert refused(usual | wrong) == [rule]
    assert refused(usual | wrong | mended) == []


REFERENCES = (
    *("KeysFrom", "FallbackKeysFrom", "AdminTokenFrom"),
    *("IdentitySecretsFrom", "BotCheckSecretFrom"),
)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_secret_put_where_its_place_belongs_is_refused(stack: Stack, name: str) -> None:
    """T20: all these parameters have the same pattern."""
    pattern = stack["Parameters"][name]["AllowedPattern"]
    for place in ("ssm:/kefu/keys", SECRET):
        assert re.fullmatch(pattern, place)
    for secret in ("sk-canary-5f3c9a7e1b", "ak_canary,ak_canary2", "0x4AAAAAcanary", "ssm:"):
        assert not re.fullmatch(pattern, secret)
    assert bool(re.fullmatch(pattern, "")) is (name != "KeysFrom")
    assert bool(re.fullmatch(pattern, "bedrock")) is (name == "KeysFrom")


def test_a_limit_that_waf_would_refuse_is_refused_before_the_deployment(stack: Stack) -> None:
    """AWS WAF's least is 10 requests; 0 is no firewall."""
    pattern = stack["Parameters"]["WafRequestsPerFiveMinutes"]["AllowedPattern"]
    assert all(re.fullmatch(pattern, limit) for limit in ("0", "10", "99", "2000"))
    assert not any(re.fullmatch(pattern, limit) for limit in ("", *"123456789", "05", "-10"))


def test_descriptions_that_make_a_version_are_never_too_long(stack: Stack) -> None:
    """IAM allows 1000 characters, Lambda 256."""
    arn = len("arn:aws-us-gov:secretsmanager:us-gov-west-1:123456789012:secret:") + 60
    given = {**dict.fromkeys(REFERENCES, arn), "Cdn": 3, "UseTable": 120, "Mail": len(" mail")}
    assert "{3,120}" in stack["Parameters"]["UseTable"]["AllowedPattern"]
    assert all("{1,60}" in stack["Parameters"][name]["AllowedPattern"] for name in REFERENCES)
    description, mail = stack["Resources"]["ChatPolicy"]["Properties"]["Description"]["Fn::Sub"]
    assert mail == {"Mail": {"Fn::If": ["MailRequests", " mail", ""]}}
    names = re.findall(r"\$\{(\w+)\}", description)
    assert sorted(names) == sorted(given)
    assert sum(given[name] + 1 for name in names) <= 1000
    policy = len("arn:aws-us-gov:iam::123456789012:policy/") + 128 + len("-ChatPolicy-0123456789AB")
    assert policy + len(" 10240 x86_64 snapshot") <= 256


def test_a_stack_with_a_panel_looks_every_five_minutes_for_what_is_due(stack: Stack) -> None:
    """H22: the event names the service, for links into the panel. Events go to /events."""
    [rule] = resources(stack, "AWS::Events::Rule").values()
    assert rule["State"] == {"Fn::If": ["HasPanel", "ENABLED", "DISABLED"]}
    assert rule["ScheduleExpression"] == f"rate({Month().schedule_seconds / 60:.0f} minutes)"
    [target] = rule["Targets"]
    assert target["Arn"] == {"Ref": "ChatFunctionAliaslive"}
    event, values = target["Input"]["Fn::Sub"]
    assert json.loads(event) == {"url": "${Base}"}
    assert values == {"Base": stack["Outputs"]["Url"]["Value"]}
    permission = stack["Resources"]["ChatFunctionDuePermission"]["Properties"]
    assert permission["Principal"] == "events.amazonaws.com"
    assert permission["SourceArn"] == {"Fn::GetAtt": ["ChatFunctionDue", "Arn"]}
    variables = stack["Resources"]["ChatFunction"]["Properties"]["Environment"]["Variables"]
    assert "AWS_LWA_PASS_THROUGH_PATH" not in variables  # its default


def test_the_table_is_what_the_store_expects_and_stays(stack: Stack) -> None:
    """The same schema as in stores/dynamodb/create.py; on demand, with TTL and backups."""
    table = stack["Resources"]["Table"]["Properties"]
    keys = {key["KeyType"]: key["AttributeName"] for key in table["KeySchema"]}
    assert keys == {"HASH": "pk", "RANGE": "sk"}
    assert {a["AttributeType"] for a in table["AttributeDefinitions"]} == {"S"}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert stack["Resources"]["Table"]["DeletionPolicy"] == "RetainExceptOnCreate"
    assert stack["Resources"]["Table"]["UpdateReplacePolicy"] == "Retain"


def test_requests_of_visitors_are_encrypted_and_not_mailed_to_those_who_get_alarms(
    stack: Stack,
) -> None:
    """H2: they hold names, addresses and the chat."""
    topic = stack["Resources"]["ContactTopic"]["Properties"]
    assert topic["KmsMasterKeyId"] == "alias/aws/sns"
    [subscription] = resources(stack, "AWS::SNS::Subscription").values()
    assert subscription == {
        "TopicArn": {"Ref": "ContactTopic"},
        "Protocol": "email",
        "Endpoint": {"Ref": "ContactEmail"},
    }
    assert stack["Resources"]["AlarmTopic"]["Properties"]["Subscription"] == [
        {"Protocol": "email", "Endpoint": {"Ref": "AlarmEmail"}}
    ]


def test_logs_end_some_day(stack: Stack) -> None:
    groups = resources(stack, "AWS::Logs::LogGroup")
    assert set(groups) == {"ChatLogs"}
    assert all(group["RetentionInDays"] == {"Ref": "LogRetentionDays"} for group in groups.values())
    logging = stack["Resources"]["ChatFunction"]["Properties"]["LoggingConfig"]
    assert (logging["LogGroup"], logging["LogFormat"]) == ({"Ref": "ChatLogs"}, "JSON")


def test_alarms_and_dashboard_watch_metrics_that_exist(stack: Stack) -> None:
    """C20: the names of the metrics are those of the log lines."""
    source = (ROOT / "functions/kefu/web/log.py").read_text()
    alarms = resources(stack, "AWS::CloudWatch::Alarm")
    own = {a["MetricName"] for a in alarms.values() if a["Namespace"] == "Kefu"}
    dashboard = stack["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    body = json.loads(re.sub(r"\$\{[^}]+\}", "x", dashboard))
    shown = {
        metric[1]
        for widget in body["widgets"]
        for metric in widget["properties"]["metrics"]
        if metric[0] == "Kefu"
    }
    assert own == {"ttft_ms", "all_keys_cooling", "store_degraded"}
    assert own <= shown
    assert all(f'"{name}"' in source for name in own | shown)
    for alarm in alarms.values():
        assert alarm["TreatMissingData"] == "notBreaching"
        if alarm["Namespace"] == "Kefu":
            assert alarm["Dimensions"] == [{"Name": "function", "Value": {"Ref": "ChatFunction"}}]


def test_the_metrics_of_the_gateway_are_the_free_ones_of_the_stage(stack: Stack) -> None:
    """aws M1: those of each method have a price, and no alarm and no widget reads them."""
    [stage] = resources(stack, "AWS::ApiGateway::Stage").values()
    assert [every["MetricsEnabled"] for every in stage["MethodSettings"]] == [False]
    alarms = resources(stack, "AWS::CloudWatch::Alarm").values()
    read = [
        {dimension["Name"] for dimension in alarm["Dimensions"]}
        for alarm in alarms
        if alarm["Namespace"] == "AWS/ApiGateway"
    ]
    body = stack["Resources"]["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    shown = re.findall(r'"AWS/ApiGateway", "\w+", "(\w+)", "[^"]+", "(\w+)", "[^"]+"\]', body)
    assert body.count("AWS/ApiGateway") == len(shown) > 0
    assert read
    assert all(names == {"ApiName", "Stage"} for names in (*read, *map(set, shown)))


def test_every_alarm_is_explained(stack: Stack) -> None:
    page = (ROOT / "docs/aws/operations.md").read_text(encoding="utf-8")
    for name in resources(stack, "AWS::CloudWatch::Alarm"):
        assert f"### {name}" in page, name


def test_the_api_is_regional_throttled_and_logs_nothing_personal(stack: Stack) -> None:
    """T1, T20: the gateway writes no logs, so the account needs no role for them."""
    [api] = resources(stack, "AWS::ApiGateway::RestApi").values()
    assert api["EndpointConfiguration"] == {"Types": ["REGIONAL"]}
    [stage] = resources(stack, "AWS::ApiGateway::Stage").values()
    [every] = stage["MethodSettings"]
    assert (every["ResourcePath"], every["HttpMethod"]) == ("/*", "*")
    assert every["ThrottlingRateLimit"] == {"Ref": "RequestsPerSecond"}
    assert stack["Parameters"]["RequestsPerSecond"]["MinValue"] == 1
    assert "CachingEnabled" not in every
    assert "AccessLogSetting" not in stage
    assert resources(stack, "AWS::ApiGateway::Account") == {}


COSTS_MORE = {
    *("Distribution", "OriginSecret", "WebAcl", "Domain", "DomainRecord"),
    *("AlarmTopic", "ContactTopic", "ContactMail"),
}


def test_what_costs_more_is_there_only_when_it_was_chosen(stack: Stack) -> None:
    """The defaults also reserve no concurrency: a new account has 10 in all."""
    assert all("Condition" in stack["Resources"][name] for name in COSTS_MORE)
    defaults = {name: what["Default"] for name, what in stack["Parameters"].items()}
    assert defaults["ReservedConcurrency"] == 0
    assert (defaults["WarmStart"], defaults["Cdn"]) == ("off", "off")


def test_the_template_stays_small(text: str, stack: Stack) -> None:
    """The service's settings are in kefu.toml."""
    assert len(text.splitlines()) <= 500
    assert len(stack["Parameters"]) <= 21


DOMAIN = {"DomainName": "chat.example.com", "CertificateArn": CERTIFICATE}
SETS: list[dict[str, str]] = [
    {},
    {"Cdn": "on"},
    {"Cdn": "on", **DOMAIN, "HostedZoneId": "Z1"},
    DOMAIN,
    {**DOMAIN, "HostedZoneId": "Z1"},
    {"Deployment": "Canary10Percent5Minutes", "AlarmEmail": "me@example.com"},
    {"Deployment": "Linear10PercentEvery1Minute", "WarmStart": "3", "ReservedConcurrency": "20"},
    {"RequestsPerSecond": "500"},
    {"WarmStart": "snapshot", "Architecture": "x86_64", "MemorySize": "2048"},
    {"KeysFrom": SECRET, "FallbackKeysFrom": SECRET, "ContactEmail": "help@example.com"},
    {"KeysFrom": "bedrock"},
    {"AdminTokenFrom": "ssm:/k/a", "IdentitySecretsFrom": "ssm:/k/i", "BotCheckSecretFrom": SECRET},
    {"UseTable": "kefu-restored", "LogRetentionDays": "7"},
    {"WafRequestsPerFiveMinutes": "100", "StageName": "v2", "AlarmEmail": "me@example.com"},
]


@pytest.mark.slow
def test_what_aws_makes_of_each_set_of_parameters_is_valid(
    sam: Sam, look: Look, text: str, tmp_path: Path
) -> None:
    """`sam validate --lint` checks the source alone, where some rules find nothing."""
    assert {name for given in SETS for name in given} == set(look(text=text)["Parameters"])
    for number, given in enumerate(SETS):
        write_with_defaults(tmp_path / f"{number}.json", look(given, text=text), given)
    # W3011: SAM copies UpdateReplacePolicy to resources that it adds. W7001: SAM uses the mapping.
    child = sam("cfn-lint", "-i", "W3011", "W7001", "-t", *map(str, tmp_path.glob("*.json")))
    assert child.returncode == 0, child.stdout + child.stderr


@pytest.mark.slow
def test_a_dependency_that_a_condition_leaves_out_is_found_in_what_aws_makes(
    sam: Sam, look: Look, text: str, tmp_path: Path
) -> None:
    faulty = text.replace("\n  Api:\n", "\n  Api:\n    DependsOn: AlarmTopic\n")
    write_with_defaults(tmp_path / "faulty.json", look(text=faulty), {})
    child = sam("cfn-lint", str(tmp_path / "faulty.json"))
    assert "E3005" in child.stdout


def write_with_defaults(path: Path, made: Stack, given: dict[str, str]) -> None:
    """Write a template whose parameters have these defaults, because the linter uses the
    defaults.
    """
    for name, value in given.items():
        parameter = made["Parameters"][name]
        parameter["Default"] = int(value) if parameter["Type"] == "Number" else value
    path.write_text(json.dumps(made), encoding="utf-8")


def test_the_gateway_answers_in_the_shape_of_all_errors(stack: Stack) -> None:
    """C8, C9, L7, aws M3: for requests that do not reach the function. A page may read when to try
    again.
    """
    answers = stack["Resources"]["Api"]["Properties"]["Body"][
        "x-amazon-apigateway-gateway-responses"
    ]
    said = {}
    for kind, answer in answers.items():
        body = json.loads(answer["responseTemplates"]["application/json"])
        assert set(body["error"]) == {"message", "type", "param", "code"}
        headers = answer["responseParameters"]
        assert headers["gatewayresponse.header.Access-Control-Allow-Origin"] == "'*'"
        status = answer.get("statusCode")
        said[kind] = (int(status) if status else None, body["error"]["code"])
        if kind == "DEFAULT_5XX" or said[kind][0] in (429, 503):
            waits = headers["gatewayresponse.header.Retry-After"]
            assert re.fullmatch(r"'\d+'", waits)
            assert (
                headers["gatewayresponse.header.Access-Control-Expose-Headers"] == "'Retry-After'"
            )
    assert said == {
        "DEFAULT_4XX": (None, "invalid_request"),
        "DEFAULT_5XX": (None, "upstream_service_unavailable"),
        "INTEGRATION_FAILURE": (503, "upstream_service_unavailable"),
        "INTEGRATION_TIMEOUT": (504, "gateway_timeout"),
        "REQUEST_TOO_LARGE": (400, "invalid_request"),
        "THROTTLED": (429, "rate_limit_exceeded"),
        "WAF_FILTERED": (429, "rate_limit_exceeded"),
    }


@pytest.mark.parametrize("name", ["template.yaml", "samconfig.toml", ".env", ".aws-sam"])
def test_nothing_that_is_committed_holds_a_key(name: str) -> None:
    """Requirement T20."""
    tracked = subprocess.run(
        ["git", "ls-files", name], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for path in tracked.stdout.split():
        content = (ROOT / path).read_text()
        assert not re.search(r"sk-[\w-]{8,}|AKIA[0-9A-Z]{16}|LONGCAT_API_KEYS=\w", content)
        assert CANARY not in content
    if name.startswith("."):
        assert tracked.stdout == ""


def test_the_pinned_tag_names_the_widget_that_is_served(stack: Stack) -> None:
    """W: the tag has the file and the hash of the build, and is complete."""
    folder = ROOT / "functions/kefu/web/static/widget"
    manifest = json.loads((folder / "chat-widget.json").read_text())
    pinned = stack["Mappings"]["Widget"]["Built"]
    assert pinned == {"File": manifest["file"], "Integrity": manifest["integrity"]}
    digest = hashlib.sha384((folder / pinned["File"]).read_bytes()).digest()
    assert pinned["Integrity"] == f"sha384-{base64.b64encode(digest).decode()}"
    tag, values = stack["Outputs"]["PinnedScriptTag"]["Value"]["Fn::Sub"]
    assert set(re.findall(r"\$\{(\w+)\}", tag)) == set(values)
    for name in ("File", "Integrity"):
        assert values[name] == {"Fn::FindInMap": ["Widget", "Built", name]}
    attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
    assert attributes["src"] == "${Base}/${File}"
    assert attributes["integrity"] == "${Integrity}"
    assert attributes["crossorigin"] == "anonymous"


@pytest.mark.slow
def test_the_patch_for_managed_instances_fits_the_template(
    sam: Sam, look: Look, text: str, tmp_path: Path
) -> None:
    """As docs/aws/scale.md describes it: the patch applies, and the result is valid."""
    (tmp_path / "template.yaml").write_text(text, encoding="utf-8")
    patch = ROOT / "docs/aws/managed-instances.patch"
    child = subprocess.run(
        ["git", "apply", patch], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, f"docs/aws/managed-instances.patch: {child.stderr}"
    child = sam("cfn-lint", str(tmp_path / "template.yaml"))
    assert child.returncode == 0, child.stdout + child.stderr
    patched = (tmp_path / "template.yaml").read_text(encoding="utf-8")
    provider = "arn:aws:lambda:eu-west-1:123456789012:capacity-provider:kefu"
    found = look({"CapacityProviderArn": provider}, text=patched)
    function = found["Resources"]["ChatFunction"]["Properties"]
    assert function["CapacityProviderConfig"] == {
        "LambdaManagedInstancesCapacityProviderConfig": {
            "CapacityProviderArn": {"Ref": "CapacityProviderArn"},
            "PerExecutionEnvironmentMaxConcurrency": {"Ref": "ConcurrencyPerEnvironment"},
        }
    }
    assert "SnapStart" not in function
    alias = found["Resources"]["ChatFunctionAliaslive"]["Properties"]
    assert "ProvisionedConcurrencyConfig" not in alias
    assert not_streaming(found) == []


def test_sam_knows_no_capacity_provider_under_a_condition(look: Look, text: str) -> None:
    """The reason for the patch. If this test fails, the patch can become a parameter."""
    function = "      AutoPublishAlias: live\n"
    config = "      CapacityProviderConfig: !If [HasCdn, {Arn: arn}, !Ref AWS::NoValue]\n"
    with pytest.raises(AssertionError, match="CapacityProviderConfig"):
        look(text=text.replace(function, config + function))


def test_events_has_a_sample_of_each_kind() -> None:
    kinds = {path.name.split("-")[0] for path in (ROOT / "events").glob("*.json")}
    assert kinds == {"rest", "http", "url"}
    for path in (ROOT / "events").glob("rest-*.json"):
        event = json.loads(path.read_text(encoding="utf-8"))
        assert {"httpMethod", "path", "requestContext"} <= set(event), path.name


def test_readme_commands_are_those_of_the_config() -> None:
    """`sam deploy --config-env NAME` works for every name in the docs."""
    config = (ROOT / "samconfig.toml").read_text()
    pages = [*Path(ROOT / "docs/aws").glob("*.md"), ROOT / "README.md"]
    named = {n for p in pages for n in re.findall(r"--config-env (\w+)", p.read_text("utf-8"))}
    assert named
    assert all(f"[{name}." in config for name in named)


def test_sam_local_is_told_which_function_to_invoke() -> None:
    """Without a name it refuses a template with two functions."""
    texts = [path.read_text("utf-8") for path in Path(ROOT / "docs/aws").glob("*.md")]
    texts.append((ROOT / "samconfig.toml").read_text("utf-8"))
    named = [name for text in texts for name in re.findall(r"sam local invoke (\S+)", text)]
    assert named
    assert set(named) == {"ChatFunction"}
