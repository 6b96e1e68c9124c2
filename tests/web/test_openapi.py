"""What /openapi.json promises holds for whatever a client sends: schemathesis against the service.

C4, C8 and "no input gives a 500", "no request hangs" (requirements on reliability).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.fakes.behaviours import answer
from tests.fakes.service import Service
from tests.fakes.upstream import ScriptedUpstream

BOUND = 5.0
"""Seconds for the whole response; the upstream answers at once."""

PROMISES = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]


@pytest.fixture(scope="module")
def schema() -> Iterator[BaseSchema]:
    with ScriptedUpstream() as upstream, Service(upstream.base_url) as service:
        upstream.script("*", answer("Yes."))
        yield schemathesis.openapi.from_url(f"{service.url}/openapi.json")


described = schemathesis.pytest.from_fixture("schema")


@described.parametrize()
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_service_answers_as_its_description_says(case: schemathesis.Case[Any]) -> None:
    case.call_and_validate(checks=PROMISES, timeout=BOUND)
