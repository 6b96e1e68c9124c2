"""What each upstream gets of a request's parameters, and what happens when a model refuses one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kefu.errors import ContextTooLong, InvalidRequest
from kefu.relay.call import Call
from kefu.relay.chunks import Completion
from kefu.relay.parameters import Parameters, refused_parameter, with_parameters
from tests.fakes import in_process_upstream as up
from tests.fakes.in_process_upstream import Reply
from tests.fakes.relaying import CLOCK, Result, Rig, in_virtual_time

BODY = {"model": "m", "messages": [], "temperature": 0.5, "max_tokens": 100, "stream": True}
NEW = {"model": "m", "messages": [], "max_completion_tokens": 100, "stream": True}
PLAIN = {"model": "m", "messages": [], "max_tokens": 100, "stream": True}


def refuses(param: str, message: str = "", code: str = "unsupported_parameter") -> Reply:
    message = message or f"Unsupported parameter: '{param}' is not supported with this model."
    return up.refusal(400, {"error": {"message": message, "code": code, "param": param}})


LIMIT, TEMPERATURE = refuses("max_tokens"), refuses("temperature", code="unsupported_value")
ONLY_ONE = "invalid temperature: only 1 is allowed for this model"
IN_BAND = up.STREAM.then(up.in_band(message="`temperature` is deprecated.", code=400))


async def ask(rig: Rig, body: dict[str, Any] = BODY) -> Result:
    call = Call(json.dumps(body).encode(), Completion("id", "m", 1), CLOCK.monotonic())
    return await rig.ask(call)


def bodies(rig: Rig) -> list[Any]:
    return [json.loads(exchange.body) for exchange in rig.upstream.exchanges]


@pytest.mark.parametrize(
    ("reply", "second", "says"),
    [
        (LIMIT, NEW, "max_tokens"),
        (TEMPERATURE, PLAIN, "temperature"),
        (IN_BAND, PLAIN, "temperature"),
        (
            up.refusal(422, {"detail": "not permitted: temperature"}),
            PLAIN,
            "temperature",
        ),
        (up.refusal(400, {"message": "Unknown field temperature"}), PLAIN, "temperature"),
        (up.refusal(400, {"error": {"message": ONLY_ONE}}), PLAIN, "temperature"),
        (up.refusal(400, {"error": "unexpected parameter: temperature"}), PLAIN, "temperature"),
    ],
)
@in_virtual_time
async def test_d4_refused_parameter_is_left_out_in_one_more_attempt_of_the_same_key(
    reply: Reply, second: dict[str, Any], says: str
) -> None:
    """It counts as an attempt; no key cools down or fails, and the log line says what was done."""
    rig = Rig({"first": [reply, up.answer("good")], "second": up.answer("other")})
    result = await ask(rig)
    assert result.text == "good"
    assert bodies(rig) == [BODY, second]
    assert [secret for secret, _ in rig.asked] == ["first", "first"]
    assert result.outcomes[0].startswith("http_4")
    assert result.outcomes[1:] == ["ok"]
    assert (await rig.cooling(), rig.failing) == ({}, [])
    assert f"refuses {says}" in result.call.adapted
    assert rig.open == []


@in_virtual_time
async def test_d4_process_remembers_what_a_model_refuses() -> None:
    rig = Rig({"first": [LIMIT, up.answer(), up.answer(), up.answer()]})
    await ask(rig)
    later = await ask(rig)
    assert (later.outcomes, later.call.adapted) == (["ok"], "")
    await ask(rig, {**BODY, "model": "another"})
    assert bodies(rig)[2:] == [NEW, {**BODY, "model": "another"}]


@in_virtual_time
async def test_d4_model_that_refuses_several_parameters_is_asked_until_it_takes_the_rest() -> None:
    """Each model names one parameter at a time. The first visitor gets an answer, too."""
    rig = Rig({"first": [TEMPERATURE, refuses("seed"), LIMIT, up.answer()]})
    first = await ask(rig, {**BODY, "seed": 7})
    assert first.outcomes == [*["http_400"] * 3, "ok"]
    assert all(f"refuses {one}" in first.call.adapted for one in ("temperature", "seed", "max_to"))
    assert bodies(rig) == [{**BODY, "seed": 7}, {**PLAIN, "seed": 7}, PLAIN, NEW]


@in_virtual_time
async def test_d4_parameter_that_is_refused_although_it_is_left_out_is_the_end() -> None:
    rig = Rig({"first": [TEMPERATURE, TEMPERATURE, up.answer()]})
    first = await ask(rig)
    assert type(first.refused) is InvalidRequest
    assert bodies(rig) == [BODY, PLAIN]


@pytest.mark.parametrize(
    ("field", "reply"),
    [
        ("stop", refuses("stop")),
        (
            "seed",
            up.refusal(422, {"detail": "seed: Extra inputs are not permitted"}),
        ),
    ],
)
@in_virtual_time
async def test_d4_field_of_a_client_that_the_model_refuses_is_left_out(
    field: str, reply: Reply
) -> None:
    """OpenAI's reasoning models refuse `stop`, Mistral refuses `seed`."""
    rig = Rig({"first": [reply, up.answer("good")]})
    assert (await ask(rig, {**BODY, field: 7})).text == "good"
    assert bodies(rig) == [{**BODY, field: 7}, BODY]


@in_virtual_time
async def test_d4_reasoning_model_gets_no_stop_either() -> None:
    rig = Rig({"first": [LIMIT, up.answer("good")]})
    assert (await ask(rig, {**BODY, "stop": "x"})).text == "good"
    assert bodies(rig)[1] == NEW


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (refuses("max_tokens", "max_tokens is too large: 9000.", "invalid_value"), InvalidRequest),
        (refuses("temperature", "temperature must be at most 1", "invalid_value"), InvalidRequest),
        (refuses("reasoning_effort"), InvalidRequest),
        (refuses("max_tokens", "unsupported length", "context_length_exceeded"), ContextTooLong),
    ],
)
@in_virtual_time
async def test_d4_other_mistakes_are_not_asked_again(reply: Reply, error: type[Exception]) -> None:
    rig = Rig({"first": reply, "second": up.answer()})
    result = await ask(rig)
    assert type(result.refused) is error
    assert (result.outcomes, result.call.adapted) == (["http_400"], "")


@in_virtual_time
async def test_d4_parameter_that_was_not_sent_is_not_left_out() -> None:
    rig = Rig({"first": [TEMPERATURE, up.answer()]})
    result = await ask(rig, PLAIN)
    assert type(result.refused) is InvalidRequest
    assert bodies(rig) == [PLAIN]


@in_virtual_time
async def test_d4_refusal_of_a_hedged_key_waits_for_the_attempt_that_runs() -> None:
    """Both keys were sent the old parameters; one more attempt is enough for the request."""
    late = refuses("temperature", code="unsupported_value")
    rig = Rig({"a": [late.late(2.6), up.answer("good", after=1)], "b": late.late(0.3)})
    result = await ask(rig)
    assert result.text == "good"
    assert sorted(result.outcomes) == ["http_400", "http_400", "ok"]
    assert rig.open == []


@in_virtual_time
async def test_d4_summary_is_asked_again_although_it_is_tried_once() -> None:
    rig = Rig({"first": [LIMIT, up.answer()]}, max_retries=0)
    assert (await ask(rig)).whole


@in_virtual_time
async def test_d4_fallback_gets_its_own_parameters_and_none_of_the_first() -> None:
    parameters = Parameters("", {"top_k": 5}, {"reasoning_effort", "max_completion_tokens"})
    second = {"spare": [LIMIT, up.answer("spare")]}
    rig = Rig({"a": up.refusal(500)}, second=second, parameters=parameters)
    body = {**BODY, "reasoning_effort": "low", "max_completion_tokens": 80}
    del body["max_tokens"]
    result = await ask(rig, body)
    assert result.text == "spare"
    first, again = (json.loads(one.body) for one in rig.second.exchanges)
    assert first == {**BODY, "max_tokens": 80, "top_k": 5}
    assert again == {**NEW, "max_completion_tokens": 80, "top_k": 5}
    assert bodies(rig) == [body]


@pytest.mark.parametrize(
    ("said", "fields", "named"),
    [
        ("registry.ollama.ai/library/x does not support tools", ["tools"], "tools"),
        ("The tools of our platform have a break", [], None),
        ("The tools of our platform have a break", ["response_format"], None),
        ("tools, or a JSON schema, are not taken", ["response_format"], "response_format"),
        ("The JSON schema of tools[0] is invalid", ["tools"], "tools"),
    ],
)
@in_virtual_time
async def test_only_a_field_of_the_request_is_named_as_refused(
    said: str, fields: list[str], named: str | None
) -> None:
    rig = Rig({"first": up.refusal(400, {"error": {"message": said}})})
    result = await ask(rig, {**BODY, **{name: {} for name in fields}})
    assert isinstance(result.refused, InvalidRequest)
    assert result.refused.param == named


def test_owners_max_completion_tokens_replaces_max_tokens_and_keeps_the_limit() -> None:
    assert with_parameters(BODY, {"max_completion_tokens": 900, "top_k": 1}) == {
        **NEW,
        "temperature": 0.5,
        "top_k": 1,
    }
    assert with_parameters(BODY, {"max_completion_tokens": 9})["max_completion_tokens"] == 9


@in_virtual_time
async def test_body_of_an_upstream_without_differences_is_sent_byte_by_byte() -> None:
    rig = Rig({"first": up.answer()})
    call = Call(b" not even JSON", Completion("id", "m", 1), CLOCK.monotonic())
    assert (await rig.ask(call)).whole
    assert rig.upstream.exchanges[0].body == b" not even JSON"


@pytest.mark.parametrize("body", [{}, {"error": None}, {"error": []}, {"error": {"message": 3}}])
def test_odd_error_names_no_parameter(body: dict[str, object]) -> None:
    assert refused_parameter(body) == ""
