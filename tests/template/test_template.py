"""What AWS makes of the template: the transformed one, because linters let misspelt values pass."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.template.conftest import CANARY, ROOT, Look

Sam = Callable[..., subprocess.CompletedProcess[str]]
Stack = dict[str, Any]


def resources(stack: Stack, kind: str) -> dict[str, Any]:
    found = stack["Resources"].items()
    return {name: what["Properties"] for name, what in found if what["Type"] == kind}


def integrations(stack: Stack) -> dict[str, Any]:
    """Path -> how the gateway calls the function for it."""
    paths = stack["Resources"]["Api"]["Properties"]["Body"]["paths"]
    any_method, how = "x-amazon-apigateway-any-method", "x-amazon-apigateway-integration"
    return {path: methods[any_method][how] for path, methods in paths.items()}


def not_streaming(stack: Stack) -> list[str]:
    """Paths where the adapter's streaming answer would arrive as a malformed one, a 502."""
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


def test_sam_finds_the_template_valid(sam: Sam) -> None:
    child = sam("sam", "validate", "--lint")
    assert child.returncode == 0, child.stdout + child.stderr


def test_checkov_finds_nothing_without_a_reason(sam: Sam) -> None:
    child = sam(
        *("checkov", "--file", "template.yaml", "--compact", "--quiet"),
        *("--config-file", "tests/template/checkov.yaml"),
    )
    assert child.returncode == 0, child.stdout + child.stderr
    skips = (ROOT / "tests/template/checkov.yaml").read_text().split("skip-check:\n")[1]
    assert all(re.fullmatch(r"  - CKV_\w+ # .{20,}", line) for line in skips.splitlines())


def test_every_route_streams_through_the_alias(stack: Stack) -> None:
    """Of the live alias; with 15 minutes instead of the 29 seconds that are the default."""
    assert set(integrations(stack)) == {"/", "/{proxy+}", "/api/chat", "/v1/chat/completions"}
    assert not_streaming(stack) == []
    alias = stack["Resources"]["ChatFunctionAliaslive"]["Properties"]
    assert alias["Name"] == "live"


def test_a_misspelt_transfer_mode_does_not_pass_unseen(look: Look, text: str) -> None:
    """The transform and the linter let it pass, and the route would not stream."""
    misspelt = text.replace("RESPONSE_STREAM", "RESPONSE_STREAMING", 1)
    assert not_streaming(look(text=misspelt)) == ["/api/chat"]


def test_function_runs_behind_the_adapter(stack: Stack) -> None:
    function = stack["Resources"]["ChatFunction"]["Properties"]
    assert function["Handler"]["Fn::If"][:2] == ["Streaming", "run.sh"]
    variables = function["Environment"]["Variables"]
    assert variables["AWS_LAMBDA_EXEC_WRAPPER"]["Fn::If"][1] == "/opt/bootstrap"
    assert variables["AWS_LWA_INVOKE_MODE"] == "response_stream"
    assert variables["AWS_LWA_READINESS_CHECK_PATH"] == "/health"
    # It would turn our 503s into failures of Lambda.
    assert "AWS_LWA_ERROR_STATUS_CODES" not in variables
    layers = json.dumps(function["Layers"])
    assert "753240598075:layer:" in layers
    assert "LambdaAdapterLayerArm64:30" in layers
    assert "LambdaAdapterLayerX86:30" in layers


def test_sam_local_runs_the_buffered_handler_without_a_layer(look: Look) -> None:
    """As samconfig.toml's table `local` says."""
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
    assert variables["KEFU_KEYS_FROM"] == ""


def test_function_may_do_this_and_nothing_else(stack: Stack) -> None:
    """T20: what a stolen instance could do with the account."""
    role = stack["Resources"]["ChatRole"]["Properties"]
    assert "ManagedPolicyArns" not in role
    allowed: set[str] = set()
    for policy in role["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            for choice in _choices(statement):
                assert choice["Effect"] == "Allow"
                assert choice["Resource"] != "*"
                actions = choice["Action"]
                allowed.update([actions] if isinstance(actions, str) else actions)
    assert allowed == {
        "dynamodb:BatchGetItem",
        "dynamodb:BatchWriteItem",
        "dynamodb:DeleteItem",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:UpdateItem",
        "kms:Decrypt",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "secretsmanager:GetSecretValue",
        "ssm:GetParameter",
    }
    # SAM adds the one that lets CodeDeploy move the alias; the retained one is the account's.
    roles = set(resources(stack, "AWS::IAM::Role"))
    assert roles == {"ChatRole", "CodeDeployServiceRole", "ApiAccountRole"}


def holds(what: Any, given: dict[str, str]) -> Any:
    """What CloudFormation makes of a rule's functions."""
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
        ({"RunMode": "buffered"}, {"RunMode": "streaming"}, "BufferedIsForSamLocal"),
        (
            {"DomainName": "chat.example.com"},
            {"CertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/1"},
            "DomainNeedsCertificate",
        ),
        (
            {"SnapStart": "on", "ProvisionedConcurrency": "1"},
            {"ProvisionedConcurrency": "0"},
            "SnapStartOrProvisioned",
        ),
        (
            {"BotCheck": "turnstile", "AllowedOrigins": "*"},
            {"BotCheckHostnames": "www.example.com"},
            "BotCheckNeedsHostnames",
        ),
        (
            {"BotCheck": "turnstile"},
            {"AllowedOrigins": "https://www.example.com"},
            "BotCheckNeedsHostnames",
        ),
        ({"MaxPromptTokens": "9000"}, {"Trim": "fifo"}, "PromptTokensNeedAStrategy"),
        (
            {"MaxPromptTokens": "9000", "Trim": "off"},
            {"MaxPromptTokens": ""},
            "PromptTokensNeedAStrategy",
        ),
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


def test_secrets_are_referred_to_and_never_parameters(stack: Stack) -> None:
    """T20: keys, bot check, panel, identities; what may be read is what is referred to."""
    assert not [name for name, what in stack["Parameters"].items() if "NoEcho" in what]
    variables = stack["Resources"]["ChatFunction"]["Properties"]["Environment"]["Variables"]
    policies = stack["Resources"]["ChatRole"]["Properties"]["Policies"]
    [statements] = [p["PolicyDocument"]["Statement"] for p in policies if p["PolicyName"] == "keys"]
    by_condition = {s["Fn::If"][0]: s["Fn::If"][1] for s in statements}
    for name in ("KEFU_BOT_CHECK_SECRET", "KEFU_ADMIN_TOKEN", "KEFU_IDENTITY_SECRETS"):
        assert not {name, name.removeprefix("KEFU_")} & set(variables)
        is_secret, in_manager, otherwise = variables[f"{name}_FROM"]["Fn::If"]
        is_parameter, in_ssm, none = otherwise["Fn::If"]
        arn, parameter = in_manager["Fn::Sub"], in_ssm["Fn::Sub"]
        assert none == ""
        assert by_condition[is_secret]["Resource"] == {"Ref": re.sub(r".*{(\w+)}", r"\1", arn)}
        resource = by_condition[is_parameter]["Resource"]["Fn::Sub"]
        assert resource.endswith(f":parameter{parameter.removeprefix('ssm:')}")
    [in_ssm] = [v for k, v in variables["KEFU_KEYS_FROM"]["Fn::If"][1].items() if k == "Fn::If"]
    assert in_ssm[1:] == [
        {"Fn::Sub": "secretsmanager:${KeysSecretArn}"},
        {"Fn::Sub": "ssm:${KeysParameter}"},
    ]


def test_function_may_touch_the_table_it_uses_and_more_of_it_while_it_keeps_chats(
    stack: Stack,
) -> None:
    """T20; that these are the actions it needs shows tests/aws_lambda/test_kept_chats.py."""
    policies = stack["Resources"]["ChatRole"]["Properties"]["Policies"]
    [statements] = [
        p["PolicyDocument"]["Statement"] for p in policies if p["PolicyName"] == "table"
    ]
    always, keeping = statements
    assert always["Action"] == ["dynamodb:GetItem", "dynamodb:UpdateItem"]
    assert keeping["Fn::If"][0] == "KeepsChats"
    of_its_own = ["Keep", {"Fn::GetAtt": ["KeptTable", "Arn"]}, {"Fn::GetAtt": ["Table", "Arn"]}]
    for statement in (always, keeping["Fn::If"][1]):
        condition, given, own = statement["Resource"]["Fn::If"]
        assert condition == "OtherTable"
        assert given["Fn::Sub"].endswith(":table/${UseTable}")
        assert own["Fn::If"] == of_its_own
    used = stack["Resources"]["ChatFunction"]["Properties"]["Environment"]["Variables"][
        "KEFU_STORE"
    ]
    name = used["Fn::If"][1]["Fn::Sub"][1]["Name"]["Fn::If"]
    assert name[:2] == ["OtherTable", {"Ref": "UseTable"}]
    assert name[2]["Fn::If"] == ["Keep", {"Ref": "KeptTable"}, {"Ref": "Table"}]


def _choices(statement: Any) -> list[Any]:
    """A statement, or those an Fn::If chooses from."""
    if "Fn::If" not in statement:
        return [statement]
    return [choice for choice in statement["Fn::If"][1:] if "Ref" not in choice]


def test_the_tables_are_what_the_store_expects(stack: Stack) -> None:
    """The same as stores/dynamodb_table.py makes; on demand, with TTL and backups."""
    tables = resources(stack, "AWS::DynamoDB::Table")
    assert set(tables) == {"Table", "KeptTable"}
    for table in tables.values():
        keys = {key["KeyType"]: key["AttributeName"] for key in table["KeySchema"]}
        assert keys == {"HASH": "pk", "RANGE": "sk"}
        assert {a["AttributeType"] for a in table["AttributeDefinitions"]} == {"S"}
        assert table["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    kept = stack["Resources"]["KeptTable"]
    assert (kept["DeletionPolicy"], kept["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert kept["Properties"]["DeletionProtectionEnabled"] is True


def test_logs_end_some_day(stack: Stack) -> None:
    groups = resources(stack, "AWS::Logs::LogGroup")
    assert set(groups) == {"ChatLogs", "AccessLogGroup"}
    assert all(group["RetentionInDays"] == {"Ref": "LogRetentionDays"} for group in groups.values())
    logging = stack["Resources"]["ChatFunction"]["Properties"]["LoggingConfig"]
    assert (logging["LogGroup"], logging["LogFormat"]) == ({"Ref": "ChatLogs"}, "JSON")


def test_alarms_and_dashboard_watch_metrics_that_exist(stack: Stack) -> None:
    """C20: the names are those that the log lines carry."""
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
    assert own == {"ttft_ms", "all_keys_cooling", "store_degraded", "tokens"}
    assert own <= shown
    assert all(f'"{name}"' in source for name in own | shown)
    for alarm in alarms.values():
        assert alarm["TreatMissingData"] == "notBreaching"
        if alarm["Namespace"] == "Kefu":
            assert alarm["Dimensions"] == [{"Name": "function", "Value": {"Ref": "ChatFunction"}}]
    group = stack["Resources"]["ChatFunctionDeploymentGroup"]["Properties"]
    watching = group["AlarmConfiguration"]["Alarms"]
    assert watching == [{"Name": {"Ref": n}} for n in ("FunctionErrorsAlarm", "ServerErrorsAlarm")]


def test_every_alarm_is_explained(stack: Stack) -> None:
    page = (ROOT / "docs/aws/operations.md").read_text(encoding="utf-8")
    for name in resources(stack, "AWS::CloudWatch::Alarm"):
        assert f"### {name}" in page, name


def test_the_api_is_regional_throttled_and_logs_nothing_personal(stack: Stack) -> None:
    """T1, T20."""
    [api] = resources(stack, "AWS::ApiGateway::RestApi").values()
    assert api["EndpointConfiguration"] == {"Types": ["REGIONAL"]}
    [stage] = resources(stack, "AWS::ApiGateway::Stage").values()
    [every] = stage["MethodSettings"]
    assert (every["ResourcePath"], every["HttpMethod"]) == ("/*", "*")
    assert every["ThrottlingRateLimit"] == {"Ref": "ThrottleRate"}
    assert every["ThrottlingBurstLimit"] == {"Ref": "ThrottleBurst"}
    assert "CachingEnabled" not in every
    condition, logs, none = stage["AccessLogSetting"]["Fn::If"]
    assert (condition, none) == ("LogAccess", {"Ref": "AWS::NoValue"})
    shown = re.findall(r"\$context\.([\w.]+)", logs["Format"])
    assert json.loads(logs["Format"]).keys() >= {"requestId", "status", "latency"}
    assert not [name for name in shown if "identity" in name or "authorizer" in name]


CHOSEN = {
    "AlarmTopic": "SendAlarms",
    "TokensAlarm": "WatchTokens",
    "WebAcl": "Firewall",
    "WebAclOfApi": "Firewall",
    "Domain": "OwnDomain",
    "DomainOfApi": "OwnDomain",
    "DomainRecord": "OwnZone",
    "AccessLogGroup": "LogAccess",
    "ApiAccount": "SetUpAccessLogs",
    "ApiAccountRole": "SetUpAccessLogs",
    "Table": "DoNotKeep",
    "KeptTable": "Keep",
}


def test_what_costs_more_is_there_only_when_it_was_chosen(stack: Stack) -> None:
    of_its_own = {
        name: what["Condition"]
        for name, what in stack["Resources"].items()
        if "Condition" in what and not name.startswith(("CodeDeploy", "ChatFunctionDeployment"))
    }
    assert of_its_own == CHOSEN
    [address, known] = stack["Resources"]["WebAcl"]["Properties"]["Rules"]
    rate = address["Statement"]["RateBasedStatement"]
    assert rate == {"AggregateKeyType": "IP", "Limit": {"Ref": "WafRequestsPerFiveMinutes"}}
    assert address["Action"] == {"Block": {}}
    assert "ManagedRuleGroupStatement" in known["Statement"]
    function = stack["Resources"]["ChatFunction"]["Properties"]
    assert function["SnapStart"]["ApplyOn"]["Fn::If"] == ["Snapshots", "PublishedVersions", "None"]
    reserved = function["ReservedConcurrentExecutions"]["Fn::If"]
    assert reserved == ["Reserved", {"Ref": "ReservedConcurrency"}, {"Ref": "AWS::NoValue"}]
    alias = stack["Resources"]["ChatFunctionAliaslive"]
    started = alias["Properties"]["ProvisionedConcurrencyConfig"]["Fn::If"]
    assert started[0] == "Provisioned"
    assert started[1] == {"ProvisionedConcurrentExecutions": {"Ref": "ProvisionedConcurrency"}}
    assert "CodeDeployLambdaAliasUpdate" in alias["UpdatePolicy"]


def test_traffic_moves_as_the_parameter_says(stack: Stack) -> None:
    group = stack["Resources"]["ChatFunctionDeploymentGroup"]["Properties"]
    name, values = group["DeploymentConfigName"]["Fn::Sub"]
    assert name == "CodeDeployDefault.Lambda${ConfigName}"
    assert values == {"ConfigName": stack["Parameters"]["Deployment"]["Default"]}


def test_the_gateway_answers_in_the_shape_of_all_errors(stack: Stack) -> None:
    """C8, C9, L7: what never reaches the function."""
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
        if said[kind][0] == 429:
            assert "gatewayresponse.header.Retry-After" in headers
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
    """T20."""
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
    """W: file and hash of the build, in a tag that is complete."""
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


def test_the_patch_for_managed_instances_fits_the_template(
    sam: Sam, look: Look, text: str, tmp_path: Path
) -> None:
    """As docs/aws/scale.md has it: applied, valid, and what AWS makes of it."""
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
            "CapacityProviderArn": {"Ref": "CapacityProviderArn"}
        }
    }
    assert "SnapStart" not in function
    alias = found["Resources"]["ChatFunctionAliaslive"]["Properties"]
    assert "ProvisionedConcurrencyConfig" not in alias
    assert not_streaming(found) == []


def test_sam_knows_no_capacity_provider_under_a_condition(look: Look, text: str) -> None:
    """Why that is a patch; once this fails, make it a parameter."""
    function = "      AutoPublishAlias: live\n"
    config = "      CapacityProviderConfig: !If [Keep, {Arn: arn}, !Ref AWS::NoValue]\n"
    with pytest.raises(AssertionError, match="CapacityProviderConfig"):
        look(text=text.replace(function, config + function))


def test_events_has_a_sample_of_each_kind() -> None:
    kinds = {path.name.split("-")[0] for path in (ROOT / "events").glob("*.json")}
    assert kinds == {"rest", "http", "url"}
    for path in (ROOT / "events").glob("rest-*.json"):
        event = json.loads(path.read_text(encoding="utf-8"))
        assert {"httpMethod", "path", "requestContext"} <= set(event), path.name


def test_readme_commands_are_those_of_the_config() -> None:
    """`sam deploy --config-env NAME` works for every name the docs use."""
    config = (ROOT / "samconfig.toml").read_text()
    pages = [*Path(ROOT / "docs/aws").glob("*.md"), ROOT / "README.md"]
    named = {n for p in pages for n in re.findall(r"--config-env (\w+)", p.read_text("utf-8"))}
    assert named
    assert all(f"[{name}." in config for name in named)
